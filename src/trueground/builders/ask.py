"""Asking models within a stage: replies as checked objects, kept in the response cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from trueground.builders.fallen import Fallen
from trueground.builders.jsonreply import Unreadable, read_object
from trueground.errors import UsageError
from trueground.models.asker import Spent
from trueground.models.base import ChatModel, ChatRequest, Message, Params, Reply, tidy
from trueground.models.cached import recall, remember, request_key
from trueground.models.calls import Calls
from trueground.net.cache import ResponseCache
from trueground.types import Status

T = TypeVar("T", bound=msgspec.Struct)
# Why an item falls in any stage that asks, beside the stage's own reasons.
REASONS: Mapping[str, str] = {
    "call_failed": "the call failed; the next run asks again",
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
_REFUSES = ("response_format", "json_schema", "guided", "structured", "schema")


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


class Ask:
    """The models of a build by their roles. Belongs to one event loop.

    `scorer` is what gives perplexities, where the builder has one (models.perplexity).
    """

    def __init__(
        self,
        models: Mapping[str, Asked],
        cache: ResponseCache | None,
        scorer: Any = None,
    ) -> None:
        self.models = models
        self.scorer = scorer
        self.cache = cache
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
        schema = _schema(kind)
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
            again = _AGAIN.format(problem=found.detail, schema=_text(schema))
            # Some endpoints refuse an empty message.
            said = Message("assistant", reply.text.strip() or "(nothing)")
            turns = (*turns, said, Message("user", again))
        raise Fallen(found.reason, found.detail)

    async def text(
        self, role: str, messages: Sequence[Message], *, max_tokens: int | None = None
    ) -> str:
        """The model's words, without white space around them. Raises Fallen with one of REASONS."""
        reply = await self._reply(role, tuple(messages), max_tokens, None)
        if not reply.text.strip():
            raise Fallen("empty_reply", "the reply is empty")
        return reply.text.strip()

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
        offers = schema is not None and getattr(asked.model, "offers_schema", False)
        if offers and asked.structured and schema is not None:
            with_schema = msgspec.structs.replace(params, extra=params.extra | _format(schema))
            reply = await self._one(role, ChatRequest(messages, with_schema))
            if not _refuses_schema(reply):
                return _whole(reply)
            asked.structured = False
        return _whole(await self._one(role, ChatRequest(messages, params)))

    async def _one(self, role: str, request: ChatRequest) -> Reply:
        """One reply, from the cache where it is there. UnreachableError."""
        asked = self.models[role]
        cache = self.cache if asked.model.cacheable else None
        key = request_key(asked.model.signature, request)
        while key in self._flying:
            await self._flying[key].wait()
        kept = recall(cache, key) if cache is not None else None
        if kept is not None:
            asked.spent.cache_hits += 1
            await asyncio.sleep(0)  # many in a row must not keep all else from going on
            return kept
        arrived = self._flying[key] = asyncio.Event()
        try:
            async with self._room[role]:
                reply = await self._called(role, request)
            if cache is not None:
                remember(cache, key, asked.model.name, reply)
        finally:
            del self._flying[key]
            arrived.set()
        await self._calls[role].see_reached(reply, _ADVICE)
        return reply

    async def _called(self, role: str, request: ChatRequest) -> Reply:
        asked, calls = self.models[role], self._calls[role]
        with calls.under_way():
            reply = tidy(await calls.reply(request))
        failed = int(reply.status is Status.ERROR)
        usage = reply.usage
        asked.spent += Spent(1, usage.tokens_in, usage.tokens_out, failed=failed)
        return reply


def _schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a Struct, strict as endpoints want it: all fields, and no others."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = schema["$ref"].rpartition("/")[2]
    strict = {key: _strict(part) for key, part in parts.items()}
    whole = strict.pop(name)
    return whole | ({"$defs": strict} if strict else {})


def _strict(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "object" or "properties" not in part:
        return part
    return part | {"required": list(part["properties"]), "additionalProperties": False}


def _format(schema: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": "reply", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _text(schema: Mapping[str, Any]) -> str:
    return msgspec.json.encode(schema).decode()


def _refuses_schema(reply: Reply) -> bool:
    """Did the endpoint refuse the call because of the schema?"""
    said = (reply.error or "").lower()
    return reply.status is Status.ERROR and any(word in said for word in _REFUSES)


def _whole(reply: Reply) -> Reply:
    """The reply itself, if there is a whole one. Raises Fallen."""
    if reply.refusal:
        raise Fallen("refused", reply.text[:200])
    if reply.status is Status.TRUNCATED:
        raise Fallen("truncated", "the reply was cut off; give --max-tokens a larger number")
    if reply.status is Status.TOO_LONG:
        raise Fallen("too_long", reply.error or "")
    if reply.status is not None:
        raise Fallen("call_failed", reply.error or "", passing=True)
    return reply
