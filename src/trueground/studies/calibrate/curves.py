"""How far probabilities can be believed: the judge's own, and those of each method."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.judges.calibrated import METHODS
from trueground.stats.held_out import Predicted, predicted
from trueground.stats.logistic import brier, calibration_error, reliability
from trueground.stats.thresholds import Floats, Mask
from trueground.studies.calibrate.how import Curve, check_enough, fit_curve


class Curves:
    """The curves of all methods over the same records, and the one that is kept.

    `own` are the judge's own probabilities, None where it does not give one for every record.
    `parts` (n,) are the folds of cross-validation, `clusters` (n,) what belongs together. `steps`
    says that there are two scores only, which no curve can follow too closely. InputError: too few
    records for the method.
    """

    def __init__(
        self,
        method: str,
        scores: Floats,
        labels: Mask,
        own: Floats | None,
        parts: NDArray[np.int64],
        clusters: NDArray[np.int64] | None = None,
        *,
        steps: bool = False,
    ) -> None:
        if not steps:
            check_enough(method, labels)
        self.method = method
        self._scores, self._labels, self._own, self._parts = scores, labels, own, parts
        self._clusters = clusters

    @cached_property
    def kept(self) -> Curve:
        """The curve of the method that was asked for, fitted on all records."""
        return fit_curve(self.method, self._scores, self._labels)

    @cached_property
    def held_out(self) -> dict[str, Predicted]:
        """For each method, probabilities of records that its curve was not fitted on."""
        return {name: self.predicted(self._parts, name) for name in METHODS}

    def predicted(self, parts: NDArray[np.int64], method: str | None = None) -> Predicted:
        """Probabilities of each part by the curve of the others."""
        fit = partial(_read, method or self.method)
        return predicted(self._scores, self._labels, parts, fit)

    def raw(self) -> dict[str, Any]:
        """As it stands in the file."""
        after = self.kept.read(self._scores)
        held = self.held_out[self.method].probabilities
        return {
            "calibration_error": {
                "before": self._told(self._own)["calibration_error"],
                "after": calibration_error(after, self._labels),
                "cross_validated": self._told(held)["calibration_error"],
            },
            "methods": {name: self._method(name) for name in METHODS},
            "other_method": self._other(),
            "own": None if self._own is None else self._told(self._own),
            "reliability": {
                "own": self._bins(self._own),
                "cross_validated": self._bins(held),
            },
        }

    def _method(self, name: str) -> dict[str, Any]:
        fitted = fit_curve(name, self._scores, self._labels).read(self._scores)
        held = self.held_out[name]
        told = self._told(held.probabilities)
        return {
            **self._told(fitted),
            "cross_validated": {**told, "reason": held.reason},
        }

    def _other(self) -> dict[str, Any] | None:
        """How much worse the kept method's Brier score is than the other's, cross-validated."""
        name = next(name for name in METHODS if name != self.method)
        mine = self.held_out[self.method].probabilities
        theirs = self.held_out[name].probabilities
        if mine is None or theirs is None:
            return None
        worse = (mine - self._labels) ** 2 - (theirs - self._labels) ** 2
        own = np.arange(len(worse)) if self._clusters is None else self._clusters
        _, place = np.unique(own, return_inverse=True)
        sums = np.bincount(place, worse - worse.mean())
        return {
            "name": name,
            "brier_difference": float(worse.mean()),
            "standard_error": float(np.sqrt((sums**2).sum()) / len(worse)),
        }

    def _told(self, probabilities: Floats | None) -> dict[str, float | None]:
        if probabilities is None:
            return {"calibration_error": None, "brier": None}
        return {
            "calibration_error": calibration_error(probabilities, self._labels),
            "brier": brier(probabilities, self._labels),
        }

    def _bins(self, probabilities: Floats | None) -> list[dict[str, float | int]] | None:
        return None if probabilities is None else reliability(probabilities, self._labels)


def _read(method: str, scores: Floats, labels: Mask) -> Any:
    return fit_curve(method, scores, labels).read


def check_verdicts(verdicts: Floats) -> None:
    """InputError where a judge without scores says the same of all."""
    if verdicts.min() == verdicts.max():
        raise InputError(
            f"all {len(verdicts)} verdicts are {bool(verdicts[0])}: they tell nothing apart"
        )
