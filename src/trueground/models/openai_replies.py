"""Parsing of replies from OpenAI-compatible endpoints: answers, thoughts and errors."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, NamedTuple

import msgspec
import orjson

from trueground.models.base import MIN_LOGPROB, Reply, TokenLogprob, TokenUsage
from trueground.net import HttpError, HttpReply
from trueground.types import Status

_CUT = {"length", "max_tokens"}
# Finish reasons of an end by the model, of a tool call, and of a broken reply.
_STOPPED = {"stop", "eos", "eos_token", "end_turn", "stop_sequence", "stop_token"}
_TOOL = {"tool_calls", "function_call", "tool_use"}
_BROKEN = {"abort", "aborted", "cancelled", "canceled", "error"}
_TOOL_CALL = "a call"
# Endpoints write it for minus infinity, which JSON doesn't have.
MAX_INT_DIGITS = 18  # Longer whole numbers are parsed as floats.

_THINK, _THOUGHT = "<think>", "</think>"
# Text before and after a tag that is only mentioned: a blank or a quotation mark on its line.
_APART_BEFORE = re.compile(r"(?:\S\s+|[`\"'“‘(])\Z")
_APART_BEHIND = re.compile(r"\s+\S|[`\"'”’).,;:?!]")

_REFUSED_TO_ALL = {301, 302, 303, 307, 308, 401, 402, 403, 404, 405}
_NO_QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error", "request_too_large"}
_PASSING = {
    *("rate_limit_exceeded", "rate_limit_error", "resource_exhausted", "too_many_requests"),
    *("server_error", "internal_server_error", "internal_error", "internal", "api_error"),
    *("overloaded", "overloaded_error", "service_unavailable", "unavailable"),
    *("timeout", "timeout_error", "deadline_exceeded"),
}
# Usual messages, with the servers that send them.
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


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Any = None
    function_call: Any = None
    images: Any = None
    audio: Any = None


class _Choice(msgspec.Struct):
    """A choice of either API: chat has a message, completions have a text."""

    message: _Message | None = None
    text: str | None = None
    finish_reason: Any = None
    logprobs: Any = None
    error: Any = None


class _ReplyBody(msgspec.Struct):
    choices: list[_Choice] | None = None
    error: Any = None
    model: Any = None
    usage: Any = None


_decode = msgspec.json.Decoder(_ReplyBody).decode


def read_reply(reply: HttpReply) -> Reply:
    """Return the model's reply in an HTTP reply. Raises HttpError if there is none."""
    if not 200 <= reply.status < 300:
        raise refused(reply)
    try:
        body = _decode(reply.body)
    except (ValueError, RecursionError):
        body = _read_lenient(reply)
    if body.error:
        raise error_inside(reply, body.error)
    usage = TokenUsage()
    if isinstance(body.usage, dict):
        details = body.usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        usage = TokenUsage(
            tokens_in=TokenUsage.count(body.usage.get("prompt_tokens")),
            tokens_out=TokenUsage.count(body.usage.get("completion_tokens")),
            cached=TokenUsage.count(cached),
        )
    choice = body.choices[0] if body.choices else None
    if choice is None or (choice.message is None and choice.text is None):
        # The reply was paid for. Another attempt would be paid for again, so don't retry.
        reason = f"HTTP {reply.status}: the reply has no answer (choices are missing or empty)"
        answer = Reply(status=Status.ERROR, error=reason)
    elif choice.error:
        raise error_inside(reply, choice.error)
    else:
        answer = _answer(choice)
    answer.model = body.model if isinstance(body.model, str) else None
    answer.usage = usage
    answer.calls = reply.calls
    return answer


def _answer(choice: _Choice) -> Reply:
    message = choice.message or _Message(content=choice.text)
    finish = choice.finish_reason if isinstance(choice.finish_reason, str) else None
    if finish == Reply.UNREACHABLE:  # Here this word means a call that reached no model.
        finish = f"{Reply.UNREACHABLE} (endpoint)"
    content, thoughts = _parts(message.content)
    field = message.reasoning_content or message.reasoning
    # If the endpoint separates the thoughts, the text has none.
    text, aloud = split_thinking(content, may_be_open=not (field or thoughts))
    reasoning = [t for t in (field, thoughts, aloud) if t and isinstance(t, str)]
    refusal = message.refusal if isinstance(message.refusal, str) else ""
    status, error = None, None
    if is_cut(finish):
        status = Status.TRUNCATED
    elif not refusal:
        error = why_no_answer(text, finish, _instead(message, text))
        if error:
            status, text = Status.ERROR, ""
    return Reply(
        text=text or refusal,
        finish_reason=finish,
        status=status,
        error=error,
        reasoning="\n\n".join(reasoning) or None,
        refusal=bool(refusal) or finish == "content_filter",
        logprobs=_logprobs(choice.logprobs) if choice.logprobs else None,
    )


