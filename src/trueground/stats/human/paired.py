"""Two scores of the same items against each other."""

from __future__ import annotations

from trueground.errors import UsageError
from trueground.stats.bootstrap import percentiles
from trueground.stats.human.types import MEASURES, Estimate, Measured


def paired_difference(a: Measured, b: Measured, name: str = "auroc") -> Estimate:
    """The measure of `a` less that of `b`, with a paired interval.

    Both must come from the same items, clusters, seed and number of resamples (one `measure_all`,
    or calls with the same arguments), so that resample i is the same in both. UsageError for an
    unknown measure or another number of resamples.
    """
    if name not in MEASURES:
        raise UsageError(f"no measure {name!r}; expected one of {', '.join(MEASURES)}")
    left, right = a.estimates[name], b.estimates[name]
    n = min(left.n, right.n)
    if left.value is None or right.value is None:
        return Estimate(None, None, n, left.why if left.value is None else right.why)
    value = left.value - right.value
    if left.ci is None or right.ci is None:
        return Estimate(value, None, n, left.why or right.why)
    if name not in a.draws or name not in b.draws:
        return Estimate(value, None, n, "its interval is not made of draws that can be paired")
    first, second = a.draws[name], b.draws[name]
    if first.shape != second.shape:
        raise UsageError(
            f"{len(first)} and {len(second)} resamples are no pairs; measure both with the same "
            "number of resamples and seed"
        )
    return Estimate(value, percentiles(first - second, a.level), n)
