"""Measures of a 0/1 verdict against a 0/1 label, from weighted counts of the four cases.

The score's verdict and the label are two raters: Cohen's κ, Fleiss' κ and Krippendorff's α here are
those of stats.agreement, written for many tables of counts at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueground.stats.human.types import Floats


def ratio(a: Floats, b: Floats) -> Floats:
    """a / b, shape (k,); NaN where b is not above 0."""
    out: Floats = np.full(np.shape(b), np.nan)
    np.divide(a, b, out=out, where=b > 0)
    return out


def confusion_measures(tp: Any, fp: Any, fn: Any, tn: Any) -> dict[str, Floats]:
    """Every measure of these counts; all arguments and results are numbers, or of shape (k,).

    The κs and α are NaN where both say one and the same word of everything.
    """
    tp, fp, fn, tn = (np.asarray(count, np.float64) for count in (tp, fp, fn, tn))
    p, n = tp + fn, fp + tn
    total, said = p + n, tp + fp
    agree = ratio(tp + tn, total)
    mixed = (p + said > 0) & (n + total - said > 0)
    by_chance = ratio(p * said + n * (total - said), total * total)
    word = ratio(p + said, 2 * total)
    pooled = word * word + (1 - word) ** 2
    # Twice the disagreements, times the labels but one, over twice the pairs of unlike labels.
    apart = (fp + fn) * (2 * total - 1)
    unlike = (p + said) * (n + total - said)
    whole = {"false_negative_rate": ratio(fn, p), "false_positive_rate": ratio(fp, n)}
    spread = p * n * said * (total - said)
    return {
        "balanced_accuracy": (ratio(tp, p) + ratio(tn, n)) / 2,
        "matthews": ratio(tp * tn - fp * fn, np.sqrt(spread)),
        "cohen_kappa": np.where(mixed, ratio(agree - by_chance, 1 - by_chance), np.nan),
        "fleiss_kappa": np.where(mixed, ratio(agree - pooled, 1 - pooled), np.nan),
        "krippendorff_alpha": 1 - ratio(apart, unlike),
        "raw_agreement": agree,
        **whole,
    }
