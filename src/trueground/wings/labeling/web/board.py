"""How far every task is, kept in memory: it finds the next one and counts, however many there are.

Labels are only ever added. So those that came since the last look, whichever server wrote them,
bring the board up to date; one that begins anew reads all of them once.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import sqlalchemy as sql
from numpy.typing import NDArray
from sqlalchemy import Connection, Float, Integer

from trueground.stats import sum_counts
from trueground.text import draw_number
from trueground.wings.labeling.answers import compute_median
from trueground.wings.labeling.web.project import Project
from trueground.wings.labeling.web.schema import PLACES, labels, tasks, work

_SKIPPED, _DONE, _UNCLEAR = 1, 2, 3  # 0: nothing said; who said _DONE or more holds a slot
_SAID = {"skipped": _SKIPPED, "done": _DONE, "unclear": _UNCLEAR}
_NO_TASK = np.iinfo(np.int32).max // 2  # as many people as none would ever be wanted for
_TIMED = 500  # newest labels of somebody whose seconds count
_ROWS = 1_000  # read at once; so few that PostgreSQL walks the index
# Statements are built once: to build one takes longer than to run it.
_NEWER = (
    sql.select(
        *(labels.c.number, labels.c.task, labels.c.person),
        *(labels.c.state, labels.c.seconds, labels.c.decision),
    )
    .where(labels.c.number > sql.bindparam("newest", type_=Integer))
    .order_by(labels.c.number)
    .limit(_ROWS)
)
_LAST_TASK = sql.select(sql.func.max(tasks.c.number))
_TASKS = sql.select(tasks.c.number, tasks.c.place, tasks.c.rank).order_by(tasks.c.number)
_LEASES = (
    sql.select(work.c.task, work.c.person, work.c.label)
    .where(work.c.until > sql.bindparam("now", type_=Float))
    .order_by(work.c.until.desc(), work.c.task)
)


class TaskBoard:
    """Who has said what of which task. For several threads; arrays are by the tasks' numbers."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._newest = 0  # label that is on the board
        self._people = np.zeros(0, np.int32)  # whose labels hold slots
        self._turn = np.zeros(0, np.uint32)
        self._said: dict[int, NDArray[np.int8]] = {}  # by person
        self._seconds: dict[int, dict[int, float]] = {}  # by person and task, newest last

    def catch_up(self, connection: Connection) -> None:
        """Take in what was said since the last time."""
        with self._lock:
            while self._take_labels(connection) == _ROWS:
                pass

    def find(self, connection: Connection, person: int, now: float) -> int | None:
        """The task that a person gets: the one they hold, or else the first by the order.

        None: there is none that has a slot for them.
        """
        leases = connection.execute(_LEASES, {"now": now}).all()
        with self._lock:
            for lease in leases:
                if lease.person == person and lease.label is None:
                    return int(lease.task)
            people = self._people.copy()
            for lease in leases:
                people[lease.task] += 1
            free = np.flatnonzero((people < self._project.overlap) & (self._of(person) == 0))
            if not len(free):
                return None
            if self._project.order == "worst":
                turn = self._turn[free]
            else:
                # What others have begun comes first, so that agreement is seen early; beyond that
                # everybody has an order of their own, so that not all tire over the same tasks.
                begun = people[free]
                free = free[begun == begun.max()]
                turn = self._turn[free] * np.uint32(draw_number("order", person) % PLACES | 1)
            return int(free[turn.argmin()])

    def progress(self, person: int) -> dict[str, Any]:
        """How far somebody is: their labels by state, what is left for them, seconds a task."""
        with self._lock:
            said = self._of(person)
            return {
                **{state: sum_counts(said == code) for state, code in _SAID.items()},
                "left": sum_counts((self._people < self._project.overlap) & (said == 0)),
                "seconds": compute_median(self._seconds.get(person, {}).values()),
            }

    def count(self) -> dict[str, int]:
        """Tasks with as many answers as are wanted, with some, with none; some said unclear.

        Of `skipped` ones somebody has had a look, and nobody has answered.
        """
        with self._lock:
            people = self._people[self._people < _NO_TASK]
            skipped = np.zeros(len(self._people), bool)
            unclear = skipped.copy()
            for person in self._said:
                said = self._of(person)
                skipped |= said == _SKIPPED
                unclear |= said == _UNCLEAR
            skipped &= self._people == 0
        finished = sum_counts(people >= self._project.overlap)
        unanswered, passed = sum_counts(people == 0), sum_counts(skipped)
        return {
            "total": len(people),
            "finished": finished,
            "started": len(people) - unanswered - finished,
            "untouched": unanswered - passed,
            "skipped": passed,
            "unclear": sum_counts(unclear),
        }

    def _of(self, person: int) -> NDArray[np.int8]:
        """What somebody said of every task."""
        said = self._said.get(person)
        if said is None or len(said) < len(self._people):
            longer = np.zeros(len(self._people), np.int8)
            if said is not None:
                longer[: len(said)] = said
            said = self._said[person] = longer
        return said

    def _take_labels(self, connection: Connection) -> int:
        """The next labels that are new; how many."""
        rows = connection.execute(_NEWER, {"newest": self._newest}).all()
        if (connection.scalar(_LAST_TASK) or 0) >= len(self._people):
            self._take_tasks(connection)
        for number, task, person, state, seconds, decision in rows:
            self._newest = number
            if decision:
                continue
            said, took = self._of(person), self._seconds.setdefault(person, {})
            code = _SAID[state]
            self._people[task] += int(code >= _DONE) - int(said[task] >= _DONE)
            said[task] = code
            took.pop(task, None)
            if seconds is not None and code >= _DONE:
                took[task] = seconds
                if len(took) > _TIMED:
                    del took[next(iter(took))]
        return len(rows)

    def _take_tasks(self, connection: Connection) -> None:
        """The tasks and in which order they come; numbers that none has are there for none."""
        rows = connection.execute(_TASKS).all()
        numbers, places = (np.array([row[k] for row in rows], np.int64) for k in (0, 1))
        people = np.full(numbers[-1] + 1, _NO_TASK, np.int32)
        people[numbers] = 0
        people[: len(self._people)] = self._people
        turn = np.zeros(len(people), np.uint32)
        turn[numbers] = places
        if self._project.order == "worst":
            ranks = np.array([np.inf if row[2] is None else row[2] for row in rows])
            turn[numbers[np.lexsort((places, ranks))]] = np.arange(len(rows))
        self._people, self._turn = people, turn
