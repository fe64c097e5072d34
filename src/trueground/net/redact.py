"""What of an address or a message may be shown: nothing that opens a door."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

HIDDEN = "[hidden]"
# Shorter ones guard nothing ("x", "none") and would tear words of a message apart.
_SHORTEST = 4
_REASON = 200  # characters
_HEADER = re.compile(r"(?i)\b((?:proxy-)?authorization|x-api-key|api-key)\b[\"']?\s*[:=][^,;}\n]*")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w+/=.~*-]{16,}")
# Keys by their usual beginnings, and those that an endpoint shows in part ("abcd****wxyz").
_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|nvapi|AIza)[-_]?[A-Za-z0-9*_-]{12,}|[^\s\"']*\*{3,}\S*"
)


def shown(url: str) -> str:
    """The address without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that are no IPv6 address
        return HIDDEN
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def scrub(text: str, secrets: tuple[str, ...] = ()) -> str:
    """The text without these secrets, and without what looks like a key or its header."""
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    text = _HEADER.sub(rf"\1: {HIDDEN}", text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    return _KEY.sub(HIDDEN, text)


def raised(error: BaseException) -> str:
    """An exception as a reason: its kind and the beginning of its message, on one line."""
    words = scrub(" ".join(str(error).replace("\0", "\\x00").split()))
    words = words.encode("utf-8", "replace").decode()
    told = words if len(words) <= _REASON else f"{words[:_REASON]}…"
    return f"{type(error).__name__}: {told}"
