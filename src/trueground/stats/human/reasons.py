"""Why a measure, or its interval, is not there."""

from __future__ import annotations

import numpy as np

from trueground.stats.human.column import Column
from trueground.stats.human.types import Mask

VERDICTS = (
    "balanced_accuracy",
    "matthews",
    "cohen_kappa",
    "fleiss_kappa",
    "krippendorff_alpha",
    "raw_agreement",
    "false_negative_rate",
    "false_positive_rate",
)
AGAINST_LIMIT = (*(name for name in VERDICTS if name != "krippendorff_alpha"), "calibration_error")
LEAST = 5  # items or groups: resamples of fewer tell next to nothing
SAME = "the same in every resample: nothing varies here"
ON_THESE = "chosen on these labels, so it flatters; `judge calibrate` has one held out"
_BOTH_KINDS = ("auroc", "point_biserial", "balanced_accuracy", "balanced_accuracy_best", "matthews")
_RANKS = ("spearman", "kendall")
_SPREAD = (*_RANKS, "point_biserial", "balanced_accuracy_best")


def why_undefined(name: str, column: Column, wants_probability: bool) -> str:
    """Why the column has no value of this measure."""
    n, positives = column.n, int(column.positive.sum())
    if not n:
        return "no item has both a score and a label"
    if name in VERDICTS and column.threshold is None:
        return "there is no default threshold"
    if column.ordinal and name in AGAINST_LIMIT and positives in (0, n):
        what = "all" if positives else "none"
        return f"{what} of the {n} labels are above the limit for positive ones"
    if name == "calibration_error":
        return _no_probability(column, wants_probability)
    if name == "false_negative_rate" or (needs_both(name, column) and not positives):
        return f"none of the {n} labels is positive"
    if name == "false_positive_rate" or (needs_both(name, column) and positives == n):
        return f"all of the {n} labels are positive"
    if column.ordinal and name in _RANKS and (column.labels == column.labels[0]).all():
        return f"all of the {n} labels are {column.labels[0]:g}"
    if name in _SPREAD and len(column.distinct) == 1:
        return f"all of the {n} scores are {column.distinct[0]:g}"
    return _same_verdicts(name, column)


def _no_probability(column: Column, wanted: bool) -> str:
    if not wanted:
        return "the score is no probability"
    low, high = column.distinct[0], column.distinct[-1]
    return f"the scores run from {low:g} to {high:g}; a probability lies between 0 and 1"


def _same_verdicts(name: str, column: Column) -> str:
    n = column.n
    if column.ordinal and name == "krippendorff_alpha":
        low, high = column.labels.min(), column.labels.max()
        if column.distinct[0] < low or column.distinct[-1] > high:
            return (
                f"the scores run from {column.distinct[0]:g} to {column.distinct[-1]:g}, the "
                f"labels from {low:g} to {high:g}: not on one scale"
            )
        return f"all of the {n} scores and labels are of one grade"
    if name == "matthews":
        side = ("at or above", "below") if column.at_least else ("above", "at or below")
        where = side[column.below > 0]
        return f"all of the {n} scores are {where} the threshold {column.threshold:g}"
    if name in VERDICTS:
        return f"score and label say the same of all {n} items, as they would by chance"
    return "it is undefined on these items"


def why_no_interval(name: str, column: Column) -> str | None:
    """Why a value has no interval: it is chosen here, or rests on too few units; else None."""
    if name == "balanced_accuracy_best":
        return ON_THESE
    if needs_both(name, column):
        sides = {"positive": column.positive, "negative": ~column.positive}
    elif name == "false_negative_rate":
        sides = {"positive": column.positive}
    elif name == "false_positive_rate":
        sides = {"negative": ~column.positive}
    else:
        sides = {"labelled": np.ones(column.n, np.bool_)}
    for side, which in sides.items():
        units = units_of(column, which)
        if units < LEAST:
            what = "items" if column.alone else "groups with items"
            return f"{units} {side} {what} are too few to draw from: an interval takes {LEAST}"
    return None


def units_of(column: Column, which: Mask) -> int:
    """How many units hold these items."""
    return len(np.unique(column.unit[which]))


def needs_both(name: str, column: Column) -> bool:
    """Whether the measure needs positives and negatives."""
    return name in _BOTH_KINDS or (name in _RANKS and not column.ordinal)
