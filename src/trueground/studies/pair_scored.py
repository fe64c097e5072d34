"""What two runs have scored in common, and whether a wanted difference fits these scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.evaluate.run_level import macro_key
from trueground.metrics.column import CODES, STATUSES
from trueground.studies.pair_notes import Named
from trueground.types import Status

_SCORED = CODES[Status.SCORED]
_FIRST = 5  # reasons that an error names
Codes = NDArray[np.uint8]


@dataclass(frozen=True)
class Scored:
    """Statuses of the items that both runs have, each (items, metrics), a column for a metric."""

    metrics: Sequence[str]
    status_a: Codes
    status_b: Codes

    def nowhere(self) -> set[str]:
        """The metrics of which no item is scored in both."""
        both = ((self.status_a == _SCORED) & (self.status_b == _SCORED)).any(axis=0)
        return {name for name, any_ in zip(self.metrics, both, strict=True) if not any_}

    def words(self, name: str, label_a: str, label_b: str) -> str:
        """`no item is scored in both (A: 5 abstained; B: 3 scored, 2 refused)`.

        A number of whole runs has the items of its metric; it may lack units although they are
        scored.
        """
        key = name if name in self.metrics else macro_key(name)
        i = self.metrics.index(key)
        found = ((label_a, self.status_a[:, i]), (label_b, self.status_b[:, i]))
        told = "; ".join(f"{label}: {_counts(codes)}" for label, codes in found)
        if key in self.nowhere():
            return f"no item is scored in both ({told})"
        return f"not both runs have the units that it counts ({told})"


def check_scored(
    a: Named,
    b: Named,
    scored: Scored,
    empty: Sequence[str],
    others: int,
    reasons: Mapping[str, str],
) -> Iterator[str]:
    """A note for each metric in `empty`, which has no number of both runs.

    `others` is how many metrics have one; `reasons` tells of those that are left out. UsageError
    where no metric has one.
    """
    if not others:
        raise UsageError(_nothing(a, b, scored, empty, reasons))
    for name in empty:
        yield f"{name}: {scored.words(name, a.label, b.label)}"


def check_detect(
    wanted: Sequence[float], names: Sequence[str], *values: NDArray[np.float64]
) -> None:
    """UsageError for a wanted difference of 1 or more where every score lies in 0…1.

    `values` are scores, each (items, metrics) with a column for each of `names`, NaN where not
    scored.
    """
    most = max(wanted, default=0.0)
    if most < 1:
        return
    every = np.concatenate(values)
    with np.errstate(invalid="ignore"):
        outside = np.any((every < 0) | (every > 1), axis=0).tolist()
    known = np.any(~np.isnan(every), axis=0).tolist()
    for name, beyond, any_ in zip(names, outside, known, strict=True):
        if any_ and not beyond:
            points = f"; {_points(most)}" if most < 100 else ""
            raise UsageError(
                f"--detect {most:.12g}: a difference of {name} lies between 0 and 1{points}. For a "
                "metric with other scores, name it alone with --metrics"
            )


def _points(count: float) -> str:
    return f"{count:.12g} {'point is' if count == 1 else 'points are'} --detect {count / 100:.12g}"


def _nothing(
    a: Named, b: Named, scored: Scored, empty: Sequence[str], reasons: Mapping[str, str]
) -> str:
    alike: dict[str, list[str]] = {}
    for name in empty:
        alike.setdefault(scored.words(name, a.label, b.label), []).append(name)
    told = [f"{', '.join(names)}: {words}" for words, names in alike.items()]
    told += [f"{name} is left out: {reason}" for name, reason in reasons.items()]
    more = [f"and {len(told) - _FIRST:,} more"] if len(told) > _FIRST else []
    return (
        f"{a.label} = {a.run.path}, {b.label} = {b.run.path}: nothing can be compared; "
        f"{'; '.join([*told[:_FIRST], *more])}. Name a metric that both have scored, or look up in "
        "items.jsonl why the items have no score"
    )


def _counts(codes: Codes) -> str:
    counts = np.bincount(codes, minlength=len(STATUSES)).tolist()
    return ", ".join(f"{n:,} {s.value}" for s, n in zip(STATUSES, counts, strict=True) if n)
