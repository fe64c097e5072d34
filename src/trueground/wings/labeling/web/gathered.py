"""All that people have said, as `trueground agreement` reads it from their files.

Pages and exported files are made of the same lines, so that both tell the same numbers.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sql
from msgspec.structs import replace
from sqlalchemy import Connection, Row

from trueground.errors import InputError
from trueground.types import Record
from trueground.wings.labeling.answers import Answer, Answers, merge, parse_values
from trueground.wings.labeling.base import Label
from trueground.wings.labeling.files import FilledTask, ShownTask, TaskLine
from trueground.wings.labeling.web.database import LabelDatabase
from trueground.wings.labeling.web.people import names_of
from trueground.wings.labeling.web.project import decode, read_task
from trueground.wings.labeling.web.schema import (
    labels,
    metadata,
    people,
    sessions,
    sources,
    tasks,
    work,
)
from trueground.wings.labeling.web.tasks import read_source, record_of

DECIDED = "decided"  # by a lead, whatever people said
TaskName = tuple[str, str]


@dataclass
class Gathered:
    """The newest label of every person and task, and the newest decision on each task.

    `numbers` are the tasks' by kind and id; `rows` are labels as they are stored, by task number.
    `filled` are by label number; `last` is that of the newest label.
    """

    names: Mapping[int, str]
    last: int
    filled: dict[int, FilledTask] = field(default_factory=dict)
    numbers: dict[TaskName, int] = field(default_factory=dict)
    tasks: dict[TaskName, ShownTask] = field(default_factory=dict)
    sources: dict[TaskName, int | None] = field(default_factory=dict)
    rows: dict[int, list[Row[Any]]] = field(default_factory=dict)
    decisions: dict[int, Row[Any]] = field(default_factory=dict)

    @cached_property
    def answers(self) -> Answers:
        """The answers of all people, checked as those of files are."""
        found = Answers()
        for one in self.filled.values():
            found.add(one, allow_edited=False)
        return found

    def lines(self) -> bytes:
        """The same as JSON lines, as an annotator's file has them."""
        return b"".join(
            msgspec.json.encode(
                {
                    "kind": one.task.kind.name,
                    "id": one.task.id,
                    "annotator": one.line.annotator,
                    "shown": one.task.shown,
                    "options": {
                        f.name: own for f in one.task.kind.fields if (own := one.task.options(f))
                    },
                    "answer": one.line.answer,
                    "seconds": one.line.seconds,
                    "comment": one.line.comment,
                    "check": one.task.check,
                    **({} if one.task.drawn is None else {"drawn": one.task.drawn}),
                }
            )
            + b"\n"
            for one in self.filled.values()
        )

    def merged(self) -> list[Label]:
        """One label for each task, as `annotate import` makes them; a lead's decision wins."""
        found = []
        for name in sorted(self.tasks):
            answers = self.answers.tasks.get(name, [])
            decision = self.decisions.get(self.numbers[name])
            if decision is not None:
                task = self.tasks[name]
                values, wrong = parse_values(task, decode(decision.values))
                if values and not wrong:
                    lead = self.names[decision.person]
                    own = Answer(task, lead, values, decision.seconds, decision.comment, "")
                    label = merge([own])
                    label.how = dict.fromkeys(label.how, DECIDED)
                    label.annotators = len(answers)
                    found.append(label)
                    continue
            if answers:
                found.append(merge(answers))
        return found


def gather(database: LabelDatabase, before: Gathered | None = None) -> Gathered:
    """All labels as they are now; what was read `before`, and is the same, is not read again."""
    with database.snapshot() as connection:
        names = names_of(connection)
        found = Gathered(names, connection.scalar(_LAST) or 0)
        old = before or Gathered({}, 0)
        found.numbers, found.tasks = dict(old.numbers), dict(old.tasks)
        found.sources = dict(old.sources)
        by_number = {number: name for name, number in old.numbers.items()}
        labeled = sql.select(labels.c.task).where(labels.c.number > old.last)
        for row in connection.execute(sql.select(tasks).where(tasks.c.number.in_(labeled))):
            if row.number in by_number:
                continue
            task = read_task(row)
            name = task.kind.name, task.id
            by_number[row.number] = name
            found.numbers[name], found.tasks[name] = row.number, task
            found.sources[name] = row.source
        for row in _newest(connection):
            name = by_number[row.task]
            found.rows.setdefault(row.task, []).append(row)
            filled = old.filled.get(row.number)
            if filled is None or filled.line.annotator != names[row.person]:  # or forgotten since
                filled = _fill(found.tasks[name], row, names[row.person])
            found.filled[row.number] = filled
        decided = sql.select(labels).where(labels.c.decision).order_by(labels.c.number)
        for row in connection.execute(decided):
            if row.state == "skipped":  # taken back
                found.decisions.pop(row.task, None)
            else:
                found.decisions[row.task] = row
    return found


