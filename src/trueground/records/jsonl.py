"""JSON lines and JSON arrays, one row at a time, and what is wrong with a row that is no object.

A JSON array is cut into its elements here rather than by a general streaming parser, because those
stop at the first odd number and put "?" for half a surrogate pair: a bad row must neither hide the
rows after it nor change its text.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.records.limits import LARGEST_ROW, too_large
from trueground.records.problems import Problem, clean, describe, known_id, shorten, too_deep

RECORD = 'one JSON object such as {"response": "…"}'
_decode = msgspec.json.Decoder().decode
_CHUNK = 1 << 18
_DEEPEST = 200_000  # brackets; what has so many open was not written as data
_CUT = "the file ends in the middle of a {}"
_WHOLE = "a whole file; it may have been cut off while it was written or copied"
_EMPTY = ("nothing where a record belongs", "no comma too many")
_AFTER_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"[ \t\n\r]*+(:?)')
# Each match runs over whole strings, so that brackets and commas in them do not count, up to the
# next bracket (or comma, between elements). A lone quote opens a string that is not yet read whole.
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_BETWEEN = re.compile(rb"(?:[^\"\[\]{},]++|" + _STRING + rb")*+([\[\]{},\"])?", re.DOTALL)
_INSIDE = re.compile(rb"(?:[^\"\[\]{}]++|" + _STRING + rb")*+([\[\]{}\"])?", re.DOTALL)


def decode_row(data: bytes, expected: str = RECORD) -> dict[str, Any]:
    """A JSON object as a dict. Problem: broken UTF-8 or JSON, NaN, NUL, cut surrogates.

    `expected` says what a row is, where it is no record.
    """
    row = decode(data, expected)
    if type(row) is not dict:
        hint = "; a file that is one JSON array must end in .json" if type(row) is list else ""
        raise Problem(None, describe(row), expected + hint)
    return row


def decode(data: bytes | str, expected: str = RECORD) -> Any:
    """Decode any JSON value. Problem: see `decode_row`."""
    # The slow account is only made if the fast decoder stumbles.
    try:
        value = _decode(data)
        _check_keys(data, value)
        nul = b"\\u0000" in data if isinstance(data, bytes) else "\\u0000" in data
        return _check_values(value) if nul else value
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

    def require_unique(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                found = f'the key "{shorten(key)}" twice in one object'
                raise Problem(None, found, "every key once", known_id(value))
            seen.add(key)

    with suppress(ValueError):  # an integer of thousands of digits, which is reported elsewhere
        json.loads(text, object_pairs_hook=require_unique)


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
    return _check_values(value)


def _check_values(value: Any) -> Any:
    """The value, if nothing in it is refused; else a Problem that knows the row's id."""
    try:
        return clean(value)
    except RecursionError:
        raise too_deep() from None
    except Problem as problem:
        problem.row_id = known_id(value)
        raise


def read_lines(stream: io.BufferedReader, name: str) -> Iterator[tuple[int, bytes | Problem]]:
    """(1-based line number, line) of every line that is not blank."""
    number = 0
    while line := stream.readline(LARGEST_ROW + 1):
        number += 1
        if len(line) > LARGEST_ROW:
            raise too_large(f"{name}, line {number}")
        if line.isspace():
            continue
        yield number, line if line.endswith(b"\n") else _check_last_line(line)


def _check_last_line(line: bytes) -> bytes | Problem:
    """A last line without line end: whole, or cut off."""
    try:
        msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            decode_row(line)
        except Problem as problem:
            return Problem(problem.field, f"{_CUT.format('line')} ({problem.found})", _WHOLE)
    return line


def read_array(
    stream: io.BufferedReader, name: str, opening: bytes = b"[", *, wrapped: bool = False
) -> Iterator[tuple[int, bytes | Problem]]:
    """(1-based number, JSON text) of every element of the file's one array.

    With `opening` "{" the members of the file's one object, which stand between commas as well. An
    array that is `wrapped` is the first member of an object, whose other members are passed over.
    """
    # What is held is one element and one chunk at a time.
    buffer = b""
    start = at = number = 0

    def read_more() -> bool:
        nonlocal buffer, start, at
        # Reading as much again keeps a string that spans many chunks from being searched too often.
        unread = buffer[start:]
        chunk = stream.read(max(_CHUNK, len(unread)))
        buffer, at, start = unread + chunk, at - start, 0
        if len(buffer) > LARGEST_ROW:
            raise too_large(f"{name}, row {number + 1}")
        return bool(chunk)

    while opening not in buffer and read_more():
        pass
    start = at = buffer.index(opening) + 1
    depth = 0
    while True:
        match = (_INSIDE if depth else _BETWEEN).match(buffer, at)
        token = match and match[1]
        if match is None or token is None or token == b'"':
            at = match.start(1) if match and token else len(buffer)
            if not read_more():
                yield number + 1, _cut_element(buffer[start:].strip())
                return
            continue
        at = match.end()
        if token in b"[{":
            depth += 1
            if depth > _DEEPEST:
                raise InputError(f"{name}, row {number + 1}: {too_deep().found}")
        elif depth:
            depth -= 1
        else:
            element = buffer[start : match.start(1)].strip()
            if element or token == b"," or number:
                number += 1
                yield number, element or Problem(None, *_EMPTY)
            start = at
            if token != b",":
                break
    rest = buffer[at:].strip()
    while not rest and (chunk := stream.read(_CHUNK)):
        rest = chunk.strip()
    if wrapped:
        _check_wrapping(rest + stream.read(LARGEST_ROW), name)
    elif rest:
        raise InputError(
            f"{name}: found {describe(rest[:200].decode(errors='replace'))} after the end of the "
            "array; expected one JSON array, or JSON lines in a file that ends in .jsonl"
        )


def _check_wrapping(rest: bytes, name: str) -> None:
    """InputError unless this is the rest of one object, with nothing behind it."""
    try:
        decode_row(b'{"":0' + rest)
    except Problem as problem:
        raise InputError(
            f"{name}: found {problem.found} in what follows the first array; expected the other "
            "members of one object, or JSON lines in a file that ends in .jsonl"
        ) from None


def _cut_element(text: bytes) -> Problem:
    """What an array ends with that is not closed."""
    found = "the end of the file before the closing ]"
    if text:
        try:
            decode_row(text)
        except Problem as problem:
            found = f"{_CUT.format('record')} ({problem.found})"
    return Problem(None, found, _WHOLE)


def read_members(stream: io.BufferedReader, name: str) -> Iterator[tuple[str, Any]]:
    """(key, value) of each member of the file's one object. InputError."""
    for number, member in read_array(stream, name, b"{"):
        try:
            if isinstance(member, Problem):
                raise member
            yield from decode_row(b"{" + member + b"}").items()
        except Problem as problem:
            raise InputError(
                f"{name}, entry {number}: found {problem.found.replace(']', '}')}; "
                f"expected {problem.expected}"
            ) from None
