"""Asking models within a stage: replies as checked objects, each paid for once.

Nothing that a model says is trusted: of a reply only an object of the wanted kind is taken.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from typing import Any, Literal, TypeVar

import msgspec

from trueground.builders.base import CALL_FAILED, REASONS, Rejected
from trueground.builders.store import BuildStore
from trueground.errors import UsageError
from trueground.models.base import ChatModel, ChatRequest, Message, Params, Reply, request_key, tidy
from trueground.models.calls import Calls, InFlight, recall, remember
from trueground.models.perplexity import (
    PromptScorer,
    logprobs_key,
    recall_logprobs,
    remember_logprobs,
)
from trueground.net.cache import ResponseCache
from trueground.records.problems import shorten
from trueground.types import Spent, Status

T = TypeVar("T", bound=msgspec.Struct)
PERPLEXITY = "perplexity"  # what stands for the scorer where models stand by their roles
_AGAIN = (
    "Your reply could not be used: {problem}.\nReply once more, with one JSON object and nothing "
    "else. It must match this JSON schema:\n{schema}"
)
_ADVICE = "What was made is kept; fix the cause and run the same command again to go on"
_SHOWN_AGAIN = 4_000  # characters of a reply that could not be used, for the model to see
# What endpoints say that offer no JSON schema, and how they begin where a call is wrong.
_SCHEMA_WORDS = ("response_format", "json_schema", "guided", "structured", "schema", "grammar")
_REFUSALS = ("HTTP 400", "HTTP 422", "HTTP 501")
# Bounds on the work of looking for an object in what may be anything.
_FENCE, _MOST_FENCES = "```", 20
_MOST_STARTS = 20_000  # braces at which an object is looked for
_MOST_READ = 1 << 19  # characters, of what turned out to be no object
_DEEP = 1 << 12  # what a nest too deep to be read counts as
_LONGEST = 1 << 20  # characters; no object that is asked for comes near
_LARGEST = 2**63 - 1  # what files and other readers take


@dataclass
class AskedModel:
    """A model that has a role, and how it is asked.

    `schema` tells whether its endpoint takes a JSON schema: nobody knows, it has taken one, it
    refused a call for whatever reason, it said that this was because of the schema.
    """

    model: ChatModel
    params: Params = field(default_factory=Params)
    spent: Spent = field(default_factory=Spent)
    schema: Literal["open", "taken", "doubted", "refused"] = "open"

    def __post_init__(self) -> None:
        self.calls = Calls(self.model)
        self.calls.workers = self.model.concurrency
        self.room = asyncio.Semaphore(self.model.concurrency)

    @property
    def structured(self) -> bool:
        """Is a schema to be sent along?"""
        offered = getattr(self.model, "offers_schema", False)
        return offered and self.schema in ("open", "taken")

    def may_be_the_schema(self, reply: Reply) -> bool:
        """Might the same call without the schema fare better?"""
        return _refuses_schema(reply) or (self.schema != "taken" and _is_refused(reply))


@dataclass
class _CacheUse:
    """Whether replies may come from the response cache, and whether one did."""

    allowed: bool
    used: bool = False


class Ask:
    """The models of a build by their roles. Belongs to one event loop.

    `scorer` gives perplexities, where the builder has one, and `scored` is what it cost. What is
    paid for stands in the build's `store` before it is used, and in the `cache`. A reply of another
    build that cannot be used, from the cache, is asked anew unless `reuse_bad`.
    """

    def __init__(
        self,
        models: Mapping[str, AskedModel],
        cache: ResponseCache | None,
        scorer: PromptScorer | None = None,
        store: BuildStore | None = None,
        scored: Spent | None = None,
        *,
        reuse_bad: bool = False,
    ) -> None:
        self.models = models
        self._cache, self._store, self._reuse_bad = cache, store, reuse_bad
        self._scorer, self._scored = scorer, scored or Spent()
        self._in_flight = InFlight()

    async def object(
        self,
        role: str,
        messages: Sequence[Message],
        kind: type[T],
        *,
        check: Callable[[T], str | None] = lambda _reply: None,
    ) -> T:
        """The object that the model replies with; asked once more where it cannot be read.

        `kind` is a Struct, whose JSON schema is asked for where the endpoint offers that; `check`
        says in words what is wrong with its fields, or raises a Rejected of its own. The model is
        told either once. Raises Rejected with one of REASONS, or that of `check`.
        """
        use = _CacheUse(True)
        try:
            return await self._object(role, messages, kind, check, use)
        except Rejected as rejected:
            if rejected.transient or self._reuse_bad or not use.used:
                raise
        return await self._object(role, messages, kind, check, _CacheUse(False))

    async def logprobs(self, text: str) -> list[float]:
        """The log-probability of each token of a text. Raises as PromptScorer does."""
        scorer, spent = self._scorer, self._scored
        if scorer is None:
            raise UsageError("this builder has no scorer of perplexities")
        key = logprobs_key(scorer, text)
        store, cache = (self._store, self._cache) if scorer.cacheable else (None, None)
        async with self._in_flight.turn(key):
            known = store.paid(key, list[float]) if store is not None else None
            if not known and cache is not None:
                known = recall_logprobs(cache, key)
            if known:
                spent.cache_hits += 1
                await asyncio.sleep(0)  # many in a row must not keep all else from going on
                return known
            spent.calls += 1
            spent.failed += 1  # until it has come to something
            found = await scorer.logprobs(text)
            spent.failed -= 1
            spent.tokens_in += len(found) + 1
            if store is not None:
                store.put_paid(key, PERPLEXITY, scorer.name, found)
            if cache is not None:
                remember_logprobs(cache, key, scorer.name, found)
        return found

    async def _object(
        self,
        role: str,
        messages: Sequence[Message],
        kind: type[T],
        check: Callable[[T], str | None],
        use: _CacheUse,
    ) -> T:
        schema = schema_of(kind)
        turns = tuple(messages)
        for last in (False, True):
            reply = await self._reply(role, turns, schema, use)
            try:
                found = read_object(reply.text, kind)
                if (problem := check(found)) is not None:
                    raise Rejected("wrong_fields", problem)
            except Rejected as rejected:
                if last:
                    raise
                reason, problem = rejected.reason, rejected.detail
            else:
                return found
            if reason not in REASONS:
                problem = f"{reason.replace('_', ' ')}: {problem}"
            again = _AGAIN.format(problem=problem, schema=msgspec.json.encode(schema).decode())
            # Some endpoints refuse an empty message.
            said = reply.text.replace("\0", "").strip()[:_SHOWN_AGAIN] or "(nothing)"
            turns = (*turns, Message("assistant", said), Message("user", again))
        raise AssertionError  # the second round returns or raises

    async def _reply(
        self,
        role: str,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any],
        use: _CacheUse,
    ) -> Reply:
        """A reply with a text; the schema is asked for as long as the endpoint takes one."""
        if role not in self.models:
            raise UsageError(f"no model for the role {role!r} was given")
        asked = self.models[role]
        params = asked.params
        if asked.structured:
            named = {"name": "reply", "strict": True, "schema": schema}
            wanted = {"response_format": {"type": "json_schema", "json_schema": named}}
            with_schema = msgspec.structs.replace(params, extra=params.extra | wanted)
            request = ChatRequest(messages, with_schema)
            reply = await self._one(role, request, use, structured=True)
            if reply is not None and not asked.may_be_the_schema(reply):
                if reply.status is None and asked.schema == "open":
                    asked.schema = "taken"
                return _check_reply(reply)
        plain = await self._one(role, ChatRequest(messages, params), use)
        assert plain is not None
        if _is_refused(plain) and asked.schema == "doubted":
            asked.schema = "open"  # it was not what was wrong
        return _check_reply(plain)

    async def _one(
        self, role: str, request: ChatRequest, use: _CacheUse, *, structured: bool = False
    ) -> Reply | None:
        """One reply, from what was paid for where it is there. UnreachableError.

        None where the endpoint has refused the schema of another call meanwhile.
        """
        asked = self.models[role]
        key = request_key(asked.model.signature, request)
        async with self._in_flight.turn(key):
            known = self._recall(asked.model, key, use)
            if known is not None:
                asked.spent.cache_hits += 1
                await asyncio.sleep(0)  # many in a row must not keep all else from going on
                return known
            async with asked.room:
                if structured and not asked.structured:
                    return None
                with asked.calls.under_way():
                    reply = tidy(await asked.calls.reply(request))
            failed = int(reply.status is Status.ERROR)
            if structured and asked.may_be_the_schema(reply):
                said = _refuses_schema(reply) or asked.schema == "refused"
                asked.schema = "refused" if said else "doubted"
                failed -= 1  # there is another way
            usage = reply.usage
            asked.spent += Spent(reply.calls, usage.tokens_in, usage.tokens_out, failed=failed)
            if asked.model.cacheable:
                if self._store is not None:
                    self._store.put_paid(key, role, asked.model.name, reply)
                if self._cache is not None:
                    remember(self._cache, key, asked.model.name, reply)
        await asked.calls.check_reached(reply, _ADVICE)
        return reply

    def _recall(self, model: ChatModel, key: str, use: _CacheUse) -> Reply | None:
        if not model.cacheable:
            return None
        paid = self._store.paid(key, Reply) if self._store is not None else None
        if paid is not None or self._cache is None or not use.allowed:
            return paid
        cached = recall(self._cache, key)
        use.used = use.used or cached is not None
        return cached


@cache
def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a Struct, strict as endpoints want it: all fields, and no others."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = schema["$ref"].rpartition("/")[2]
    strict = {key: _strict(part) for key, part in parts.items()}
    whole = strict.pop(name)
    return whole | ({"$defs": strict} if strict else {})


def _strict(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "object" or "properties" not in part:
        return part
    fields = {
        name: {key: value for key, value in field.items() if key != "default"}
        for name, field in part["properties"].items()
    }
    return part | {"properties": fields, "required": list(fields), "additionalProperties": False}


def _refuses_schema(reply: Reply) -> bool:
    """Did the endpoint refuse the call, and say that it was because of the schema?"""
    said = (reply.error or "").lower()
    return reply.status is Status.ERROR and any(word in said for word in _SCHEMA_WORDS)


def _is_refused(reply: Reply) -> bool:
    """Did the endpoint find something wrong with the call, in whatever words?"""
    return reply.status is Status.ERROR and (reply.error or "").startswith(_REFUSALS)


def _check_reply(reply: Reply) -> Reply:
    """The reply, if it has a whole text. Raises Rejected."""
    if reply.refusal:
        raise Rejected("refused", reply.text[:200])
    if reply.status is Status.TRUNCATED:
        raise Rejected("truncated", "the reply was cut off; give --max-tokens a larger number")
    if reply.status is Status.TOO_LONG:
        raise Rejected("too_long", reply.error or "")
    if reply.status is not None:
        raise Rejected(CALL_FAILED, reply.error or "", transient=True)
    return reply


# Their names stand in the message where a field has such a value; no field can want one.
class SeveralValues:
    """The value of a name that stands twice in an object."""


class NoFiniteNumber:
    """NaN, an infinity, or a number too large for any file."""


def read_object(reply: str, kind: type[T]) -> T:
    """The one JSON object of this kind in a reply; prose and fences around it are passed over.

    `kind` is a msgspec Struct; fields that it does not have are left out. The reply as a whole
    comes first, then what stands in fences, then what stands in prose. Where objects of the kind
    differ, nobody knows which one is meant. Raises Rejected.
    """
    if not reply.strip():
        raise Rejected("empty_reply", "the reply is empty")
    if len(reply) > _LONGEST:
        raise Rejected("not_json", f"the reply is {len(reply):,} characters long")
    problem = ""
    for values in (_parsed([reply]), _parsed(_fenced(reply)), _in_prose(reply)):
        made, wrong = _made(values, kind)
        problem = problem or wrong
        if len(made) > 1:
            raise Rejected("wrong_fields", f"{len(made)} different objects; expected one")
        if made:
            return made[0]
    if problem:
        raise Rejected("wrong_fields", problem)
    raise Rejected("not_json", f'found "{shorten(reply.strip(), 120)}"')


def _made(values: Iterable[dict[str, Any]], kind: type[T]) -> tuple[list[T], str]:
    """(the different objects of the kind, what is wrong with the first that is none)."""
    made: list[T] = []
    wrong = ""
    for value in values:
        try:
            found = msgspec.convert(_clean(value), kind)
        except msgspec.ValidationError as error:
            wrong = wrong or str(error)
        except RecursionError:
            wrong = wrong or "the object is nested too deep"
        else:
            if found not in made:
                made.append(found)
    return made, wrong


def _parsed(texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The texts that are an object each."""
    for text in texts:
        try:
            value = _DECODER.decode(text.strip())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _fenced(reply: str) -> list[str]:
    """What stands between fences, without the word that names the language."""
    inside = reply.split(_FENCE, 2 * _MOST_FENCES)[1::2]
    return [re.sub(r"\A[a-zA-Z]*[ \t]*\n", "", text) for text in inside]


