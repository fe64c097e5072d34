"""Where tasks come from: folders of builds, and records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from trueground.annotation.base import AnnotationTask
from trueground.annotation.files import ShownTask, decode_lines, render_value
from trueground.annotation.kinds import KINDS, TaskKind
from trueground.annotation.parts import MissingPart, Pairing
from trueground.errors import InputError, UsageError
from trueground.records.columns import field_text
from trueground.records.problems import UNREADABLE

ANNOTATE = "annotate"  # the folder of tasks in that of a build
_RECORDS = "records.jsonl.zst"
_LONGEST_LINE = 16 << 20  # bytes; a record of a run may be longer
OnBadRow = Literal["stop", "skip"]
# A task with its place; or what a record lacks.
Found = tuple[str, AnnotationTask] | str


class FoundTasks(NamedTuple):
    """The tasks, the sources by the number that ids have, and why records gave none."""

    tasks: list[ShownTask]
    sources: Mapping[str, str]
    skipped: Mapping[str, int]


def parse_where(texts: Sequence[str]) -> dict[str, str]:
    """`meta.task=general` → {"meta.task": "general"}. UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        field, equals, value = text.partition("=")
        if not equals or not field or field in found:
            raise UsageError(f"--where {text!r} cannot be read; write FIELD=VALUE, each field once")
        found[field] = value
    return found


def find_tasks(
    kind: TaskKind,
    sources: Sequence[str],
    pairing: Pairing = "gold",
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "stop",
    where: Mapping[str, str] | None = None,
) -> FoundTasks:
    """The tasks of all sources, in their order.

    With several sources the id of a record's task has the number of its source before it ("2:q7"),
    not its name: who wrote an answer must not show. A build's tasks keep their ids, by which the
    build finds its labels again; the same task of two builds is one. InputError, UsageError.
    """
    if len(set(sources)) < len(sources):
        raise UsageError("a source is given twice; name each once")
    where = where or {}
    # What a field must be; * stands for anything.
    wanted = {
        field: re.compile(".*".join(map(re.escape, value.split("*"))), re.DOTALL)
        for field, value in where.items()
    }
    numbers = {str(number): source for number, source in enumerate(sources, 1)}
    tasks: dict[str, ShownTask] = {}
    skipped: dict[str, int] = {}
    for number, source in numbers.items():
        built, records = _open_source(kind, source)
        mark = f"{number}:" if len(sources) > 1 and built is None else ""
        found = (
            _read_records(kind, records, pairing, mapping or {}, on_bad_row, wanted)
            if built is None
            else _read_built(kind, built, wanted)
        )
        own: set[str] = set()
        for one in found:
            if isinstance(one, str):
                skipped[one] = skipped.get(one, 0) + 1
                continue
            place, task = one
            shown = ShownTask.of(msgspec.structs.replace(task, id=mark + task.id), kind, place)
            if shown.id in own:
                raise InputError(f"{place}: the task id {shown.id!r} stands there twice")
            if tasks.setdefault(shown.id, shown).check != shown.check:
                raise InputError(
                    f"{place}: the task id {shown.id!r} stands in another source with another "
                    "text; export each by itself"
                )
            own.add(shown.id)
    if not tasks:
        here = "".join(f" where {field}={value}" for field, value in where.items())
        why = ", ".join(f"{count:,} without {lack}" for lack, count in skipped.items())
        raise InputError(
            f"no tasks of kind {kind.name} in {', '.join(sources)}{here}{': ' if why else ''}{why}"
        )
    return FoundTasks(list(tasks.values()), numbers, skipped)


def _open_source(kind: TaskKind, source: str) -> tuple[Path | None, str]:
    """The file of tasks that a build wrote, where the source is one or has one; else the records.

    InputError: a folder that has neither.
    """
    path = Path(source)
    if not path.is_dir():
        return path if not kind.of_records or _holds_tasks(path) else None, source
    folder = path / ANNOTATE
    if (folder / f"{kind.name}.jsonl").is_file():
        return folder / f"{kind.name}.jsonl", source
    if folder.is_dir() or not kind.of_records:
        there = sorted(file.stem for file in folder.glob("*.jsonl") if file.stem in KINDS)
        raise InputError(
            f"{path} has no tasks of kind {kind.name} ({ANNOTATE}/{kind.name}.jsonl); it has "
            f"{', '.join(there) or 'none'}. `trueground build` writes them"
        )
    if not (path / _RECORDS).is_file():
        raise InputError(
            f"{path} is a folder with neither {ANNOTATE}/{kind.name}.jsonl nor {_RECORDS}; "
            "name the folder of a build or of a run, or a file of records"
        )
    return None, str(path / _RECORDS)


def _holds_tasks(path: Path) -> bool:
    """Whether the first line of a file is a task, which no record is."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            beginning = file.readline(_LONGEST_LINE)
        msgspec.json.decode(beginning.removeprefix(b"\xef\xbb\xbf"), type=AnnotationTask)
    except (OSError, *UNREADABLE):
        return False
    return True


def _read_built(
    kind: TaskKind, path: Path, where: Mapping[str, re.Pattern[str]]
) -> Iterator[Found]:
    expected = (
        "not a task",
        "expected a line that `trueground build` wrote, with kind, id and shown",
    )
    for number, task in decode_lines(path, AnnotationTask, *expected):
        place = f"{path}, line {number}"
        if task.kind != kind.name:
            raise InputError(f"{place}: a task of kind {task.kind!r}; expected {kind.name!r}")
        fields = {**task.shown, "id": task.item}
        if all(p.fullmatch(render_value(fields.get(name))) for name, p in where.items()):
            yield place, task


def _read_records(
    kind: TaskKind,
    source: str,
    pairing: Pairing,
    mapping: Mapping[str, str],
    on_bad_row: OnBadRow,
    where: Mapping[str, re.Pattern[str]],
) -> Iterator[Found]:
    from trueground.records import open_records

    with open_records(source, mapping=mapping, on_bad_row=on_bad_row) as records:
        for _ in range(records.check().bad_total):
            yield "a form that can be read"
        for record in (record for batch in records.batches() for record in batch):
            if all(
                p.fullmatch(record.id if name == "id" else field_text(record, name) or "")
                for name, p in where.items()
            ):
                try:
                    for task, _ in kind.tasks_of(record, pairing):
                        yield f"{records.name}, record {record.id!r}", task
                except MissingPart as missing:
                    yield str(missing)
