"""Where tasks come from: folders of builds, and records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from trueground.annotation.base import AnnotationTask, TaskKind
from trueground.annotation.from_records import Pairing, Skipped, tasks_of
from trueground.annotation.given import Given, give, render
from trueground.annotation.kinds import KINDS
from trueground.annotation.lines import BOM, UNREADABLE, read_tasks
from trueground.errors import InputError, UsageError
from trueground.records.columns import field_text
from trueground.types import Record

ANNOTATE = "annotate"  # the folder of tasks in that of a build
_RECORDS = "records.jsonl.zst"
_LONGEST_LINE = 16 << 20  # bytes; a record of a run may be longer
OnBadRow = Literal["stop", "skip"]
Where = Mapping[str, re.Pattern[str]]


class FoundTasks(NamedTuple):
    """The tasks, the sources by the number that ids have, and why records gave none."""

    tasks: list[Given]
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
    wanted = {field: _pattern(value) for field, value in (where or {}).items()}
    numbers = {str(number): source for number, source in enumerate(sources, 1)}
    tasks: dict[str, Given] = {}
    skipped: dict[str, int] = {}
    for number, source in numbers.items():
        built = _built(kind, source)
        mark = f"{number}:" if len(sources) > 1 and built is None else ""
        own: set[str] = set()
        for place, found in (
            _of_file(kind, built, wanted)
            if built is not None
            else _of_records(
                kind, _records(kind, source), pairing, mapping or {}, on_bad_row, wanted
            )
        ):
            if isinstance(found, Skipped):
                skipped[found.reason] = skipped.get(found.reason, 0) + 1
                continue
            given = give(
                AnnotationTask(found.kind, mark + found.id, found.shown, found.drawn), kind, place
            )
            if given.id in own:
                raise InputError(f"{place}: the task id {given.id!r} stands there twice")
            if tasks.setdefault(given.id, given).check != given.check:
                raise InputError(
                    f"{place}: the task id {given.id!r} stands in another source with another "
                    "text; export each by itself"
                )
            own.add(given.id)
    if not tasks:
        here = "".join(f" where {field}={value}" for field, value in (where or {}).items())
        named = f"{', '.join(sources)}{here}"
        raise InputError(f"no tasks of kind {kind.name} in {named}{_why(skipped)}")
    return FoundTasks(list(tasks.values()), numbers, skipped)


def _built(kind: TaskKind, source: str) -> Path | None:
    """The file of tasks that a build wrote, where the source is one or has one."""
    path = Path(source)
    if path.is_dir():
        file = path / ANNOTATE / f"{kind.name}.jsonl"
        return file if file.is_file() else None
    return path if kind.made_of == "build" or _holds_tasks(path) else None


def _holds_tasks(path: Path) -> bool:
    """Whether the first line of a file is a task, which no record is."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            beginning = file.readline(_LONGEST_LINE)
        msgspec.json.decode(beginning.removeprefix(BOM), type=AnnotationTask)
    except (OSError, *UNREADABLE):
        return False
    return True


def _records(kind: TaskKind, source: str) -> str:
    """The records of a source that no build wrote. InputError."""
    path = Path(source)
    if not path.is_dir():
        return source
    if (path / ANNOTATE).is_dir() or kind.made_of == "build":
        raise _no_build(kind, path)
    if not (path / _RECORDS).is_file():
        raise InputError(
            f"{path} is a folder with neither {ANNOTATE}/{kind.name}.jsonl nor {_RECORDS}; "
            "name the folder of a build or of a run, or a file of records"
        )
    return str(path / _RECORDS)


def _of_file(
    kind: TaskKind, path: Path, where: Where
) -> Iterator[tuple[str, AnnotationTask | Skipped]]:
    for number, task in read_tasks(path):
        if task.kind != kind.name:
            raise InputError(
                f"{path}, line {number}: a task of kind {task.kind!r}; expected {kind.name!r}"
            )
        fields = {**task.shown, "id": task.item}
        if all(pattern.fullmatch(render(fields.get(name))) for name, pattern in where.items()):
            yield f"{path}, line {number}", task


def _of_records(
    kind: TaskKind,
    source: str,
    pairing: Pairing,
    mapping: Mapping[str, str],
    on_bad_row: OnBadRow,
    where: Where,
) -> Iterator[tuple[str, AnnotationTask | Skipped]]:
    from trueground.records import open_records

    with open_records(source, mapping=mapping, on_bad_row=on_bad_row) as records:
        for _ in range(records.check().bad_total):
            yield records.name, Skipped("a form that can be read")
        for batch in records.batches():
            for record in batch:
                if not all(p.fullmatch(_text(record, name)) for name, p in where.items()):
                    continue
                for found in tasks_of(kind.name, record, pairing):
                    yield f"{records.name}, record {record.id!r}", found


def _text(record: Record, field: str) -> str:
    """A field of a record to select by: its id, one that numbers are broken down by, or empty."""
    return record.id if field == "id" else field_text(record, field) or ""


def _pattern(value: str) -> re.Pattern[str]:
    """What a field must be; * stands for anything."""
    return re.compile(".*".join(map(re.escape, value.split("*"))), re.DOTALL)


def _no_build(kind: TaskKind, path: Path) -> InputError:
    there = sorted(file.stem for file in (path / ANNOTATE).glob("*.jsonl") if file.stem in KINDS)
    have = f"it has {', '.join(there)}" if there else "it has none"
    return InputError(
        f"{path} has no tasks of kind {kind.name} ({ANNOTATE}/{kind.name}.jsonl); {have}. "
        "`trueground build` writes them"
    )


def _why(skipped: Mapping[str, int]) -> str:
    if not skipped:
        return ""
    return ": " + ", ".join(f"{count:,} without {reason}" for reason, count in skipped.items())
