"""Each file by itself: its numbers, and what the other files say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.errors import InputError
from trueground.stats import logistic
from trueground.stats.held_out import Choose, HeldOut, Predicted, held_out
from trueground.stats.thresholds import Floats, Mask, auroc, measures_at
from trueground.studies.calibrate.curves import Curves
from trueground.studies.calibrate.judged import Judged


def told_by_file(
    judged: Judged,
    default: float,
    chosen: float,
    choose: Choose,
    reason: str | None,
    curves: Curves,
) -> list[dict[str, Any]]:
    """The entry of each file; of several also by threshold and curve of the others.

    `reason` is why there is nothing held out where the judge has verdicts only.
    """
    j = judged
    each = [_file(j, number, default, chosen) for number in range(len(j.files))]
    if len(each) > 1:
        others = HeldOut(reason=reason)
        if not j.by_verdict:
            others = held_out(j.scores, j.labels, j.file_numbers, choose)
        curve = curves.predicted(j.file_numbers)
        for number, told in enumerate(each):
            told["left_out"] = _left_out(j, number, others, curve)
    return each


def _file(j: Judged, number: int, default: float, chosen: float) -> dict[str, Any]:
    file, mine = j.files[number], j.file_numbers == number
    scores, labels = j.scores[mine], j.labels[mine]
    told: dict[str, Any] = {
        "path": file.path,
        "sha256": file.sha256,
        "n": len(scores),
        "positives": int(labels.sum()),
        "unscored": dict(sorted(j.unscored[number].items())),
        "auroc": None,
        "reason": None,
        "default": _balanced(scores, labels, default),
        "chosen": _balanced(scores, labels, chosen),
    }
    try:
        told["auroc"] = auroc(scores, labels)
    except InputError as error:
        told["reason"] = str(error)
    return told


def _left_out(j: Judged, number: int, others: HeldOut, curve: Predicted) -> Mapping[str, Any]:
    """Threshold and curve of the other files, on this one."""
    mine = j.file_numbers == number
    # A last file without records is no part.
    has_one = number < len(others.thresholds)
    threshold = others.thresholds[number] if has_one else None
    value = error = None
    if threshold is not None:
        value = _balanced(j.scores[mine], j.labels[mine], threshold)
    if curve.probabilities is not None:
        error = logistic.calibration_error(curve.probabilities[mine], j.labels[mine])
    return {
        "threshold": threshold,
        "balanced_accuracy": value,
        "reason": others.reason,
        "calibration_error": error,
    }


def _balanced(scores: Floats, labels: Mask, threshold: float) -> float | None:
    return measures_at(scores, labels, threshold)["balanced_accuracy"]
