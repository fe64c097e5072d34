"""Asking models within a stage: replies as checked objects, kept in the response cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from trueground.builders.fallen import Fallen
from trueground.builders.jsonreply import Unreadable, read_object
from trueground.builders.replies import Paid, ReplyLog
from trueground.builders.schemas import (
    as_parameter,
    as_text,
    is_refused,
    refuses_schema,
    schema_of,
)
from trueground.errors import UsageError
from trueground.models.asker import Spent
from trueground.models.base import ChatModel, ChatRequest, Message, Params, Reply, tidy
from trueground.models.cached import recall, remember, request_key
from trueground.models.calls import Calls
from trueground.net.cache import ResponseCache
from trueground.types import Status

T = TypeVar("T", bound=msgspec.Struct)
CALL_FAILED = "call_failed"
# Why an item falls in any stage that asks, beside the stage's own reasons.
REASONS: Mapping[str, str] = {
    CALL_FAILED: "the call failed; the next run asks again",
    "truncated": "the reply was cut off at the token limit",
    "too_long": "the prompt is too long for the model",
    "refused": "the model declined to answer",
    "empty_reply": "the reply was empty, twice",
    "not_json": "the reply held no JSON, twice",
    "wrong_fields": "the reply's JSON lacked a field or had a wrong one, twice",
}
_AGAIN = (
    "Your reply could not be used: {problem}.\nReply once more, with one JSON object and nothing "
    "else. It must match this JSON schema:\n{schema}"
)
_ADVICE = "What was made is kept; mend the cause and run the same command again to go on"
_NOTHING = "Your reply was empty. Reply once more."
_SHOWN_AGAIN = 4_000  # characters of a reply that could not be used, for the model to see


def no_objection(_made: Any) -> str | None:
    """Every object that has the fields is as it should be."""
    return None


@dataclass
class Asked:
    """A model that has a role, and how it is asked."""

    model: ChatModel
    params: Params = field(default_factory=Params)
    spent: Spent = field(default_factory=Spent)
    structured: bool = True  # until the endpoint says that it offers no JSON schema
    schema_refused: bool = False  # whether it said so in words
    taken: bool = False  # whether it has taken one

    @property
    def offers(self) -> bool:
        """Whether the model's kind can be asked for JSON of a schema."""
        return bool(getattr(self.model, "offers_schema", False))

    def may_be_the_schema(self, reply: Reply) -> bool:
        """Might the same call without the schema fare better?"""
        return refuses_schema(reply) or (not self.taken and is_refused(reply))


