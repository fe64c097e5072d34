"""The numbers of a calibration, from scores and labels alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground._version import __version__
from trueground.errors import InputError, UsageError
from trueground.judges import CalibrationFile
from trueground.net import redact_urls
from trueground.options import Level, Resamples, Seed, declared_options
from trueground.stats import CalibrationCurve, HeldOut, Measured, ScoredLabels, sum_counts
from trueground.studies.calibration.judging import JudgedRecords
from trueground.studies.calibration.result import Calibration, format_notes

FOLDS = 5
VERDICT = 0.5  # between False and True
_POINTS = 200
# Fewer of a kind than this, and the steps of an isotonic curve follow single records.
_LEAST_OF_A_KIND = 20


@dataclass(frozen=True)
class CalibrationSettings:
    """What the threshold is chosen for, and which curve is fitted. UsageError.

    With a `precision` that is wanted there is no objective.
    """

    objective: str | None
    precision: float | None
    method: str
    seed: Seed
    resamples: Resamples
    level: Level

    def __post_init__(self) -> None:
        if self.objective is not None and self.objective not in ScoredLabels.OBJECTIVES:
            raise UsageError.unknown_name("objective", self.objective, ScoredLabels.OBJECTIVES)
        if self.method not in CalibrationFile.METHODS:
            raise UsageError.unknown_name("method", self.method, CalibrationFile.METHODS)
        if self.precision is not None and self.objective is not None:
            raise UsageError(
                f"objective={self.objective} and precision={self.precision:g}: the threshold is "
                "chosen for one of them; leave the other out"
            )
        if self.precision is not None and not 0 < self.precision <= 1:
            raise UsageError(
                f"precision={self.precision:g}; expected a number above 0, and at most 1"
            )
        declared_options(type(self)).check(vars(self))

    @property
    def chooses(self) -> bool:
        """Whether the user wants a threshold of some kind."""
        return self.objective is not None or self.precision is not None

    @property
    def chosen_for(self) -> str:
        """What the threshold is chosen for: one of OBJECTIVES, or "precision"."""
        return self.objective or ("balanced_accuracy" if self.precision is None else "precision")

    @property
    def choose(self) -> Callable[[ScoredLabels], float]:
        """The function that chooses a threshold. It raises InputError if there is none."""
        if self.precision is not None:
            return partial(ScoredLabels.threshold_for_precision, wanted=self.precision)
        return partial(ScoredLabels.best_threshold, objective=self.chosen_for)


def curve_fields(curve: CalibrationCurve) -> dict[str, object]:
    """Return the fields of a curve in the file."""
    knots = None if curve.knots is None else curve.knots.tolist()
    return {"slope": curve.slope, "intercept": curve.intercept, "knots": knots}


def compute_calibration(
    j: JudgedRecords, settings: CalibrationSettings, written: str | None
) -> Calibration:
    """The statistics; `written` names the judge. InputError: records of one kind, or that all score
    alike, a precision that no threshold reaches, too few records for the method."""
    default = VERDICT if j.by_verdict else j.judge.threshold
    chosen = VERDICT
    if j.by_verdict:
        j.scored.check()
        if j.scores.min() == j.scores.max():
            raise InputError(
                f"all {len(j.scores)} verdicts are {bool(j.scores[0])}: they tell nothing apart"
            )
    else:
        chosen = settings.choose(j.scored)
    # Both thresholds stay fixed; the resamples are those that `validate` draws too.
    measured = Measured.measure_all(
        {"default": j.scores, "chosen": j.scores},
        j.labels.astype(np.float64),
        clusters=j.clusters,
        threshold={"default": default, "chosen": chosen},
        probability=False,
        resamples=settings.resamples,
        seed=settings.seed,
        level=settings.level,
    )
    at_default, at_chosen = measured["default"], measured["chosen"]
    fewest = min(sum_counts(j.labels), sum_counts(~j.labels))
    # Verdicts are two scores only: no curve can follow them too closely.
    if settings.method == "isotonic" and not j.by_verdict and fewest < _LEAST_OF_A_KIND:
        raise InputError(
            f"method=isotonic with {fewest} records of the rarer kind; expected "
            f"{_LEAST_OF_A_KIND} or more of each; label more, or take method=platt"
        )
    fitted = CalibrationCurve.fit(settings.method, j.scored)
    parts = j.scored.folds(j.clusters, parts=FOLDS, seed=settings.seed)
    held = HeldOut(reason="the judge's verdicts are taken as they are")
    if not j.by_verdict:
        held = j.scored.held_out(parts, settings.choose)
    at_held: dict[str, float | None] = dict.fromkeys(ScoredLabels.MEASURES)
    if held.values is not None:
        at_held = j.scored.measures_at(held.values)
    raw: dict[str, Any] = {
        "format": CalibrationFile.FORMAT,
        "judge": j.judge.name,
        "written": None if written is None else redact_urls(written),
        "signature": j.judge.basis,
        "of": "verdict" if j.by_verdict else "score",
        "threshold": chosen,
        "method": settings.method,
        **curve_fields(fitted),
        "objective": None if j.by_verdict else settings.chosen_for,
        "precision": _precision(j, settings, chosen, held),
        "label": j.sets.rule.label,
        "positive_above": j.sets.rule.positive_above,
        "decomposer": None if j.decomposer is None else j.decomposer.signature,
        "n": len(j.scores),
        "positives": sum_counts(j.labels),
        "groups": None if j.clusters is None else len(np.unique(j.clusters)),
        "unscored": dict(sorted(sum(j.unscored, Counter[str]()).items())),
        "auroc": {
            "value": j.scored.auroc(),
            "ci": at_default.estimates["auroc"].raw()["ci"],
            "reason": at_default.estimates["auroc"].why,
        },
        "default": _threshold_entry(j, default, at_default),
        "chosen": {
            **_threshold_entry(j, chosen, at_chosen),
            "cross_validated": {
                "folds": int(parts.max()) + 1,
                "thresholds": held.chosen,
                **at_held,
                "reason": held.reason,
            },
        },
        **_curve_entries(j, settings.method, fitted, parts),
        "files": _file_entries(j, default, chosen, settings, held.reason),
        "curve": _threshold_curve(j, default, chosen),
        "histogram": at_default.histogram,
        "ci_level": settings.level,
        "resamples": settings.resamples,
        "seed": settings.seed,
        "trueground": __version__,
    }
    measure = ScoredLabels.measure_of(settings.chosen_for)
    return Calibration({**raw, "notes": [*j.sets.notes, *format_notes(raw, measure)]})


def _threshold_entry(j: JudgedRecords, threshold: float, measured: Measured) -> dict[str, Any]:
    return {
        "threshold": threshold,
        **j.scored.measures_at(threshold),
        "balanced_accuracy_ci": measured.estimates["balanced_accuracy"].raw()["ci"],
    }


def _precision(
    j: JudgedRecords, settings: CalibrationSettings, chosen: float, held: HeldOut
) -> dict[str, Any] | None:
    """The wanted precision, and what it is at least: here, and on items held out."""
    if settings.precision is None:
        return None

    def above(threshold: float | NDArray[np.float64]) -> dict[str, Any]:
        """Precision of what lies above, its lower bound, the items and their groups."""
        bound = j.scored.precision_above(threshold, j.clusters, level=settings.level)
        reason = f"all {bound.n:,} records above the threshold are of {bound.groups} group, "
        reason += "and it takes 2"
        if bound.n < 2:
            verb = "is" if bound.n == 1 else "are"
            reason = f"{bound.n} of the records {verb} above the threshold, and it takes 2"
        return {
            "value": bound.value,
            "lower": bound.lower,
            "lower_reason": reason if bound.lower is None else None,
            "n": bound.n,
            "groups": bound.groups,
        }

    others = {"value": None, "lower": None, "n": None, "groups": None, "lower_reason": held.reason}
    if held.values is not None:
        others = above(held.values)
    held_out_items = {**others, "reason": held.reason}
    return {"wanted": settings.precision, **above(chosen), "cross_validated": held_out_items}


def _threshold_curve(
    j: JudgedRecords, default: float, chosen: float
) -> list[dict[str, float | None]]:
    """At most 200 cuts, evenly among all, the ends and the two thresholds' among them."""
    cuts = j.scored.curve()
    number = len(cuts.thresholds)
    evenly = np.linspace(0, number - 1, min(number, _POINTS - 2)).round().astype(int)
    two = np.searchsorted(cuts.scores, [default, chosen], side="right")
    columns = {"threshold": cuts.thresholds, **cuts.measures()}
    return [
        {
            name: None if np.isnan(values[row]) else float(values[row])
            for name, values in columns.items()
        }
        for row in np.unique(np.concatenate((evenly, two))).tolist()
    ]


