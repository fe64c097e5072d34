"""How likely a text is to a language model: what scores it, and how the numbers are kept."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import msgspec
import orjson

from trueground.arithmetic.scalars import exp
from trueground.errors import UnreachableError, UsageError
from trueground.models.base import CHARACTERS_PER_TOKEN, UNREACHABLE
from trueground.models.openai import find_endpoint
from trueground.models.openai_replies import error_inside, failed, refused
from trueground.models.options import ModelOptions
from trueground.net.cache import ResponseCache
from trueground.net.failures import HttpError, HttpReply, UnusableError, not_json
from trueground.types import Status

# Part of every key: a change of what a kept value means must not meet older entries.
_VERSION = "1"
_LEAST = -9999.0  # what endpoints write for minus infinity
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
    """A causal language model that is asked how likely a text is.

    `signature` fixes the numbers, wherever it runs, and holds no secret; `cacheable` is False where
    asking again costs nothing. Belongs to one event loop.
    """

    name: str
    signature: str
    cacheable: bool

    async def logprobs(self, text: str) -> list[float]:
        """The natural logarithm of each token's probability, given the tokens before it.

        A first token that has none is left out, so there is at least one number, and none above 0.
        Raises UnscoredText for this text; UsageError and UnreachableError where no other would do.
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
        found = [-len(word) / 2 for word in text.split()[1:]]
        if not found:
            raise UnscoredText("too_short", "the text has fewer than two words")
        return found

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
    if value != value or value > _ROUNDING:  # not isnan: a whole number may be beyond all floats
        found = "NaN" if value != value else "a number above 0"
        raise ValueError(f"found {found} where a log-probability belongs")
    return float(min(max(value, _LEAST), 0.0))


def logprobs_key(scorer: PromptScorer, text: str) -> str:
    """SHA-256 (hex) of the scorer's signature and the text: under it the numbers are kept."""
    head = msgspec.json.encode(["perplexity", _VERSION, scorer.signature])
    return hashlib.sha256(head + text.encode("utf-8", "surrogatepass")).hexdigest()


def recall_logprobs(cache: ResponseCache, key: str) -> list[float] | None:
    """The numbers kept under the key; None if there are none that can be read."""
    value = cache.get(key)
    try:
        return None if value is None else _decode(value)
    except msgspec.MsgspecError:
        return None  # asking again gives good ones, which take their place


def remember_logprobs(cache: ResponseCache, key: str, model: str, found: list[float]) -> None:
    cache.put(key, _encode(found), model=model, tokens=len(found) + 1)


_GIVE_UP_AFTER = 20  # calls in a row that came to nobody
_GIVE_UP_FIRST = 3  # texts in a row that failed before any had numbers
_UNKNOWN = (400, 404, 405, 415, 422, 501)  # what servers say to a parameter that they do not know
_CRASHED = 500  # and where they stumble over it
_Object = Mapping[str, Any]


class NoLogprobs(Exception):  # noqa: N818 - says that this form is not offered
    """A reply without log-probabilities of the prompt, and what it holds instead."""


def _read_echo(choice: _Object, usage: _Object, text: str) -> list[float]:
    """From a completion that repeats the prompt: `logprobs.tokens` and `.token_logprobs`.

    Tokens that were generated after the prompt are left out.
    """
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict):
        raise NoLogprobs("the reply holds no logprobs")
    tokens, numbers = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not (isinstance(tokens, list) and tokens and isinstance(numbers, list)):
        raise NoLogprobs("logprobs holds no lists of tokens and token_logprobs")
    if not all(isinstance(token, str) for token in tokens):
        raise NoLogprobs("a token in logprobs is no text")
    if len(tokens) != len(numbers):
        raise NoLogprobs(f"{len(tokens)} tokens and {len(numbers)} log-probabilities of them")
    end = _end_of_prompt(tokens, logprobs.get("text_offset"), choice.get("text"), usage, text)
    return _numbers(numbers[:end])