class Ask:
    """The models of a build by their roles. Belongs to one event loop.

    `scorer` is what gives perplexities, where the builder has one (models.perplexity). `paid` keeps
    what was paid for in the build's own folder, beside the cache.
    """

    def __init__(
        self,
        models: Mapping[str, Asked],
        cache: ResponseCache | None,
        scorer: Any = None,
        paid: ReplyLog | None = None,
    ) -> None:
        self.models = models
        self.scorer = scorer
        self.cache = cache
        self._paid = paid
        self._calls = {role: Calls(asked.model) for role, asked in models.items()}
        self._room = {
            role: asyncio.Semaphore(asked.model.concurrency) for role, asked in models.items()
        }
        # Keys of calls under way: who asks the same waits for the reply and pays nothing.
        self._flying: dict[str, asyncio.Event] = {}
        for role, calls in self._calls.items():
            calls.workers = models[role].model.concurrency

    async def object(
        self,
        role: str,
        messages: Sequence[Message],
        kind: type[T],
        *,
        see: Callable[[T], str | None] = no_objection,
        max_tokens: int | None = None,
    ) -> T:
        """The object that the model replies with; asked once more where it cannot be read.

        `kind` is a Struct, whose JSON schema is asked for where the endpoint offers that; `see`
        says in words what is wrong with its fields. Raises Fallen with one of REASONS.
        """
        schema = schema_of(kind)
        turns = tuple(messages)
        for last in (False, True):
            reply = await self._reply(role, turns, max_tokens, schema)
            try:
                made = read_object(reply.text, kind)
                problem = see(made)
                if problem is None:
                    return made
                found = Unreadable("wrong_fields", problem)
            except Unreadable as unreadable:
                found = unreadable
            if last:
                break
            again = _AGAIN.format(problem=found.detail, schema=as_text(schema))
            turns = (*turns, _said(reply), Message("user", again))
        raise Fallen(found.reason, found.detail)

    async def text(
        self, role: str, messages: Sequence[Message], *, max_tokens: int | None = None
    ) -> str:
        """The model's words, without white space around them; asked once more where there are none.

        Raises Fallen with one of REASONS.
        """
        reply = await self._reply(role, tuple(messages), max_tokens, None)
        if not _words(reply):
            turns = (*messages, _said(reply), Message("user", _NOTHING))
            reply = await self._reply(role, turns, max_tokens, None)
        if not _words(reply):
            raise Fallen("empty_reply", "the reply is empty")
        return _words(reply)

    async def _reply(
        self,
        role: str,
        messages: tuple[Message, ...],
        max_tokens: int | None,
        schema: Mapping[str, Any] | None,
    ) -> Reply:
        """A whole reply. Raises Fallen."""
        if role not in self.models:
            raise UsageError(f"no model for the role {role!r} was given")
        asked = self.models[role]
        params = asked.params
        if params.max_tokens is None and max_tokens is not None:
            params = msgspec.structs.replace(params, max_tokens=max_tokens)
        if schema is not None and asked.structured and asked.offers:
            with_schema = msgspec.structs.replace(params, extra=params.extra | as_parameter(schema))
            reply = await self._one(role, ChatRequest(messages, with_schema), structured=True)
            if reply is not None and not asked.may_be_the_schema(reply):
                asked.taken = asked.taken or reply.status is None
                return _whole(reply)
        plain = await self._one(role, ChatRequest(messages, params))
        assert plain is not None
        if is_refused(plain) and not asked.schema_refused:
            asked.structured = True  # the schema was not what was wrong
        return _whole(plain)

    async def _one(
        self, role: str, request: ChatRequest, *, structured: bool = False
    ) -> Reply | None:
        """One reply, from what was paid for where it is there. UnreachableError.

        None where the endpoint has refused the schema of another call meanwhile.
        """
        asked = self.models[role]
        key = request_key(asked.model.signature, request)
        while key in self._flying:
            await self._flying[key].wait()
        kept = self._recalled(asked, key)
        if kept is not None:
            asked.spent.cache_hits += 1
            await asyncio.sleep(0)  # many in a row must not keep all else from going on
            return kept
        arrived = self._flying[key] = asyncio.Event()
        try:
            async with self._room[role]:
                if structured and not asked.structured:
                    return None
                reply = await self._called(role, request)
            if structured and asked.may_be_the_schema(reply):
                asked.structured = False
                asked.schema_refused = asked.schema_refused or refuses_schema(reply)
                asked.spent.failed -= 1  # there is another way
            self._keep(role, key, reply)
        finally:
            del self._flying[key]
            arrived.set()
        await self._calls[role].see_reached(reply, _ADVICE)
        return reply

    def _recalled(self, asked: Asked, key: str) -> Reply | None:
        if not asked.model.cacheable:
            return None
        kept = self._paid.get(key) if self._paid is not None else None
        if kept is None and self.cache is not None:
            kept = recall(self.cache, key)
        return kept

    def _keep(self, role: str, key: str, reply: Reply) -> None:
        """In the build's folder first: a kill between the two costs nothing. WriteError."""
        model = self.models[role].model
        if not model.cacheable:
            return
        if self._paid is not None:
            self._paid.put(Paid(key, role, model.name, reply))
        if self.cache is not None:
            remember(self.cache, key, model.name, reply)

    async def _called(self, role: str, request: ChatRequest) -> Reply:
        asked, calls = self.models[role], self._calls[role]
        with calls.under_way():
            reply = tidy(await calls.reply(request))
        failed = int(reply.status is Status.ERROR)
        usage = reply.usage
        asked.spent += Spent(1, usage.tokens_in, usage.tokens_out, failed=failed)
        return reply


def _words(reply: Reply) -> str:
    """The text as files can hold it."""
    return reply.text.replace("\0", "").strip()


def _said(reply: Reply) -> Message:
    """What the model said, for itself to see; some endpoints refuse an empty message."""
    return Message("assistant", _words(reply)[:_SHOWN_AGAIN] or "(nothing)")


def _whole(reply: Reply) -> Reply:
    """The reply itself, if there is a whole one. Raises Fallen."""
    if reply.refusal:
        raise Fallen("refused", reply.text[:200])
    if reply.status is Status.TRUNCATED:
        raise Fallen("truncated", "the reply was cut off; give --max-tokens a larger number")
    if reply.status is Status.TOO_LONG:
        raise Fallen("too_long", reply.error or "")
    if reply.status is not None:
        raise Fallen(CALL_FAILED, reply.error or "", passing=True)
    return reply
