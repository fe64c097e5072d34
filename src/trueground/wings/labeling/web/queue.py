"""Who does which task next, and what they say: leases, labels and their history.

A label is there once `save` has returned, and only then: what it wrote is on disk. The same save
sent twice, by its key, is one label. A task has as many slots as people are wanted for it; whoever
works at it holds one, for a while, and with a label for good.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec
import sqlalchemy as sql
from sqlalchemy import Connection, Integer, Row, RowMapping

from trueground.errors import InputError
from trueground.wings.labeling.answers import parse_values
from trueground.wings.labeling.files import ShownTask
from trueground.wings.labeling.web.board import TaskBoard
from trueground.wings.labeling.web.database import LabelDatabase
from trueground.wings.labeling.web.hints import shorten_title
from trueground.wings.labeling.web.people import Person, names_of
from trueground.wings.labeling.web.project import Project, decode, encode, read_task
from trueground.wings.labeling.web.schema import labels, tasks, work

LEASE = 30 * 60.0  # seconds
PAGE = 50  # labels on a page of them
_MOST_KNOWN = 2_000  # tasks kept in memory
State = Literal["done", "skipped", "unclear"]
# Statements are built once: to build one takes longer than to run it.
_person = sql.bindparam("person", type_=Integer)
_this = (work.c.task == sql.bindparam("of_task")) & (work.c.person == sql.bindparam("of_person"))
_OWN = sql.select(work).where(work.c.task == sql.bindparam("task"), work.c.person == _person)
_OF_TASK = sql.select(work).where(work.c.task == sql.bindparam("task"))
_AGAIN = sql.select(labels).where(labels.c.person == _person, labels.c.key == sql.bindparam("key"))
_ADD, _LEASE = sql.insert(labels), sql.insert(work)
_HOLD = (
    sql.update(work).where(_this).values(slot=sql.bindparam("slot"), until=sql.bindparam("until"))
)
_DONE = sql.update(work).where(_this).values(label=sql.bindparam("label"), until=None)
_GIVE_BACK = _DONE.values(slot=None)  # for somebody else
_LEAVE = sql.delete(work).where(_this)


class NotYoursError(InputError):
    """The task is not one that this person holds or has labeled."""


class TaskTakenError(InputError):
    """The task's slots are all held by others."""


