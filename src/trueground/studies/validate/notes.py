"""What to tell beside the numbers: metrics without any score, labels of one kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueground.studies.labelled.sets import LabelledSet
from trueground.studies.validate.scored import ScoredSet


@dataclass
class Unscored:
    """Metrics without any score in a set.

    Of metrics that were `named` every such set is told, of the default ones only those that have a
    score in no set at all.
    """

    named: bool
    sets: int = 0
    _found: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def see(self, one: ScoredSet) -> None:
        """Find them in a set, with why."""
        self.sets += 1
        for key in one.scores:
            reasons = one.unscored(key)
            if sum(reasons.values()) == one.set.n:
                self._found.setdefault(key, []).append((one.set.name, ", ".join(reasons)))

    def notes(self) -> list[str]:
        """One line for all metrics of which the same is to be told."""
        lines: dict[tuple[str, str], list[str]] = {}
        for key, found in self._found.items():
            if self.named or len(found) == self.sets:
                names = ", ".join(name for name, _ in found)
                where = f" in {names}" if len(found) < self.sets else ""
                reasons = ", ".join(dict.fromkeys(reason for _, reason in found))
                lines.setdefault((where, reasons), []).append(key)
        return [
            f"no score on any item{where} ({reasons}): {', '.join(keys)}"
            for (where, reasons), keys in lines.items()
        ]


def one_kind(one: LabelledSet) -> str | None:
    """The note on a set whose labels are all positive, or all negative; None for any other."""
    if one.positives not in (0, one.n):
        return None
    kind = "positive" if one.positives else "negative"
    return f"{one.name}: all {one.n:,} labels are {kind}, so most measures are undefined there"
