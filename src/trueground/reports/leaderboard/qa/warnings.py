"""What a leaderboard warns about runs of instruct-qa: runs over other questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from trueground.reports.leaderboard.qa.abstention import AbstentionRow
from trueground.reports.leaderboard.qa.data import Qa
from trueground.reports.leaderboard.short import few

# Task, how the questions differ, what follows, labels of the runs.
_Unlike = tuple[str, str, str, list[str]]


def warnings(found: Qa) -> list[str]:
    """A sentence for each way in which runs that stand together asked other questions."""
    told: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for task, unlike, then, runs in (
        *_abstention(found),
        *_instructions(found),
        *_retrievers(found),
    ):
        told[task, unlike, then].append(" with ".join(runs))
    return [
        f"{task}: {few(runs)}: not over the same questions ({unlike}). {then}"
        for (task, unlike, then), runs in told.items()
    ]


def _abstention(found: Qa) -> Iterator[_Unlike]:
    for table in found.abstention:
        for row in table.rows:
            if row.unlike:
                yield table.task, row.unlike, _counts(row), row.runs


def _counts(row: AbstentionRow) -> str:
    if row.common:
        return f"Precision, recall and F1 of declining are over the {row.common:,} in common."
    return "P_IR and P_G stand by themselves, without precision, recall and F1 of declining."


def _instructions(found: Qa) -> Iterator[_Unlike]:
    for table in found.instructions:
        for row in table.rows:
            if row.unlike:
                yield table.task, row.unlike, "No difference is told between them.", row.runs


def _retrievers(found: Qa) -> Iterator[_Unlike]:
    for table in found.retrievers:
        for row in table.rows:
            if row.unlike:
                then = "They do not tell one retriever from another."
                yield table.task, row.unlike, then, [cell.run for cell in row.cells]
