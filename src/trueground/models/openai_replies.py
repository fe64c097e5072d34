"""Reading what an OpenAI-compatible endpoint sends back: answers, thoughts, and what it refuses."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, NamedTuple

import msgspec
import orjson

from trueground.models.base import Reply, TokenLogprob, TokenUsage
from trueground.net import HttpError, HttpReply
from trueground.types import Status

_CUT = {"length", "max_tokens"}
# What endpoints call an end that the model chose, one where it wants a tool, one that was no end.
_STOPPED = {"stop", "eos", "eos_token", "end_turn", "stop_sequence", "stop_token"}
_TOOL = {"tool_calls", "function_call", "tool_use"}
_BROKEN = {"abort", "aborted", "cancelled", "canceled", "error"}
_TOOL_CALL = "a call"
# What endpoints write for "as good as impossible", where JSON has no minus infinity.
_LEAST_LOGPROB = -9999.0
_LONGEST_INT = 18  # digits of whole numbers that every part of this can handle

_THINK, _THOUGHT = "<think>", "</think>"
# What a tag that is spoken of has on its line before and behind it: a blank or a quotation mark.
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
    """Of either API: chat has a message, completions have a text."""

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
    """The model's reply in an HTTP reply. Raises HttpError where there is none."""
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
        # Paid for and empty: asking again would be paid for again.
        reason = f"HTTP {reply.status}: the reply holds no answer (choices are missing or empty)"
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
    if finish == Reply.UNREACHABLE:  # our own word for a call that came to nobody
        finish = f"{Reply.UNREACHABLE} (endpoint)"
    content, thoughts = _parts(message.content)
    field = message.reasoning_content or message.reasoning
    # An endpoint that gives the thoughts apart has left none in the text.
    text, aloud = split_thinking(content, may_be_open=not (field or thoughts))
    reasoning = [t for t in (field, thoughts, aloud) if t and isinstance(t, str)]
    refusal = message.refusal if isinstance(message.refusal, str) else ""
    status, error = None, None
    if is_cut(finish):
        status = Status.TRUNCATED
    elif not refusal and (error := why_no_answer(text, finish, _instead(message, text))):
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
    """Whether the reply ended at the limit of its tokens."""
    return (finish or "").lower() in _CUT


def why_no_answer(text: str, finish: str | None, instead: str | None = None) -> str | None:
    """Why a complete reply holds no answer; None where it holds one.

    An empty text is one only where the model chose to end there and nothing came `instead`.
    """
    end = (finish or "").lower()
    if end in _BROKEN:
        return f"the reply was broken off (finish reason {finish})"
    if end in _TOOL or instead == _TOOL_CALL:
        return "the model called a tool and gave no answer"
    if text.strip():
        return None
    if end == "content_filter":
        return "a content filter left nothing of the reply"
    if instead:
        return f"the reply holds no text, but {instead}"
    ended = f"finish reason {finish}" if finish else "no finish reason"
    return None if end in _STOPPED else f"the reply is empty ({ended})"


def _instead(message: _Message, text: str) -> str | None:
    """What a message holds that is no text; None where there is nothing but text."""
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
    """What strict JSON forbids and servers send: NaN, endless numbers, halves of characters.

    Raises HttpError: another attempt may help where it is no complete JSON. What is complete
    and of another shape was paid for, and would be again.
    """
    complete = True
    try:
        value = json.loads(
            reply.utf8().decode(),
            parse_int=lambda digits: (int if len(digits) <= _LONGEST_INT else float)(digits),
        )
        clean = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
        return msgspec.convert(json.loads(clean.decode("utf-16", "replace")), _ReplyBody)
    except msgspec.ValidationError as error:
        reason = f"HTTP {reply.status}: the reply has another shape than the API's: {error}"
    except RecursionError:
        reason = f"HTTP {reply.status}: the reply is nested too deeply to be read"
    except ValueError:
        reason, complete = reply.not_json(), False
    raise HttpError(reason, status=reply.status, retryable=not complete, paid=True)


def _parts(content: str | list[Any] | None) -> tuple[str, str]:
    """(text, thoughts) of a content that may be a list of parts."""
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
    """The log-probabilities of either API, None where they have another shape."""

    def finite(logprob: Any) -> float:
        number = max(float(logprob), _LEAST_LOGPROB)
        if not isfinite(number):
            raise ValueError
        return number

    try:
        if value.get("content") is not None:
            rows = [
                (one["token"], one["logprob"], {t["token"]: t["logprob"] for t in top})
                for one in value["content"]
                for top in [one.get("top_logprobs") or ()]
            ]
        else:
            tokens = value["tokens"]
            tops = value.get("top_logprobs") or [None] * len(tokens)
            rows = list(zip(tokens, value["token_logprobs"], tops, strict=True))
        if not all(isinstance(token, str) for token, _, _ in rows):
            return None
        return [
            TokenLogprob(token, finite(logprob), {t: finite(v) for t, v in (top or {}).items()})
            for token, logprob, top in rows
        ]
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return None