def _end_of_prompt(
    tokens: Sequence[str], offsets: Any, echoed: Any, usage: _Object, text: str
) -> int:
    """How many of the tokens are the prompt's. Raises NoLogprobs if it was not repeated.

    The first may be a mark that stands for the beginning. Tokens need not join to the text (half a
    character, a space that is understood): then the endpoint's own count is taken, or the offsets.
    """
    for start in (0, 1):
        lengths = list(accumulate(map(len, tokens[start:])))
        if "".join(tokens[start:]).startswith(text) and len(text) in lengths:
            return start + lengths.index(len(text)) + 1
    if not isinstance(echoed, str) or not echoed.startswith(text):
        raise NoLogprobs("the prompt was not sent back")
    count = usage.get("prompt_tokens")
    if isinstance(count, int) and 0 < count <= len(tokens):
        return count
    if (
        isinstance(offsets, list)
        and len(offsets) == len(tokens)
        and all(isinstance(offset, int) for offset in offsets)
    ):
        return sum(offset < len(text) for offset in offsets)
    raise NoLogprobs("the reply does not show which tokens are the prompt's")


def _read_prompt_logprobs(choice: _Object, _usage: _Object, _text: str) -> list[float]:
    """From `prompt_logprobs`: null, then for each token {token id: {logprob, rank, …}}.

    Beside the token that stands there the likeliest one may be named.
    """
    rows = choice.get("prompt_logprobs")
    if not isinstance(rows, list) or not rows:
        raise NoLogprobs("the reply holds no prompt_logprobs")
    found = [rows[0]]
    for row in rows[1:]:
        if not isinstance(row, dict) or not row:
            raise NoLogprobs("an entry of prompt_logprobs is no object of tokens")
        entries = list(row.values())
        if not all(isinstance(entry, dict) and "logprob" in entry for entry in entries):
            raise NoLogprobs("an entry of prompt_logprobs has no logprob")
        ranks = [entry.get("rank") for entry in entries] if len(entries) > 1 else [0]
        if len(entries) > 2 or not all(isinstance(rank, int) for rank in ranks):
            raise NoLogprobs("prompt_logprobs does not say which token is the text's own")
        found.append(entries[ranks.index(max(ranks))]["logprob"])
    return _numbers(found)


def _numbers(found: Sequence[Any]) -> list[float]:
    """All but the first, which has nothing before it. Raises NoLogprobs, UnscoredText."""
    if len(found) < 2:
        raise UnscoredText("too_short", "the text has one token")
    try:
        return [as_logprob(number) for number in found[1:]]
    except ValueError as error:
        raise NoLogprobs(str(error)) from None


class _Form(NamedTuple):
    """A way to ask; `read(choice, usage, text)` gives the numbers or raises NoLogprobs."""

    name: str
    options: Mapping[str, Any]
    read: Callable[[_Object, _Object, str], list[float]]


_FORMS = (
    _Form("echo", {"echo": True, "logprobs": 1, "max_tokens": 0}, _read_echo),
    _Form("echo with a token", {"echo": True, "logprobs": 1, "max_tokens": 1}, _read_echo),
    _Form("prompt_logprobs", {"prompt_logprobs": 0, "max_tokens": 1}, _read_prompt_logprobs),
)
_OURS = {"model", "prompt", "n", "stream", *(name for form in _FORMS for name in form.options)}


