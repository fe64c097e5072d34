"""The statistics of a calibration, from scores and labels alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground._version import __version__
from trueground.claims import Decomposer
from trueground.errors import InputError
from trueground.judges import Judge
from trueground.judges.calibrated import basis_of
from trueground.judges.calibration import FORMAT
from trueground.stats import logistic
from trueground.stats.held_out import HeldOut, Predicted, bootstrap_intervals, folds, held_out
from trueground.stats.share import lower_bound
from trueground.stats.thresholds import (
    MEASURES,
    Floats,
    Mask,
    auroc,
    curve,
    measures_at,
    see_labelled,
)
from trueground.studies.calibration import Calibration
from trueground.studies.calibration_curves import Curves, see_verdicts
from trueground.studies.calibration_how import How
from trueground.studies.calibration_notes import notes
from trueground.studies.labelled import LabelledFile

FOLDS = 5
VERDICT = 0.5  # between False and True
_POINTS = 200


@dataclass(frozen=True)
class Judged:
    """Scores and labels of all judged records, each of shape (n,), and where they come from.

    `by_verdict` says that scores are verdicts, 1 for True and 0 for False, because the judge has no
    others. `probabilities` is NaN where the judge gave none; `clusters` is None where no record has
    a group; `file_numbers` counts from 0 in the order of `files`.
    """

    judge: Judge
    decomposer: Decomposer | None
    label: str
    positive_above: float
    files: Sequence[LabelledFile]
    unscored: Sequence[Counter[str]]
    by_verdict: bool
    scores: Floats
    probabilities: Floats
    labels: Mask
    clusters: NDArray[np.int64] | None
    file_numbers: NDArray[np.int64]


def conclude(judged: Judged, how: How) -> Calibration:
    """The statistics. InputError: the scored records are of one kind, or all score alike, a
    precision that no threshold reaches, too few records for the method."""
    return Calibration(_Conclusion(judged, how).raw())


@dataclass(frozen=True)
class _Conclusion:
    """One calibration while it is put together."""

    judged: Judged
    how: How

    @cached_property
    def threshold(self) -> float:
        j = self.judged
        if not j.by_verdict:
            return self.how.choose(j.scores, j.labels)
        see_labelled(j.scores, j.labels)
        see_verdicts(j.scores)
        return VERDICT

    @property
    def default(self) -> float:
        return VERDICT if self.judged.by_verdict else self.judged.judge.threshold

    @cached_property
    def parts(self) -> NDArray[np.int64]:
        j = self.judged
        return folds(len(j.scores), j.clusters, parts=FOLDS, seed=self.how.seed)

    @cached_property
    def curves(self) -> Curves:
        j = self.judged
        own = None if np.isnan(j.probabilities).any() else j.probabilities
        known = (j.scores, j.labels, own, self.parts, j.clusters)
        return Curves(self.how.method, *known, steps=j.by_verdict)

    @cached_property
    def held_out(self) -> HeldOut:
        if self.judged.by_verdict:
            return HeldOut(reason="the judge's verdicts are taken as they are")
        return held_out(self.judged.scores, self.judged.labels, self.parts, self.how.choose)

    def raw(self) -> dict[str, Any]:
        j, chosen = self.judged, self.threshold
        area, accuracies = bootstrap_intervals(
            *(j.scores, j.labels, (self.default, chosen), j.clusters),
            resamples=self.how.resamples,
            seed=self.how.seed,
            level=self.how.level,
        )
        raw: dict[str, Any] = {
            "format": FORMAT,
            "judge": j.judge.name,
            "signature": basis_of(j.judge),
            "of": "verdict" if j.by_verdict else "score",
            "threshold": chosen,
            "method": self.how.method,
            **self.curves.kept.fields,
            "objective": None if j.by_verdict else self.how.objective,
            "precision": self._precision(),
            "label": j.label,
            "positive_above": j.positive_above,
            "decomposer": None if j.decomposer is None else j.decomposer.signature,
            "n": len(j.scores),
            "positives": int(j.labels.sum()),
            "groups": None if j.clusters is None else len(np.unique(j.clusters)),
            "unscored": dict(sorted(sum(j.unscored, Counter[str]()).items())),
            "auroc": {"value": auroc(j.scores, j.labels), "ci": area},
            "default": self._at(self.default) | {"balanced_accuracy_ci": accuracies[0]},
            "chosen": self._at(chosen)
            | {"balanced_accuracy_ci": accuracies[1], "cross_validated": self._cross_validated()},
            **self.curves.raw(),
            "files": self._files(),
            "curve": self._curve(),
            "ci_level": self.how.level,
            "resamples": self.how.resamples,
            "seed": self.how.seed,
            "trueground": __version__,
        }
        return {**raw, "notes": list(notes(raw, self.how.measure))}

    def _at(self, threshold: float) -> dict[str, Any]:
        found = measures_at(self.judged.scores, self.judged.labels, threshold)
        return {"threshold": threshold, **found}

    def _cross_validated(self) -> dict[str, Any]:
        """Every measure on items that the threshold was not chosen on."""
        j, found = self.judged, self.held_out
        told: dict[str, float | None] = dict.fromkeys(MEASURES)
        if found.applied is not None:
            told = measures_at(j.scores, j.labels, found.applied)
        return {
            "folds": int(self.parts.max()) + 1,
            "thresholds": found.thresholds,
            **told,
            "reason": found.reason,
        }

    def _precision(self) -> dict[str, Any] | None:
        """The wanted precision, and what it is at least: here, and on items held out."""
        if self.how.wanted is None:
            return None
        found = self.held_out
        held: dict[str, Any] = {"value": None, "lower": None, "n": None}
        if found.applied is not None:
            held = self._precision_above(found.applied)
        return {
            "wanted": self.how.wanted,
            **self._precision_above(self.threshold),
            "cross_validated": {**held, "reason": found.reason},
        }

    def _precision_above(self, threshold: float | Floats) -> dict[str, Any]:
        """Precision of what lies above, its lower bound at the level, and the number of items."""
        j = self.judged
        above = j.scores > threshold
        hits = j.labels[above]
        clusters = None if j.clusters is None else j.clusters[above]
        return {
            "value": float(hits.mean()) if len(hits) else None,
            "lower": lower_bound(hits, clusters, level=self.how.level),
            "n": len(hits),
        }

    def _files(self) -> list[dict[str, Any]]:
        j = self.judged
        if len(j.files) == 1:
            return [self._file(0, None, None)]
        others = HeldOut(reason=self.held_out.reason)
        if not j.by_verdict:
            others = held_out(j.scores, j.labels, j.file_numbers, self.how.choose)
        curve = self.curves.predicted(j.file_numbers)
        return [self._file(number, others, curve) for number in range(len(j.files))]

    def _file(self, number: int, others: HeldOut | None, curve: Predicted | None) -> dict[str, Any]:
        """One file by itself; `left_out`: threshold and curve of the other files."""
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
            "default": _balanced(scores, labels, self.default),
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
        if curve is not None:
            known = curve.probabilities
            told["left_out"]["calibration_error"] = (
                None if known is None else logistic.calibration_error(known[mine], labels)
            )
        return told

    def _curve(self) -> list[dict[str, float | None]]:
        """At most 200 cuts, evenly among all, the ends and the two thresholds' among them."""
        cuts = curve(self.judged.scores, self.judged.labels)
        number = len(cuts.thresholds)
        evenly = np.linspace(0, number - 1, min(number, _POINTS - 2)).round().astype(int)
        two = np.searchsorted(cuts.scores, [self.default, self.threshold], side="right")
        rows = np.unique(np.concatenate((evenly, two)))
        columns = {"threshold": cuts.thresholds, **cuts.measures()}
        return [
            {name: _number(columns[name][row]) for name in ("threshold", *MEASURES)} for row in rows
        ]


def _balanced(scores: Floats, labels: Mask, threshold: float) -> float | None:
    return measures_at(scores, labels, threshold)["balanced_accuracy"]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
