"""The board in memory says what the tables say, whoever wrote them, and needs no scan of them."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from bench.labeling import enlarge
from sqlalchemy import Connection, event
from tests.wings.labeling.web.labeling import make_project

from trueground.wings.labeling.web import board as boards, queue as queues
from trueground.wings.labeling.web.database import LabelDatabase
from trueground.wings.labeling.web.people import People, Person
from trueground.wings.labeling.web.queue import Queue, Save, TaskTakenError
from trueground.wings.labeling.web.schema import labels, tasks, work

keys = iter(range(10**6))


def say(queue: Queue, person: Person, task: int, state: Any = "done", **more: Any) -> None:
    given: dict[str, Any] = {"comment": "why" if state == "unclear" else "", "seconds": 2.0, **more}
    values = {"support": "not"} if state == "done" else {}
    queue.save(person, Save(task, f"a-key-{next(keys)}", state, values, **given))


def read_progress(connection: Connection, person: Person, overlap: int) -> dict[str, int]:
    """What the board should say, of the tables themselves."""
    newest = connection.execute(
        sql.select(work.c.task, work.c.person, labels.c.state).join_from(
            work, labels, work.c.label == labels.c.number
        )
    ).all()
    own = {row.task: row.state for row in newest if row.person == person.number}
    held = [row.task for row in newest if row.state != "skipped"]
    numbers = connection.scalars(sql.select(tasks.c.number))
    left = sum(held.count(task) < overlap and task not in own for task in numbers)
    states = ("done", "skipped", "unclear")
    return {"left": left, **{state: list(own.values()).count(state) for state in states}}


def test_it_says_what_the_tables_say(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "_ROWS", 3)
    monkeypatch.setattr(boards, "_NEWER", boards._NEWER.limit(3))
    opened = make_project(place, tmp_path, 12)
    draw = random.Random(5)
    with opened.database as database, LabelDatabase(place) as second:
        queues_ = [Queue(database, opened.project), Queue(second, opened.project)]
        people = [People(database).add(f"person {n}", "annotator")[0] for n in range(4)]
        seen: dict[Person, list[int]] = {person: [] for person in people}
        for _ in range(80):
            queue, person = draw.choice(queues_), draw.choice(people)
            task = None if draw.random() < 0.4 else queue.next(person).task
            number = task["task"] if task else draw.choice(seen[person] or [0])
            if number:
                seen[person].append(number)
                try:
                    say(queue, person, number, draw.choice(("done", "skipped", "unclear")))
                except TaskTakenError:
                    assert not task
        queues_.append(Queue(database, opened.project))  # that begins anew
        for person in people:
            found = [queue.progress(person) for queue in queues_]
            with database.read() as connection:
                expected = read_progress(connection, person, 2)
            assert [{name: one[name] for name in expected} for one in found] == [expected] * 3


def test_tasks_of_another_server_are_given_too(place: str, tmp_path: Path) -> None:
    opened = make_project(place, tmp_path, 2)
    with opened.database as database:
        queue = Queue(database, opened.project)
        ann = People(database).add("Ann", "annotator")[0]
        for _ in range(2):
            say(queue, ann, (queue.next(ann).task or {})["task"])
        assert queue.next(ann).why == "done"
        make_project(place, tmp_path, 5).database.close()
        assert queue.progress(ann)["left"] == 3
        assert queue.next(ann).task is not None
        assert queue.board.count()["total"] == 5


def test_the_seconds_are_those_of_the_newest_label(place: str, tmp_path: Path) -> None:
    opened = make_project(place, tmp_path, 2)
    with opened.database as database:
        queue = Queue(database, opened.project)
        ann = People(database).add("Ann", "annotator")[0]
        task = (queue.next(ann).task or {})["task"]
        say(queue, ann, task, seconds=100.0)
        say(queue, ann, task, seconds=4.0)
        assert queue.progress(ann)["seconds"] == 4
        say(queue, ann, task, "skipped", seconds=9.0)
        assert queue.progress(ann)["seconds"] is None


def test_who_skipped_and_looks_again_holds_the_task_for_a_while_only(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = make_project(place, tmp_path, 1, overlap=1)
    with opened.database as database:
        queue = Queue(database, opened.project)
        ann, ben = (People(database).add(name, "annotator")[0] for name in ("Ann", "Ben"))
        task = (queue.next(ann).task or {})["task"]
        say(queue, ann, task, "skipped")
        queue.renew(task, ann)
        assert queue.next(ann).task is None  # it is not given to them as the next one
        assert queue.next(ben)[:2] == (None, "waiting")
        later = time.time() + queues.LEASE + 1
        monkeypatch.setattr(queues.time, "time", lambda: later)
        assert (queue.next(ben).task or {})["task"] == task
        assert [one["state"] for one in queue.own_labels(ann, 1)["labels"]] == ["skipped"]
        say(queue, ben, task)
        assert queue.progress(ben)["done"] == 1
        assert queue.board.count()["finished"] == 1


def test_who_is_withdrawn_leaves_what_they_looked_at_again(place: str, tmp_path: Path) -> None:
    opened = make_project(place, tmp_path, 1, overlap=1)
    with opened.database as database:
        queue, people = Queue(database, opened.project), People(database)
        people.open_for_lead()
        ann, ben = (people.add(name, "annotator")[0] for name in ("Ann", "Ben"))
        task = (queue.next(ann).task or {})["task"]
        say(queue, ann, task, "skipped")
        queue.renew(task, ann)
        assert queue.next(ben).why == "waiting"
        people.withdraw(ann.number)
        assert (queue.next(ben).task or {})["task"] == task


@pytest.fixture
def scanned(tmp_path: Path) -> Iterator[tuple[Queue, list[tuple[str, Any]]]]:
    """A queue of 3,000 tasks, 1,200 of which a person has labeled, and what SQLite is asked."""
    opened = make_project(str(tmp_path / "labels.db"), tmp_path)
    with opened.database as database:
        People(database).add("Ann", "annotator")
        enlarge(database, 3_000)
        queue = Queue(database, opened.project)
        asked: list[tuple[str, Any]] = []
        event.listen(
            database.engine,
            "before_cursor_execute",
            lambda _connection, _cursor, statement, values, *_: asked.append((statement, values)),
        )
        yield queue, asked


def test_no_request_of_an_annotator_walks_through_a_table(
    scanned: tuple[Queue, list[tuple[str, Any]]], tmp_path: Path
) -> None:
    queue, asked = scanned
    ann = Person(1, "Ann", "annotator")
    assert queue.progress(ann)["done"] == 1200
    asked.clear()
    task = (queue.next(ann).task or {})["task"]
    say(queue, ann, task)
    assert queue.progress(ann)["done"] == 1201
    assert queue.own_labels(ann, 1)["total"] == 1201
    statements = [one for one in asked if one[0].startswith(("SELECT", "UPDATE", "DELETE"))]
    assert len(statements) > 8
    with LabelDatabase(str(tmp_path / "labels.db")) as other, other.read() as connection:
        for statement, values in statements:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
            assert not [row[-1] for row in plan if row[-1].startswith("SCAN")], statement
