"""Errors of HTTP calls, and whether another attempt may help.

HttpError
├── ConnectError    no server: connection refused, unknown name, no TLS, invalid address
├── BrokenError     the connection broke, or the reply isn't valid HTTP
├── SlowError       no complete reply in time
├── StatusError     a reply with a status other than 2xx; its body is kept
├── TooLargeError   a reply beyond the size limit
└── UnusableError   a 2xx reply with unexpected content

Callers turn an HttpError into a reply or a TruegroundError.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

import aiohttp
import orjson

from trueground.net.redact import shown

# Errors of aiohttp during a call. Other OSErrors, such as a full disk, aren't network errors.
NETWORK_ERRORS = (aiohttp.ClientError, TimeoutError, ConnectionError, ssl.SSLError)
_PASSING = {408, 409, 425, 429}
MAX_RETRY_AFTER_SECONDS = 1e9
MAX_BODY_CHARS = 500  # Characters of a body in an error message.
_CHARSET = re.compile(r"(?i)\bcharset\s*=\s*[\"']?([\w.:+-]+)")
# Messages of aiohttp for replies that another attempt, which may cost money, would repeat.
_LASTING = ("Can not decode content-encoding", "Got more than", "Too many headers")


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A reply. `body` is decompressed; `url` is the address of the sender and may have secrets."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str = field(default="", repr=False)
    calls: int = 1  # Number of calls to the endpoint for this reply.

    def utf8(self) -> bytes:
        """Return the body in UTF-8 without a byte order mark, converted from its charset."""
        declared = _CHARSET.search(self.headers.get("Content-Type", ""))
        for charset in ("utf-8-sig", declared[1] if declared else "utf-8"):
            try:
                return self.body.decode(charset).encode()
            except (LookupError, ValueError):
                continue
        return self.body.decode("utf-8", "replace").encode()

    @property
    def origin(self) -> str:
        """The sender as a text after the status; empty if it isn't known."""
        return f" from {shown(self.url)}" if self.url else ""

    def text(self) -> str:
        """Return the beginning of the body on one line, for messages."""
        return self.shorten(self.utf8())

    @staticmethod
    def shorten(body: bytes, limit: int = MAX_BODY_CHARS) -> str:
        """Return the beginning of a body on one line, for messages."""
        # Remove NULs of UTF-16, because a secret could be hidden between them.
        text = " ".join(body[: 4 * limit].replace(b"\0", b"").decode("utf-8", "replace").split())
        return text if len(text) <= limit else f"{text[:limit]}…"

    def require_success(self) -> HttpReply:
        """Return the reply itself if its status is 2xx. Raises StatusError."""
        if 200 <= self.status < 300:
            return self
        raise self.status_error(self.text())

    def status_error(self, message: str, *, name_origin: bool = False) -> StatusError:
        """Return the error of a reply whose status isn't 2xx.

        Args:
            message: The endpoint's message.
            name_origin: Whether the error has the address, because it may be the cause.
        """
        target = self.headers.get("Location")
        if 300 <= self.status < 400 and target:
            message = f"the address has moved to {shown(target)}. Use that one"
        origin = self.origin if name_origin else ""
        return StatusError(
            f"HTTP {self.status}{origin}: {message or 'no reason given'}",
            retryable=HttpError.is_passing(self.status),
            status=self.status,
            body=self.utf8(),
            wait=requested_wait(self.headers, datetime.now(UTC)),
        )

    def json(self) -> Any:
        """Parse the body of a reply with status 2xx. Raises StatusError, UnusableError."""
        self.require_success()
        try:
            return orjson.loads(self.utf8())
        except ValueError:
            raise UnusableError(self.not_json(), status=self.status) from None

    def not_json(self) -> str:
        """Return the message about a reply that isn't JSON."""
        kind = self.headers.get("Content-Type", "no content type")
        return f"HTTP {self.status}: the reply isn't complete JSON ({kind}): {self.text()}"


class UnaskedError(aiohttp.ClientPayloadError):
    """A connection received more than the reply to its only call."""


