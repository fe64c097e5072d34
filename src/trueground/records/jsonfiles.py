"""JSON lines and JSON arrays, one row at a time, each row still as its bytes.

A JSON array is cut into its elements here rather than by a general streaming parser, because those
stop at the first odd number and put "?" for half a surrogate pair: a bad row must neither hide the
rows after it nor change its text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.records.archives import LARGEST_ROW, too_large
from trueground.records.jsontext import decode_row, too_deep
from trueground.records.problems import Problem, describe

_CHUNK = 1 << 18
_DEEPEST = 200_000  # brackets; what has so many open was not written as data
_CUT = "the file ends in the middle of a {}"
_WHOLE = "a whole file; it may have been cut off while it was written or copied"

# Each match runs over whole strings, so that brackets and commas in them do not count, up to the
# next bracket (or comma, between elements). A lone quote opens a string that is not yet read whole.
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_BETWEEN = re.compile(rb"(?:[^\"\[\]{},]++|" + _STRING + rb")*+([\[\]{},\"])?", re.DOTALL)
_INSIDE = re.compile(rb"(?:[^\"\[\]{}]++|" + _STRING + rb")*+([\[\]{}\"])?", re.DOTALL)


def read_lines(stream: io.BufferedReader, name: str) -> Iterator[tuple[int, bytes | Problem]]:
    """(1-based line number, line) of every line that is not blank."""
    number = 0
    while line := stream.readline(LARGEST_ROW + 1):
        number += 1
        if len(line) > LARGEST_ROW:
            raise too_large(f"{name}, line {number}")
        if line.isspace():
            continue
        yield number, line if line.endswith(b"\n") else _last_line(line)


def _last_line(line: bytes) -> bytes | Problem:
    """A last line without line end: whole, or cut off."""
    try:
        msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            decode_row(line)
        except Problem as problem:
            return Problem(problem.field, f"{_CUT.format('line')} ({problem.found})", _WHOLE)
    return line


def read_array(stream: io.BufferedReader, name: str) -> Iterator[tuple[int, bytes | Problem]]:
    """(1-based number, JSON text) of every element of the file's one array."""
    scanner = _ArrayScanner(stream, name)
    while (element := scanner.element()) is not None:
        yield scanner.number, element
    rest = scanner.rest()
    if rest:
        raise InputError(
            f"{name}: found {describe(rest.decode(errors='replace'))} after the end of the array; "
            "expected one JSON array, or JSON lines in a file that ends in .jsonl"
        )


def read_members(stream: io.BufferedReader, name: str) -> Iterator[tuple[str, Any]]:
    """(key, value) of each member of the file's one object. InputError."""
    # They are cut apart as the elements of an array are.
    as_array: io.BufferedReader = io.BufferedReader(_AsArray(stream), _CHUNK)
    for number, member in read_array(as_array, name):
        place = f"{name}, entry {number}"
        try:
            if isinstance(member, Problem):
                raise member
            yield from decode_row(b"{" + member + b"}").items()
        except Problem as problem:
            raise InputError(
                f"{place}: found {problem.found.replace(']', '}')}; expected {problem.expected}"
            ) from None


class _AsArray(io.RawIOBase):
    """A stream whose first brace is a bracket, for the reader of arrays.

    That reader ends at any closing bracket, also at the object's brace.
    """

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._begun = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read1(len(buffer))
        if not self._begun and b"{" in data:
            self._begun = True
            data = data.replace(b"{", b"[", 1)
        buffer[: len(data)] = data
        return len(data)


class _ArrayScanner:
    """Cuts the elements out of an array, holding one element and one chunk at a time."""

    def __init__(self, stream: io.BufferedReader, name: str) -> None:
        self._stream = stream
        self._name = name
        self._buffer = b""
        self._start = self._at = 0
        self._ended = False
        self.number = 0
        while b"[" not in self._buffer and self._more():
            pass
        self._start = self._at = self._buffer.index(b"[") + 1

    def element(self) -> bytes | Problem | None:
        """The next element; a Problem for an empty or a cut one; None after the closing bracket."""
        if self._ended:
            return None
        self._start = self._at
        depth = 0
        while True:
            match = (_INSIDE if depth else _BETWEEN).match(self._buffer, self._at)
            token = match and match[1]
            if match is None or token is None or token == b'"':
                self._at = match.start(1) if match and token else len(self._buffer)
                if not self._more():
                    return self._cut()
                continue
            self._at = match.end()
            if token in b"[{":
                depth += 1
                if depth > _DEEPEST:
                    raise InputError(f"{self._name}, row {self.number + 1}: {too_deep().found}")
            elif depth:
                depth -= 1
            else:
                return self._finish(match.start(1), last=token != b",")

    def rest(self) -> bytes:
        """The beginning of what stands after the closing bracket, without white space."""
        text = self._buffer[self._at :].strip()
        while not text and (chunk := self._stream.read(_CHUNK)):
            text = chunk.strip()
        return text[:200]

    def _finish(self, end: int, last: bool) -> bytes | Problem | None:
        text = self._buffer[self._start : end].strip()
        self._ended = last
        if not text and last and self.number == 0:
            return None
        self.number += 1
        return text or Problem(None, "nothing where a record belongs", "no comma too many")

    def _cut(self) -> Problem | None:
        text = self._buffer[self._start :].strip()
        self._ended = True
        self._start = self._at = len(self._buffer)
        self.number += 1
        found = "the end of the file before the closing ]"
        if text:
            try:
                decode_row(text)
            except Problem as problem:
                found = f"{_CUT.format('record')} ({problem.found})"
        return Problem(None, found, _WHOLE)

    def _more(self) -> bool:
        # Reading as much again keeps a string that spans many chunks from being searched too often.
        kept = self._buffer[self._start :]
        chunk = self._stream.read(max(_CHUNK, len(kept)))
        self._buffer, self._at, self._start = kept + chunk, self._at - self._start, 0
        if len(self._buffer) > LARGEST_ROW:
            raise too_large(f"{self._name}, row {self.number + 1}")
        return bool(chunk)
