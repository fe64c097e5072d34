"""What of an address or a message may be shown: nothing that opens a door."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from html.entities import codepoint2name
from urllib.parse import urlsplit, urlunsplit

HIDDEN = "[hidden]"
# Shorter ones guard nothing, and may be words of a reply.
_SHORTEST = 8
# What people write where a server of their own wants some key: each part of it is such a word.
_PLACEHOLDER = re.compile(
    r"(?i)(?:(?:empty|none|null|nil|ollama|lm|studio|vllm|llama(?:cpp)?|sglang|tgi|litellm|openai|"
    r"local(?:host)?|no|not|needed|required|used|unused|ignored?|any(?:thing)?|whatever|some|"
    r"dummy|fake|test(?:ing)?|demo|example|sample|placeholder|changeme|here|my|your|the|api|key|"
    r"apikey|sk|token|secret|password|x|0)[\W_]*)*"
)
_REASON = 200  # characters
_HEADER = re.compile(r"(?i)\b((?:proxy-)?authorization|x-api-key|api-key)\b[\"']?\s*[:=][^,;}\n]*")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w+/=.~*-]{16,}")
# Keys by their usual beginnings, and those that an endpoint shows in part ("abcd****wxyz").
_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|nvapi|AIza)[-_]?[A-Za-z0-9*_-]{12,}|(?<![^\s\"'])[^\s\"']*\*{3,}\S*"
)
# Characters of a secret that are a part of it where they stand alone, and wherever they stand.
_PART, _SURE_PART = 4, 8
_WORD = re.compile(r"\w")
# Scheme; authority with what may stand before its last @; path. What follows is left out, up to
# the next URL of a chain ("zip://a.csv::https://host/a.zip").
_NEXT = r"(?!::[A-Za-z][A-Za-z0-9+.-]*://)"
_URL = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*://)"
    rf"((?:{_NEXT}[^/?#\s])*)((?:{_NEXT}[^?#\s])*)(?:[?#](?:{_NEXT}\S)*)?"
)


def shown(url: str, *, keep_query: bool = False) -> str:
    """Return the address without user and password, and without query and fragment."""
    try:
        parts = urlsplit(url)
        address = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        if keep_query:
            return address
        return urlunsplit(urlsplit(address)._replace(query="", fragment=""))
    except ValueError:
        return HIDDEN


def redact_urls(text: str) -> str:
    """The text as messages and manifests may show it: URLs without password, query, fragment."""
    return _URL.sub(lambda url: f"{url[1]}{url[2].rpartition('@')[2]}{url[3]}", text)


def redact_command(words: Sequence[str]) -> list[str]:
    """Return the words of a command without the passwords in URLs, also in `--option=URL`."""
    return [_redact_word(word) for word in words]


def _redact_word(word: str) -> str:
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return option + equals + redact_urls(value)


class Secrets:
    """Keys and passwords that no reply, message or file may show.

    False if none of them is a secret: shorter ones guard nothing, and placeholders such as EMPTY or
    lm-studio aren't secret.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self._secrets = [secret for secret in secrets if _is_secret(secret)]

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def hide(self, body: bytes) -> bytes:
        """Return the bytes without the secrets: escaped for JSON, URLs or HTML, in base64, hex."""
        for secret in self._secrets:
            body = _forms(secret).sub(HIDDEN.encode(), body)
        return body

    def scrub(self, text: str) -> str:
        """Return a message without the secrets, their parts, and what looks like a key."""
        if self._secrets:
            text = self.hide(text.encode("utf-8", "replace")).decode("utf-8", "replace")
        for secret in self._secrets:
            text = _without_parts(text, secret)
        text = _HEADER.sub(rf"\1: {HIDDEN}", text)
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        return _KEY.sub(lambda key: key[0] if _PLACEHOLDER.fullmatch(key[0]) else HIDDEN, text)


def _is_secret(text: str) -> bool:
    return len(text) >= _SHORTEST and not _PLACEHOLDER.fullmatch(text)


def raised(error: BaseException) -> str:
    """An exception as a reason: its kind and the beginning of its message, on one line."""
    words = Secrets().scrub(" ".join(str(error).replace("\0", "\\x00").split()))
    words = words.encode("utf-8", "replace").decode()
    told = words if len(words) <= _REASON else f"{words[:_REASON]}…"
    return f"{type(error).__name__}: {told}"


@lru_cache(maxsize=64)
def _forms(secret: str) -> re.Pattern[bytes]:
    """All ways of writing a secret that hide nothing; each character may be escaped, or not."""
    raw = secret.encode("utf-8", "surrogatepass")
    texts = {secret, raw.hex()}
    gap = rb"(?:\s|\\{1,8}[rnt]|%0[ad]){0,3}"  # where an encoder breaks lines
    packed = []
    for before in range(3):  # bytes that stand before it, such as "Bearer ", shift what it becomes
        whole = b64encode(bytes(before) + raw).decode()
        own = whole[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        packed += [own, own.translate(str.maketrans("+/", "-_"))]
    patterns = [b"".join(map(_escaped, text)) for text in texts]
    patterns += [gap.join(map(_escaped, text)) for text in dict.fromkeys(packed)]
    # Looked at first, so that nearly every place of a text is passed over at once.
    starts = {text[0] for text in (*texts, *packed)}
    first = b"".join(re.escape(c.encode()[:1]) for c in sorted(starts))
    return re.compile(rb"(?i)(?=[%s\\%%&])(?:%s)" % (first, b"|".join(patterns)))


def _escaped(character: str) -> bytes:
    """A pattern for a character, bare or escaped in whatever way, once or several times."""
    raw = character.encode("utf-8", "surrogatepass")
    units = character.encode("utf-16-be", "surrogatepass").hex()
    code = ord(character)
    ways = [
        rb"\\{0,8}" + re.escape(raw),
        b"".join(rb"\\{1,8}u" + units[i : i + 4].encode() for i in range(0, len(units), 4)),
        b"".join(rb"%%(?:25){0,4}%02x" % byte for byte in raw),
        rb"&(?:amp;){0,4}#(?:0{0,6}%d|x0{0,6}%x);" % (code, code),
    ]
    if code < 256:
        ways.append(rb"\\{1,8}x%02x" % code)
    if code in codepoint2name:
        ways.append(rb"&(?:amp;){0,4}%s;" % codepoint2name[code].encode())
    return b"(?:" + b"|".join(ways) + b")"


def _without_parts(text: str, secret: str) -> str:
    """The text without runs that are a piece of the secret, such as its beginning and its end.

    Short ones count where they stand alone: "test" of a key is no part of "latest".
    """
    size = _PART
    low, key = text.lower(), secret.lower()
    if len(low) != len(text):  # İ and such
        low = text
    pieces = {key[i : i + size] for i in range(len(key) - size + 1)}
    made, at, i = [], 0, 0
    while i <= len(low) - size:
        if low[i : i + size] not in pieces:
            i += 1
            continue
        end = i + size
        while end < len(low) and low[end + 1 - size : end + 1] in pieces:
            end += 1
        alone = not _WORD.match(text[i - 1 : i]) and not _WORD.match(text[end : end + 1])
        if end - i >= _SURE_PART or alone:
            made += [text[at:i], HIDDEN]
            at = end
        i = end
    return "".join([*made, text[at:]])