class HttpError(Exception):
    """A call that failed.

    Attributes:
        reason: A short reason, without secrets.
        retryable: Whether another attempt may help.
        status: The HTTP status, if there was a reply.
        body: The body of the reply.
        wait: Seconds to wait before another attempt, as the endpoint requests.
        paid: Whether the call may have cost money. Then there is at most one more attempt.
        attempts: Number of attempts.
        calls: Number of attempts that reached a server.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool = True,
        status: int | None = None,
        body: bytes = b"",
        wait: float | None = None,
        paid: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason, self.retryable, self.status = reason, retryable, status
        self.body, self.wait, self.paid = body, wait, paid
        self.attempts = self.calls = 1

    @property
    def is_unreachable(self) -> bool:
        """Whether no server was reached at the address."""
        return False

    @property
    def is_slow(self) -> bool:
        """Whether the reply was not complete in time."""
        return False

    @staticmethod
    def is_passing(status: int) -> bool:
        """Return whether an error with this status may be temporary."""
        return status in _PASSING or 500 <= status <= 599

    @staticmethod
    def describe(error: BaseException | None) -> str | None:
        """Return the reason of an error of aiohttp or the system; None for other errors."""
        if isinstance(error, NETWORK_ERRORS):
            return network_error(error, 0.0).reason
        return None

    def __str__(self) -> str:
        """Return the reason, with the number of attempts if there were several."""
        return self.reason if self.attempts == 1 else f"{self.reason} ({self.attempts} attempts)"


class ConnectError(HttpError):
    """No server was reached at the address."""

    @property
    def is_unreachable(self) -> bool:
        """Always True."""
        return True


class BrokenError(HttpError):
    """The connection broke before the reply was complete."""


class SlowError(HttpError):
    """The reply was not complete in time."""

    @property
    def is_slow(self) -> bool:
        """Always True."""
        return True


class StatusError(HttpError):
    """The endpoint replied with an error status."""


class TooLargeError(HttpError):
    """The reply is larger than allowed."""


class UnusableError(HttpError):
    """The reply has status 2xx but unexpected content."""


def requested_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds of `retry-after-ms` or `Retry-After` (seconds or date), or None."""
    for name, unit in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if isfinite(seconds):
            return min(max(0.0, seconds), MAX_RETRY_AFTER_SECONDS)
    try:
        moment = parsedate_to_datetime(headers.get("Retry-After", ""))
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:  # The offset is "-0000": UTC without a location.
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def network_error(error: Exception, timeout: float, origin: str = "") -> HttpError:
    """Return the HttpError for an error of aiohttp, whose text may have passwords.

    Args:
        error: The error.
        timeout: Timeout of the call in seconds.
        origin: The called address, without secrets.
    """
    # Prefer the message of the operating system. aiohttp's error of certificates inherits the
    # property `os_error`, which then raises AttributeError.
    inner = getattr(error, "os_error", error)
    text = str(inner) or type(inner).__name__
    if isinstance(inner, OSError) and inner.strerror:
        text = inner.strerror
    cause = HttpReply.shorten(text.encode("utf-8", "replace"), 200)
    to = f" to {origin}" if origin else ""
    match error:
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError() | aiohttp.TooManyRedirects():
            return ConnectError("the address is invalid", retryable=False)
        case aiohttp.ClientConnectorCertificateError():
            return ConnectError(f"no trusted connection{to}: {cause}", retryable=False)
        case aiohttp.ClientConnectorError():
            if isinstance(error, aiohttp.ClientProxyConnectionError):
                to = f" to the proxy {error.host}:{error.port}"
            elif error.host not in origin:  # A redirect led to another host.
                to = f" to {error.host}:{error.port}"
            return ConnectError(f"cannot connect{to}: {cause}")
        case aiohttp.ConnectionTimeoutError():
            return ConnectError(f"cannot connect{to}: no answer in time")
        case aiohttp.ClientHttpProxyError():
            reason = f"the proxy refused the call: HTTP {error.status}"
            return ConnectError(reason, retryable=error.status >= 500)
        case TimeoutError():
            return SlowError(f"no complete reply within {timeout:.3g} s")
        case UnaskedError():
            return BrokenError("received several replies to one call, so none can be used")
        case aiohttp.ClientResponseError():
            message = HttpReply.shorten(error.message.encode("utf-8", "replace"), 200)
            lasting = message.startswith(_LASTING)
            return BrokenError(f"the reply isn't valid HTTP: {message}", retryable=not lasting)
    return BrokenError(f"the connection broke: {cause}")
