"""Asking models within a stage: replies as checked objects, kept in the response cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from trueground.builders.asking.asked import AskedModel, whole
from trueground.builders.asking.jsonreply import Unreadable, read_object
from trueground.builders.asking.replies import PaidReply, ReplyLog
from trueground.builders.asking.schemas import (
    as_parameter,
    as_text,
    is_refused,
    refuses_schema,
    schema_of,
)
from trueground.builders.asking.scores import PaidScorer
from trueground.builders.rejected import Rejected
from trueground.errors import UsageError
from trueground.models.asker import Spent
from trueground.models.base import ChatRequest, Message, Reply, tidy
from trueground.models.calls import Calls, InFlight, recall, remember, request_key
from trueground.net.cache import ResponseCache
from trueground.types import Status

__all__ = ["Ask", "AskedModel", "no_objection"]

T = TypeVar("T", bound=msgspec.Struct)
_AGAIN = (
    "Your reply could not be used: {problem}.\nReply once more, with one JSON object and nothing "
    "else. It must match this JSON schema:\n{schema}"
)
_ADVICE = "What was made is kept; fix the cause and run the same command again to go on"
_SHOWN_AGAIN = 4_000  # characters of a reply that could not be used, for the model to see


def no_objection(_made: Any) -> str | None:
    """Every object that has the fields is as it should be."""
    return None


@dataclass
class CacheUse:
    """Whether replies may come from the response cache, and whether one did."""

    allowed: bool
    used: bool = False


class Ask:
    """The models of a build by their roles. Belongs to one event loop.

    `scorer` is what gives perplexities, where the builder has one (models.perplexity). `paid` keeps
    what was paid for in the build's own folder, beside the cache; `scored` counts for the scorer.
    A reply of another build that cannot be used, from the cache, is asked anew unless `reuse_bad`.
    """

    def __init__(
        self,
        models: Mapping[str, AskedModel],
        cache: ResponseCache | None,
        scorer: Any = None,
        paid: ReplyLog | None = None,
        scored: Spent | None = None,
        *,
        reuse_bad: bool = False,
    ) -> None:
        self.models = models
        self.scores = None if scorer is None else PaidScorer(scorer, cache, paid, scored or Spent())
        self._cache = cache
        self._paid = paid
        self._reuse_bad = reuse_bad
        self._calls = {role: Calls(asked.model) for role, asked in models.items()}
        self._room = {
            role: asyncio.Semaphore(asked.model.concurrency) for role, asked in models.items()
        }
        self._in_flight = InFlight()
        for role, calls in self._calls.items():
            calls.workers = models[role].model.concurrency

    async def object(
        self,
        role: str,
        messages: Sequence[Message],
        kind: type[T],
        *,
        check: Callable[[T], str | None] = no_objection,
    ) -> T:
        """The object that the model replies with; asked once more where it cannot be read.

        `kind` is a Struct, whose JSON schema is asked for where the endpoint offers that; `check`
        says in words what is wrong with its fields, or raises a Rejected of its own. The model is
        told either once. Raises Rejected with one of REASONS, or that of `check`.
        """
        use = CacheUse(True)
        try:
            return await self._object(role, messages, kind, check, use)
        except Rejected as rejected:
            if rejected.transient or self._reuse_bad or not use.used:
                raise
        return await self._object(role, messages, kind, check, CacheUse(False))

    async def _object(
        self,
        role: str,
        messages: Sequence[Message],
        kind: type[T],
        check: Callable[[T], str | None],
        use: CacheUse,
    ) -> T:
        schema = schema_of(kind)
        turns = tuple(messages)
        for last in (False, True):
            reply = await self._reply(role, turns, schema, use)
            try:
                made = read_object(reply.text, kind)
                problem = check(made)
                if problem is None:
                    return made
                found = Rejected("wrong_fields", problem)
            except Unreadable as unreadable:
                found, problem = Rejected(unreadable.reason, unreadable.detail), unreadable.detail
            except Rejected as rejected:
                found, problem = rejected, f"{rejected.reason.replace('_', ' ')}: {rejected.detail}"
            if last:
                break
            again = _AGAIN.format(problem=problem, schema=as_text(schema))
            turns = (*turns, _said(reply), Message("user", again))
        raise found

    async def logprobs(self, text: str) -> list[float]:
        """The log-probability of each token of a text, from the builder's scorer.

        Numbers are kept as replies are, and `models.perplexity.perplexity` makes one of them.
        Raises as PromptScorer does.
        """
        if self.scores is None:
            raise UsageError("this builder has no scorer of perplexities")
        return await self.scores.logprobs(text)

    async def _reply(
        self,
        role: str,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any],
        use: CacheUse,
    ) -> Reply:
        """A whole reply. Raises Rejected."""
        if role not in self.models:
            raise UsageError(f"no model for the role {role!r} was given")
        asked = self.models[role]
        params = asked.params
        if asked.structured and asked.offers:
            with_schema = msgspec.structs.replace(params, extra=params.extra | as_parameter(schema))
            request = ChatRequest(messages, with_schema)
            reply = await self._one(role, request, use, structured=True)
            if reply is not None and not asked.may_be_the_schema(reply):
                asked.taken = asked.taken or reply.status is None
                return whole(reply)
        plain = await self._one(role, ChatRequest(messages, params), use)
        assert plain is not None
        if is_refused(plain) and not asked.schema_refused:
            asked.structured = True  # the schema was not what was wrong
        return whole(plain)

    async def _one(
        self, role: str, request: ChatRequest, use: CacheUse, *, structured: bool = False
    ) -> Reply | None:
        """One reply, from what was paid for where it is there. UnreachableError.

        None where the endpoint has refused the schema of another call meanwhile.
        """
        asked = self.models[role]
        key = request_key(asked.model.signature, request)
        async with self._in_flight.turn(key):
            kept = self._recalled(asked, key, use)
            if kept is not None:
                asked.spent.cache_hits += 1
                await asyncio.sleep(0)  # many in a row must not keep all else from going on
                return kept
            async with self._room[role]:
                if structured and not asked.structured:
                    return None
                reply = await self._called(role, request)
            if structured and asked.may_be_the_schema(reply):
                asked.structured = False
                asked.schema_refused = asked.schema_refused or refuses_schema(reply)
                asked.spent.failed -= 1  # there is another way
            self._keep(role, key, reply)
        await self._calls[role].check_reached(reply, _ADVICE)
        return reply

    def _recalled(self, asked: AskedModel, key: str, use: CacheUse) -> Reply | None:
        if not asked.model.cacheable:
            return None
        paid = self._paid.get(key) if self._paid is not None else None
        if paid is not None and paid.reply is not None:
            return paid.reply
        if self._cache is None or not use.allowed:
            return None
        cached = recall(self._cache, key)
        use.used = use.used or cached is not None
        return cached

    def _keep(self, role: str, key: str, reply: Reply) -> None:
        """In the build's folder first: a kill between the two costs nothing. WriteError."""
        model = self.models[role].model
        if not model.cacheable:
            return
        if self._paid is not None:
            self._paid.put(PaidReply(key, role, model.name, reply))
        if self._cache is not None:
            remember(self._cache, key, model.name, reply)

    async def _called(self, role: str, request: ChatRequest) -> Reply:
        asked, calls = self.models[role], self._calls[role]
        with calls.under_way():
            reply = tidy(await calls.reply(request))
        failed = int(reply.status is Status.ERROR)
        usage = reply.usage
        asked.spent += Spent(reply.calls, usage.tokens_in, usage.tokens_out, failed=failed)
        return reply


def _said(reply: Reply) -> Message:
    """What the model said, for itself to see; some endpoints refuse an empty message."""
    said = reply.text.replace("\0", "").strip()[:_SHOWN_AGAIN]
    return Message("assistant", said or "(nothing)")
