"""Judges, raters, comparers and decomposers that ask a chat model, outside of any event loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from trueground.errors import UsageError
from trueground.loop import LoopThread
from trueground.models.base import ChatModel, ChatRequest, Params, Reply, request_key
from trueground.models.options import OPTIONS, endpoint_options
from trueground.models.registry import make_model
from trueground.models.runner import ModelRequest, ReplySlot, RequestRunner
from trueground.models.usage import Usage
from trueground.net.cache import ResponseCache, cache_path
from trueground.plugins import PartSpec
from trueground.types import Status

# One word is enough, but models that think before they answer do so within the limit too.
MAX_TOKENS = 512
MAX_SHOWN_CHARS = 2_000  # of a reply in which nothing could be read
MAX_RECENT_REPLIES = 4_000


def model_of(spec: PartSpec) -> ChatModel:
    """Return the chat model in `llm:MODEL(…)`. Raises UsageError."""
    if spec.model is None:
        raise UsageError(
            f"the {spec.kind} {spec.name} needs a model; write {spec.name}:MODEL, as in "
            f'"{spec.name}:gpt-4o(base_url=https://host/v1,api_key_env=KEY)"'
        )
    return make_model(spec.model, endpoint_options(spec, f"the {spec.kind} {spec.name}"))


def shorten_reply(reply: str, limit: int = MAX_SHOWN_CHARS) -> str:
    """Return a raw reply for the evidence, cut and marked as cut if it is long."""
    if len(reply) <= limit:
        return reply
    return f"{reply[:limit]} … ({len(reply):,} characters in all)"


def describe_failure(reply: Reply, subject: str) -> str:
    """Return why a reply with a status can't be used; `subject` is what was in the prompt."""
    if reply.status is Status.TRUNCATED:
        return "the model's reply was cut off at the token limit"
    if reply.status is Status.TOO_LONG:
        return f"{subject} is too long for the model: {reply.error}"
    return f"the call failed: {reply.error}"


class SyncRequestRunner:
    """A `RequestRunner` for callers without an event loop, with the response cache.

    It works in a thread that starts with the first request, so it also works inside a running event
    loop. Not for use by several threads at once. If it isn't closed, it is closed when the process
    ends.
    """

    def __init__(self, model: ChatModel, *, cache: bool = True) -> None:
        """`cache` is False if nothing may be read from the response cache or written to it."""
        self.model = model
        self._use_cache = cache and model.cacheable
        self._caches: list[ResponseCache] = []  # the open one, if any
        self._cache_problem: str | None = None
        self._recent: dict[str, Reply] = {}
        self._reuses_recent = False
        kept_so_far = "Replies so far are cached; fix" if self._use_cache else "Fix"
        again = "the cause and run the same command again (`score` with --overwrite)"
        self._runner = RequestRunner(model, advice=f"{kept_so_far} {again}")
        caches = self._caches

        async def end() -> None:
            try:
                await model.close()
            finally:
                for cache in caches:
                    cache.close()

        self._loop = LoopThread("asker", end)

    @property
    def spent(self) -> Usage:
        """What the requests have cost so far."""
        return self._runner.usage

    @property
    def trouble(self) -> str | None:
        """Why the first call that failed gave no reply."""
        return self._runner.first_error

    @property
    def problem(self) -> str | None:
        """Why replies were no longer cached; None if they were."""
        return self._cache_problem or next((cache.problem for cache in self._caches), None)

    def ask(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return one reply per request, in their order; equal requests are sent once.

        A call that fails gives a Reply with a status. Raises UnreachableError.
        """
        keys = [request_key(self.model.signature, request) for request in requests]
        unique = dict(zip(keys, requests, strict=True))
        replies: dict[str, Reply] = {}
        if self._reuses_recent:
            replies = {key: self._recent[key] for key in unique if key in self._recent}
        missing = [
            ModelRequest(request, id=key, key=key)
            for key, request in unique.items()
            if key not in replies
        ]
        if missing:
            self._open_cache()

            def take(slot: ReplySlot, reply: Reply) -> None:
                replies[slot.id] = reply
                self._remember(slot.id, reply)

            self._loop.run(self._runner.run_all(iter(missing), take))
        return [replies[key] for key in keys]

    @contextmanager
    def again(self) -> Iterator[None]:
        """Give the last replies once more inside: no request that just had a reply is sent."""
        before, self._reuses_recent = self._reuses_recent, True
        try:
            yield
        finally:
            self._reuses_recent = before

    def forgive(self, failed: int) -> None:
        """Leave failed requests out of `spent`: the caller has another way."""
        self._runner.forgive(failed)

    def close(self) -> None:
        """Close the model and the cache; the next request opens them again."""
        try:
            self._loop.close()
        finally:
            self._cache_problem = self.problem
            self._caches.clear()
            self._runner.attach(None)

    def _open_cache(self) -> None:
        if self._use_cache and not self._caches:
            self._caches.append(ResponseCache(cache_path()))
            self._runner.attach(self._caches[0])

    def _remember(self, key: str, reply: Reply) -> None:
        self._recent.pop(key, None)
        self._recent[key] = reply
        if len(self._recent) > MAX_RECENT_REPLIES:
            del self._recent[next(iter(self._recent))]


class LLMComponent(SyncRequestRunner):
    """A judge, rater, comparer or decomposer `NAME:MODEL(option=value)` that asks a chat model."""

    in_one_process = True

    def __init__(
        self, spec: PartSpec, options: Iterable[str] = (), max_tokens: int = MAX_TOKENS
    ) -> None:
        """Make the model and read the options of the component.

        The temperature is 0 unless the spec has one; with `none` the model chooses.

        Args:
            spec: The component as the user writes it.
            options: Names of its options other than temperature, max_tokens and the endpoint's.
            max_tokens: The default of max_tokens.

        Raises:
            UsageError: An option is unknown or invalid, or there is no model.
        """
        spec.check((*OPTIONS, "temperature", "max_tokens", *options))
        is_free = spec.options.get("temperature") == "none"
        self._params = Params(
            temperature=None if is_free else spec.number("temperature", 0, 0),
            max_tokens=spec.whole("max_tokens", max_tokens),
        )
        super().__init__(model_of(spec), cache=spec.cache)

    def _sign(self, version: str, *parts: str) -> str:
        """Return the signature: version, model, `parts`, and options that can change a reply."""
        temperature, limit = self._params.temperature, self._params.max_tokens
        shown = "none" if temperature is None else f"{temperature:g}"
        sampling = f"temperature={shown}", f"max_tokens={limit}"
        return "/".join((version, self.model.signature, *parts, *sampling))
