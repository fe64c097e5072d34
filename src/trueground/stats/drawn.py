"""The interval that bootstrap resamples give, or why they give none."""

from __future__ import annotations

import numpy as np

from trueground.stats.bootstrap import Floats, Interval, percentiles

ALIKE = "no interval: every resample gives the same"
UNDEFINED = "no interval: too few items to resample"
_NOISE = 1e-12


def drawn_interval(drawn: Floats, level: float) -> tuple[Interval | None, str | None]:
    """The percentile interval of `drawn` (resamples,), else None and why.

    None where all resamples give one value: an interval of no width would claim certainty, and
    where so many have no value (more than one tail holds) that the others are a choice among them.
    """
    known = drawn[np.isfinite(drawn)]
    if len(drawn) - len(known) > len(drawn) * (1 - level) / 2:
        return None, UNDEFINED
    if all_alike(known):
        return None, ALIKE
    return percentiles(known, level), None


def all_alike(drawn: Floats) -> bool:
    """Whether all numbers among these are one, but for noise; False where there is none."""
    known = drawn[np.isfinite(drawn)]
    return bool(len(known)) and bool(np.ptp(known) <= _NOISE * max(1.0, float(abs(known[0]))))
