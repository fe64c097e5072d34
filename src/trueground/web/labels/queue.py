"""Who does which task next, and what they say: leases, labels and their history.

A label is there once `save` has returned, and only then: what it wrote is on disk. The same save
sent twice, by its key, is one label. A task has as many slots as people are wanted for it; whoever
works at it holds one, for a while, and with a label for good.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import sqlalchemy as sql
from sqlalchemy import ColumnElement, Connection, Row

from trueground.annotation.answers import compute_median, parse_values
from trueground.annotation.files import ShownTask
from trueground.errors import InputError
from trueground.text.draws import draw_number
from trueground.web.labels.database import Database, insert_row
from trueground.web.labels.hints import shorten_title
from trueground.web.labels.people import Person, names_of
from trueground.web.labels.project import Project, decode, encode, read_task
from trueground.web.labels.schema import PLACES, labels, tasks, work

LEASE = 30 * 60.0  # seconds
PAGE = 50  # labels on a page of them
_MOST_KNOWN = 2_000  # tasks kept in memory
State = Literal["done", "skipped", "unclear"]


class NotYoursError(InputError):
    """The task is not one that this person holds or has labelled."""


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
    comment: str
    seconds: float | None


class Queue:
    """The tasks of a project, for the people who label them."""

    def __init__(self, database: Database, project: Project) -> None:
        self._database = database
        self.project = project
        self._known: dict[int, ShownTask] = {}

    def next(self, person: Person) -> tuple[dict[str, Any] | None, str | None]:
        """A task for this person, leased to them; or why there is none: "done" or "waiting".

        A task that they hold already comes first.
        """

        def lease(connection: Connection) -> int | None:
            now = time.time()
            mine = (work.c.person == person.number) & work.c.label.is_(None)
            held = (
                sql.select(work.c.task)
                .where(mine, work.c.until > now)
                .order_by(work.c.until.desc(), work.c.task)
            )
            number = connection.scalar(held.limit(1))
            if number is None:
                number = connection.scalar(self._open_tasks(person, now).limit(1))
            if number is not None:
                self._take_slot(connection, number, person, now)
            return number

        number = self._database.write(lease)
        if number is not None:
            return self.show(number, person), None
        with self._database.read() as connection:
            return None, "waiting" if self._count_left(connection, person) else "done"

    def renew(self, number: int, person: Person) -> float:
        """Hold a task for another while; until when, in seconds since 1970.

        NotYoursError, TaskTakenError.
        """

        def change(connection: Connection) -> float:
            now = time.time()
            _own_row(connection, number, person)
            return self._take_slot(connection, number, person, now)

        return self._database.write(change)

    def show(self, number: int, person: Person) -> dict[str, Any]:
        """A task as a page shows it. NotYoursError: it is none that this person may see.

        Annotators do not learn its id, which may name the model that wrote the answer.
        """
        with self._database.read() as connection:
            row = connection.execute(sql.select(tasks).where(tasks.c.number == number)).first()
            if row is None:
                raise NotYoursError(f"there is no task {number} for you")
            own = connection.execute(
                sql.select(work).where(work.c.task == number, work.c.person == person.number)
            ).first()
            if own is None and not person.is_lead:
                raise NotYoursError(f"there is no task {number} for you")
            label = None
            if own is not None and own.label is not None:
                found = connection.execute(sql.select(labels).where(labels.c.number == own.label))
                label = describe_label(found.one(), person.name)
        task = self.task(number, row)
        return {
            "task": number,
            "kind": row.kind,
            "id": row.id if person.is_lead else str(number),
            "shown": task.shown,
            "options": {f.name: o for f in task.kind.fields if (o := task.options(f))},
            "part": None if row.part is None else decode(row.part),
            "hints": decode(row.hints),
            "until": None if own is None else own.until,
            "label": label,
        }

    def save(self, person: Person, save: Save, *, decision: bool = False) -> dict[str, Any]:
        """Keep a label, once; what is returned is on disk.

        A `decision` is a lead's on what others have said; it takes no slot. WrongValuesError,
        NotYoursError, TaskTakenError.
        """
        values = self._check(save, decision)

        def change(connection: Connection) -> Row[Any]:
            again = (labels.c.person == person.number) & (labels.c.key == save.key)
            known = connection.execute(sql.select(labels).where(again)).first()
            if known is not None:
                return known
            now = time.time()
            if not decision:
                _own_row(connection, save.task, person)
                if save.state != "skipped":
                    self._take_slot(connection, save.task, person, now)
            number = insert_row(
                connection,
                labels,
                task=save.task,
                person=person.number,
                state=save.state,
                values=encode(values),
                comment=save.comment,
                seconds=save.seconds,
                at=now,
                key=save.key,
                decision=decision,
            )
            if not decision:
                given: dict[str, Any] = {"label": number, "state": save.state, "until": None}
                if save.state == "skipped":
                    given["slot"] = None  # for somebody else
                connection.execute(
                    sql.update(work)
                    .where(work.c.task == save.task, work.c.person == person.number)
                    .values(given)
                )
            return connection.execute(sql.select(labels).where(labels.c.number == number)).one()

        return describe_label(self._database.write(change), person.name)

    def history(self, number: int, person: Person) -> list[dict[str, Any]]:
        """All labels of a task, newest first: one's own; for a lead everybody's. NotYoursError."""
        wanted = labels.c.task == number
        if not person.is_lead:
            wanted &= labels.c.person == person.number
        with self._database.read() as connection:
            rows = connection.execute(
                sql.select(labels).where(wanted).order_by(labels.c.number.desc())
            ).all()
            names = names_of(connection)
        if not rows and not person.is_lead:
            raise NotYoursError(f"there is no task {number} for you")
        return [describe_label(row, names[row.person]) for row in rows]

    def own_labels(self, person: Person, page: int) -> dict[str, Any]:
        """One's latest label of each task, newest first, a page of them."""
        mine = (work.c.person == person.number) & work.c.label.is_not(None)
        with self._database.read() as connection:
            total = connection.scalar(sql.select(sql.func.count()).where(mine)) or 0
            rows = connection.execute(
                sql.select(labels, tasks.c.shown)
                .join_from(work, labels, work.c.label == labels.c.number)
                .join(tasks, tasks.c.number == work.c.task)
                .where(mine)
                .order_by(labels.c.number.desc())
                .limit(PAGE)
                .offset(PAGE * (page - 1))
            ).all()
        listed = [
            {**describe_label(row, person.name), "title": shorten_title(decode(row.shown))}
            for row in rows
        ]
        return {"labels": listed, "total": total, "page": page, "pages": -(-total // PAGE) or 1}

    def progress(self, person: Person) -> dict[str, Any]:
        """How far somebody is: their labels by state, what is left for them, seconds a task."""
        with self._database.read() as connection:
            counts: dict[str, int] = dict.fromkeys(("done", "skipped", "unclear"), 0)
            rows = connection.execute(
                sql.select(work.c.state, labels.c.seconds)
                .join_from(work, labels, work.c.label == labels.c.number)
                .where(work.c.person == person.number)
            ).all()
            left = self._count_left(connection, person)
        for row in rows:
            counts[row.state] += 1
        seconds = compute_median(row.seconds for row in rows if row.state != "skipped")
        return {**counts, "left": left, "seconds": seconds}

    @staticmethod
    def count_tasks(connection: Connection) -> int:
        """How many tasks the project has."""
        return connection.scalar(sql.select(sql.func.count()).select_from(tasks)) or 0

    def task(self, number: int, row: Row[Any] | None = None) -> ShownTask:
        """A task by its number; tasks never change. NotYoursError: there is none."""
        task = self._known.get(number)
        if task is None:
            if row is None:
                with self._database.read() as connection:
                    wanted = sql.select(tasks).where(tasks.c.number == number)
                    row = connection.execute(wanted).first()
                if row is None:
                    raise NotYoursError(f"there is no task {number} for you")
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            task = self._known[number] = read_task(row)
        return task

    def _check(self, save: Save, decision: bool) -> dict[str, Any]:
        """The values that are kept. WrongValuesError, NotYoursError."""
        task = self.task(save.task)
        names = {field.name for field in task.kind.fields}
        wrong = {name: "there is no such field" for name in save.values if name not in names}
        values: dict[str, Any] = {}
        if not wrong and save.state == "done":
            values, wrong = parse_values(task, save.values)
            if not values and not wrong:
                first = next((f for f in task.kind.fields if f.needed), task.kind.fields[0])
                expected = first.describe_expected(task.options(first))
                wrong = {first.name: f"not filled in; expected {expected}"}
        if save.state == "unclear" and not save.comment and not decision:
            wrong = {"comment": "not filled in; say what is unclear"}
        if wrong:
            raise WrongValuesError(wrong)
        return values

    def _open_tasks(self, person: Person, now: float) -> sql.Select[int]:
        """The tasks that this person could be given, the next one first."""
        busy = work.c.slot.is_not(None) & (work.c.label.is_not(None) | (work.c.until > now))
        taken = (
            sql.select(work.c.task, sql.func.count().label("people"))
            .where(busy)
            .group_by(work.c.task)
            .subquery()
        )
        people = sql.func.coalesce(taken.c.people, 0)
        # What others have begun comes first, so that agreement is seen early; beyond that everybody
        # has an order of their own, so that not all are tired over the same tasks.
        factor = 1 + draw_number("order", person.number) % (PLACES - 1)
        own = (tasks.c.place * factor) % PLACES
        order: Sequence[ColumnElement[Any]] = [people.desc(), own, tasks.c.number]
        if self.project.order == "worst":
            order = [tasks.c.rank.is_(None), tasks.c.rank, tasks.c.place, tasks.c.number]
        return (
            sql.select(tasks.c.number)
            .join_from(tasks, taken, taken.c.task == tasks.c.number, isouter=True)
            .where(people < self.project.overlap, self._not_mine(person, now))
            .order_by(*order)
        )

    def _count_left(self, connection: Connection, person: Person) -> int:
        """How many tasks somebody may still get, those held by others included."""
        done = (
            sql.select(work.c.task, sql.func.count().label("people"))
            .where(work.c.slot.is_not(None), work.c.label.is_not(None))
            .group_by(work.c.task)
            .subquery()
        )
        found = connection.scalar(
            sql.select(sql.func.count())
            .select_from(tasks.outerjoin(done, done.c.task == tasks.c.number))
            .where(
                sql.func.coalesce(done.c.people, 0) < self.project.overlap,
                self._not_mine(person, None),
            )
        )
        return found or 0

    def _not_mine(self, person: Person, now: float | None) -> ColumnElement[bool]:
        mine: ColumnElement[bool] = work.c.label.is_not(None)
        if now is not None:
            mine |= work.c.until > now
        seen = sql.select(work.c.task).where(work.c.person == person.number, mine)
        return tasks.c.number.not_in(seen)

    def _take_slot(self, connection: Connection, number: int, person: Person, now: float) -> float:
        """See that the person has a slot of the task, for a while; until when. TaskTakenError."""
        until = now + LEASE
        rows = connection.execute(sql.select(work).where(work.c.task == number)).all()
        own = next((row for row in rows if row.person == person.number), None)
        if own is not None and own.slot is not None:
            if own.label is None:
                _set_row(connection, number, person, until=until)
            return until
        free = set(range(self.project.overlap)) - {row.slot for row in rows}
        if not free:  # somebody's who has left it
            gone = [r for r in rows if r.slot is not None and r.label is None and r.until <= now]
            gone = [row for row in gone if row.slot < self.project.overlap]
            if not gone:
                raise TaskTakenError(
                    f"task {number} is no longer yours: your time with it ran out, and others have "
                    "done it by now"
                )
            connection.execute(
                sql.delete(work).where(work.c.task == number, work.c.person == gone[0].person)
            )
            free = {gone[0].slot}
        if own is None:
            connection.execute(
                sql.insert(work).values(
                    task=number, person=person.number, slot=min(free), until=until
                )
            )
        else:
            _set_row(connection, number, person, slot=min(free), until=until)
        return until


def describe_label(row: Row[Any], author: str) -> dict[str, Any]:
    """A label as pages get it."""
    return {
        "task": row.task,
        "state": row.state,
        "values": decode(row.values),
        "comment": row.comment,
        "seconds": row.seconds,
        "at": datetime.fromtimestamp(row.at, UTC).isoformat(timespec="seconds"),
        "author": author,
    }


def _own_row(connection: Connection, number: int, person: Person) -> None:
    """NotYoursError: the person does not have the task, or no longer."""
    own = (work.c.task == number) & (work.c.person == person.number)
    if connection.execute(sql.select(work.c.task).where(own)).first() is None:
        raise NotYoursError(
            f"task {number} is not yours: it was never given to you, or your time with it ran out "
            "and others have it now"
        )


def _set_row(connection: Connection, number: int, person: Person, **values: Any) -> None:
    own = (work.c.task == number) & (work.c.person == person.number)
    connection.execute(sql.update(work).where(own).values(**values))