def _predict(j: JudgedRecords, method: str, parts: NDArray[np.int64]) -> HeldOut:
    return j.scored.held_out(
        parts, lambda data: CalibrationCurve.fit(method, data).probabilities, "fit"
    )


def _curve_entries(
    j: JudgedRecords, method: str, fitted: CalibrationCurve, parts: NDArray[np.int64]
) -> dict[str, Any]:
    """How far probabilities can be believed: the judge's own, and those of each method.

    The judge's own are there where it gives one for every record.
    """
    declared = None if np.isnan(j.probabilities).any() else j.probabilities
    held = {name: _predict(j, name, parts) for name in CalibrationFile.METHODS}
    held_out = held[method].values

    def errors(probabilities: NDArray[np.float64] | None) -> dict[str, float | None]:
        if probabilities is None:
            return {"calibration_error": None, "brier": None}
        labeled = ScoredLabels(probabilities, j.labels)
        return {"calibration_error": labeled.calibration_error(), "brier": labeled.brier()}

    def bins(probabilities: NDArray[np.float64] | None) -> list[dict[str, float | int]] | None:
        if probabilities is None:
            return None
        return ScoredLabels(probabilities, j.labels).reliability()

    return {
        "calibration_error": {
            "before": errors(declared)["calibration_error"],
            "after": errors(fitted.probabilities(j.scores))["calibration_error"],
            "cross_validated": errors(held_out)["calibration_error"],
        },
        "methods": {
            name: {
                **errors(CalibrationCurve.fit(name, j.scored).probabilities(j.scores)),
                "cross_validated": {**errors(by.values), "reason": by.reason},
            }
            for name, by in held.items()
        },
        "other_method": _other_method(j, method, held),
        "own": None if declared is None else errors(declared),
        "reliability": {"own": bins(declared), "cross_validated": bins(held_out)},
    }