def is_cut(finish: str | None) -> bool:
    """Return whether the reply was cut off at the token limit."""
    return (finish or "").lower() in _CUT


def why_no_answer(text: str, finish: str | None, instead: str | None = None) -> str | None:
    """Return why a complete reply has no answer; None if it has one.

    An empty text is an answer only if the model ended it and the reply has nothing else.

    Args:
        text: The text of the reply.
        finish: The finish reason.
        instead: What the reply has instead of text.
    """
    end = (finish or "").lower()
    if end in _BROKEN:
        return f"the reply was aborted (finish reason {finish})"
    if end in _TOOL or instead == _TOOL_CALL:
        return "the model called a tool instead of answering"
    if text.strip():
        return None
    if end == "content_filter":
        return "a content filter removed the reply"
    if instead:
        return f"the reply has no text, but {instead}"
    ended = f"finish reason {finish}" if finish else "no finish reason"
    return None if end in _STOPPED else f"the reply is empty ({ended})"


def _instead(message: _Message, text: str) -> str | None:
    """Return the kinds of content other than text, or None."""
    if message.tool_calls or message.function_call:
        return _TOOL_CALL
    content = message.content
    kinds = {name for name in ("images", "audio") if getattr(message, name)}
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and "text" not in part]
        kinds |= {_string(part.get("type")) or "another part" for part in parts}
        if not content:
            kinds.add("an empty list")
    elif content is None:
        kinds.add("null")
    elif not text.strip() and content.strip() and _THOUGHT not in content:
        kinds.add("thoughts")
    return ", ".join(sorted(kinds)) or None


def _read_lenient(reply: HttpReply) -> _ReplyBody:
    """Parse JSON that isn't strict: NaN, very long numbers, halves of characters.

    Raises HttpError. If the JSON is incomplete, another attempt may help. If it is complete but has
    another structure, another attempt would only cost money.
    """
    complete = True
    try:
        value = json.loads(
            reply.utf8().decode(),
            parse_int=lambda digits: (int if len(digits) <= MAX_INT_DIGITS else float)(digits),
        )
        clean = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
        return msgspec.convert(json.loads(clean.decode("utf-16", "replace")), _ReplyBody)
    except msgspec.ValidationError as error:
        reason = f"HTTP {reply.status}: the reply has an unexpected structure: {error}"
    except RecursionError:
        reason = f"HTTP {reply.status}: the reply is nested too deeply"
    except ValueError:
        reason, complete = reply.not_json(), False
    raise HttpError(reason, status=reply.status, retryable=not complete, paid=True)


def _parts(content: str | list[Any] | None) -> tuple[str, str]:
    """Return text and thoughts of a content, which may be a list of parts."""
    if not isinstance(content, list):
        return content or "", ""
    text, thoughts = [], []
    for part in content:
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict):
            text.append(_string(part.get("text") or part.get("refusal")))
            inner = part.get("thinking")
            thoughts.append(_parts(inner)[0] if isinstance(inner, str | list) else "")
    return "".join(text), "".join(thoughts)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _logprobs(value: Any) -> list[TokenLogprob] | None:
    """Return the log-probabilities of either API; None if they can't be parsed."""
    try:
        if value.get("content") is not None:
            rows = [_chat_logprob(entry) for entry in value["content"]]
        else:
            tokens = value["tokens"]
            tops = value.get("top_logprobs") or [None] * len(tokens)
            rows = list(zip(tokens, value["token_logprobs"], tops, strict=True))
        if not all(isinstance(token, str) for token, _, _ in rows):
            return None
        logprobs = []
        for token, logprob, top in rows:
            alternatives = {text: _finite(number) for text, number in (top or {}).items()}
            logprobs.append(TokenLogprob(token, _finite(logprob), alternatives))
        return logprobs
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return None


def _chat_logprob(entry: Any) -> Any:
    """Return token, log-probability and alternatives of an entry of the chat API."""
    top = {other["token"]: other["logprob"] for other in entry.get("top_logprobs") or ()}
    return entry["token"], entry["logprob"], top


def _finite(logprob: Any) -> float:
    number = max(float(logprob), MIN_LOGPROB)
    if not isfinite(number):
        raise ValueError
    return number


def split_thinking(text: str, may_be_open: bool = True) -> tuple[str, str | None]:
    """Return the answer and the thoughts of a text; the thoughts are None if it has none.

    Only thoughts at the beginning count. If thoughts are never closed, there is no answer.

    Args:
        text: The text.
        may_be_open: Whether a chat template may have opened the thoughts. Then a closing tag
            without an opening tag ends them, unless the text only mentions the tag.
    """
    if _THOUGHT not in text and _THINK not in text:
        return text, None
    start = text.lstrip()
    opened = start.startswith(_THINK)
    thoughts, close, answer = start.removeprefix(_THINK).partition(_THOUGHT)
    if opened and not close:
        return "", thoughts.strip() or None
    if not close or (not opened and (not may_be_open or _is_mentioned(thoughts, answer))):
        return text, None
    return answer.lstrip(), thoughts.strip() or None


