"""Tasks as a spreadsheet (CSV): one row a task, what is shown before what is filled in.

Values that a spreadsheet would run as a formula, or turn into a date or another number, stand
behind an apostrophe, which is taken off when the answers come back. So do those within a text that
would stand at the beginning of a cell for a program that splits at other signs than commas.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from trueground.annotation.base import Field, LabelDraw, TaskKind
from trueground.annotation.given import Given
from trueground.annotation.values import NONE

LONGEST_CELL = 32_767  # characters; spreadsheets cut what is longer
_BEGINS = r"=+\-@＝＋－＠'"
_FORMULA = re.compile(rf"[\s\"]*[{_BEGINS}]|[\t\r\n]")
# Behind such a sign another cell or row begins, for some programs.
_CELL = r"[;|\t\r\n\x0b\x0c\x1c-\x1f\x85\u2028\u2029]"
_INNER = re.compile(rf"({_CELL}[\s\"]*)(?=[{_BEGINS}])")
_GUARDED = re.compile(rf"({_CELL}[\s\"]*)'(?=[{_BEGINS}])")
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_TAKEN_FOR_NUMBER = re.compile(
    rf"(?:[\d\s.,:/eE%$€£()+-]|am|pm|(?:{_MONTHS})[a-z]*+)+|true|false", re.IGNORECASE
)
_SAFE_NUMBER = re.compile(r"(?:0|[1-9]\d{0,14})")


def sheet(rows: Sequence[tuple[Given, str]], kind: TaskKind) -> bytes:
    """The tasks of one kind, each with its annotator, as CSV in UTF-8 with a mark."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    drawn = any(given.drawn is not None for given, _ in rows)
    writer.writerow([*header(kind), *["drawn"] * drawn])
    for given, annotator in rows:
        shown = [guard(given.cells[name]) for name in kind.shows]
        parts = [_numbers(given.parts[name]) for name in numbered_lists(kind)]
        empty = [""] * (len(kind.fields) + 2)
        task = [kind.name, guard(given.id), guard(annotator)]
        draw = [_draw_cell(given.drawn)] * drawn
        writer.writerow([*task, *shown, *parts, *empty, given.check, *draw])
    return text.getvalue().encode("utf-8-sig")


def _draw_cell(draw: LabelDraw | None) -> str:
    """How the item was drawn, in words: spreadsheets leave these alone."""
    if draw is None:
        return ""
    return f"with probability {draw.probability!r}" + f" from {draw.stratum}" * bool(draw.stratum)


def parse_draw_cell(text: str) -> LabelDraw | None:
    """The other way round."""
    found = re.fullmatch(r"with probability ([0-9.e-]+)(?: from (.+))?", text.strip())
    return (
        None
        if found is None
        else LabelDraw.of({"probability": found[1], "stratum": found[2] or ""})
    )


def header(kind: TaskKind) -> list[str]:
    """The names of the columns; those to fill in say what may be."""
    parts = [parts_column(name) for name in numbered_lists(kind)]
    fields = [f"{field.name} [{_told(field)}]" for field in kind.fields]
    return ["kind", "id", "annotator", *kind.shows, *parts, *fields, "seconds", "comment", "check"]


def numbered_lists(kind: TaskKind) -> list[str]:
    """The lists whose numbers are asked for."""
    return list(dict.fromkeys(f.numbers_of for f in kind.fields if f.numbers_of))


def parts_column(name: str) -> str:
    """The column that says how many parts the list of that name has."""
    return f"{name} numbers"


def too_long(rows: Iterable[Given]) -> int:
    """How many tasks have a text that spreadsheets would cut."""
    return sum(any(len(text) > LONGEST_CELL for text in row.cells.values()) for row in rows)


def guard(text: str) -> str:
    """The text as spreadsheets leave it alone."""
    return ("'" if _needs_guard(text) else "") + _INNER.sub(r"\1'", text)


def unguard(text: str) -> str:
    """The text without the apostrophes of `guard`."""
    if text.startswith("'") and _needs_guard(_GUARDED.sub(r"\1", text[1:])):
        text = text[1:]
    return _GUARDED.sub(r"\1", text)


def _needs_guard(text: str) -> bool:
    if _FORMULA.match(text):
        return True
    if len(text) > 60 or _SAFE_NUMBER.fullmatch(text):
        return False
    word = text.strip()
    return bool(_TAKEN_FOR_NUMBER.fullmatch(word)) and (
        any(c.isdigit() for c in word) or word.lower() in ("true", "false")
    )


def _numbers(count: int) -> str:
    return f"1 to {count}" if count else NONE


def _told(field: Field) -> str:
    if field.form == "scale":
        return f"{field.low} to {field.high}"
    if field.form == "choice":
        return "|".join(field.options)
    if field.form == "choices":
        return "|".join((*(field.options or (f"numbers of {field.numbers_of}",)), NONE))
    return "text" if field.form == "text" else "texts, one a line"
