"""Whether a column was asked as FaithEval's paper asked its tasks, so that numbers compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.reports.leaderboard.board import Column

# Section 3.3: direct answers; both documents; every question.
_DEFAULTS = {
    "scheme": "direct",
    "documents": "both",
    "only-phrase-filtered": "off",
    "closed-book": False,
}


def asked_as_published(column: Column, given: Mapping[str, Any]) -> bool:
    """Whether the column's options are `given`, and the paper's where `given` says nothing."""
    wanted = {**_DEFAULTS, **given}
    told = column.task in ("unanswerable", "inconsistent") and wanted["documents"] == "both"
    wanted.setdefault("task-instruction", "on" if told else "off")
    return all(
        column.options.get(name, value if name not in given else None) == value
        for name, value in wanted.items()
    )
