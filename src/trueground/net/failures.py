"""Why a call over HTTP failed, and whether another attempt may help.

HttpError
├── ConnectError    nobody there: refused, unknown name, no TLS, an address that cannot be called
├── BrokenError     the connection broke, or what came is no HTTP
├── SlowError       no whole reply in time
├── StatusError     an answer with a status other than 2xx; its body is kept
├── TooLargeError   a reply beyond the limit
└── UnusableError   a 2xx reply that does not hold what it should

They stay inside the package: whoever calls makes them into a reply or a TruegroundError.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

import aiohttp

from trueground.net.redact import shown

# What aiohttp raises while a call is under way; other OSErrors (a full disk) are not the network's.
NETWORK_ERRORS = (aiohttp.ClientError, TimeoutError, ConnectionError, ssl.SSLError)
_NO_ADDRESS = (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, aiohttp.TooManyRedirects)
_PASSING = {408, 409, 425, 429}
_SHOWN = 500  # characters of a body in a reason


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back; `body` is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpError(Exception):
    """A call that failed. `reason` says why in a few words; the client takes all secrets out of it.

    `retryable`: another attempt may help. `wait` is the seconds that the endpoint asks to wait.
    `attempts` is how often the call was made.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool = True,
        status: int | None = None,
        body: bytes = b"",
        wait: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.status = status
        self.body = body
        self.wait = wait
        self.attempts = 1

    def __str__(self) -> str:
        """The reason, and the number of attempts if there were several."""
        return self.reason if self.attempts == 1 else f"{self.reason} ({self.attempts} attempts)"


class ConnectError(HttpError):
    """Nobody could be reached at the address."""


class BrokenError(HttpError):
    """The connection broke before the reply was whole."""


class SlowError(HttpError):
    """The reply was not whole in time."""


class StatusError(HttpError):
    """The endpoint answered with an error."""


class TooLargeError(HttpError):
    """The reply is larger than allowed."""


class UnusableError(HttpError):
    """The reply has status 2xx and does not hold what it should."""


def is_passing(status: int) -> bool:
    """Whether an error with this status may go away by itself."""
    return status in _PASSING or 500 <= status <= 599


def accept(reply: HttpReply) -> HttpReply:
    """The reply itself if its status is 2xx. Raises StatusError."""
    if 200 <= reply.status < 300:
        return reply
    raise status_error(reply, readable(reply.body))


def status_error(reply: HttpReply, words: str) -> StatusError:
    """The failure of a reply whose status is not 2xx, in the endpoint's words."""
    target = reply.headers.get("Location")
    if 300 <= reply.status < 400 and target:
        words = f"the address has moved to {shown(target)}; give that one"
    return StatusError(
        f"HTTP {reply.status}: {words or 'no reason given'}",
        retryable=is_passing(reply.status),
        status=reply.status,
        body=reply.body,
        wait=asked_wait(reply.headers, datetime.now(UTC)),
    )


def not_json(reply: HttpReply) -> str:
    """What to say of a reply that should be JSON."""
    kind = reply.headers.get("Content-Type", "no content type")
    return f"HTTP {reply.status}: the reply is not whole JSON ({kind}): {readable(reply.body)}"


def readable(body: bytes, limit: int = _SHOWN) -> str:
    """The beginning of a body on one line."""
    text = " ".join(body[: 4 * limit].decode("utf-8", "replace").split())
    return text if len(text) <= limit else f"{text[:limit]}…"


def asked_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After` (seconds or date), None if not said."""
    for name, unit in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if isfinite(seconds):
            return max(0.0, seconds)
    try:
        moment = parsedate_to_datetime(headers.get("Retry-After", ""))
    except ValueError:
        return None
    if moment.tzinfo is None:  # "-0000": UTC without a place
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def network_error(error: Exception, timeout: float) -> HttpError:
    """What an error of aiohttp means; its own text may hold addresses with passwords."""
    if isinstance(error, _NO_ADDRESS):
        return ConnectError("not an address that can be called", retryable=False)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return ConnectError(f"no trusted connection: {_cause(error)}", retryable=False)
    if isinstance(error, aiohttp.ClientConnectorError):
        return ConnectError(f"cannot connect: {_cause(error)}")
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return ConnectError("cannot connect: no answer in time")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return ConnectError(
            f"the proxy refuses: HTTP {error.status}", retryable=error.status >= 500
        )
    if isinstance(error, TimeoutError):
        return SlowError(f"no whole reply within {timeout:.3g} s")
    if isinstance(error, aiohttp.ClientResponseError):
        return BrokenError("what came back is no HTTP")
    return BrokenError(f"the connection broke: {_cause(error)}")


def _cause(error: Exception) -> str:
    """The operating system's words where there are some."""
    inner = getattr(error, "os_error", error)
    words = getattr(inner, "strerror", None) or str(inner)
    return f"{words or type(inner).__name__}"[:200]
