"""Log probabilities of a text's tokens from an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from trueground.errors import UnreachableError, UsageError
from trueground.models.base import ChatRequest, Reply
from trueground.models.openai import find_endpoint
from trueground.models.openai_replies import error_inside, failed, refused
from trueground.models.options import ModelOptions
from trueground.models.perplexity import UnscoredText, as_logprob
from trueground.net import HttpError, HttpReply
from trueground.types import Status

_GIVE_UP_AFTER = 20  # Calls in a row that reached no server.
_GIVE_UP_FIRST = 3  # Texts in a row that failed before the first success.
_UNKNOWN = (400, 404, 405, 415, 422, 501)  # Statuses if a server doesn't know a parameter.
_CRASHED = 500  # Status if a server fails because of an unknown parameter.
_Object = Mapping[str, Any]


class NoLogprobs(Exception):  # noqa: N818 - says that this form is not offered
    """A reply without log-probabilities of the prompt, with the reason."""


def _read_echo(choice: _Object, usage: _Object, text: str) -> list[float]:
    """Return log-probabilities from a completion that repeats the prompt.

    They are in `logprobs.token_logprobs`. Tokens generated after the prompt are dropped.
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
    """Return how many tokens are the prompt's. Raises NoLogprobs if it wasn't repeated.

    The first token may be a special token. If the tokens don't join to the text (half a character,
    an implicit space), the count of the endpoint is used, or else the offsets.
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
    """Return log-probabilities from `prompt_logprobs`.

    It has null, then for each token {token id: {logprob, rank, …}}. An entry may also have the
    most likely token.
    """
    rows = choice.get("prompt_logprobs")
    if not isinstance(rows, list) or not rows:
        raise NoLogprobs("the reply holds no prompt_logprobs")
    logprobs = [rows[0]]
    for row in rows[1:]:
        if not isinstance(row, dict) or not row:
            raise NoLogprobs("an entry of prompt_logprobs is no object of tokens")
        entries = list(row.values())
        if not all(isinstance(entry, dict) and "logprob" in entry for entry in entries):
            raise NoLogprobs("an entry of prompt_logprobs has no logprob")
        ranks = [entry.get("rank") for entry in entries] if len(entries) > 1 else [0]
        if len(entries) > 2 or not all(isinstance(rank, int) for rank in ranks):
            raise NoLogprobs("prompt_logprobs does not say which token is the text's own")
        logprobs.append(entries[ranks.index(max(ranks))]["logprob"])
    return _numbers(logprobs)


def _numbers(logprobs: Sequence[Any]) -> list[float]:
    """Return all but the first, which has no context. Raises NoLogprobs, UnscoredText."""
    if len(logprobs) < 2:
        raise UnscoredText("too_short", "the text has one token")
    try:
        return [as_logprob(number) for number in logprobs[1:]]
    except ValueError as error:
        raise NoLogprobs(str(error)) from None


class _Form(NamedTuple):
    """A way to request log-probabilities.

    `read(choice, usage, text)` returns them or raises NoLogprobs.
    """

    name: str
    options: Mapping[str, Any]
    read: Callable[[_Object, _Object, str], list[float]]


_FORMS = (
    _Form("echo", {"echo": True, "logprobs": 1, "max_tokens": 0}, _read_echo),
    _Form("echo with a token", {"echo": True, "logprobs": 1, "max_tokens": 1}, _read_echo),
    _Form("prompt_logprobs", {"prompt_logprobs": 0, "max_tokens": 1}, _read_prompt_logprobs),
)


_RESERVED = {"model", "prompt", "n", "stream"}.union(*(form.options for form in _FORMS))


class EndpointScorer:
    """A model behind an endpoint whose plain completions give prompt log-probabilities."""

    cacheable = True

    def __init__(self, name: str, options: ModelOptions) -> None:
        """Raises UsageError for an address, a key, a limit or a parameter that cannot be used."""
        taken = _RESERVED & options.extra.keys()
        if taken:
            raise UsageError(f"the extra parameter {min(taken)!r} can't be changed. Remove it")
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
        tokens = len(text) // ChatRequest.CHARACTERS_PER_TOKEN + 1 if limiter.counts_tokens else 0
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
        if reply.finish_reason == Reply.UNREACHABLE and not may_be_the_form:
            self._lost_in_a_row += 1
            if self._form is None or self._lost_in_a_row >= _GIVE_UP_AFTER:
                raise self._unreachable(error)
        return UnscoredText("call_failed", str(error), passing=True)

    def _unreachable(self, error: HttpError) -> UnreachableError:
        return UnreachableError(
            f"{self.name} can't be reached at {self._endpoint.base}: {error}. Results so far are "
            "saved. Fix the cause and run the same command again to resume"
        )


def _read(reply: HttpReply) -> dict[str, Any]:
    """The body of a good reply. Raises HttpError."""
    if not 200 <= reply.status < 300:
        raise refused(reply)
    try:
        value = json.loads(reply.utf8())  # NaN and Infinity too, which servers send
    except RecursionError:
        reason = f"HTTP {reply.status}: the reply is nested too deeply to be read"
        raise HttpError(reason, status=reply.status, retryable=False) from None
    except ValueError:
        raise HttpError(reply.not_json(), status=reply.status, paid=True) from None
    if not isinstance(value, dict):
        return {}
    if value.get("error"):
        raise error_inside(reply, value["error"])
    return value
