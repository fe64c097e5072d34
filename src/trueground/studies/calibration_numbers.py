"""The statistics of a calibration, from scores and labels alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground._version import __version__
from trueground.claims import Decomposer
from trueground.errors import InputError
from trueground.judges import Judge
from trueground.judges.calibration import FORMAT
from trueground.stats import logistic
from trueground.stats.held_out import HeldOut, bootstrap_intervals, folds, held_out
from trueground.stats.thresholds import (
    MEASURES,
    Floats,
    Mask,
    auroc,
    best_threshold,
    curve,
    measures_at,
)
from trueground.studies.calibration import Calibration
from trueground.studies.labelled import LabelledFile

FOLDS = 5
_POINTS = 200


@dataclass(frozen=True)
class Judged:
    """Scores and labels of all judged records, each of shape (n,), and where they come from.

    `probabilities` is NaN where the judge gave none; `clusters` is None where no record has a
    group; `file_numbers` counts from 0 in the order of `files`.
    """

    judge: Judge
    decomposer: Decomposer | None
    label: str
    positive_above: float
    files: Sequence[LabelledFile]
    unscored: Sequence[Counter[str]]
    scores: Floats
    probabilities: Floats
    labels: Mask
    clusters: NDArray[np.int64] | None
    file_numbers: NDArray[np.int64]


def conclude(
    judged: Judged, *, objective: str, seed: int, resamples: int, level: float
) -> Calibration:
    """The statistics. InputError: the scored records are of one kind, or all score alike."""
    return Calibration(_Conclusion(judged, objective, seed, resamples, level).raw())


@dataclass(frozen=True)
class _Conclusion:
    """One calibration while it is put together."""

    judged: Judged
    objective: str
    seed: int
    resamples: int
    level: float

    @cached_property
    def threshold(self) -> float:
        return best_threshold(self.judged.scores, self.judged.labels, self.objective)

    def raw(self) -> dict[str, Any]:
        j = self.judged
        slope, intercept = logistic.fit(j.scores, j.labels)
        default, chosen = j.judge.threshold, self.threshold
        area, accuracies = bootstrap_intervals(
            *(j.scores, j.labels, (default, chosen), j.clusters),
            resamples=self.resamples,
            seed=self.seed,
            level=self.level,
        )
        raw: dict[str, Any] = {
            "format": FORMAT,
            "judge": j.judge.name,
            "signature": getattr(j.judge, "basis", j.judge.signature),
            "threshold": chosen,
            "slope": slope,
            "intercept": intercept,
            "objective": self.objective,
            "label": j.label,
            "positive_above": j.positive_above,
            "decomposer": None if j.decomposer is None else j.decomposer.signature,
            "n": len(j.scores),
            "positives": int(j.labels.sum()),
            "groups": None if j.clusters is None else len(np.unique(j.clusters)),
            "unscored": dict(sorted(sum(j.unscored, Counter[str]()).items())),
            "auroc": {"value": auroc(j.scores, j.labels), "ci": area},
            "default": self._at(default) | {"balanced_accuracy_ci": accuracies[0]},
            "chosen": self._at(chosen)
            | {"balanced_accuracy_ci": accuracies[1], "cross_validated": self._cross_validated()},
            "calibration_error": self._calibration_error(slope, intercept),
            "files": self._files(),
            "curve": self._curve(),
            "ci_level": self.level,
            "resamples": self.resamples,
            "seed": self.seed,
            "trueground": __version__,
        }
        return {**raw, "notes": list(_notes(raw))}

    def _at(self, threshold: float) -> dict[str, Any]:
        found = measures_at(self.judged.scores, self.judged.labels, threshold)
        return {"threshold": threshold, **found}

    def _cross_validated(self) -> dict[str, Any]:
        j = self.judged
        parts = folds(len(j.scores), j.clusters, parts=FOLDS, seed=self.seed)
        found = held_out(j.scores, j.labels, parts, self.objective)
        value = None
        if found.applied is not None:
            value = measures_at(j.scores, j.labels, found.applied)["balanced_accuracy"]
        return {
            "folds": int(parts.max()) + 1,
            "thresholds": found.thresholds,
            "balanced_accuracy": value,
            "reason": found.reason,
        }

    def _calibration_error(self, slope: float, intercept: float) -> dict[str, float | None]:
        """Before: of the judge's own probabilities, where it gives one for every record."""
        j = self.judged
        after = logistic.probabilities(j.scores, slope, intercept)
        own = None if np.isnan(j.probabilities).any() else j.probabilities
        return {
            "before": None if own is None else logistic.calibration_error(own, j.labels),
            "after": logistic.calibration_error(after, j.labels),
        }

    def _files(self) -> list[dict[str, Any]]:
        j = self.judged
        several = len(j.files) > 1
        others = held_out(j.scores, j.labels, j.file_numbers, self.objective) if several else None
        return [self._file(number, others) for number in range(len(j.files))]

    def _file(self, number: int, others: HeldOut | None) -> dict[str, Any]:
        """One file by itself; `left_out`: the threshold that the other files choose."""
        j, file = self.judged, self.judged.files[number]
        mine = j.file_numbers == number
        scores, labels = j.scores[mine], j.labels[mine]
        told: dict[str, Any] = {
            "path": file.name,
            "sha256": next((info.sha256 for info in file.check.files), None),
            "n": len(scores),
            "positives": int(labels.sum()),
            "unscored": dict(sorted(j.unscored[number].items())),
            "auroc": None,
            "reason": None,
            "default": _balanced(scores, labels, j.judge.threshold),
            "chosen": _balanced(scores, labels, self.threshold),
        }
        try:
            told["auroc"] = auroc(scores, labels)
        except InputError as error:
            told["reason"] = str(error)
        if others is not None:
            threshold = others.thresholds[number] if others.thresholds else None
            value = None if threshold is None else _balanced(scores, labels, threshold)
            told["left_out"] = {
                "threshold": threshold,
                "balanced_accuracy": value,
                "reason": others.reason,
            }
        return told

    def _curve(self) -> list[dict[str, float | None]]:
        """At most 200 cuts, evenly among all, the ends and the two thresholds' among them."""
        cuts = curve(self.judged.scores, self.judged.labels)
        number = len(cuts.thresholds)
        evenly = np.linspace(0, number - 1, min(number, _POINTS - 2)).round().astype(int)
        two = np.searchsorted(
            cuts.scores, [self.judged.judge.threshold, self.threshold], side="right"
        )
        rows = np.unique(np.concatenate((evenly, two)))
        columns = {"threshold": cuts.thresholds, **cuts.measures()}
        return [
            {name: _number(columns[name][row]) for name in ("threshold", *MEASURES)} for row in rows
        ]


def _balanced(scores: Floats, labels: Mask, threshold: float) -> float | None:
    return measures_at(scores, labels, threshold)["balanced_accuracy"]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _notes(raw: dict[str, Any]) -> Iterator[str]:
    """What to know before the numbers are used."""
    area, chosen, default = raw["auroc"]["value"], raw["chosen"], raw["default"]
    if area < 0.5:
        yield (
            f"AUROC is {area:.3f}: higher scores go with negative labels here, so no threshold "
            "can help"
        )
    if raw["slope"] <= 0:
        yield "the slope is not above 0, so judges refuse a file with these numbers"
    held = chosen["cross_validated"]["balanced_accuracy"]
    if held is None:
        yield f"no cross-validation: {chosen['cross_validated']['reason']}"
    elif held <= default["balanced_accuracy"]:
        yield (
            f"balanced accuracy on items that the threshold was not chosen on is {held:.4f}, that "
            f"of the default threshold {default['balanced_accuracy']:.4f}: keep the default"
        )
    if chosen["share_positive"] in (0, 1):
        yield "the chosen threshold gives one verdict for all; choose another objective"
