"""How likely a text is to a language model: what scores it, and how the numbers are kept."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from trueground.models.base import MIN_LOGPROB
from trueground.models.runner import InFlight, ReplyStore
from trueground.net import ResponseCache
from trueground.stats import exp
from trueground.types import Usage

# Part of every key: a change of what a kept value means must not meet older entries.
_VERSION = "1"
_ROUNDING = 1e-3  # by which a probability of nearly 1 may come out above it
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[float]).decode


class UnscoredText(Exception):  # noqa: N818 - an outcome of one text, not a mistake
    """A text that has no log-probabilities.

    `reason` is `call_failed`, `too_long` (for the model's window) or `too_short` (it has one token
    or none); `detail` says more. With `passing` another attempt, later, may help.
    """

    def __init__(self, reason: str, detail: str, *, passing: bool = False) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail, self.passing = reason, detail, passing


class PromptScorer(Protocol):
    """A causal language model that returns the probability of a text.

    Use an object in one event loop only.

    Attributes:
        name: The name in outputs.
        signature: Identifies everything that affects the numbers, without secrets.
        cacheable: Whether numbers are cached. False if repeating a call costs nothing.
    """

    name: str
    signature: str
    cacheable: bool

    async def logprobs(self, text: str) -> list[float]:
        """Return the log-probability of each token, given the tokens before it.

        A first token without one is dropped. There is at least one number, and none is above 0.

        Raises:
            UnscoredText: This text has no log-probabilities.
            UsageError: A parameter is invalid, so every call would fail.
            UnreachableError: The model can't be reached, so every call would fail.
        """
        ...

    async def close(self) -> None:
        """Give connections and memory back."""
        ...


class WordScorer:
    """No language model: a word of n characters has the log-probability -n/2. For trying out."""

    name = "fake:words"
    signature = "fake:words"
    cacheable = False

    async def logprobs(self, text: str) -> list[float]:
        """One number for each word but the first. Raises UnscoredText for a text of one word."""
        logprobs = [-len(word) / 2 for word in text.split()[1:]]
        if not logprobs:
            raise UnscoredText("too_short", "the text has fewer than two words")
        return logprobs

    async def close(self) -> None:
        """Nothing is held."""


def perplexity(logprobs: Sequence[float]) -> float:
    """exp(-mean) of natural log-probabilities, inf where no float holds it. ValueError for none."""
    if not logprobs:
        raise ValueError("no log-probabilities: the perplexity of no tokens is not defined")
    return exp(-math.fsum(logprobs) / len(logprobs))


def as_logprob(value: object) -> float:
    """A log-probability as models give it; -9999 for minus infinity. ValueError for others."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"found {type(value).__name__} where a log-probability belongs")
    # Don't use isnan: a whole number may be larger than every float.
    if value != value or value > _ROUNDING:
        kind = "NaN" if value != value else "a number above 0"
        raise ValueError(f"found {kind} where a log-probability belongs")
    return float(min(max(value, MIN_LOGPROB), 0.0))


class LogprobRunner:
    """Scores texts, each paid for once. Belongs to one event loop.

    `usage` is what the scores have cost.
    """

    def __init__(
        self,
        scorer: PromptScorer,
        cache: ResponseCache | None = None,
        store: ReplyStore | None = None,
    ) -> None:
        self.name = scorer.name
        self.signature = scorer.signature
        self.usage = Usage()
        self._scorer = scorer
        self._in_flight = InFlight()
        self.attach(cache, store)

    def attach(self, cache: ResponseCache | None, store: ReplyStore | None = None) -> None:
        """Use this cache and store from now on; neither if scores cost nothing."""
        is_kept = self._scorer.cacheable
        self._cache = cache if is_kept else None
        self._store = store if is_kept and store is not None else ReplyStore()

    async def logprobs(self, text: str) -> list[float]:
        """Return the log-probability of each token of a text. Raises as PromptScorer does."""
        key = _logprobs_key(self._scorer, text)
        async with self._in_flight.turn(key):
            logprobs = self._load(key)
            if logprobs:
                self.usage += Usage(cache_hits=1)
                await asyncio.sleep(0)  # many in a row must not delay everything else
                return logprobs
            self.usage += Usage(calls=1, failed=1)  # until it succeeds
            logprobs = await self._scorer.logprobs(text)
            self.usage += Usage(tokens_in=len(logprobs) + 1, failed=-1)
            self._store.keep_logprobs(key, logprobs)
            if self._cache is not None:
                self._cache.put(key, _encode(logprobs), model=self.name, tokens=len(logprobs) + 1)
        return logprobs

    async def perplexity(self, text: str) -> float:
        """Return the perplexity of a text. Raises as PromptScorer does."""
        return perplexity(await self.logprobs(text))

    async def close(self) -> None:
        """Close the scorer."""
        await self._scorer.close()

    def _load(self, key: str) -> list[float] | None:
        """Return the kept numbers; None if there are none that can be read."""
        if logprobs := self._store.load_logprobs(key):
            return logprobs
        value = None if self._cache is None else self._cache.get(key)
        if value is None:
            return None
        with suppress(msgspec.MsgspecError):
            return _decode(value)
        return None  # a new score replaces it


def _logprobs_key(scorer: PromptScorer, text: str) -> str:
    """Return the SHA-256 (hex) of the scorer's signature and the text."""
    head = msgspec.json.encode(["perplexity", _VERSION, scorer.signature])
    return hashlib.sha256(head + text.encode("utf-8", "surrogatepass")).hexdigest()