_LAST = sql.select(sql.func.max(labels.c.number))


def stand_of(connection: Connection) -> tuple[Any, ...]:
    """What is another one as soon as anything that `gather` gives is."""
    newest = connection.scalar(_LAST)
    named = connection.execute(
        sql.select(sql.func.count(), sql.func.count(people.c.name), sql.func.max(people.c.number))
    ).one()
    return (newest, *named)


def _newest(connection: Connection) -> list[Row[Any]]:
    """The newest labels, by person and then by task: in a fixed order, whoever asks."""
    return list(
        connection.execute(
            sql.select(labels)
            .join_from(work, labels, work.c.label == labels.c.number)
            .join(tasks, tasks.c.number == labels.c.task)
            .order_by(labels.c.person, tasks.c.kind, tasks.c.id)
        )
    )


def _fill(task: ShownTask, row: Row[Any], name: str) -> FilledTask:
    values = decode(row.values) if row.state == "done" else {}
    answer = {each.name: values.get(each.name) for each in task.kind.fields}
    line = TaskLine(
        kind=task.kind.name,
        id=task.id,
        shown=dict(task.shown or {}),
        answer=answer,
        annotator=name,
        seconds=row.seconds,
        comment=row.comment,
        check=task.check,
        drawn=task.drawn,
    )
    return FilledTask(f"task {row.task}, {name}", task, line)


# ---- as files: labels, the records that they are of, a backup ----

_ROWS = 1_000  # copied at once


def write_labels(labels: Sequence[Label]) -> bytes:
    """Merged labels as JSON lines, as `annotate import` writes them."""
    return b"".join(msgspec.json.encode(label) + b"\n" for label in labels)


def read_sources(database: LabelDatabase) -> dict[int, tuple[str, str]]:
    """Where tasks came from: path, and the mark before their ids, by number."""
    with database.read() as connection:
        rows = connection.execute(sql.select(sources)).all()
    return {row.number: (row.path, row.mark) for row in rows}


def labeled_records(database: LabelDatabase, gathered: Gathered) -> Iterator[Record]:
    """The records that somebody labeled, where it is known where they lie, each once.

    Their ids are as in the tasks: of several sources with the number of theirs before it.
    InputError: no source is known, or one is not there any more.
    """
    known = read_sources(database)
    wanted: dict[int, set[str]] = {}
    for name, source in gathered.sources.items():
        if source is not None:
            mark = known[source][1]
            wanted.setdefault(source, set()).add(record_of(name[1], bool(mark))[1])
    if not wanted:
        raise InputError(
            "it is not known which records these tasks were made of: they came as files without "
            "NAME-export.json beside them; give the records to the command yourself"
        )
    seen: set[str] = set()
    for number, ids in sorted(wanted.items()):
        path, mark = known[number]
        if not Path(path).exists():
            raise InputError(f"{path} is not there any more; the tasks were made of it")
        for record in read_source(path):
            if record.id in ids and (id_ := mark + record.id) not in seen:
                seen.add(id_)
                yield replace(record, id=id_)


def write_records(records: Iterator[Record]) -> bytes:
    """Records as JSON lines."""
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def back_up(database: LabelDatabase) -> Path:
    """The whole project as one SQLite file of its own, as it is at one moment; sessions stay out.

    It lies in the folder of temporary files, and is the caller's to remove.
    """
    handle, name = tempfile.mkstemp(prefix="trueground-", suffix=".db")
    os.close(handle)
    path = Path(name)
    path.unlink()
    try:
        with LabelDatabase(str(path)) as copy, database.snapshot() as source:
            rows = {table: sql.select(table) for table in metadata.sorted_tables}
            with copy.engine.connect() as plain:
                target = plain.execution_options(writes="FULL")
                with target.begin():
                    for table in reversed(metadata.sorted_tables):
                        target.execute(sql.delete(table))
                    for table, select in rows.items():
                        if table is sessions:
                            continue
                        found = source.execute(select).mappings()
                        for part in found.partitions(_ROWS):
                            target.execute(sql.insert(table), [dict(row) for row in part])
            copy.make_single()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
