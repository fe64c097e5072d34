"""Files of tasks: each task with what annotators see and fill in, as JSON lines or a spreadsheet.

A sheet is CSV: one row a task, what is shown before what is filled in. Values that a spreadsheet
would run as a formula, or turn into a date or another number, stand behind an apostrophe, which is
taken off when the answers come back. So do those within a text that would stand at the beginning of
a cell for a program that splits at other signs than commas.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueground.errors import InputError
from trueground.labels import LabelDraw, decode_lines
from trueground.records import describe, guard, shorten, unguard
from trueground.wings.labeling.kinds import KINDS, NONE, AnnotationTask, Field, TaskKind

LONGEST_CELL = 32_767  # characters; spreadsheets cut what is longer
_HALF = 10  # letters and digits in each half of a check
_OWN_COLUMNS = ("kind", "id", "annotator", "check")


@dataclass(frozen=True)
class ShownTask:
    """A task as annotators get it: `cells` are the texts of everything that is shown, by name.

    `parts` says of each list whose numbers are asked for how many parts it has. `shown` is what the
    cells were made of; None where only these are known, as in a spreadsheet.
    """

    kind: TaskKind
    id: str
    cells: Mapping[str, str]
    parts: Mapping[str, int]
    shown: Mapping[str, Any] | None = None
    drawn: LabelDraw | None = None

    @classmethod
    def of(cls, task: AnnotationTask, kind: TaskKind, place: str) -> ShownTask:
        """The task as annotators get it. InputError, with `place`: what must be shown is not."""
        for name in kind.shows:
            if name not in task.shown and name not in kind.optional:
                raise InputError(
                    f"{place}: the task {task.id!r} of kind {kind.name} lacks shown.{name} "
                    f"({kind.shows[name]}); expected {', '.join(kind.shows)}"
                )
        needed = dict.fromkeys(kind.numbered_lists, "a list") | dict.fromkeys(
            kind.marked_texts, "a text"
        )
        for name, form in needed.items():
            if not isinstance(task.shown[name], str if form == "a text" else list | tuple):
                raise InputError(
                    f"{place}: the task {task.id!r} has {describe(task.shown[name])} as "
                    f"shown.{name}; expected {form}"
                )
        parts = {name: len(task.shown[name]) for name in kind.numbered_lists}
        try:
            cells = {name: render_value(task.shown.get(name)) for name in kind.shows}
        except RecursionError:
            raise InputError(
                f"{place}: the shown values of task {task.id!r} are nested too deeply; expected "
                "texts and lists of texts"
            ) from None
        return cls(kind, task.id, cells, parts, task.shown, task.drawn)

    def options(self, field: Field) -> tuple[str, ...]:
        """The values that may be given for a field; none where anything may."""
        if not field.numbers_of:
            return field.options
        return tuple(str(number) for number in range(1, self.parts[field.numbers_of] + 1))

    def text(self, field: Field) -> str:
        """The text whose words are marked in a field; empty where none are."""
        return self.cells.get(field.text_of, "")

    @cached_property
    def check(self) -> str:
        """Which task it is, and what is shown, each as a few letters and digits.

        By it a line whose id or text was changed by hand, or by a spreadsheet, is found when the
        answers come back. White space and apostrophes at a cell's beginning are no difference, but
        in a text whose words are marked the positions must stay.
        """
        shown = [
            f"{name}: {' '.join(text.lstrip(chr(39)).split())}"
            for name, text in sorted(self.cells.items())
        ]
        shown += [f"{name}: {count}" for name, count in sorted(self.parts.items())]
        shown += [f"{name}: length {len(self.cells[name])}" for name in self.kind.marked_texts]
        return f"t{_digest([self.kind.name, self.id])}-{_digest(shown)}"


class TaskLine(msgspec.Struct):
    """One line or row for one annotator; what is filled in is not yet checked."""

    kind: str
    id: str | int
    shown: dict[str, Any]
    answer: dict[str, Any]
    annotator: Any = None
    seconds: Any = None
    comment: Any = None
    check: str = ""
    drawn: Any = None


class FilledTask(NamedTuple):
    """What an annotator made of a task; `place` is file and line."""

    place: str
    task: ShownTask
    line: TaskLine


def format_tasks(path: Path, tasks: Sequence[ShownTask], annotator: str) -> bytes:
    """A file for an annotator: CSV where its name ends so, else JSON lines. Tasks of one kind.

    For JSON lines the tasks must be known with what was shown.
    """
    if path.suffix.lower() == ".csv":
        return _format_sheet(tasks, annotator)
    return b"".join(
        msgspec.json.encode(
            {
                "kind": task.kind.name,
                "id": task.id,
                "annotator": annotator,
                "shown": task.shown,
                "options": {f.name: o for f in task.kind.fields if (o := task.options(f))},
                "answer": dict.fromkeys(field.name for field in task.kind.fields),
                "seconds": None,
                "comment": "",
                "check": task.check,
                **({} if task.drawn is None else {"drawn": task.drawn}),
            }
        )
        + b"\n"
        for task in tasks
    )


def read_filled(path: Path, tell: Callable[[str], None]) -> Iterator[FilledTask]:
    """The lines or rows of a filled file; `tell` those that are of no known task. InputError."""
    if path.suffix.lower() == ".csv":
        yield from _read_sheet(path)
        return
    expected = (
        "not a line that `trueground annotate export` wrote",
        "keep each task on its line, and fill in answer, seconds and comment",
    )
    for number, line in decode_lines(path, TaskLine, *expected):
        place = f"{path}, line {number}"
        try:
            kind = _find_kind(line.kind, place)
            names = [field.name for field in kind.fields]
            if unknown := [name for name in line.answer if name not in names]:
                raise InputError(
                    f"{place}: unknown field {shorten(unknown[0])!r} in answer; tasks of kind "
                    f"{kind.name} have {', '.join(names)}"
                )
            task = AnnotationTask(line.kind, str(line.id), line.shown, LabelDraw.of(line.drawn))
            shown = ShownTask.of(task, kind, place)
        except InputError as error:
            tell(str(error))
        else:
            yield FilledTask(place, shown, line)


def render_value(value: Any) -> str:
    """A shown value as text: lists as numbered lines, passages with their titles."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        if all(isinstance(part, Mapping) and part.keys() == {"label", "text"} for part in value):
            return "\n".join(f"{part['label']}) {part['text']}" for part in value)
        return "\n".join(f"[{number}] {_render_part(part)}" for number, part in enumerate(value, 1))
    return _render_part(value)


