"""How well a score agrees with people: every measure, each with an interval from shared resamples.

`measure` takes one score, `measure_all` several of the same items; `paired_difference` and
`mean_of_sets` work on their draws. `ceiling` is one annotator against the rest, `preferences` are
pairs. The modules: column (labels and scores, sorted once) → resampling → weighing and calibration
(measures in each resample) → estimates (results), reasons (why there is none) → measure, people.
"""

from __future__ import annotations

from trueground.stats.human.estimates import (
    MEASURES,
    LabelStats,
    MeanOfSets,
    Measured,
    MeasureEstimate,
    OverSets,
    RunningMean,
    mean_of_sets,
)
from trueground.stats.human.measure import (
    PAIRED,
    measure,
    measure_all,
    paired_difference,
    paired_differences,
)
from trueground.stats.human.people import (
    CEILING,
    Ceiling,
    PreferenceCeiling,
    Preferences,
    ceiling,
    mean_of_preferences,
    preference_ceiling,
    preferences,
)

__all__ = [
    "CEILING",
    "MEASURES",
    "PAIRED",
    "Ceiling",
    "LabelStats",
    "MeanOfSets",
    "MeasureEstimate",
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