class WrongValuesError(InputError):
    """What was filled in is not allowed: `fields` says by field why."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.fields = dict(fields)
        super().__init__("; ".join(f"{name}: {words}" for name, words in fields.items()))


class Save(msgspec.Struct, frozen=True):
    """A label as a page sends it; `key` is its own for each save. `seconds` are those it took."""

    task: int
    key: str
    state: State
    values: dict[str, Any]
    comment: str = ""
    seconds: float | int | None = None


class StoredTask(NamedTuple):
    """A task as it is kept in memory: it never changes. `static` is what pages get of it."""

    task: ShownTask
    static: Mapping[str, Any]


class NextTask(NamedTuple):
    """A task to label; or `why` there is none: "done", or "waiting" while others hold the rest."""

    task: dict[str, Any] | None
    why: Literal["done", "waiting"] | None
    progress: dict[str, Any]


class Queue:
    """The tasks of a project, for the people who label them."""

    def __init__(self, database: LabelDatabase, project: Project) -> None:
        self._database = database
        self.project = project
        self._known: dict[int, StoredTask] = {}
        self.board = TaskBoard(project)

    def next(self, person: Person) -> NextTask:
        """A task for this person, leased to them, held ones first, or why there is none."""

        def lease(connection: Connection) -> tuple[int | None, float | None, dict[str, Any]]:
            now = time.time()
            self.board.catch_up(connection)
            number = self.board.find(connection, person.number, now)
            until = None
            if number is not None:
                until = self._take_slot(connection, number, person, now, is_new=True)
            return number, until, self.board.progress(person.number)

        number, until, progress = self._database.write(lease, lasting=False)
        if number is None:
            return NextTask(None, "waiting" if progress["left"] else "done", progress)
        return NextTask(self._describe(number, person, until, None), None, progress)

    def renew(self, number: int, person: Person) -> float:
        """Hold a task for another while; until when, in seconds since 1970.

        NotYoursError, TaskTakenError.
        """
        return self._database.write(
            lambda connection: self._take_slot(connection, number, person, time.time()),
            lasting=False,
        )

    def show(self, number: int, person: Person) -> dict[str, Any]:
        """A task as a page shows it. NotYoursError: it is none that this person may see.

        Annotators do not learn its id, which may name the model that wrote the answer.
        """
        self.stored(number)
        with self._database.read() as connection:
            own = connection.execute(_OWN, {"task": number, "person": person.number}).first()
            if own is None and not person.is_lead:
                raise NotYoursError(f"there is no task {number} for you")
            label = None
            if own is not None and own.label is not None:
                found = connection.execute(sql.select(labels).where(labels.c.number == own.label))
                label = describe_label(found.mappings().one(), person.name)
        return self._describe(number, person, None if own is None else own.until, label)

    def _describe(
        self, number: int, person: Person, until: float | None, label: dict[str, Any] | None
    ) -> dict[str, Any]:
        stored = self.stored(number)
        id_ = stored.task.id if person.is_lead else str(number)
        return {**stored.static, "id": id_, "until": until, "label": label}

    def save(self, person: Person, save: Save, *, decision: bool = False) -> dict[str, Any]:
        """Keep a label, once; what is returned is on disk.

        A `decision` is a lead's on what others have said; it takes no slot, and one that is
        "skipped" takes the one before back. WrongValuesError, NotYoursError, TaskTakenError.
        """
        values = self._check(save, decision)

        def change(connection: Connection) -> Mapping[str, Any] | RowMapping:
            known = connection.execute(_AGAIN, {"person": person.number, "key": save.key})
            if (row := known.mappings().first()) is not None:
                if row["task"] != save.task:
                    raise TaskTakenError("the key is that of a label of another task")
                return row
            own = {"task": save.task, "person": person.number}
            label: dict[str, Any] = {
                **own,
                "state": save.state,
                "values": encode(values),
                "comment": save.comment,
                "seconds": save.seconds,
                "at": time.time(),
                "key": save.key,
                "decision": decision,
            }
            if decision:
                connection.execute(_ADD, label)
                return label
            skips = save.state == "skipped"
            if skips:
                _check_own(connection.execute(_OWN, own).first(), save.task)
            else:
                self._take_slot(connection, save.task, person, label["at"])
            key = connection.execute(_ADD, label).inserted_primary_key
            given = {"of_task": save.task, "of_person": person.number}
            connection.execute(
                _GIVE_BACK if skips else _DONE, {**given, "label": key[0] if key else None}
            )
            return label

        return describe_label(self._database.write(change), person.name)

    def history(self, number: int, person: Person) -> list[dict[str, Any]]:
        """All labels of a task, newest first: one's own; for a lead everybody's. NotYoursError."""
        wanted = labels.c.task == number
        if not person.is_lead:
            wanted &= labels.c.person == person.number
        with self._database.read() as connection:
            newest_first = sql.select(labels).where(wanted).order_by(labels.c.number.desc())
            found = connection.execute(newest_first).mappings().all()
            names = names_of(connection)
        if not found and not person.is_lead:
            raise NotYoursError(f"there is no task {number} for you")
        return [describe_label(row, names[row["person"]]) for row in found]

    def own_labels(self, person: Person, page: int) -> dict[str, Any]:
        """One's latest label of each task, newest first, a page of them."""
        mine = (work.c.person == person.number) & work.c.label.is_not(None)
        with self._database.read() as connection:
            self.board.catch_up(connection)
            rows = connection.execute(
                sql.select(labels)
                .join_from(work, labels, work.c.label == labels.c.number)
                .where(mine)
                .order_by(work.c.label.desc())
                .limit(PAGE)
                .offset(PAGE * (page - 1))
            )
            found = rows.mappings().all()
        done = self.board.progress(person.number)
        total = done["done"] + done["skipped"] + done["unclear"]
        listed = [
            {
                **describe_label(row, person.name),
                "title": shorten_title(self.stored(row["task"]).task.shown or {}),
            }
            for row in found
        ]
        return {"labels": listed, "total": total, "page": page, "pages": -(-total // PAGE) or 1}

    def progress(self, person: Person) -> dict[str, Any]:
        """How far somebody is: their labels by state, what is left for them, seconds a task."""
        with self._database.read() as connection:
            self.board.catch_up(connection)
        return self.board.progress(person.number)

    def stored(self, number: int) -> StoredTask:
        """A task by its number. NotYoursError: there is none."""
        found = self._known.get(number)
        if found is None:
            with self._database.read() as connection:
                wanted = sql.select(tasks).where(tasks.c.number == number)
                row = connection.execute(wanted).first()
            if row is None:
                raise NotYoursError(f"there is no task {number} for you")
            task = read_task(row)
            static = {
                "task": number,
                "kind": row.kind,
                "shown": task.shown,
                "options": {f.name: o for f in task.kind.fields if (o := task.options(f))},
                "part": None if row.part is None else decode(row.part),
                "hints": decode(row.hints),
            }
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[number] = StoredTask(task, static)
        return found

    @staticmethod
    def count_tasks(connection: Connection) -> int:
        """How many tasks the project has."""
        return connection.scalar(sql.select(sql.func.count()).select_from(tasks)) or 0

    def _check(self, save: Save, decision: bool) -> dict[str, Any]:
        """The values that are kept. WrongValuesError, NotYoursError."""
        task = self.stored(save.task).task
        names = {field.name for field in task.kind.fields}
        wrong = {name: "unknown field" for name in save.values if name not in names}
        values: dict[str, Any] = {}
        if not wrong and save.state == "done":
            values, wrong = parse_values(task, save.values)
            if not values and not wrong:
                first = next((f for f in task.kind.fields if f.needed), task.kind.fields[0])
                expected = first.describe_expected(task.options(first))
                wrong = {first.name: f"not filled in; expected {expected}"}
        if save.state == "unclear" and not save.comment and not decision:
            wrong = {"comment": "empty; write what is unclear"}
        if wrong:
            raise WrongValuesError(wrong)
        return values

    def _take_slot(
        self,
        connection: Connection,
        number: int,
        person: Person,
        now: float,
        *,
        is_new: bool = False,
    ) -> float:
        """See that the person has a slot of the task, for a while; until when.

        Who does not have the task gets one only if it `is_new` for them. NotYoursError,
        TaskTakenError.
        """
        until = now + LEASE
        rows = connection.execute(_OF_TASK, {"task": number}).all()
        own = next((row for row in rows if row.person == person.number), None)
        if not is_new:
            _check_own(own, number)
        held = {"of_task": number, "of_person": person.number, "until": until}
        if own is not None and own.slot is not None:
            if own.until is not None:
                connection.execute(_HOLD, {**held, "slot": own.slot})
            return until
        free = set(range(self.project.overlap)) - {row.slot for row in rows}
        if not free:  # somebody's who has left it
            gone = [row for row in rows if row.until is not None and row.until <= now]
            gone = [row for row in gone if row.slot < self.project.overlap]
            if not gone:
                raise TaskTakenError(
                    f"task {number} is no longer assigned to you: your time ran out, and others "
                    "have done it by now"
                )
            left = {"of_task": number, "of_person": gone[0].person, "label": gone[0].label}
            connection.execute(_LEAVE if gone[0].label is None else _GIVE_BACK, left)
            free = {gone[0].slot}
        if own is None:
            row = {"task": number, "person": person.number, "slot": min(free), "until": until}
            connection.execute(_LEASE, row)
        else:
            connection.execute(_HOLD, {**held, "slot": min(free)})
        return until


def describe_label(row: Mapping[str, Any] | RowMapping, author: str) -> dict[str, Any]:
    """A label as pages get it."""
    return {
        "task": row["task"],
        "state": row["state"],
        "values": decode(row["values"]),
        "comment": row["comment"],
        "seconds": row["seconds"],
        "at": datetime.fromtimestamp(row["at"], UTC).isoformat(timespec="seconds"),
        "author": author,
        "decision": row["decision"],
    }


def _check_own(row: Row[Any] | None, number: int) -> None:
    if row is None:
        raise NotYoursError(
            f"task {number} is not assigned to you, or your time ran out and others have it now"
        )