class EndpointScorer:
    """A model behind an endpoint whose plain completions give prompt log-probabilities."""

    cacheable = True

    def __init__(self, name: str, options: ModelOptions) -> None:
        """Raises UsageError for an address, a key, a limit or a parameter that cannot be used."""
        taken = _OURS & options.extra.keys()
        if taken:
            raise UsageError(f"the extra parameter {min(taken)!r} would change what is asked")
        self.name = name
        self._endpoint = find_endpoint(options)
        self._client = self._endpoint.client(options)
        self._url = self._endpoint.url("completions")
        self._extra = options.extra
        changes = orjson.dumps(options.extra, option=orjson.OPT_SORT_KEYS)
        mark = f"+{hashlib.sha256(changes).hexdigest()[:12]}" if options.extra else ""
        self.signature = f"logprobs/{name}{mark}"
        self._form: _Form | None = None
        self._finding = asyncio.Lock()
        self._lost_in_a_row = 0

    def __repr__(self) -> str:
        return f"EndpointScorer({self.name!r}, base_url={self._endpoint.base!r})"

    async def logprobs(self, text: str) -> list[float]:
        """See PromptScorer. UsageError where the endpoint gives no prompt log-probabilities."""
        if not text.strip():
            raise UnscoredText("too_short", "the text is empty")
        if self._form is None:
            async with self._finding:
                if self._form is None:
                    return await self._find_form(text)
        try:
            return await self._ask(self._form, text)
        except NoLogprobs as nothing:
            raise UnscoredText("call_failed", str(nothing), passing=True) from None
        except HttpError as error:
            raise self._unscored(error) from None

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.close()

    async def _find_form(self, text: str) -> list[float]:
        """The numbers, by the first form that gives any; it is kept. UsageError if none does."""
        problems, crash = [], None
        for form in _FORMS:
            try:
                found = await self._ask(form, text)
            except NoLogprobs as nothing:
                problems.append(f"{form.name}: {nothing}")
            except HttpError as error:
                unscored = self._unscored(error)
                if unscored.reason == "too_long":
                    raise unscored from None
                if error.status == _CRASHED:
                    crash = error
                elif error.status not in _UNKNOWN:
                    raise self._failed_first(error) from None
                problems.append(f"{form.name}: {error}")
            else:
                self._form, self._lost_in_a_row = form, 0
                return found
        if crash is not None:
            raise self._failed_first(crash)
        raise UsageError(
            f"{self.name} at {self._endpoint.base} gives no log-probabilities of a prompt "
            f"({'; '.join(problems)}). Name a model whose plain completions give them, such as one "
            "served by vLLM, or one on this machine: hf:PATH"
        )

    def _failed_first(self, error: HttpError) -> UnscoredText | UnreachableError:
        """What is raised for a text where no text has had numbers yet."""
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= _GIVE_UP_FIRST:
            return self._unreachable(error)
        return UnscoredText("call_failed", str(error), passing=True)

    async def _ask(self, form: _Form, text: str) -> list[float]:
        """One call. Raises NoLogprobs, HttpError, and UnscoredText for a text of one token."""
        values = {"model": self.name, "prompt": text, "temperature": 0, **form.options}
        try:
            body = orjson.dumps(values | self._extra)
        except TypeError as error:  # half a character, or an extra parameter that is no JSON
            reason = f"the call cannot be written as JSON: {error}"
            raise UnscoredText("call_failed", reason) from None
        limiter = self._client.limiter
        tokens = len(text) // CHARACTERS_PER_TOKEN + 1 if limiter.counts_tokens else 0
        value = await self._client.ask(self._url, body, _read, tokens=tokens)
        if self._form is not None:
            self._lost_in_a_row = 0
        choices, usage = value.get("choices"), value.get("usage")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise NoLogprobs("the reply holds no answer (choices are missing or empty)")
        return form.read(choices[0], usage if isinstance(usage, dict) else {}, text)

    def _unscored(self, error: HttpError) -> UnscoredText:
        """What a failed call means for the text. UnreachableError where nobody is there."""
        reply = failed(error)
        if reply.status is Status.TOO_LONG:
            return UnscoredText("too_long", str(error))
        # Perhaps a server without plain completions, rather than none at all.
        may_be_the_form = self._form is None and error.status in (404, 405)
        if reply.finish_reason == UNREACHABLE and not may_be_the_form:
            self._lost_in_a_row += 1
            if self._form is None or self._lost_in_a_row >= _GIVE_UP_AFTER:
                raise self._unreachable(error)
        return UnscoredText("call_failed", str(error), passing=True)

    def _unreachable(self, error: HttpError) -> UnreachableError:
        return UnreachableError(
            f"{self.name} cannot be reached at {self._endpoint.base}: {error}. What was made is "
            "kept; fix the cause and run the same command again to go on"
        )


def _read(reply: HttpReply) -> dict[str, Any]:
    """The body of a good reply. Raises HttpError."""
    if not 200 <= reply.status < 300:
        raise refused(reply)
    try:
        value = json.loads(reply.utf8())  # NaN and Infinity too, which servers send
    except RecursionError:
        reason = f"HTTP {reply.status}: the reply is nested too deeply to be read"
        raise UnusableError(reason, status=reply.status, retryable=False) from None
    except ValueError:
        raise UnusableError(not_json(reply), status=reply.status, paid=True) from None
    if not isinstance(value, dict):
        return {}
    if value.get("error"):
        raise error_inside(reply, value["error"])
    return value
