"""Accounts of stages: what came in and went out, what fell and why. Stages without calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trueground.builders.base import BatchStage, SourceStep
from trueground.builders.rejected import Rejected
from trueground.errors import ProtocolError


@dataclass
class Flowed:
    """One stage's account: how many items came in and went out, what fell and why.

    `again` is what of it the next session tries once more; `failed` counts the items of that.
    """

    name: str
    doc: str
    came: int
    gave: int
    reasons: dict[str, str]
    dropped: list[Rejected] = field(default_factory=list)
    again: list[Rejected] = field(default_factory=list)
    failed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For summary.json; reasons by number, the most frequent first."""
        counts = Counter(one.reason for one in self.dropped)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return {
            "name": self.name,
            "doc": self.doc,
            "in": self.came,
            "out": self.gave,
            "dropped": len(self.dropped),
            "reasons": [
                {"reason": reason, "words": self.reasons[reason], "n": n} for reason, n in ordered
            ],
        }


def read_source(source: SourceStep[Any], limit: int | None = None) -> tuple[list[Any], Flowed, int]:
    """(the items of the user's files, the account, how many rows the limit left out). InputError.

    All rows are read and so checked; those behind the last item of the limit are not counted.
    """
    rows = list(source.read())
    if limit is not None:
        kept_at = [at for at, one in enumerate(rows) if not isinstance(one, Rejected)]
        end = kept_at[limit] if len(kept_at) > limit else len(rows)
    else:
        end = len(rows)
    kept, dropped = _sorted_out(source.name, source.reasons, rows[:end])
    flowed = Flowed(source.name, source.doc, end, len(kept), dict(source.reasons), dropped)
    return kept, flowed, len(rows) - end


def do_whole(stage: BatchStage[Any, Any], items: Sequence[Any]) -> tuple[list[Any], Flowed]:
    """A stage that sees all items at once."""
    kept, dropped = _sorted_out(stage.name, stage.reasons, stage.work(items))
    return kept, Flowed(stage.name, stage.doc, len(items), len(kept), dict(stage.reasons), dropped)


def _sorted_out(name: str, reasons: Any, found: Any) -> tuple[list[Any], list[Rejected]]:
    kept: list[Any] = []
    dropped: list[Rejected] = []
    for one in found:
        (dropped if isinstance(one, Rejected) else kept).append(one)
    check_reasons(name, reasons, dropped)
    check_ids(name, kept)
    return kept, dropped


def check_reasons(name: str, reasons: Any, dropped: Sequence[Rejected]) -> None:
    """ProtocolError where something fell for a reason that the stage does not declare."""
    for one in dropped:
        if one.reason not in reasons:
            raise ProtocolError(f"the stage {name} gave the reason {one.reason!r}, undeclared")


def check_ids(name: str, items: Sequence[Any]) -> None:
    """ProtocolError where two items have one id."""
    ids = Counter(item.id for item in items)
    twice = next((one for one, n in ids.items() if n > 1), None)
    if twice is not None:
        raise ProtocolError(f"the stage {name} gave the id {twice!r} twice")
