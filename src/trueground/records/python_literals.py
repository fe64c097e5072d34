"""Lists and dictionaries in cells, written as Python's `repr`."""

from __future__ import annotations

import re
from typing import Any

# What Python prints: a bracket or sign, a text in quotes, a number, or a name, also of a call.
_LITERAL = re.compile(
    r"""\s*+(?:(?P<sign>[\[\](){},:=])|'(?P<single>(?:[^'\\]++|\\.)*+)'|"""
    r""""(?P<double>(?:[^"\\]++|\\.)*+)"|(?P<number>[+-]?\d++(?:\.\d*+)?(?:[eE][+-]?\d++)?)|"""
    r"""(?P<name>[A-Za-z_][\w.]*+)(?!['"])\s*+(?P<call>\()?)""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}
_NAMES = {"True": True, "False": False, "None": None}
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_DEEPEST, _MOST = 50, 1_000_000


class _Name(str):
    """A word without quotes: of use only before "=", and as an argument such as `dtype=object`."""


class _Key(str):
    """What stands before ":" or "="."""


def parse_python(text: str) -> Any:
    """The value that Python printed: lists, tuples, dicts, texts, numbers, True, False, None.

    numpy's arrays, which have no commas, and objects such as `Document(page_content='…')` are read
    too: as lists, and as dicts. Nothing is evaluated. ValueError: anything else, more than 50
    levels, more than a million values.
    """
    stack: list[list[Any]] = [[]]
    closing: list[tuple[str, bool]] = []
    at, seen, end = 0, 0, len(text.rstrip())
    while at < end:
        match = _LITERAL.match(text, at)
        seen += 1
        if match is None or seen > _MOST or len(closing) > _DEEPEST:
            raise ValueError(f"no Python value at character {at + 1}")
        at = match.end()
        kind, items = match.lastgroup, stack[-1]
        word = match[kind] if kind else ""
        if kind == "call" or (word in _CLOSING and kind == "sign"):
            closing.append((_CLOSING[word], kind == "call"))
            stack.append([])
        elif kind in ("single", "double"):
            items.append(_ESCAPE.sub(_unescape, word) if "\\" in word else word)
        elif kind == "number":
            items.append(float(word) if set(word) & {".", "e", "E"} else int(word))
        elif kind == "name":
            items.append(_NAMES[word] if word in _NAMES else _Name(word))
        elif word in (":", "=") and items and (type(items[-1]) is _Name) == (word == "="):
            items.append(_Key(items.pop()))
        elif word != ",":  # it closes
            expected, called = closing.pop() if closing else ("", False)
            if word != expected:
                raise ValueError(f"{word} at character {at}")
            stack.pop()
            stack[-1].append(_container(items, word, called))
    if len(stack) != 1 or len(stack[0]) != 1 or type(stack[0][0]) is _Name:
        raise ValueError("no one value")
    return stack[0][0]


def _container(items: list[Any], close: str, called: bool) -> Any:
    """A dict in braces or in a call with keys; the first argument of another call, or the list."""
    if not called and any(type(item) is _Name for item in items):
        raise ValueError("a word without quotes")
    if items and type(items[0]) is _Key and (called or close == "}"):
        if len(items) % 2 or not all(type(key) is _Key for key in items[::2]):
            raise ValueError("a key without a value")
        return {str(key): value for key, value in zip(items[::2], items[1::2], strict=True)}
    if called:
        if not items or type(items[0]) is _Name:
            raise ValueError("a call of something unknown")
        return items[0]
    if any(type(item) is _Key for item in items):
        raise ValueError("a key in a list")
    return items


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    return chr(int(code, 16)) if code else _ESCAPED.get(match[4], match[4])