def _render_part(value: Any) -> str:
    """One part of a list, or a value that is no list."""
    if isinstance(value, Mapping):
        title, text = value.get("title"), value.get("text")
        if isinstance(text, str):
            return f"{title}: {text}" if title else text
        return ", ".join(f"{name}: {_render_part(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return " | ".join(map(_render_part, value))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _digest(texts: list[str]) -> str:
    content = msgspec.json.encode(texts, order="deterministic")
    return hashlib.sha256(content).hexdigest()[:_HALF]


def _find_kind(name: str, place: str) -> TaskKind:
    if name not in KINDS:
        raise InputError(
            f"{place}: unknown kind of task {shorten(name)!r}; known: {', '.join(KINDS)}"
        )
    return KINDS[name]


def _format_sheet(tasks: Sequence[ShownTask], annotator: str) -> bytes:
    """The tasks as CSV in UTF-8 with a mark; the columns to fill in say what may stand there."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    kind, any_drawn = tasks[0].kind, any(task.drawn is not None for task in tasks)
    counts = [f"{name} numbers" for name in kind.numbered_lists]
    fields = [f"{field.name} [{field.describe()}]" for field in kind.fields]
    header = ["kind", "id", "annotator", *kind.shows, *counts, *fields]
    writer.writerow([*header, "seconds", "comment", "check", *["drawn"] * any_drawn])
    for task in tasks:
        row = [kind.name, *(guard(text) for text in (task.id, annotator, *task.cells.values()))]
        row += [f"1 to {count}" if count else NONE for count in task.parts.values()]
        row += [*[""] * (len(fields) + 2), task.check]
        if any_drawn:  # in words: spreadsheets leave these alone
            draw = task.drawn
            words = "" if draw is None else f"with probability {draw.probability!r}"
            row.append(words + (f" from {draw.stratum}" if draw and draw.stratum else ""))
        writer.writerow(row)
    return text.getvalue().encode("utf-8-sig")


def _read_sheet(path: Path) -> Iterator[FilledTask]:
    """The rows of a filled sheet, numbered as spreadsheets number them. InputError."""
    rows = _read_rows(path)
    if not rows:
        raise InputError(f"{path} is empty; expected a file of `trueground annotate export --csv`")
    columns: dict[str, int] = {}  # by the name without what may be filled in
    for at, name in enumerate(rows[0]):
        bare = re.sub(r"\s*\[.*\]\s*$", "", name, flags=re.DOTALL).strip()
        if bare in columns:
            raise InputError(f"{path}: two columns are named {shorten(bare)!r}; keep one")
        if bare:
            columns[bare] = at
    if missing := [name for name in _OWN_COLUMNS if name not in columns]:
        raise InputError(
            f"{path} has no column {', '.join(map(repr, missing))}: looked for "
            f"{', '.join(_OWN_COLUMNS)} and those of the kind of task, found "
            f"{', '.join(map(shorten, rows[0][:12]))}. Give a sheet that `trueground annotate "
            "export --csv` wrote, with its first row, or JSON lines"
        )
    for number, cells in enumerate(rows[1:], 2):
        if any(cell.strip() for cell in cells):
            yield _read_row(path, number, cells, columns)


def _read_rows(path: Path) -> list[list[str]]:
    """The rows of a CSV file as any program saves it. InputError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte {content[error.start]:#04x} is not UTF-8 (saved as Latin-1 "
            'or Windows-1252?); save the sheet as "CSV UTF-8", in LibreOffice with the character '
            "set Unicode (UTF-8)"
        ) from None
    if named := re.match(r"sep=([,;\t|])\r?\n", text):  # no row: it names the separator
        text, separator = text[named.end() :], named[1]
    else:  # by which the first row has a cell `kind`, and the most cells
        first = re.split(r"[\r\n]", text.lstrip("\r\n")[:10_000], maxsplit=1)[0]
        cells = {sign: next(csv.reader([first], delimiter=sign), []) for sign in ",;\t|"}
        separator = max(cells, key=lambda sign: ("kind" in cells[sign], len(cells[sign])))
    before = csv.field_size_limit(2**31 - 1)
    try:  # all rows at once: the limit holds for the whole process, and must not stay
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise InputError(
            f"{path} isn't a valid table: {error}; save the sheet as CSV again, with quoted texts"
        ) from None
    finally:
        csv.field_size_limit(before)


def _read_row(path: Path, number: int, cells: list[str], columns: Mapping[str, int]) -> FilledTask:
    place = f"{path}, row {number}"
    behind = cells[max(columns.values()) + 1 :]
    if len(cells) > len(columns) and any(cell.strip() for cell in behind):
        raise InputError(
            f"{place} has {len(cells)} cells, the first row {len(columns)}; quote texts that "
            "contain the separator"
        )
    row = {name: cells[at] if at < len(cells) else "" for name, at in columns.items()}
    kind = _find_kind(row["kind"].strip(), place)
    counts = {name: f"{name} numbers" for name in kind.numbered_lists}
    needed = [*kind.shows, *counts.values(), *(field.name for field in kind.fields)]
    if missing := [name for name in needed if name not in columns]:
        raise InputError(
            f"{path} has no column {', '.join(map(repr, missing))}, which tasks of kind "
            f"{kind.name} have; found {', '.join(map(shorten, columns))}. One sheet holds one "
            "kind, with all columns that were exported"
        )
    parts = {}
    for name, column in counts.items():
        text = row[column].strip()
        count = re.fullmatch(r"1\s*to\s*(\d{1,6})", text)
        if count is None and text.lower() != NONE:
            raise InputError(
                f"{place}, column {column!r}: found {shorten(row[column])!r}; expected the value "
                "that the export wrote, such as '1 to 7'"
            )
        parts[name] = int(count[1]) if count else 0
    draw = re.fullmatch(
        r"with probability ([0-9.e-]+)(?: from (.+))?", row.get("drawn", "").strip()
    )
    drawn = LabelDraw.of({"probability": draw[1], "stratum": draw[2] or ""}) if draw else None
    line = TaskLine(
        kind=kind.name,
        id=unguard(row["id"].strip()),
        shown={name: unguard(row[name]) for name in kind.shows},
        answer={field.name: unguard(row[field.name]) for field in kind.fields},
        annotator=unguard(row["annotator"].strip()),
        seconds=row.get("seconds"),
        comment=row.get("comment"),
        check=row["check"].strip(),
    )
    return FilledTask(place, ShownTask(kind, str(line.id), line.shown, parts, drawn=drawn), line)