def _is_mentioned(before: str, after: str) -> bool:
    """Return whether the tag between two texts is only mentioned: quoted, or inside a line."""
    if _THINK in before or before.count("```") % 2:
        return True
    lead, rest = before.rpartition("\n")[2], after.partition("\n")[0]
    return bool(_APART_BEFORE.search(lead) and _APART_BEHIND.match(rest))


class ErrorDetails(NamedTuple):
    """An error of an endpoint.

    Attributes:
        message: The message of the endpoint; "" if there is none.
        codes: Its code, type and status in lower case.
    """

    message: str
    codes: frozenset[str]

    def is_too_long(self, status: int | None) -> bool:
        """Return whether the messages don't fit into the model."""
        if status == 413 or self.codes & _TOO_LONG:
            return True
        return status != 429 and _TOO_LONG_WORDS.search(self.message) is not None

    def is_passing(self) -> bool:
        """Return whether another attempt may help, according to the codes."""
        return bool(self.codes & _PASSING) or any(map(HttpError.is_passing, self._numbers()))

    def is_final(self, status: int | None) -> bool:
        refused_to_all = self._numbers() | {status}
        return bool(self.codes & _NO_QUOTA or _REFUSED_TO_ALL & refused_to_all)

    def _numbers(self) -> set[int]:
        return {int(code) for code in self.codes if code.isdecimal() and len(code) == 3}


def parse_error(value: Any) -> ErrorDetails:
    """Return the error in a parsed body, in any of the usual forms."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str):
        return ErrorDetails(value, frozenset())
    if not isinstance(value, dict):
        return ErrorDetails("", frozenset())
    inner = value.get("error")
    if isinstance(inner, dict):
        value = inner
    values = (value.get(name) for name in ("code", "type", "status"))
    codes = frozenset(str(code).lower() for code in values if code and isinstance(code, str | int))
    if isinstance(inner, str):
        return ErrorDetails(inner, codes)
    message = value.get("message") or value.get("detail") or (inner and value) or ""
    if not isinstance(message, str):
        try:
            message = orjson.dumps(message).decode()
        except TypeError:  # The value is nested too deeply.
            message = _UNSHOWN
    return ErrorDetails(message, codes)


def read_error(body: bytes) -> ErrorDetails:
    """Return the error in a body. If it isn't JSON, its text is the message."""
    try:
        details = parse_error(orjson.loads(body))
    except ValueError:
        return ErrorDetails(HttpReply.shorten(body), frozenset())
    message = details.message or body.decode("utf-8", "replace")
    return ErrorDetails(HttpReply.shorten(message.encode("utf-8", "replace")), details.codes)


def refused(reply: HttpReply) -> HttpError:
    """Return the error of a reply with a status other than 2xx."""
    details = read_error(reply.utf8())
    final = details.is_final(reply.status)
    error = reply.status_error(details.message, name_origin=final)
    if final or details.is_too_long(reply.status):
        error.retryable = False
    return error


def error_inside(reply: HttpReply, inner: Any) -> HttpError:
    """Return the error of a reply that has status 2xx but contains an error."""
    body = error_body(inner)
    details = read_error(body)
    final = details.is_final(None)
    passing = details.is_passing() and not final and not details.is_too_long(None)
    origin = reply.origin if final else ""
    reason = f"HTTP {reply.status}{origin} with an error: {details.message}"
    return HttpError(reason, retryable=passing, status=reply.status, body=body)


def error_body(inner: Any) -> bytes:
    """Return the body of a reply with only this error."""
    try:
        return orjson.dumps({"error": inner})
    except TypeError:  # It is nested too deeply or has too large a number, so keep only texts.
        items = inner.items() if isinstance(inner, dict) else ()
        texts = {name: value for name, value in items if isinstance(value, str)}
        return orjson.dumps({"error": texts or _UNSHOWN})


def wants_other_limit(error: HttpError) -> bool:
    """Return whether the endpoint requires `max_completion_tokens`, not `max_tokens`."""
    return error.status == 400 and _OTHER_LIMIT.search(read_error(error.body).message) is not None


def refuses(error: HttpError, name: str) -> bool:
    """Return whether the endpoint rejected a call because of this parameter."""
    return error.status in (400, 422) and name in read_error(error.body).message


def failed(error: HttpError) -> Reply:
    """Return the reply of a call that failed."""
    reply = Reply(status=Status.ERROR, error=str(error), calls=error.calls)
    final = error.is_unreachable or error.status in _REFUSED_TO_ALL
    if error.body and not error.is_unreachable:
        details = read_error(error.body)
        if not error.retryable and details.is_too_long(error.status):
            reply.status = Status.TOO_LONG
            return reply
        final = details.is_final(error.status)
    reply.finish_reason = Reply.UNREACHABLE if final else None
    return reply
