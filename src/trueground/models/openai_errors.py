"""What an endpoint means when it says no."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import orjson

from trueground.models.base import UNREACHABLE, Reply
from trueground.net.failures import (
    ConnectError,
    HttpError,
    HttpReply,
    UnusableError,
    from_place,
    is_passing,
    readable,
    status_error,
)
from trueground.types import Status

_UNREACHABLE = {301, 302, 303, 307, 308, 401, 402, 403, 404, 405}
_NO_QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error", "request_too_large"}
_PASSING = {
    *("rate_limit_exceeded", "rate_limit_error", "resource_exhausted", "too_many_requests"),
    *("server_error", "internal_server_error", "internal_error", "internal", "api_error"),
    *("overloaded", "overloaded_error", "service_unavailable", "unavailable"),
    *("timeout", "timeout_error", "deadline_exceeded"),
}
# Usual wordings; who says it so stands behind.
_TOO_LONG_WORDS = re.compile(
    r"""
      (?:maximum|max(?:imum)?[ ]model|max)[ ](?:context|prompt)[ ]length   # OpenAI, vLLM, Mistral
    | max(?:imum)?[ ](?:model[ ]len|allowed[ ](?:input|context))           # vLLM
    | (?:exceeds?|longer[ ]than|overflows?)\b.{0,80}
      context[ ](?:size|length|limit|window)                               # llama.cpp, SGLang
    | too[ ]long[ ]to[ ]fit[ ]into[ ]the[ ]model                           # vLLM
    | context[ ](?:size|length|limit|window)\b.{0,40}\bexceeded            # Ollama, LM Studio
    | (?:prompt|input|context)[ ]is[ ]too[ ]long | prompt[ ]too[ ]long     # Anthropic, Bedrock
    | input[ ]token(?:s|[ ]count)\b.{0,60}\bexceeds?                       # Gemini, OpenAI
    | `?inputs`?[ ](?:tokens[ ]\+|must[ ]have[ ]less[ ]than)               # Together
    | reduce[ ]the[ ]length[ ]of[ ]the[ ](?:messages|prompt|input)         # OpenAI, Groq
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_UNSHOWN = "an error that cannot be shown"
_OTHER_LIMIT = re.compile(
    r"max_tokens.{0,40}\b(?:un|not )support.*max_completion_tokens", re.IGNORECASE | re.DOTALL
)


class Trouble(NamedTuple):
    """An error in the endpoint's words; `codes` are its code, type and status in lower case."""

    words: str
    codes: frozenset[str]

    def is_too_long(self, status: int | None) -> bool:
        """Do the messages not fit into the model?"""
        if status == 413 or self.codes & _TOO_LONG:
            return True
        return status != 429 and _TOO_LONG_WORDS.search(self.words) is not None

    def is_passing(self) -> bool:
        """Does a code say that another attempt may help?"""
        return bool(self.codes & _PASSING) or any(is_passing(n) for n in self._numbers())

    def is_final(self, status: int | None) -> bool:
        """Will no other call fare better?"""
        return bool(
            self.codes & _NO_QUOTA or status in _UNREACHABLE or _UNREACHABLE & self._numbers()
        )

    def _numbers(self) -> set[int]:
        return {int(code) for code in self.codes if code.isdecimal() and len(code) == 3}


def trouble_in(value: Any) -> Trouble:
    """The error in a parsed body, in any of the usual shapes; no words where there is none."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str):
        return Trouble(value, frozenset())
    if not isinstance(value, dict):
        return Trouble("", frozenset())
    inner = value.get("error")
    if isinstance(inner, dict):
        value = inner
    found = (value.get(name) for name in ("code", "type", "status"))
    codes = frozenset(str(code).lower() for code in found if code and isinstance(code, str | int))
    if isinstance(inner, str):
        return Trouble(inner, codes)
    words = value.get("message") or value.get("detail") or (inner and value) or ""
    return Trouble(words if isinstance(words, str) else _dumped(words), codes)


def trouble_of(body: bytes) -> Trouble:
    """The error in a body; one that is no JSON speaks for itself."""
    try:
        trouble = trouble_in(orjson.loads(body))
    except ValueError:
        return Trouble(readable(body), frozenset())
    words = trouble.words or body.decode("utf-8", "replace")
    return Trouble(readable(words.encode("utf-8", "replace")), trouble.codes)


def refused(reply: HttpReply) -> HttpError:
    """The failure of a reply with a status other than 2xx."""
    trouble = trouble_of(reply.utf8())
    final = trouble.is_final(reply.status)
    error = status_error(reply, trouble.words, place=final)
    if final or trouble.is_too_long(reply.status):
        error.retryable = False
    return error


def error_inside(reply: HttpReply, inner: Any) -> HttpError:
    """The failure of a reply that has status 2xx and holds an error all the same."""
    body = error_body(inner)
    trouble = trouble_of(body)
    final = trouble.is_final(None)
    passing = trouble.is_passing() and not final and not trouble.is_too_long(None)
    words = f"HTTP {reply.status}{from_place(reply) * final} with an error: {trouble.words}"
    return UnusableError(words, retryable=passing, status=reply.status, body=body)


def error_body(inner: Any) -> bytes:
    """The body of a reply that is nothing but this error."""
    try:
        return orjson.dumps({"error": inner})
    except TypeError:  # nested too deeply, or a number that is too large: keep the words
        words = inner.items() if isinstance(inner, dict) else ()
        texts = {name: value for name, value in words if isinstance(value, str)}
        return orjson.dumps({"error": texts or _UNSHOWN})


def wants_other_limit(error: HttpError) -> bool:
    """Does the endpoint want `max_completion_tokens` in the place of `max_tokens`?"""
    return error.status == 400 and _OTHER_LIMIT.search(trouble_of(error.body).words) is not None


def refuses(error: HttpError, name: str) -> bool:
    """Does the endpoint refuse a call because it does not know, or want, this parameter?"""
    return error.status in (400, 422) and name in trouble_of(error.body).words


def failed(error: HttpError) -> Reply:
    """The reply that stands for a call that failed."""
    lost = Reply(status=Status.ERROR, error=str(error), calls=error.calls)
    if isinstance(error, ConnectError):
        lost.finish_reason = UNREACHABLE
        return lost
    if not error.body:
        final = error.status in _UNREACHABLE
    else:
        trouble = trouble_of(error.body)
        if not error.retryable and trouble.is_too_long(error.status):
            lost.status = Status.TOO_LONG
            return lost
        final = trouble.is_final(error.status)
    lost.finish_reason = UNREACHABLE if final else None
    return lost


def _dumped(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested too deeply
        return _UNSHOWN
