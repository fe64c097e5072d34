"""SPARQL terms made of texts and addresses: the only way in which data gets into a query."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trueground.errors import GraphError, UsageError

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
# Some engines read \uXXXX before anything else. Where a text holds a backslash and a "u", the "u"
# is written as an escape itself, which means the same to them and to all others.
_UNICODE = {"\\u": "\\\\\\u0075", "\\U": "\\\\\\u0055"}
_SPECIAL = re.compile(r'\\[uU]|[\\"\n\r]')
_LANG = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_WIDE = "\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd"
_PART = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/{_WIDE}]|%[0-9A-Fa-f]{{2}})"
_IRI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.\-]*:(?://(?:[^/?#]*@)?\[[0-9A-Fa-f:.]+\](?::\d*)?(?=[/?#]|\Z))?"
    rf"{_PART}*(?:\?(?:{_PART}|\?)*)?(?:#(?:{_PART}|\?)*)?"
)
_FORBIDDEN = re.compile(r'[\x00-\x20<>"{}|^`\\]')


def is_text(text: str) -> bool:
    """Whether it can be sent at all: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def literal(text: str, lang: str | None = None) -> str:
    """A string as SPARQL writes it, with a language tag if one is given. Raises GraphError."""
    if not is_text(text):
        raise GraphError(f"{text!a} is no text: it holds half of a character. Fix it")
    body = _SPECIAL.sub(lambda m: _UNICODE.get(m[0]) or _ESCAPES[m[0]], text)
    return f'"{body}"' if lang is None else f'"{body}"@{language(lang)}'


def is_language(tag: str) -> bool:
    """Whether it is a language tag, "en" or "pt-BR"."""
    return _LANG.fullmatch(tag) is not None


def language(tag: str) -> str:
    """The tag itself. Raises UsageError where it is none."""
    if not is_language(tag):
        raise UsageError(f'{tag!r} is no language; expected a tag such as "en" or "pt-BR"')
    return tag


def is_iri(text: str) -> bool:
    """Whether it is an absolute address that may stand in a query."""
    return _IRI.fullmatch(text) is not None and _FORBIDDEN.search(text) is None


def iri(text: str) -> str:
    """An absolute address in angle brackets. Raises GraphError where it is none."""
    if not is_iri(text):
        raise GraphError(
            f"{text!a} is no address (IRI); expected one such as http://example.org/a, without "
            "spaces, quotes, brackets or backslashes"
        )
    return f"<{text}>"


def is_address(value: str) -> bool:
    """Whether a binding is meant as an address."""
    return len(value) > 2 and value.startswith("<") and value.endswith(">")


def term(value: str) -> str:
    """What a binding stands for: `<http://…>` is an address, all else a text. GraphError."""
    return iri(value[1:-1]) if is_address(value) else literal(value)


def values(variable: str, terms: Iterable[str]) -> str:
    """A VALUES block for one variable; the terms come from `literal` and `iri`."""
    return f"VALUES ?{variable} {{ {' '.join(terms)} }}"
