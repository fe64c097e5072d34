"""Components that call a chat model without an event loop: judges, raters, decomposers …"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import msgspec

from trueground.components import ComponentSpec
from trueground.errors import UsageError
from trueground.execution import LoopThread
from trueground.models.base import ChatModel, ChatRequest, Params, Reply
from trueground.models.options import OPTIONS, ModelOptions, endpoint_options
from trueground.models.registry import make_model
from trueground.models.runner import ModelRequest, ReplySlot, RequestRunner
from trueground.net import ResponseCache
from trueground.types import Usage

# One word is enough, but models that think before they answer do so within the limit too.
MAX_TOKENS = 512
MAX_RECENT_REPLIES = 4_000
_SAMPLING = ("temperature", "max_tokens")  # options next to those of the endpoint


class ConfiguredModel(NamedTuple):
    """A chat model, and how it generates."""

    model: ChatModel
    params: Params


def configure_model(
    spec: ComponentSpec,
    who: str,
    *,
    params: Params,
    name: str | None = None,
    endpoint: ModelOptions | None = None,
    options: Iterable[str] = (),
) -> ConfiguredModel:
    """Return the chat model of a spec such as `llm:MODEL(temperature=0.5,base_url=URL)`.

    Args:
        spec: The spec of the user.
        who: The component, as errors call it.
        params: Parameters that the spec doesn't have. `temperature=none` in the spec leaves the
            temperature to the model.
        name: The name of the model. Default: the name in the spec.
        endpoint: Options of the endpoint that the spec doesn't have.
        options: Names of further options that the spec may have.

    Raises:
        UsageError: An option is unknown or invalid, or there is no model.
    """
    spec.check((*OPTIONS, *_SAMPLING, *options))
    if spec.options.get("temperature") == "none":
        params = msgspec.structs.replace(params, temperature=None)
    elif "temperature" in spec.options:
        params = msgspec.structs.replace(params, temperature=spec.number("temperature", None, 0))
    if "max_tokens" in spec.options:
        params = msgspec.structs.replace(params, max_tokens=spec.whole("max_tokens", 1))
    name = name or spec.model
    if name is None:
        raise UsageError(
            f"{who} needs a model. Write {spec.name}:MODEL, such as "
            f'"{spec.name}:gpt-4o(base_url=https://host/v1,api_key_env=KEY)"'
        )
    return ConfiguredModel(make_model(name, endpoint_options(spec, who, endpoint)), params)


class SyncRequestRunner:
    """A `RequestRunner` for callers without an event loop, with the response cache.

    It works in a thread that starts with the first request, so it also works inside a running event
    loop. Not for use by several threads at once. If it isn't closed, it is closed when the process
    ends.
    """

    def __init__(self, model: ChatModel, *, cache: bool = True) -> None:
        """Start without a connection; `cache` is whether to use the response cache."""
        self.model = model
        self._use_cache = cache and model.cacheable
        self._caches: list[ResponseCache] = []  # the open one, if any
        self._cache_problem: str | None = None
        self._recent: dict[str, Reply] = {}
        self._reuses_recent = False
        advice = "Fix the cause and run the same command again (`score` with --overwrite)"
        if self._use_cache:
            advice = f"Replies so far are cached. {advice}"
        self._runner = RequestRunner(model, advice=advice)
        caches = self._caches

        async def end() -> None:
            try:
                await model.close()
            finally:
                for cache in caches:
                    cache.close()

        self._loop = LoopThread("asker", end)

    @property
    def usage(self) -> Usage:
        """The usage of all requests so far."""
        return self._runner.usage

    @property
    def first_error(self) -> str | None:
        """The error of the first call that failed, or None."""
        return self._runner.first_error

    @property
    def cache_problem(self) -> str | None:
        """Why caching stopped, or None."""
        return self._cache_problem or next((cache.problem for cache in self._caches), None)

    def run_all(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return one reply per request, in their order; equal requests are sent once.

        A call that fails gives a Reply with a status. Raises UnreachableError.
        """
        keys = [request.cache_key(self.model.signature) for request in requests]
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
        """Reuse recent replies inside: a request that just had a reply isn't sent again."""
        before, self._reuses_recent = self._reuses_recent, True
        try:
            yield
        finally:
            self._reuses_recent = before

    def forgive(self, failed: int) -> None:
        """Leave failed requests out of `usage`, because the caller handles them."""
        self._runner.forgive(failed)

    def close(self) -> None:
        """Close the model and the cache; the next request opens them again."""
        try:
            self._loop.close()
        finally:
            self._cache_problem = self.cache_problem
            self._caches.clear()
            self._runner.attach(None)

    def _open_cache(self) -> None:
        if self._use_cache and not self._caches:
            self._caches.append(ResponseCache.open())
            self._runner.attach(self._caches[0])

    def _remember(self, key: str, reply: Reply) -> None:
        self._recent.pop(key, None)
        self._recent[key] = reply
        if len(self._recent) > MAX_RECENT_REPLIES:
            del self._recent[next(iter(self._recent))]


class LLMComponent:
    """Base class of components that call a chat model, `NAME:MODEL(option=value)`.

    Put it before the other base class: `class LLMJudge(LLMComponent, Judge)`.
    """

    in_one_process = True

    def __init__(
        self, spec: ComponentSpec, options: Iterable[str] = (), max_tokens: int = MAX_TOKENS
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
        params = Params(temperature=0, max_tokens=max_tokens)
        who = f"the {spec.kind} {spec.name}"
        model, self._params = configure_model(spec, who, params=params, options=options)
        self._runner = SyncRequestRunner(model, cache=spec.cache)

    @staticmethod
    def shared_options(spec: ComponentSpec) -> dict[str, str]:
        """Return the options of a spec that all components with a language model have."""
        shared = spec.options.keys() & {*OPTIONS, *_SAMPLING}
        return {name: value for name, value in spec.options.items() if name in shared}

    @property
    def spent(self) -> Usage:
        """The usage of all requests so far."""
        return self._runner.usage

    @property
    def trouble(self) -> str | None:
        """The error of the first call that failed, or None."""
        return self._runner.first_error

    @property
    def problem(self) -> str | None:
        """Why caching stopped, or None."""
        return self._runner.cache_problem

    def ask(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return one reply per request, see `SyncRequestRunner.run_all`."""
        return self._runner.run_all(requests)

    def again(self) -> AbstractContextManager[None]:
        """Return a context in which recent replies are reused."""
        return self._runner.again()

    def forgive(self, failed: int) -> None:
        """Leave failed requests out of `spent`, because the caller handles them."""
        self._runner.forgive(failed)

    def close(self) -> None:
        """Close the model and the cache; the next request opens them again."""
        self._runner.close()

    def _sign(self, version: str, *parts: str) -> str:
        """Return the signature: version, model, `parts`, and options that can change a reply."""
        temperature, limit = self._params.temperature, self._params.max_tokens
        temperature_text = "none" if temperature is None else f"{temperature:g}"
        sampling = f"temperature={temperature_text}", f"max_tokens={limit}"
        return "/".join((version, self._runner.model.signature, *parts, *sampling))
