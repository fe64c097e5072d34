"""Leases, slots, labels and their history, on both databases."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sql
from sqlalchemy.exc import IntegrityError
from tests.wings.labeling.web.labeling import make_project

from trueground.wings.labeling.web import queue as queues
from trueground.wings.labeling.web.database import LabelDatabase
from trueground.wings.labeling.web.people import People, Person
from trueground.wings.labeling.web.queue import (
    NotYoursError,
    Queue,
    Save,
    TaskTakenError,
    WrongValuesError,
)
from trueground.wings.labeling.web.schema import labels, tasks, work
from trueground.wings.labeling.web.serving import OpenProject


class Room:
    """A project with a queue, and people by a letter each."""

    def __init__(self, place: str, folder: Path, n: int = 6, **options: Any) -> None:
        self.opened = make_project(place, folder, n, **options)
        self.queue = Queue(self.opened.database, self.opened.project)
        self.people = People(self.opened.database)
        self._keys = iter(range(10**6))

    def person(self, name: str) -> Person:
        return self.people.add(name, "annotator")[0]

    def next(self, person: Person) -> int | None:
        task, _, _ = self.queue.next(person)
        return None if task is None else task["task"]

    def save(self, person: Person, task: int, said: str | None = "fully", **more: Any) -> Any:
        given: dict[str, Any] = {
            "key": f"key-{person.number}-{next(self._keys)}",
            "state": "done",
            "values": {} if said is None else {"support": said},
            "comment": "",
            "seconds": 2.0,
        }
        return self.queue.save(person, Save(task=task, **given | more))

    def count_labels(self) -> int:
        with self.opened.database.read() as connection:
            return connection.scalar(sql.select(sql.func.count()).select_from(labels)) or 0


@pytest.fixture
def room(place: str, tmp_path: Path) -> Any:
    made = Room(place, tmp_path)
    yield made
    made.opened.database.close()


def test_each_task_goes_to_as_many_people_as_are_wanted(room: Room) -> None:
    ann, ben, cleo = map(room.person, ("Ann", "Ben", "Cleo"))
    done: Counter[int] = Counter()
    for person in (ann, ben, cleo):
        while (task := room.next(person)) is not None:
            room.save(person, task)
            done[task] += 1
    assert set(done.values()) == {2}
    assert len(done) == 6
    assert room.queue.next(cleo)[:2] == (None, "done")
    assert room.queue.progress(ann)["done"] == 6
    assert room.queue.progress(ann)["left"] == 0


def test_queue_returns_leased_task_to_its_holder_only(room: Room) -> None:
    ann, ben, cleo = map(room.person, ("Ann", "Ben", "Cleo"))
    first = room.next(ann)
    assert room.next(ann) == first
    assert room.next(ben) == first  # what others have begun comes first
    assert room.next(cleo) != first


def test_queue_waiting_person_gets_reason(place: str, tmp_path: Path) -> None:
    room = Room(place, tmp_path, 1, overlap=1)
    with room.opened.database:
        ann, ben = map(room.person, ("Ann", "Ben"))
        task = room.next(ann)
        assert task is not None
        assert room.queue.next(ben)[:2] == (None, "waiting")
        assert room.queue.progress(ben)["left"] == 1
        room.save(ann, task)
        assert room.queue.next(ben)[:2] == (None, "done")


def test_a_lease_runs_out(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(place, tmp_path, 1, overlap=1)
    with room.opened.database:
        ann, ben = map(room.person, ("Ann", "Ben"))
        task = room.next(ann)
        assert task is not None
        later = time.time() + queues.LEASE + 1
        monkeypatch.setattr(queues.time, "time", lambda: later)
        assert room.next(ben) == task
        with pytest.raises(NotYoursError, match="ran out"):
            room.save(ann, task)
        with pytest.raises(NotYoursError):
            room.queue.renew(task, ann)
        assert room.count_labels() == 0
        room.save(ben, task)


def test_queue_late_save_of_free_task_succeeds(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = room.person("Ann")
    task = room.next(ann)
    assert task is not None
    later = time.time() + queues.LEASE + 1
    monkeypatch.setattr(queues.time, "time", lambda: later)
    assert room.save(ann, task)["values"] == {"support": "fully"}


def test_renewing_holds_a_task(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = room.person("Ann")
    task = room.next(ann)
    assert task is not None
    now = time.time()
    monkeypatch.setattr(queues.time, "time", lambda: now + queues.LEASE - 1)
    assert room.queue.renew(task, ann) > now + queues.LEASE
    monkeypatch.setattr(queues.time, "time", lambda: now + queues.LEASE + 1)
    assert room.next(ann) == task


def test_queue_skipped_task_goes_to_another_person(place: str, tmp_path: Path) -> None:
    room = Room(place, tmp_path, 1, overlap=1)
    with room.opened.database:
        ann, ben = map(room.person, ("Ann", "Ben"))
        task = room.next(ann)
        assert task is not None
        room.save(ann, task, None, state="skipped")
        assert room.queue.next(ann)[:2] == (None, "done")
        assert room.queue.progress(ann) == {
            "done": 0,
            "skipped": 1,
            "unclear": 0,
            "left": 0,
            "seconds": None,
        }
        assert room.next(ben) == task
        with pytest.raises(TaskTakenError):  # one may come back to it while there is room
            room.save(ann, task)
        room.save(ben, task, None, state="skipped")
        room.save(ann, task, "not")
        assert room.queue.progress(ann)["done"] == 1


def test_unclear_needs_a_comment_and_keeps_its_slot(place: str, tmp_path: Path) -> None:
    room = Room(place, tmp_path, 1, overlap=1)
    with room.opened.database:
        ann, ben = map(room.person, ("Ann", "Ben"))
        task = room.next(ann)
        assert task is not None
        with pytest.raises(WrongValuesError, match="comment"):
            room.save(ann, task, None, state="unclear")
        room.save(ann, task, None, state="unclear", comment="which bridge?")
        assert room.next(ben) is None


def test_going_back_keeps_the_history(room: Room) -> None:
    ann = room.person("Ann")
    task = room.next(ann)
    assert task is not None
    for said in ("fully", "not", "partially"):
        room.save(ann, task, said, comment=said)
    versions = room.queue.history(task, ann)
    assert [one["values"]["support"] for one in versions] == ["partially", "not", "fully"]
    assert {one["author"] for one in versions} == {"Ann"}
    mine = room.queue.own_labels(ann, 1)
    assert mine["total"] == 1
    assert mine["labels"][0]["comment"] == "partially"
    assert mine["labels"][0]["title"].startswith("Bridge ")
    assert room.queue.progress(ann)["done"] == 1


def test_the_same_save_twice_is_one_label(room: Room) -> None:
    ann = room.person("Ann")
    task = room.next(ann)
    assert task is not None
    first = room.save(ann, task, "not", key="the-same-key")
    again = room.save(ann, task, "fully", key="the-same-key")
    assert again == first
    assert room.count_labels() == 1


def test_a_double_click_is_one_label(room: Room) -> None:
    ann = room.person("Ann")
    task = room.next(ann)
    assert task is not None
    start = threading.Barrier(4)

    def click(_: int) -> Any:
        start.wait()
        return room.save(ann, task, "not", key="clicked-twice")

    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(click, range(4)))
    assert room.count_labels() == 1
    assert all(reply == replies[0] for reply in replies)


def test_a_key_is_of_one_task(room: Room) -> None:
    ann = room.person("Ann")
    first = room.next(ann)
    assert first is not None
    room.save(ann, first, "not", key="the-same-key")
    second = room.next(ann)
    assert second is not None
    with pytest.raises(TaskTakenError, match="another task"):
        room.save(ann, second, "fully", key="the-same-key")
    assert room.count_labels() == 1


def test_keys_of_two_people_are_their_own(room: Room) -> None:
    ann, ben = map(room.person, ("Ann", "Ben"))
    first, second = room.next(ann), room.next(ben)
    assert first is not None
    assert second is not None
    room.save(ann, first, "not", key="same-in-both")
    assert room.save(ben, second, "fully", key="same-in-both")["values"] == {"support": "fully"}


def test_two_tabs_make_one_label_with_a_history(room: Room) -> None:
    ann = room.person("Ann")
    tabs = room.next(ann), room.next(ann)
    assert tabs[0] == tabs[1] is not None
    for tab in tabs:
        assert tab is not None
        room.save(ann, tab)
    assert room.queue.progress(ann)["done"] == 1
    assert room.queue.own_labels(ann, 1)["total"] == 1


def test_the_database_itself_refuses_more_people_than_slots(room: Room) -> None:
    ann, ben = map(room.person, ("Ann", "Ben"))
    task = room.next(ann)
    row = {"task": task, "person": ben.number, "slot": 0, "until": 0.0}
    with pytest.raises(IntegrityError):
        room.opened.database.write(lambda c: c.execute(sql.insert(work).values(row)))
    twice = {"task": task, "person": ann.number, "slot": 1, "until": 0.0}
    with pytest.raises(IntegrityError):
        room.opened.database.write(lambda c: c.execute(sql.insert(work).values(twice)))


def test_two_servers_on_one_database_never_exceed_the_overlap(place: str, tmp_path: Path) -> None:
    room = Room(place, tmp_path, 12)
    everybody = [room.person(f"person {n}") for n in range(6)]
    with room.opened.database, LabelDatabase(place) as second:
        other = Queue(second, room.opened.project)
        given: list[tuple[int, int]] = []

        def work_off(at: int) -> None:
            queue = (room.queue, other)[at % 2]
            person = everybody[at]
            for number in range(1000):
                task, why, _ = queue.next(person)
                if task is None:
                    assert why in ("waiting", "done")
                    if why == "done":
                        return
                    time.sleep(0.005)
                    continue
                save = Save(task["task"], f"key-{number:05}", "done", {"support": "not"}, "", 1.0)
                queue.save(person, save)
                given.append((task["task"], person.number))

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(work_off, range(6)))
        assert len(set(given)) == len(given) == 24
        assert set(Counter(task for task, _ in given).values()) == {2}
        with second.read() as connection:
            slots = connection.execute(sql.select(work.c.task, work.c.slot)).all()
        assert {slot for _, slot in slots} == {0, 1}


def test_the_worst_come_first_for_all_alike(place: str, tmp_path: Path) -> None:
    room = Room(place, tmp_path, 5)
    with room.opened.database as database:
        worst = msgspec.structs.replace(room.opened.project, order="worst")
        room.queue = Queue(database, worst)
        with database.read() as connection:
            numbers = list(connection.scalars(sql.select(tasks.c.number)))
        ranks = dict(zip(numbers, (3.0, None, 1.0, 2.0, 0.5), strict=True))
        for number, rank in ranks.items():
            database.write(
                lambda c, n=number, r=rank: c.execute(
                    sql.update(tasks).where(tasks.c.number == n).values(rank=r)
                )
            )
        ann = room.person("Ann")
        got = []
        while (task := room.next(ann)) is not None:
            got.append(ranks[task])
            room.save(ann, task)
        assert got == [0.5, 1.0, 2.0, 3.0, None]


def test_everybody_has_an_order_of_their_own(place: str, tmp_path: Path) -> None:
    room = Room(place, tmp_path, 30, overlap=10)
    with room.opened.database:
        orders = []
        for name in ("Ann", "Ben", "Cleo"):
            person, own = room.person(name), []
            while (task := room.next(person)) is not None:
                own.append(task)
                room.save(person, task)
            orders.append(own)
        assert sorted(orders[0]) == sorted(orders[1]) == list(range(1, 31))
        assert orders[0] != orders[1] != orders[2]


def test_values_are_checked_by_the_kind(room: Room) -> None:
    ann = room.person("Ann")
    task = room.next(ann)
    assert task is not None
    wrong: list[dict[str, Any]] = [
        {"support": "maybe"}, {}, {"support": None}, {"other": 1}, {"support": ["fully"]},
    ]  # fmt: skip
    for values in wrong:
        with pytest.raises(WrongValuesError) as caught:
            room.save(ann, task, values=values)
        assert set(caught.value.fields) <= {"support", "other"}
    assert room.count_labels() == 0


def test_tasks_of_others_are_not_shown(room: Room) -> None:
    ann, ben = map(room.person, ("Ann", "Ben"))
    task = room.next(ann)
    assert task is not None
    with pytest.raises(NotYoursError):
        room.queue.show(task, ben)
    with pytest.raises(NotYoursError):
        room.save(ben, task)
    with pytest.raises(NotYoursError):
        room.queue.history(task, ben)
    shown = room.queue.show(task, ann)
    assert shown["id"] == str(task)  # the real one may name a model
    assert set(shown) == {
        *("task", "kind", "id", "shown", "options", "part", "hints", "until", "label")
    }
    lead = Person(1, "lead", "lead")
    assert room.queue.show(task, lead)["id"].startswith("q")


def test_project_keeps_settings_until_changed(place: str, tmp_path: Path) -> None:
    make_project(place, tmp_path, overlap=3, title="Bridges").database.close()
    again: OpenProject = make_project(place, tmp_path)
    again.database.close()
    assert again.project.overlap == 3
    assert again.project.title == "Bridges"
    assert again.added == 0
    more = make_project(place, tmp_path, 8, overlap=1)
    more.database.close()
    assert (more.added, more.tasks, more.project.overlap) == (2, 8, 1)
    assert more.project.id == again.project.id
