"""Removal of credentials from addresses and messages."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from html.entities import codepoint2name
from urllib.parse import urlsplit, urlunsplit

HIDDEN = "[hidden]"
# Shorter texts aren't treated as secrets, because they may be ordinary words.
MIN_SECRET_LENGTH = 8
# Placeholders for the key of a local server: each part is one of these words.
_PLACEHOLDER = re.compile(
    r"(?i)(?:(?:empty|none|null|nil|ollama|lm|studio|vllm|llama(?:cpp)?|sglang|tgi|litellm|openai|"
    r"local(?:host)?|no|not|needed|required|used|unused|ignored?|any(?:thing)?|whatever|some|"
    r"dummy|fake|test(?:ing)?|demo|example|sample|placeholder|changeme|here|my|your|the|api|key|"
    r"apikey|sk|token|secret|password|x|0)[\W_]*)*"
)
MAX_REASON_CHARS = 200
_HEADER = re.compile(r"(?i)\b((?:proxy-)?authorization|x-api-key|api-key)\b[\"']?\s*[:=][^,;}\n]*")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w+/=.~*-]{16,}")
# Keys with usual prefixes, and keys that an endpoint masks in part ("abcd****wxyz").
_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|nvapi|AIza)[-_]?[A-Za-z0-9*_-]{12,}|(?<![^\s\"'])[^\s\"']*\*{3,}\S*"
)
# Length of a part of a secret that is hidden as a separate word, and anywhere in a text.
MIN_WORD_PART, MIN_PART = 4, 8
_WORD = re.compile(r"\w")
# Scheme, authority with credentials before its last @, and path. The rest is removed, up to the
# next URL of a chain ("zip://a.csv::https://host/a.zip").
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
    """Return a text with all URLs without password, query and fragment."""
    return _URL.sub(lambda url: f"{url[1]}{url[2].rpartition('@')[2]}{url[3]}", text)


def redact_command(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command without passwords in URLs, also in `--option=URL`."""
    return [_redact_word(argument) for argument in arguments]


def _redact_word(word: str) -> str:
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return option + equals + redact_urls(value)


class Secrets:
    """Keys and passwords that must not be in a reply, message or file.

    Short texts and placeholders such as EMPTY or lm-studio don't count as secrets. The object is
    False if there are no secrets.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self._secrets = [secret for secret in secrets if _is_secret(secret)]

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def hide(self, body: bytes) -> bytes:
        """Return bytes without the secrets, also in base64, hex, or escaped (JSON, URL, HTML)."""
        for secret in self._secrets:
            body = _forms(secret).sub(HIDDEN.encode(), body)
        return body

    def scrub(self, text: str) -> str:
        """Return a message without the secrets, their parts, and texts that look like keys."""
        if self._secrets:
            text = self.hide(text.encode("utf-8", "replace")).decode("utf-8", "replace")
        for secret in self._secrets:
            text = _without_parts(text, secret)
        text = _HEADER.sub(rf"\1: {HIDDEN}", text)
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        return _KEY.sub(lambda key: key[0] if _PLACEHOLDER.fullmatch(key[0]) else HIDDEN, text)


def _is_secret(text: str) -> bool:
    return len(text) >= MIN_SECRET_LENGTH and not _PLACEHOLDER.fullmatch(text)


def raised(error: BaseException) -> str:
    """Return the type of an exception and the beginning of its message, on one line."""
    message = Secrets().scrub(" ".join(str(error).replace("\0", "\\x00").split()))
    message = message.encode("utf-8", "replace").decode()
    if len(message) > MAX_REASON_CHARS:
        message = f"{message[:MAX_REASON_CHARS]}…"
    return f"{type(error).__name__}: {message}"


@lru_cache(maxsize=64)
def _forms(secret: str) -> re.Pattern[bytes]:
    """Return a pattern of all encodings of a secret; each character may be escaped."""
    raw = secret.encode("utf-8", "surrogatepass")
    texts = {secret, raw.hex()}
    gap = rb"(?:\s|\\{1,8}[rnt]|%0[ad]){0,3}"  # Encoders may break lines.
    packed = []
    for before in range(3):  # Bytes before the secret, such as "Bearer ", shift its base64.
        whole = b64encode(bytes(before) + raw).decode()
        encoded = whole[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        packed += [encoded, encoded.translate(str.maketrans("+/", "-_"))]
    patterns = [b"".join(map(_escaped, text)) for text in texts]
    patterns += [gap.join(map(_escaped, text)) for text in dict.fromkeys(packed)]
    # The lookahead for first characters skips nearly all positions of a text quickly.
    starts = {text[0] for text in (*texts, *packed)}
    first = b"".join(re.escape(c.encode()[:1]) for c in sorted(starts))
    return re.compile(rb"(?i)(?=[%s\\%%&])(?:%s)" % (first, b"|".join(patterns)))


def _escaped(character: str) -> bytes:
    """Return a pattern for a character, bare or escaped once or several times."""
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
    """Return the text without parts of the secret, such as its beginning or its end.

    A short part counts only as a separate word: "test" of a key isn't hidden in "latest".
    """
    size = MIN_WORD_PART
    low, key = text.lower(), secret.lower()
    if len(low) != len(text):  # Lower case of İ and the like has another length.
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
        if end - i >= MIN_PART or alone:
            made += [text[at:i], HIDDEN]
            at = end
        i = end
    return "".join([*made, text[at:]])
