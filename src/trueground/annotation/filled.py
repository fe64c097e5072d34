"""What stands in one filled file, JSON lines or CSV, not yet checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from trueground.annotation.base import AnnotationTask, LabelDraw
from trueground.annotation.given import Given, give
from trueground.annotation.kinds import KINDS
from trueground.annotation.lines import TaskLine, read_lines
from trueground.annotation.sheet_reading import read_sheet
from trueground.errors import InputError
from trueground.records.problems import shorten


class Filled(NamedTuple):
    """One line or row, not yet checked."""

    place: str
    given: Given
    annotator: Any
    raw: Mapping[str, Any]
    seconds: Any
    comment: Any
    check: str


def read_filled(path: Path, tell: Callable[[str], None]) -> Iterator[Filled]:
    """The lines or rows of a file; `tell` those that are of no known task. InputError."""
    return _sheet(path) if path.suffix.lower() == ".csv" else _lines(path, tell)


def _lines(path: Path, tell: Callable[[str], None]) -> Iterator[Filled]:
    for number, line in read_lines(path):
        place = f"{path}, line {number}"
        try:
            given = _given(line, place)
        except InputError as error:
            tell(str(error))
        else:
            yield Filled(
                place, given, line.annotator, line.answer, line.seconds, line.comment, line.check
            )


def _given(line: TaskLine, place: str) -> Given:
    kind = KINDS.get(line.kind)
    if kind is None:
        raise InputError(
            f"{place}: unknown kind of task {shorten(line.kind)!r}; known: {', '.join(KINDS)}"
        )
    names = [field.name for field in kind.fields]
    if unknown := [name for name in line.answer if name not in names]:
        raise InputError(
            f"{place}: unknown field {shorten(unknown[0])!r} in answer; tasks of kind {kind.name} "
            f"have {', '.join(names)}"
        )
    drawn = LabelDraw.of(line.drawn)
    return give(AnnotationTask(line.kind, str(line.id), line.shown, drawn), kind, place)


def _sheet(path: Path) -> Iterator[Filled]:
    for row in read_sheet(path):
        place = f"{path}, row {row.number}"
        yield Filled(
            place, row.given, row.annotator, row.answer, row.seconds, row.comment, row.check
        )
