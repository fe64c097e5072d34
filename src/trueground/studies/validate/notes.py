"""What to tell beside the numbers: metrics without scores, labels of one kind, shared groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from trueground.errors import UsageError
from trueground.metrics.registry import parse_spec
from trueground.plugins import split_key
from trueground.studies.labelled.rule import LabelRule
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

    def check(self, one: ScoredSet) -> None:
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
                every = len(found) == self.sets > 3
                where = f" of any of {self.sets} sets" if every else f" of {names}"
                reasons = ", ".join(dict.fromkeys(reason for _, reason in found))
                lines.setdefault((where, reasons), []).append(key)
        return [
            f"no score on any item{where} ({reasons}): {', '.join(keys)}{_next_step(reasons, keys)}"
            for (where, reasons), keys in lines.items()
        ]


def _next_step(reasons: str, keys: Sequence[str]) -> str:
    """What to do where fields are missing; nothing where it is something else."""
    if "missing_field" not in reasons:
        return ""
    fields = dict.fromkeys(need for key in keys for need in _needs(key))
    which = f" (needed: {', '.join(fields)})" if fields else ""
    return f"; fill in the missing fields{which}, name their columns with --map, or leave it out"


def _needs(key: str) -> tuple[str, ...]:
    """The record fields that a metric needs; none of a metric that is not known here."""
    try:
        return parse_spec(split_key(key).spec).needs
    except UsageError:
        return ()


def one_grade(one: LabelledSet, rule: LabelRule) -> str | None:
    """The note on a set whose grades all lie on one side of the limit; None for any other."""
    if one.positives not in (0, one.n):
        return None
    side = "above" if one.positives else "not above"
    return (
        f"{one.name}: labels run from {one.labels.min():g} to {one.labels.max():g}, and all "
        f"{one.n:,} are {side} --positive-above {rule.positive_above:g}, so what needs positives "
        "and negatives is undefined there; choose another limit with --positive-above"
    )


def one_kind(one: LabelledSet) -> str | None:
    """The note on a set whose labels are all positive, or all negative; None for any other."""
    if one.positives not in (0, one.n):
        return None
    kind = "positive" if one.positives else "negative"
    return f"{one.name}: all {one.n:,} labels are {kind}, so most measures are undefined there"


def shared_groups(sets: Sequence[LabelledSet]) -> list[str]:
    """The note on sets that have groups of the same name; none where no two have any."""
    grouped = [one for one in sets if one.grouped]
    if len(grouped) < 2:
        return []
    groups, counts = np.unique(
        np.concatenate([np.unique(one.clusters) for one in grouped]), return_counts=True
    )
    several = groups[counts > 1]
    if not len(several):
        return []
    names = [one.name for one in grouped if np.isin(several, one.clusters).any()]
    return [
        f"{len(several):,} groups stand in more than one set ({', '.join(names)}). Means over sets "
        "take the sets as independent, so their intervals may be too narrow"
    ]
