"""Reading the result lines of a batch: the same replies and the same failures as of live calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from trueground.models.base import Reply, without_secrets
from trueground.models.openai_errors import error_body, failed, trouble_in, wants_other_limit
from trueground.models.openai_replies import read_reply
from trueground.net.failures import HttpError, HttpReply, UnusableError
from trueground.net.redact import hide

_HEADERS = {"Content-Type": "application/json"}
# The window or the user's patience ended before the call's turn came: nothing was paid.
_NOT_ASKED = {"batch_expired", "batch_cancelled"}


class BatchResult(NamedTuple):
    """What came of one call; `reply` is None if the model was not asked.

    `other_limit`: the endpoint wants `max_completion_tokens` in the place of `max_tokens`.
    """

    custom_id: str
    reply: Reply | None
    other_limit: bool = False

    @property
    def forbidden(self) -> bool:
        """Whether the endpoint lets nobody ask this, perhaps for what stands in it."""
        return self.reply is not None and (self.reply.error or "").startswith("HTTP 403")


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"null")


class _BatchLine(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_BatchLine).decode


def read_line(line: bytes, secrets: tuple[str, ...] = ()) -> BatchResult | None:
    """The result on a line; None for a line that is none. No secret shows in it."""
    found = _line(hide(line, secrets))
    if found is None:
        return None
    response = found.response
    try:
        if response is not None and response.status_code:
            reply = HttpReply(response.status_code, _HEADERS, bytes(response.body))
            return BatchResult(found.custom_id, without_secrets(read_reply(reply), secrets))
        if trouble_in({"error": found.error}).codes & _NOT_ASKED:
            return BatchResult(found.custom_id, None)
        raise _unanswered(found.error)
    except HttpError as error:
        lost = without_secrets(failed(error), secrets)
        return BatchResult(found.custom_id, lost, wants_other_limit(error))


def told_twice(lines: Iterable[bytes]) -> set[str]:
    """The names of calls to which lines tell different things: none of them can be believed."""
    first: dict[str, bytes] = {}
    twice = set()
    for line in lines:
        found = _line(line)
        if found is not None:
            digest = hashlib.blake2b(line.strip(), digest_size=16).digest()
            if first.setdefault(found.custom_id, digest) != digest:
                twice.add(found.custom_id)
    return twice


def _line(line: bytes) -> _BatchLine | None:
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        pass
    try:  # what strict JSON forbids and endpoints write, such as NaN
        value = json.loads(line.decode("utf-8", "replace"))
        body = value["response"].pop("body", None)
        found = msgspec.convert(value, _BatchLine)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    if found.response is not None:
        found.response.body = msgspec.Raw(json.dumps(body).encode())
    return found


def _unanswered(error: Any) -> UnusableError:
    """The failure of a call to which the endpoint notes an error and no reply."""
    words = trouble_in({"error": error}).words or "no reason given"
    body = error_body(error) if error else b""
    reason = f"the batch holds no reply to this call: {words}"
    return UnusableError(reason, retryable=False, body=body)
