"""How well a score agrees with people: every measure, each with an interval from shared resamples.

`measure` takes one score, `measure_all` several of the same items. `paired_difference` and
`mean_of_sets` work on their draws; `ceiling` is one annotator against the rest, `preferences` are
pairs. The modules:

- one score: column (sorted once) → weighing (in resamples) → assembling → types (what comes out)
- what is weighed: binary and confusion (0/1 labels), ordinal (grades), calibration (probabilities)
- how it is drawn: resampling, scratch; why something is not there: reasons; drawings: pictures
- several scores of one set: measuring, paired; several sets: mean_of_sets
- people: ceiling (annotators against each other), pairs (which of two answers), people_of_pairs
"""

from __future__ import annotations

from trueground.stats.human.ceiling import Ceiling, ceiling
from trueground.stats.human.mean_of_sets import MeanOfSets, OverSets, RunningMean, mean_of_sets
from trueground.stats.human.measuring import measure, measure_all
from trueground.stats.human.paired import PAIRED, paired_difference, paired_differences
from trueground.stats.human.pairs import Preferences, preferences
from trueground.stats.human.people_of_pairs import (
    PreferenceCeiling,
    mean_of_preferences,
    preference_ceiling,
)
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
    "PAIRED",
    "Bin",
    "Ceiling",
    "Estimate",
    "Histogram",
    "LabelStats",
    "MeanOfSets",
    "Measured",
    "OverSets",
    "PreferenceCeiling",
    "Preferences",
    "RunningMean",
    "ceiling",
    "mean_of_preferences",
    "mean_of_sets",
    "measure",
    "measure_all",
    "paired_difference",
    "paired_differences",
    "preference_ceiling",
    "preferences",
]
