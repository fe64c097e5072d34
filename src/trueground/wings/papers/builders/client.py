"""The models of a build. Replies are checked objects, and each is paid for only once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from trueground.errors import UsageError
from trueground.models import (
    ChatModel,
    ChatRequest,
    LogprobRunner,
    Message,
    ModelRequest,
    Params,
    Reply,
    ReplySlot,
    ReplyStore,
    RequestRunner,
)
from trueground.net import ResponseCache
from trueground.types import Status, Usage
from trueground.wings.papers.builders.base import CALL_FAILED, REASONS, Rejected
from trueground.wings.papers.builders.json_reply import T, read_object, schema_of
from trueground.wings.papers.builders.store import BuildStore

PERPLEXITY = "perplexity"  # the role of the scorer
MAX_REPEATED_CHARS = 4_000  # of a reply that could not be used, shown to the model
_AGAIN = (
    "Your reply could not be used: {problem}.\nReply once more, with one JSON object and nothing "
    "else. It must match this JSON schema:\n{schema}"
)
_ADVICE = "All replies are kept. Fix the cause and rerun the same command to resume"
# Words in errors of endpoints that don't take JSON schemas, and beginnings of rejected calls.
_SCHEMA_WORDS = ("response_format", "json_schema", "guided", "structured", "schema", "grammar")
_REFUSALS = ("HTTP 400", "HTTP 422", "HTTP 501")


@dataclass
class RoleModel:
    """The model of a role, with its parameters.

    Attributes:
        model: The model.
        params: The parameters of its requests.
        schema: Whether its endpoint takes a JSON schema. "open": unknown; "taken": it accepted
            one; "doubted": it rejected a call for an unknown reason; "refused": it rejected a
            schema.
    """

    model: ChatModel
    params: Params = field(default_factory=Params)
    schema: Literal["open", "taken", "doubted", "refused"] = "open"

    def __post_init__(self) -> None:
        self.runner = RequestRunner(self.model, advice=_ADVICE)

    @property
    def usage(self) -> Usage:
        """Calls and tokens in this session."""
        return self.runner.usage

    @property
    def is_structured(self) -> bool:
        """Whether requests have a schema."""
        has_schemas = getattr(self.model, "offers_schema", False)
        return has_schemas and self.schema in ("open", "taken")

    def may_be_the_schema(self, reply: Reply) -> bool:
        """Return whether the same call without the schema may succeed."""
        return _refuses_schema(reply) or (self.schema != "taken" and _is_refused(reply))


@dataclass(frozen=True)
class _RoleReplies(ReplyStore):
    """The replies, or the log-probabilities, of one role in the store of a build."""

    store: BuildStore
    role: str
    model: str
    needs_key = True

    def load(self, slot: ReplySlot) -> Reply | None:
        return None if slot.key is None else self.store.paid(slot.key, Reply)

    def keep(
        self, slot: ReplySlot, reply: Reply, seconds: float | None, *, is_cached: bool
    ) -> None:
        if seconds is not None and slot.key is not None:
            self.store.put_paid(slot.key, self.role, self.model, reply)

    def load_logprobs(self, key: str) -> list[float] | None:
        return self.store.paid(key, list[float])

    def keep_logprobs(self, key: str, logprobs: list[float]) -> None:
        self.store.put_paid(key, self.role, self.model, logprobs)


@dataclass
class _CacheUse:
    """Whether replies may come from the response cache, and whether one did."""

    is_allowed: bool
    is_used: bool = False


class ModelClient:
    """The models of a build by their roles. Belongs to one event loop.

    What is paid for is in the build's store before it is used, and in the response cache.
    """

    def __init__(
        self,
        models: Mapping[str, RoleModel],
        cache: ResponseCache | None = None,
        store: BuildStore | None = None,
        *,
        scorer: LogprobRunner | None = None,
        reuse_bad: bool = False,
    ) -> None:
        """Connect the models with what keeps replies.

        Args:
            models: The models by role.
            cache: The response cache; None if replies are not cached.
            store: The build's store; None if there is none.
            scorer: Gives log-probabilities, if the builder needs them.
            reuse_bad: Whether a cached reply of another build is used again if it has no valid
                object.
        """
        self.models = models
        self._scorer, self._reuse_bad = scorer, reuse_bad
        runners = [model.runner for model in models.values()]
        for role, model in models.items():
            replies = None if store is None else _RoleReplies(store, role, model.model.name)
            model.runner.attach(cache, replies)
            model.runner.in_flight = runners[0].in_flight  # since roles may share a model
        if scorer is not None:
            replies = None if store is None else _RoleReplies(store, PERPLEXITY, scorer.name)
            scorer.attach(cache, replies)

    async def ask(
        self,
        role: str,
        messages: Sequence[Message],
        kind: type[T],
        *,
        check: Callable[[T], str | None] = lambda _reply: None,
    ) -> T:
        """Return the object in the model's reply, asking once more if it can't be read.

        Args:
            role: The role of the model.
            messages: The prompt.
            kind: A Struct. The endpoint gets its JSON schema, if it takes one.
            check: Says what is wrong with the object, or raises a Rejected. The model gets the
                reason once.

        Raises:
            Rejected: With one of REASONS, or that of `check`.
        """
        use = _CacheUse(True)
        try:
            return await self._ask(role, messages, kind, check, use)
        except Rejected as rejected:
            if rejected.transient or self._reuse_bad or not use.is_used:
                raise
        return await self._ask(role, messages, kind, check, _CacheUse(False))

    async def logprobs(self, text: str) -> list[float]:
        """Return the log-probability of each token of a text. Raises as PromptScorer does."""
        return await self._text_scorer.logprobs(text)

    async def perplexity(self, text: str) -> float:
        """Return the perplexity of a text. Raises as PromptScorer does."""
        return await self._text_scorer.perplexity(text)

    @property
    def _text_scorer(self) -> LogprobRunner:
        if self._scorer is None:
            raise UsageError("this builder has no scorer of perplexities")
        return self._scorer

    async def _ask(
        self,
        role: str,
        messages: Sequence[Message],
        kind: type[T],
        check: Callable[[T], str | None],
        use: _CacheUse,
    ) -> T:
        schema = schema_of(kind)
        turns = tuple(messages)
        for is_last in (False, True):
            reply = await self._reply(role, turns, schema, use)
            try:
                answer = read_object(reply.text, kind)
                if (problem := check(answer)) is not None:
                    raise Rejected("wrong_fields", problem)
            except Rejected as rejected:
                if is_last:
                    raise
                reason, problem = rejected.reason, rejected.detail
            else:
                return answer
            if reason not in REASONS:
                problem = f"{reason.replace('_', ' ')}: {problem}"
            again = _AGAIN.format(problem=problem, schema=msgspec.json.encode(schema).decode())
            # Some endpoints refuse an empty message.
            text = reply.text.replace("\0", "").strip()[:MAX_REPEATED_CHARS] or "(nothing)"
            turns = (*turns, Message("assistant", text), Message("user", again))
        raise AssertionError  # the second round returns or raises

    async def _reply(
        self,
        role: str,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any],
        use: _CacheUse,
    ) -> Reply:
        """Return a reply with a text; the schema is sent as long as the endpoint takes one."""
        if role not in self.models:
            raise UsageError(f"the role {role!r} has no model")
        model = self.models[role]
        if model.is_structured:
            reply = await self._structured_reply(model, messages, schema, use)
            if reply is not None:
                return _check_reply(reply)
        request = ModelRequest(ChatRequest(messages, model.params))
        plain = await self._send(model, request, use)
        assert plain is not None
        if _is_refused(plain) and model.schema == "doubted":
            model.schema = "open"  # the schema was not the cause
        return _check_reply(plain)

    async def _structured_reply(
        self,
        model: RoleModel,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any],
        use: _CacheUse,
    ) -> Reply | None:
        """Return the reply to a request with the schema; None if it must be sent without."""
        named = {"name": "reply", "strict": True, "schema": schema}
        extra = {"response_format": {"type": "json_schema", "json_schema": named}}
        params = msgspec.structs.replace(model.params, extra=model.params.extra | extra)
        request = ModelRequest(ChatRequest(messages, params))
        # Another call may have shown meanwhile that the endpoint takes no schema.
        reply = await self._send(model, request, use, lambda: not model.is_structured)
        if reply is None:
            return None
        if model.may_be_the_schema(reply):
            is_refused = _refuses_schema(reply) or model.schema == "refused"
            model.schema = "refused" if is_refused else "doubted"
            model.runner.forgive(1)  # the plain request may succeed
            return None
        if reply.status is None and model.schema == "open":
            model.schema = "taken"
        return reply

    async def _send(
        self,
        model: RoleModel,
        request: ModelRequest,
        use: _CacheUse,
        is_obsolete: Callable[[], bool] | None = None,
    ) -> Reply | None:
        received = await model.runner.run(
            request, use_cache=use.is_allowed, is_obsolete=is_obsolete
        )
        if received is None:
            return None
        use.is_used = use.is_used or received.is_cached
        return received.reply


def _refuses_schema(reply: Reply) -> bool:
    """Return whether the endpoint refused the call and blamed the schema."""
    text = (reply.error or "").lower()
    return reply.status is Status.ERROR and any(word in text for word in _SCHEMA_WORDS)


def _is_refused(reply: Reply) -> bool:
    """Return whether the endpoint refused the call for whatever reason."""
    return reply.status is Status.ERROR and (reply.error or "").startswith(_REFUSALS)


def _check_reply(reply: Reply) -> Reply:
    """Return the reply if its text is complete. Raises Rejected."""
    if reply.refusal:
        raise Rejected("refused", reply.text[:200])
    if reply.status is Status.TRUNCATED:
        raise Rejected("truncated", "the reply was cut off; give --max-tokens a larger number")
    if reply.status is Status.TOO_LONG:
        raise Rejected("too_long", reply.error or "")
    if reply.status is not None:
        raise Rejected(CALL_FAILED, reply.error or "", transient=True)
    return reply
