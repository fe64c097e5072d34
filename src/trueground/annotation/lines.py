"""Tasks and answers as JSON lines: one task a line, with the answers to fill in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from trueground.annotation.base import AnnotationTask
from trueground.annotation.given import Given
from trueground.errors import InputError

T = TypeVar("T")
# what decoding a line may raise; a RecursionError where brackets stand in brackets without end
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
BOM = b"\xef\xbb\xbf"


class TaskLine(msgspec.Struct):
    """One line of a file for one annotator."""

    kind: str
    id: str | int
    shown: dict[str, Any]
    answer: dict[str, Any]
    annotator: Any = None
    seconds: Any = None
    comment: Any = None
    check: str = ""
    drawn: Any = None


def write_line(given: Given, annotator: str) -> bytes:
    """A task as a line, its answers null. The task must be known with what was shown."""
    fields = given.kind.fields
    return msgspec.json.encode(
        {
            "kind": given.kind.name,
            "id": given.id,
            "annotator": annotator,
            "shown": given.shown,
            "options": {f.name: o for f in fields if (o := given.options(f))},
            "answer": {field.name: None for field in fields},
            "seconds": None,
            "comment": "",
            "check": given.check,
            **({} if given.drawn is None else {"drawn": given.drawn}),
        }
    )


def read_lines(path: Path) -> Iterator[tuple[int, TaskLine]]:
    """The lines of a filled file, with their numbers. InputError."""
    return _read(
        path,
        TaskLine,
        "no line of a file that `trueground annotate export` wrote",
        "keep each task on its line, and fill in answer, seconds and comment",
    )


def read_tasks(path: Path) -> Iterator[tuple[int, AnnotationTask]]:
    """The tasks of a build, with their line numbers. InputError."""
    expected = "expected a line that `trueground build` wrote, with kind, id and shown"
    return _read(path, AnnotationTask, "not a task", expected)


def _read(path: Path, kind: type[T], found: str, remedy: str) -> Iterator[tuple[int, T]]:
    decoder = msgspec.json.Decoder(kind)
    for number, content in numbered(path):
        try:
            yield number, decoder.decode(content)
        except UNREADABLE as error:
            raise InputError(f"{path}, line {number}: {found} ({error}); {remedy}") from None


def numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, from 1. InputError: the file cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    for number, line in enumerate(content.removeprefix(BOM).split(b"\n"), 1):
        if line.strip():
            yield number, line
