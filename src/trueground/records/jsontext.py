"""One JSON text → one row, and an exact account of what is wrong with the text where it is none."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from trueground.records.clean import clean
from trueground.records.problems import Problem, describe, known_id, shorten

_decode = msgspec.json.Decoder().decode
_AFTER_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"[ \t\n\r]*+(:?)')
RECORD = 'one JSON object such as {"response": "…"}'


def decode_row(data: bytes, expected: str = RECORD) -> dict[str, Any]:
    """A JSON object as a dict. Problem: broken UTF-8 or JSON, NaN, NUL, cut surrogates.

    `expected` says what a row is, where it is none of ours.
    """
    row = decode(data, expected)
    if type(row) is not dict:
        hint = "; a file that is one JSON array must end in .json" if type(row) is list else ""
        raise Problem(None, describe(row), expected + hint)
    return row


def decode(data: bytes | str, expected: str = RECORD) -> Any:
    """Any JSON value. The slow account is only made where the fast decoder stumbles."""
    try:
        value = _decode(data)
        _check_keys(data, value)
        nul = b"\\u0000" in data if isinstance(data, bytes) else "\\u0000" in data
        return _checked(value) if nul else value
    except RecursionError:
        raise too_deep() from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _explain(data, expected)


def _check_keys(data: bytes | str, value: Any) -> None:
    """Problem where an object names a key twice: the decoder keeps the last of its values only.

    Whatever could be the colon behind a key is counted, ever more closely; only where there are
    more than keys the text is read again.
    """
    keys, inner = 0, [value]
    while inner:
        one = inner.pop()
        if type(one) is dict:
            keys += len(one)
            inner += [v for v in one.values() if type(v) is dict or type(v) is list]
        elif type(one) is list:
            inner += [v for v in one if type(v) is dict or type(v) is list]
    signs = (":", '":', " :", "\t:", "\n:", "\r:")
    colon, *closer = signs if isinstance(data, str) else map(str.encode, signs)  # type: Any, Any
    if data.count(colon) == keys or sum(map(data.count, closer)) == keys:
        return
    text = data if isinstance(data, str) else data.decode()
    if sum(map(bool, _AFTER_STRING.findall(text))) == keys:
        return
    try:
        json.loads(text, object_pairs_hook=_each_once)
    except Problem as problem:
        problem.row_id = known_id(value)
        raise
    except ValueError:
        return  # an integer of thousands of digits, which is told of elsewhere


def _each_once(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise Problem(None, f'the key "{shorten(key)}" twice in one object', "every key once")
        seen.add(key)


def _explain(data: bytes | str, expected: str) -> Any:
    """Raises the Problem of a text that the fast decoder refuses, or gives its value after all."""
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise Problem(
            None,
            f"invalid UTF-8 (byte 0x{byte:02x} at byte {error.start + 1} of the row)",
            "UTF-8 text; save the file as UTF-8",
        ) from None
    if "\0" in text:
        column = text.index("\0") + 1
        raise Problem(None, f"a NUL byte at column {column}", "text without NUL bytes")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno} of the record, " if error.lineno > 1 else ""
        at = f"{line}column {error.colno}"
        reason = error.msg.removesuffix(" at").removesuffix(" starting")
        raise Problem(None, f"a JSON syntax error at {at}: {reason}", expected) from None
    except RecursionError:
        raise too_deep() from None
    except ValueError:
        # Python refuses to read integers of more than 4,300 digits.
        raise Problem(None, "a number of thousands of digits", "a number, or a str") from None
    return _checked(value)


def _checked(value: Any) -> Any:
    """The value, if nothing in it is refused; the Problem else knows the row's id."""
    try:
        return clean(value)
    except RecursionError:
        raise too_deep() from None
    except Problem as problem:
        problem.row_id = known_id(value)
        raise


def too_deep() -> Problem:
    """The Problem of a row that exceeds the depth of recursion."""
    return Problem(None, "lists or objects nested too deeply to read", "fewer levels")
