"""Why a call over HTTP failed, and whether another attempt may help.

HttpError
├── ConnectError    nobody there: refused, unknown name, no TLS, an address that cannot be called
├── BrokenError     the connection broke, or what came cannot be read as HTTP, or is too much
├── SlowError       no complete reply in time
├── StatusError     an answer with a status other than 2xx; its body is kept
├── TooLargeError   a reply beyond the limit
└── UnusableError   a 2xx reply that does not hold what it should

Callers make an HttpError into a reply or a TruegroundError. Other packages see its attributes only.
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

# What aiohttp raises while a call is under way; other OSErrors (a full disk) are not the network's.
NETWORK_ERRORS = (aiohttp.ClientError, TimeoutError, ConnectionError, ssl.SSLError)
_PASSING = {408, 409, 425, 429}
_MOST_REQUESTED = 1e9  # seconds; more is no number to be shown
_SHOWN = 500  # characters of a body in a reason
_CHARSET = re.compile(r"(?i)\bcharset\s*=\s*[\"']?([\w.:+-]+)")
# aiohttp's words for replies that another attempt would bring again, and have paid for again.
_LASTING = ("Can not decode content-encoding", "Got more than", "Too many headers")


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back; `body` is decompressed, `url` (which may hold secrets) who sent it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str = field(default="", repr=False)
    calls: int = 1  # how often the endpoint was called for it

    def utf8(self) -> bytes:
        """The body in UTF-8 without a mark, also if it is in another charset that is declared."""
        declared = _CHARSET.search(self.headers.get("Content-Type", ""))
        for charset in ("utf-8-sig", declared[1] if declared else "utf-8"):
            try:
                return self.body.decode(charset).encode()
            except (LookupError, ValueError):
                continue
        return self.body.decode("utf-8", "replace").encode()

    @property
    def origin(self) -> str:
        """Who sent it, to be put after the status; empty if that isn't known."""
        return f" from {shown(self.url)}" if self.url else ""

    def text(self) -> str:
        """Return the beginning of the body on one line, for messages."""
        return self.shorten(self.utf8())

    @staticmethod
    def shorten(body: bytes, limit: int = _SHOWN) -> str:
        """Return the beginning of a body on one line, for messages."""
        # NULs are what is left of UTF-16; no secret may hide between them.
        text = " ".join(body[: 4 * limit].replace(b"\0", b"").decode("utf-8", "replace").split())
        return text if len(text) <= limit else f"{text[:limit]}…"

    def require_success(self) -> HttpReply:
        """Return the reply itself if its status is 2xx. Raises StatusError."""
        if 200 <= self.status < 300:
            return self
        raise self.status_error(self.text())

    def status_error(self, message: str, *, name_origin: bool = False) -> StatusError:
        """Return the failure of a reply whose status is not 2xx, in the endpoint's words.

        With `name_origin` it names the address, for failures whose cause may be the address.
        """
        target = self.headers.get("Location")
        if 300 <= self.status < 400 and target:
            message = f"the address has moved to {shown(target)}; give that one"
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
        """Return what to say of a reply that should be JSON."""
        kind = self.headers.get("Content-Type", "no content type")
        return f"HTTP {self.status}: the reply is not whole JSON ({kind}): {self.text()}"


class UnaskedError(aiohttp.ClientPayloadError):
    """More came on a connection than the reply to the one call that it carries."""


class HttpError(Exception):
    """A call that failed. `reason` says why in a few words; the client takes all secrets out of it.

    `retryable`: another attempt may help. `wait` is the seconds that the endpoint asks to wait.
    `paid`: a model may have worked for it, so that it is tried once more at most. `attempts` is how
    often the call was tried, `calls` how often it came to somebody.
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
        """Whether nobody could be reached at the address."""
        return False

    @property
    def is_slow(self) -> bool:
        """Whether the reply was not complete in time."""
        return False

    @staticmethod
    def is_passing(status: int) -> bool:
        """Whether an error with this status may go away by itself."""
        return status in _PASSING or 500 <= status <= 599

    @staticmethod
    def describe(error: BaseException | None) -> str | None:
        """Return what an error of aiohttp or the system means; None if it isn't the network's."""
        if isinstance(error, NETWORK_ERRORS):
            return network_error(error, 0.0).reason
        return None

    def __str__(self) -> str:
        """The reason, and the number of attempts if there were several."""
        return self.reason if self.attempts == 1 else f"{self.reason} ({self.attempts} attempts)"


class ConnectError(HttpError):
    """Nobody could be reached at the address."""

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
    """The endpoint answered with an error."""


class TooLargeError(HttpError):
    """The reply is larger than allowed."""


class UnusableError(HttpError):
    """The reply has status 2xx and does not hold what it should."""


def requested_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After` (seconds or date), None if not said."""
    for name, unit in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if isfinite(seconds):
            return min(max(0.0, seconds), _MOST_REQUESTED)
    try:
        moment = parsedate_to_datetime(headers.get("Retry-After", ""))
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:  # "-0000": UTC without a place
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def network_error(error: Exception, timeout: float, place: str = "") -> HttpError:
    """What an error of aiohttp means; its own text may hold addresses with passwords.

    `place` is who was called, without anything secret.
    """
    # The operating system's words where there are some.
    inner = getattr(error, "os_error", error)
    text = getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
    cause = HttpReply.shorten(text.encode("utf-8", "replace"), 200)
    to = f" to {place}" if place else ""
    match error:
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError() | aiohttp.TooManyRedirects():
            return ConnectError("not an address that can be called", retryable=False)
        case aiohttp.ClientConnectorCertificateError():
            return ConnectError(f"no trusted connection{to}: {cause}", retryable=False)
        case aiohttp.ClientConnectorError():
            if isinstance(error, aiohttp.ClientProxyConnectionError):
                to = f" to the proxy {error.host}:{error.port}"
            elif error.host not in place:  # where a redirect led
                to = f" to {error.host}:{error.port}"
            return ConnectError(f"cannot connect{to}: {cause}")
        case aiohttp.ConnectionTimeoutError():
            return ConnectError(f"cannot connect{to}: no answer in time")
        case aiohttp.ClientHttpProxyError():
            refused = f"the proxy refuses: HTTP {error.status}"
            return ConnectError(refused, retryable=error.status >= 500)
        case TimeoutError():
            return SlowError(f"no whole reply within {timeout:.3g} s")
        case UnaskedError():
            return BrokenError(
                "more than one reply came to one call, and nothing tells which one is its own"
            )
        case aiohttp.ClientResponseError():
            words = HttpReply.shorten(error.message.encode("utf-8", "replace"), 200)
            lasting = words.startswith(_LASTING)
            return BrokenError(f"what came back cannot be read: {words}", retryable=not lasting)
    return BrokenError(f"the connection broke: {cause}")
