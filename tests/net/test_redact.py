"""No writing of a key gets through, and no word that is none is taken out."""

from __future__ import annotations

import base64
import html
import json
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from tests.marks import mostly_long

from trueground.net.redact import HIDDEN, Secrets

KEYS = ['k3y+a/b"', "abcdEFGH1234567", "sk-proj-" + "Ab3_zQ9-" * 20, "pässwörd\\ñ"]
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in capitals": lambda key: key if not key.isascii() else key.upper(),
    "JSON": json.dumps,
    "JSON in JSON": lambda key: json.dumps(json.dumps(key)),
    "slashes escaped": lambda key: json.dumps(key).replace("/", "\\/"),
    "code units": lambda key: "".join(f"\\u{ord(c):04X}" for c in key),
    "half in code units": lambda key: key[:3] + "".join(f"\\u{ord(c):04x}" for c in key[3:]),
    "bytes of Python": lambda key: str(key.encode("latin-1"))[2:-1],
    "URL": quote,
    "form field": quote_plus,
    "every byte for a URL": lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    "URL in URL": lambda key: quote(quote(key, safe=""), safe=""),
    "HTML": html.escape,
    "numbers of HTML": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "hex numbers of HTML": lambda key: "".join(f"&#x{ord(c):X};" for c in key),
    "hex": lambda key: key.encode().hex(),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    "base64 of the header": lambda key: base64.b64encode(b"Bearer " + key.encode()).decode(),
    "base64 of user and key": lambda key: base64.b64encode(b"me:" + key.encode() + b"!").decode(),
    "base64 in a URL": lambda key: quote(base64.b64encode(key.encode()).decode(), safe=""),
    "base64 in lines": lambda key: base64.encodebytes(b"x" + key.encode()).decode(),
    "base64 in lines in JSON": lambda key: json.dumps(
        base64.encodebytes(b"x" + key.encode()).decode()
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_shows_in_no_writing(form: str, key: str) -> None:
    said = FORMS[form](key)
    body = f'before "{said}" behind'.encode()
    hidden = Secrets([key]).hide(body).decode()
    assert HIDDEN in hidden
    assert hidden.startswith('before "')
    assert hidden.endswith('" behind')
    assert len(hidden) < len('before "" behind') + len(HIDDEN) + 16  # what stood around the key
    assert HIDDEN in Secrets([key]).scrub(body.decode())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("wrong key: {0}... given", "wrong key: [hidden]... given"),
        ("it ends in …{1}", "it ends in …[hidden]"),
        ("{2} then {3}", "[hidden] then [hidden]"),
        ("x{2}x", "x[hidden]x"),
        ("latest of them", "latest of them"),
    ],
)
def test_an_error_shows_no_part_of_a_key(text: str, kept: str) -> None:
    key = "test-4f9aQ2-kk81Z0-77xy"
    parts = (key[:6], key[-4:], key[: len(key) // 2], key[len(key) // 2 :])
    assert Secrets([key]).scrub(text.format(*parts)) == kept


def test_secrets_hides_keys() -> None:
    for word in (
        *("", "none", "EMPTY", "ollama", "lm-studio", "not-needed", "no-key-required", "1234567"),
        *("sk-no-key-required", "YOUR_API_KEY", "dummy-key", "xxxxxxxxxxxx", "sk-xxxxxxxxxxxxxxxx"),
    ):
        assert not Secrets([word]), word
        assert Secrets([word]).scrub(f"say {word} twice") == f"say {word} twice"
        assert Secrets([word]).hide(f"say {word}".encode()) == f"say {word}".encode()
    for word in ("hunter22", "a1b2c3d4", "12345678", "sk-1a2b3c4d", "correct-horse", "no-key-4711"):
        assert Secrets([word]), word


def test_other_words_stay() -> None:
    text = '{"a": "The tower \\u00e4 100% &amp; abc\\/d", "b": [1931, "aGVsbG8gd29ybGQ="]}'
    assert Secrets(KEYS).hide(text.encode()).decode() == text
    assert Secrets(KEYS).scrub(text) == text


@pytest.mark.parametrize(
    "unit", mostly_long(2, ["%25", KEYS[1][:-1], "\\", "&amp;", "a", "\\u0061", " \\n"])
)
def test_the_search_takes_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        Secrets([KEYS[1]]).hide(text.encode())
        Secrets([KEYS[1]]).scrub(text[:100_000])
        return time.process_time() - start

    seconds(1_000)  # makes the patterns
    assert seconds(800_000) < 0.05 + 12 * seconds(200_000)