def split_thinking(text: str, may_be_open: bool = True) -> tuple[str, str | None]:
    """(answer, thoughts) of a model that thinks aloud; thoughts are None where there are none.

    Only thoughts at the very beginning count. Where `may_be_open`, a chat template that is not seen
    here may have opened them already, so that a closing tag without an opening one ends them too,
    unless it is only spoken of. Thoughts that were opened and never closed are all there is,
    whether the token limit cut them or the model stopped there: no answer.
    """
    if _THOUGHT not in text and _THINK not in text:
        return text, None
    start = text.lstrip()
    opened = start.startswith(_THINK)
    thoughts, close, answer = start.removeprefix(_THINK).partition(_THOUGHT)
    if opened and not close:
        return "", thoughts.strip() or None
    if not close or (not opened and (not may_be_open or _is_spoken_of(thoughts, answer))):
        return text, None
    return answer.lstrip(), thoughts.strip() or None


def _is_spoken_of(before: str, behind: str) -> bool:
    """Whether the tag between the two is no end of thoughts: quoted, or a word in a line."""
    if _THINK in before or before.count("```") % 2:
        return True
    lead, rest = before.rpartition("\n")[2], behind.partition("\n")[0]
    return bool(_APART_BEFORE.search(lead) and _APART_BEHIND.match(rest))


class Trouble(NamedTuple):
    """An error in the endpoint's words; `codes` are its code, type and status in lower case."""

    words: str
    codes: frozenset[str]

    def is_too_long(self, status: int | None) -> bool:
        """Whether the messages do not fit into the model."""
        if status == 413 or self.codes & _TOO_LONG:
            return True
        return status != 429 and _TOO_LONG_WORDS.search(self.words) is not None

    def is_passing(self) -> bool:
        """Whether a code says that another attempt may help."""
        return bool(self.codes & _PASSING) or any(map(HttpError.is_passing, self._numbers()))

    def is_final(self, status: int | None) -> bool:
        refused_to_all = self._numbers() | {status}
        return bool(self.codes & _NO_QUOTA or _REFUSED_TO_ALL & refused_to_all)

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
    if not isinstance(words, str):
        try:
            words = orjson.dumps(words).decode()
        except TypeError:  # nested too deeply
            words = _UNSHOWN
    return Trouble(words, codes)


def trouble_of(body: bytes) -> Trouble:
    """The error in a body; one that is no JSON speaks for itself."""
    try:
        trouble = trouble_in(orjson.loads(body))
    except ValueError:
        return Trouble(HttpReply.shorten(body), frozenset())
    words = trouble.words or body.decode("utf-8", "replace")
    return Trouble(HttpReply.shorten(words.encode("utf-8", "replace")), trouble.codes)


def refused(reply: HttpReply) -> HttpError:
    """The failure of a reply with a status other than 2xx."""
    trouble = trouble_of(reply.utf8())
    final = trouble.is_final(reply.status)
    error = reply.status_error(trouble.words, name_origin=final)
    if final or trouble.is_too_long(reply.status):
        error.retryable = False
    return error


def error_inside(reply: HttpReply, inner: Any) -> HttpError:
    """The failure of a reply that has status 2xx and holds an error all the same."""
    body = error_body(inner)
    trouble = trouble_of(body)
    final = trouble.is_final(None)
    passing = trouble.is_passing() and not final and not trouble.is_too_long(None)
    origin = reply.origin if final else ""
    words = f"HTTP {reply.status}{origin} with an error: {trouble.words}"
    return HttpError(words, retryable=passing, status=reply.status, body=body)


def error_body(inner: Any) -> bytes:
    """The body of a reply that is nothing but this error."""
    try:
        return orjson.dumps({"error": inner})
    except TypeError:  # nested too deeply, or a number that is too large: keep the words
        words = inner.items() if isinstance(inner, dict) else ()
        texts = {name: value for name, value in words if isinstance(value, str)}
        return orjson.dumps({"error": texts or _UNSHOWN})


def wants_other_limit(error: HttpError) -> bool:
    """Whether the endpoint wants `max_completion_tokens` in the place of `max_tokens`."""
    return error.status == 400 and _OTHER_LIMIT.search(trouble_of(error.body).words) is not None


def refuses(error: HttpError, name: str) -> bool:
    """Whether the endpoint refuses a call because it does not know, or want, this parameter."""
    return error.status in (400, 422) and name in trouble_of(error.body).words


def failed(error: HttpError) -> Reply:
    """The reply that stands for a call that failed."""
    reply = Reply(status=Status.ERROR, error=str(error), calls=error.calls)
    final = error.is_unreachable or error.status in _REFUSED_TO_ALL
    if error.body and not error.is_unreachable:
        trouble = trouble_of(error.body)
        if not error.retryable and trouble.is_too_long(error.status):
            reply.status = Status.TOO_LONG
            return reply
        final = trouble.is_final(error.status)
    reply.finish_reason = Reply.UNREACHABLE if final else None
    return reply
