"""The statistics of a calibration, from scores and labels alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground._version import __version__
from trueground.judges.calibrated import FORMAT, basis_of
from trueground.stats.held_out import HeldOut, folds, held_out
from trueground.stats.human import Measured, measure_all
from trueground.stats.share import lower_bound
from trueground.stats.thresholds import (
    MEASURES,
    Floats,
    auroc,
    check_labelled,
    curve,
    measures_at,
)
from trueground.studies.calibrate.by_file import told_by_file
from trueground.studies.calibrate.curves import Curves, check_verdicts
from trueground.studies.calibrate.how import How
from trueground.studies.calibrate.judged import Judged
from trueground.studies.calibrate.notes import no_bound, notes
from trueground.studies.calibrate.result import Calibration

FOLDS = 5
VERDICT = 0.5  # between False and True
_POINTS = 200


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
        check_labelled(j.scores, j.labels)
        check_verdicts(j.scores)
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
        at = self.measured
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
            "auroc": {
                "value": auroc(j.scores, j.labels),
                "ci": _ends(at["default"], "auroc"),
                "reason": at["default"].estimates["auroc"].why,
            },
            "default": self._at(self.default, at["default"]),
            "chosen": self._at(chosen, at["chosen"]) | {"cross_validated": self._cross_validated()},
            **self.curves.raw(),
            "files": told_by_file(
                *(j, self.default, chosen, self.how.choose, self.held_out.reason, self.curves)
            ),
            "curve": self._curve(),
            "ci_level": self.how.level,
            "resamples": self.how.resamples,
            "seed": self.how.seed,
            "trueground": __version__,
        }
        return {**raw, "notes": [*j.told, *notes(raw, self.how.measure)]}

    @cached_property
    def measured(self) -> dict[str, Measured]:
        """At both thresholds, which stay fixed, by the resamples that `validate` draws too."""
        j = self.judged
        return measure_all(
            {"default": j.scores, "chosen": j.scores},
            j.labels.astype(np.float64),
            clusters=j.clusters,
            threshold={"default": self.default, "chosen": self.threshold},
            probability=False,
            resamples=self.how.resamples,
            seed=self.how.seed,
            level=self.how.level,
        )

    def _at(self, threshold: float, measured: Measured) -> dict[str, Any]:
        found = measures_at(self.judged.scores, self.judged.labels, threshold)
        ci = _ends(measured, "balanced_accuracy")
        return {"threshold": threshold, **found, "balanced_accuracy_ci": ci}

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
        held: dict[str, Any] = {"value": None, "lower": None, "n": None, "groups": None}
        held["lower_reason"] = found.reason
        if found.applied is not None:
            held = self._precision_above(found.applied)
        return {
            "wanted": self.how.wanted,
            **self._precision_above(self.threshold),
            "cross_validated": {**held, "reason": found.reason},
        }

    def _precision_above(self, threshold: float | Floats) -> dict[str, Any]:
        """Precision of what lies above, its lower bound, the items and their groups."""
        j = self.judged
        above = j.scores > threshold
        hits = j.labels[above]
        clusters = None if j.clusters is None else j.clusters[above]
        groups = None if clusters is None else len(np.unique(clusters))
        lower = lower_bound(hits, clusters, level=self.how.level)
        return {
            "value": float(hits.mean()) if len(hits) else None,
            "lower": lower,
            "lower_reason": no_bound(len(hits), groups) if lower is None else None,
            "n": len(hits),
            "groups": groups,
        }

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


def _ends(measured: Measured, name: str) -> list[float] | None:
    ci = measured.estimates[name].ci
    return None if ci is None else list(ci)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
