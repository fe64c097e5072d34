"""Why a measure, or its interval, is not there."""

from __future__ import annotations

import numpy as np

from trueground.stats.bootstrap import Mask
from trueground.stats.human.calibration import CALIBRATION
from trueground.stats.human.column import LabelledScores

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
AGAINST_LIMIT = (*(name for name in VERDICTS if name != "krippendorff_alpha"), CALIBRATION)
LEAST = 5  # items or groups: resamples of fewer tell next to nothing
_BOTH_KINDS = ("auroc", "point_biserial", "balanced_accuracy", "balanced_accuracy_best", "matthews")
_RANKS = ("spearman", "kendall")
_SPREAD = (*_RANKS, "point_biserial", "balanced_accuracy_best")


def why_undefined(name: str, column: LabelledScores, wants_probability: bool) -> str:
    """Why the column has no value of this measure."""
    n, positives, distinct = column.n, int(column.positive.sum()), column.distinct
    both = _needs_both(name, column)
    if not n:
        return "no item has both a score and a label"
    if name in VERDICTS and column.threshold is None:
        return "there is no default threshold"
    if column.ordinal and name in AGAINST_LIMIT and positives in (0, n):
        what = "all" if positives else "none"
        return f"{what} of the {n} labels are above the limit for positive ones"
    if name == CALIBRATION:
        if not wants_probability:
            return "the score is no probability"
        return (
            f"the scores run from {distinct[0]:g} to {distinct[-1]:g}; "
            "a probability lies between 0 and 1"
        )
    if name == "false_negative_rate" or (both and not positives):
        return f"none of the {n} labels is positive"
    if name == "false_positive_rate" or (both and positives == n):
        return f"all of the {n} labels are positive"
    if column.ordinal and name in _RANKS and (column.labels == column.labels[0]).all():
        return f"all of the {n} labels are {column.labels[0]:g}"
    if name in _SPREAD and len(distinct) == 1:
        return f"all of the {n} scores are {distinct[0]:g}"
    if column.ordinal and name == "krippendorff_alpha":
        low, high = column.labels.min(), column.labels.max()
        if distinct[0] < low or distinct[-1] > high:
            return (
                f"the scores run from {distinct[0]:g} to {distinct[-1]:g}, the "
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


def why_no_interval(name: str, column: LabelledScores) -> str | None:
    """Why a value has no interval: it is chosen here, or rests on too few units; else None."""
    if name == "balanced_accuracy_best":
        return "chosen on these labels, so it flatters; `judge calibrate` has one held out"
    sides = {"positive": column.positive, "negative": ~column.positive}
    if name == "false_negative_rate":
        del sides["negative"]
    elif name == "false_positive_rate":
        del sides["positive"]
    elif not _needs_both(name, column):
        sides = {"labelled": np.ones(column.n, np.bool_)}
    for side, members in sides.items():
        units = units_of(column, members)
        if units < LEAST:
            what = "items" if column.alone else "groups with items"
            return f"{units} {side} {what} are too few to draw from: an interval takes {LEAST}"
    return None


def units_of(column: LabelledScores, members: Mask) -> int:
    """How many units hold these items."""
    return len(np.unique(column.unit[members]))


def _needs_both(name: str, column: LabelledScores) -> bool:
    """Whether the measure needs positives and negatives."""
    return name in _BOTH_KINDS or (name in _RANKS and not column.ordinal)