def _in_prose(reply: str) -> Iterator[dict[str, Any]]:
    """The outermost objects anywhere in the reply."""
    end = read = 0
    starts = (match.start() for match in re.finditer(r"\{(?=\s*+[\"}])", reply))
    for _, start in zip(range(_MOST_STARTS), starts, strict=False):
        if read > _MOST_READ:
            return
        if start < end:
            continue
        try:
            value, end = _DECODER.raw_decode(reply, start)
        except json.JSONDecodeError as error:
            read += error.pos - start
            continue
        except (ValueError, RecursionError):
            read += _DEEP
            continue
        if isinstance(value, dict):
            yield value


def _clean(value: Any) -> Any:
    """The same value without what no file can hold: lone surrogates, NUL characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "").strip()
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(one) for name, one in value.items()}
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; the value of a name that stands twice cannot be taken for one."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        made[name] = SeveralValues() if name in made and made[name] != value else value
    return made


def _number(text: str) -> Any:
    value = float(text)
    return value if isfinite(value) else NoFiniteNumber()


def _whole_number(text: str) -> Any:
    value = int(text)
    return value if abs(value) <= _LARGEST else NoFiniteNumber()


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=_number,
    parse_int=_whole_number,
    parse_constant=lambda _: NoFiniteNumber(),
    strict=False,  # line ends inside strings are a common slip
)
