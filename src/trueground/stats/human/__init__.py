"""How well a score agrees with people: every measure, each with an interval from shared resamples.

`measure` takes one score, `measure_all` several of the same items. `difference` and `mean_of_sets`
work on their draws; `ceiling` is one annotator against the rest, `preferences` are pairs.
"""

from __future__ import annotations

from trueground.stats.human.measuring import measure, measure_all
from trueground.stats.human.pairs import Preferences, preferences
from trueground.stats.human.people import Ceiling, ceiling
from trueground.stats.human.several import MeanOfSets, difference, mean_of_sets
from trueground.stats.human.types import (
    MEASURES,
    Bin,
    Estimate,
    Histogram,
    LabelStats,
    Measured,
)

__all__ = [
    "MEASURES",
    "Bin",
    "Ceiling",
    "Estimate",
    "Histogram",
    "LabelStats",
    "MeanOfSets",
    "Measured",
    "Preferences",
    "ceiling",
    "difference",
    "mean_of_sets",
    "measure",
    "measure_all",
    "preferences",
]