def _other_method(j: JudgedRecords, method: str, held: dict[str, HeldOut]) -> dict[str, Any] | None:
    """How much worse the kept method's Brier score is than the other's, cross-validated."""
    name = next(name for name in CalibrationFile.METHODS if name != method)
    held_out, other = held[method].values, held[name].values
    if held_out is None or other is None:
        return None
    compared = ScoredLabels(held_out, j.labels).brier_difference(other, j.clusters)
    return {
        "name": name,
        "brier_difference": compared.difference,
        "standard_error": compared.standard_error,
    }


def _file_entries(
    j: JudgedRecords,
    default: float,
    chosen: float,
    settings: CalibrationSettings,
    reason: str | None,
) -> list[dict[str, Any]]:
    """Each file by itself: its numbers; of several also by threshold and curve of the others.

    `reason` is why there is nothing held out where the judge has verdicts only.
    """
    files = j.sets.all_sets
    several = len(files) > 1
    others, by_others = HeldOut(reason=reason), HeldOut()
    if several:
        if not j.by_verdict:
            others = j.scored.held_out(j.file_numbers, settings.choose)
        by_others = _predict(j, settings.method, j.file_numbers)
    entries = []
    for number, file in enumerate(files):
        held_out = j.file_numbers == number
        scores, labels = j.scores[held_out], j.labels[held_out]
        entry: dict[str, Any] = {
            "path": file.path,
            "sha256": file.sha256,
            "n": len(scores),
            "positives": sum_counts(labels),
            "unscored": dict(sorted(j.unscored[number].items())),
            "auroc": None,
            "reason": None,
            "default": _balanced_accuracy(scores, labels, default),
            "chosen": _balanced_accuracy(scores, labels, chosen),
        }
        try:
            entry["auroc"] = ScoredLabels(scores, labels).auroc()
        except InputError as error:
            entry["reason"] = str(error)
        if several:
            # A last file without records is no part.
            threshold = others.chosen[number] if number < len(others.chosen) else None
            left_out_error = None
            if by_others.values is not None:
                held = ScoredLabels(by_others.values[held_out], labels)
                left_out_error = held.calibration_error()
            entry["left_out"] = {
                "threshold": threshold,
                "balanced_accuracy": _balanced_accuracy(scores, labels, threshold),
                "reason": others.reason,
                "calibration_error": left_out_error,
            }
        entries.append(entry)
    return entries


def _balanced_accuracy(
    scores: NDArray[np.float64], labels: NDArray[np.bool_], threshold: float | None
) -> float | None:
    if threshold is None:
        return None
    return ScoredLabels(scores, labels).measures_at(threshold)["balanced_accuracy"]
