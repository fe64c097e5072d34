"""Agreement of raters: raw, and beyond chance by Cohen, Fleiss and Krippendorff.

Labels are an array of shape (items, annotators); NaN is a label that is missing. Every statistic
takes the weights of the items, so that a bootstrap need not build its samples. What is undefined is
None, never 0 or 1.
"""

from __future__ import annotations

from trueground.stats.agreement.cohen import Weighting, cohen, cohen_kappa
from trueground.stats.agreement.intervals import bootstrap_agreement
from trueground.stats.agreement.judges import TwoJudges, table_of, two_judges
from trueground.stats.agreement.labels import Statistic
from trueground.stats.agreement.raters import (
    Measure,
    fleiss_kappa,
    krippendorff_alpha,
    raw_agreement,
)

__all__ = [
    "Measure",
    "Statistic",
    "TwoJudges",
    "Weighting",
    "bootstrap_agreement",
    "cohen",
    "cohen_kappa",
    "fleiss_kappa",
    "krippendorff_alpha",
    "raw_agreement",
    "table_of",
    "two_judges",
]
