"""What a lead sees and does: everybody's progress, disputes and decisions, agreement, files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

import sqlalchemy as sql

from trueground.wings.labeling.agreement import find_hardest
from trueground.wings.labeling.kinds import KINDS
from trueground.wings.labeling.web.board import TaskBoard
from trueground.wings.labeling.web.database import LabelDatabase
from trueground.wings.labeling.web.gathered import Gathered, gather, stand_of
from trueground.wings.labeling.web.hints import shorten_title
from trueground.wings.labeling.web.people import names_of
from trueground.wings.labeling.web.queue import PAGE, describe_label
from trueground.wings.labeling.web.schema import people, sessions
from trueground.wings.labeling.web.watch import RULES, watch

T = TypeVar("T")
# What took longer than so many seconds is kept for so many times that.
_SLOW, _REST = 5.0, 5.0
Key = Literal["gathered", "agreement", "judge"]


class Kept(NamedTuple):
    """What was made of which stand of the labels, when, and in how many seconds."""

    stand: tuple[Any, ...]
    found: Any
    since: float
    took: float


class LeadDesk:
    """Everything over all people's work. What is computed is kept until somebody says more."""

    def __init__(self, database: LabelDatabase, board: TaskBoard) -> None:
        self._database, self._board = database, board
        self._kept: dict[str, Kept] = {}
        self._making = threading.Lock()

    def gathered(self) -> Gathered:
        """All labels as they are now."""
        before = self._kept.get("gathered")
        return self.keep(
            "gathered", lambda: gather(self._database, before.found if before else None)
        )

    def keep(self, name: Key, make: Callable[[], T]) -> T:
        """What `make` gives; made anew once the labels, or the people's names, are others.

        What takes long to make is not made anew with every label.
        """
        with self._database.read() as connection:
            stand = stand_of(connection)
        with self._making:
            kept = self._kept.get(name)
        if kept is not None:
            rests = kept.took > _SLOW and time.monotonic() - kept.since < _REST * kept.took
            if kept.stand == stand or rests:
                found: T = kept.found
                return found
        start = time.monotonic()
        made = make()
        now = time.monotonic()
        with self._making:
            self._kept[name] = Kept(stand, made, now, now - start)
        return made

    def overview(self) -> dict[str, Any]:
        """Everybody's progress and what stands out of it, and how far the tasks are."""
        watched = watch(self.gathered().answers)
        with self._database.read() as connection:
            rows = connection.execute(sql.select(people).order_by(people.c.number)).all()
            names = names_of(connection)
            latest = sql.select(sessions.c.person, sql.func.max(sessions.c.seen))
            last = connection.execute(latest.group_by(sessions.c.person))
            seen = {row[0]: row[1] for row in last}
            self._board.catch_up(connection)
        listed = []
        for row in rows:
            known = watched.get(names[row.number])
            listed.append(
                {
                    "id": row.number,
                    "name": names[row.number],
                    "role": row.role,
                    "invited": row.created,
                    "withdrawn": row.withdrawn,
                    "forgotten": row.name is None,
                    "seen": seen.get(row.number),
                    "link_open": row.token is not None and row.number not in seen,
                    **self._board.progress(row.number),
                    "agreement": known.agreement if known else None,
                    "compared": known.compared if known else 0,
                    "flags": known.flags if known else [],
                }
            )
        return {"people": listed, "tasks": self._board.count(), "rules": RULES}

    def disputes(self, page: int) -> dict[str, Any]:
        """Tasks on which people do not agree, lowest agreement first; then what is unclear.

        Last come those that were skipped by all who had them, so that nobody has answered.
        Decided ones stay, with the decision.
        """
        gathered = self.gathered()
        listed: list[tuple[float | None, tuple[str, str]]] = []
        for kind in dict.fromkeys(name for name, _ in sorted(gathered.tasks)):
            own = {id_: each for (of, id_), each in gathered.answers.tasks.items() if of == kind}
            hard = find_hardest(KINDS[kind], own, None)
            listed += [(1 - one.disagreement, (kind, one.id)) for one in hard]
        listed.sort(key=lambda one: (one[0], one[1]))
        known = {name for _, name in listed}
        passed = list[tuple[None, tuple[str, str]]]()
        for name, number in sorted(gathered.numbers.items()):
            states = {row.state for row in gathered.rows.get(number, ())}
            if "unclear" in states and name not in known:
                listed.append((None, name))
            elif states == {"skipped"}:
                passed.append((None, name))
        listed += passed
        shown = listed[PAGE * (page - 1) : PAGE * page]
        return {
            "disputes": [self._dispute(gathered, name, share) for share, name in shown],
            "total": len(listed),
            "decided": sum(gathered.numbers[name] in gathered.decisions for _, name in listed),
            "page": page,
            "pages": -(-len(listed) // PAGE) or 1,
        }

    def _dispute(
        self, gathered: Gathered, name: tuple[str, str], agreement: float | None
    ) -> dict[str, Any]:
        number, names = gathered.numbers[name], gathered.names
        decision = gathered.decisions.get(number)
        return {
            "task": number,
            "id": name[1],
            "kind": name[0],
            "title": shorten_title(gathered.tasks[name].shown or {}),
            "agreement": agreement,
            "labels": [
                describe_label(row._mapping, names[row.person])
                for row in gathered.rows.get(number, ())
            ],
            "decision": None
            if decision is None
            else describe_label(decision._mapping, names[decision.person]),
        }
