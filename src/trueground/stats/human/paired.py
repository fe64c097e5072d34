"""Two scores of the same items against each other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from trueground.errors import UsageError
from trueground.stats.bootstrap import percentiles
from trueground.stats.human.column import Column, column
from trueground.stats.human.intervals import varied
from trueground.stats.human.measuring import Clusters, unit_numbers
from trueground.stats.human.reasons import SAME, why_no_interval, why_undefined
from trueground.stats.human.resampling import resampled
from trueground.stats.human.scratch import Scratch, Weights
from trueground.stats.human.types import MEASURES, Estimate, Floats, Measured
from trueground.stats.human.weighing import weigh_ranks

PAIRED = ("auroc", "spearman")
Place = tuple[str, bytes]  # a score, and the items on which it is taken


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


def paired_differences(
    scores: Mapping[str, Floats],
    labels: Floats,
    against: Mapping[str, str],
    *,
    positive_above: float = 0.5,
    ordinal: bool = False,
    clusters: Clusters | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    workers: int | None = None,
) -> dict[str, dict[str, tuple[Estimate, Floats]]]:
    """Each score's measure less that of the one it is held against, on the items that both have.

    `scores` and `labels` (n,) are as for `measure_all`; `against` maps some of PAIRED to a score.
    Each difference comes with its draws (resamples,), from the resamples that `measure_all` has.
    """
    unit, units = unit_numbers(len(labels), clusters)
    made = partial(
        column,
        labels=labels,
        unit=unit,
        positive_above=positive_above,
        ordinal=ordinal,
        threshold=None,
        probability=False,
    )
    columns: dict[Place, Column] = {}
    plan: dict[tuple[str, str], tuple[Place, Place]] = {}
    for name, best in against.items():
        for key in scores:
            if key != best:
                common = ~(np.isnan(scores[key]) | np.isnan(scores[best]))
                plan[name, key] = both = (key, common.tobytes()), (best, common.tobytes())
                for place in both:
                    if place not in columns:
                        columns[place] = made(np.where(common, scores[place[0]], np.nan))
    draws, points = _weighed(columns, units, resamples, seed, workers)
    found: dict[str, dict[str, tuple[Estimate, Floats]]] = {name: {} for name in against}
    for (name, key), (own, other) in plan.items():
        apart = draws[own][name] - draws[other][name]
        values = [float(points[one][name][0]) for one in (own, other)]
        estimate = _estimate(name, columns[own], columns[other], values, apart, level)
        found[name][key] = estimate, apart
    return found


def _weighed(
    columns: Mapping[Place, Column], units: int, resamples: int, seed: int, workers: int | None
) -> tuple[dict[Place, dict[str, Floats]], dict[Place, dict[str, Floats]]]:
    """PAIRED of each column in each resample, and of the sample itself."""
    drawn = resampled(
        [partial(weigh_ranks, one) for one in columns.values()],
        units,
        longest=max((one.n for one in columns.values()), default=0),
        resamples=resamples,
        seed=seed,
        workers=workers,
    )
    once = Weights.once(units)
    points = {place: weigh_ranks(one, once, Scratch()) for place, one in columns.items()}
    return dict(zip(columns, drawn, strict=True)), points


def _estimate(
    name: str, own: Column, other: Column, values: list[float], apart: Floats, level: float
) -> Estimate:
    for one, value in zip((own, other), values, strict=True):
        if not np.isfinite(value):
            return Estimate(None, None, own.n, why_undefined(name, one, wants_probability=False))
    value = values[0] - values[1]
    if why := why_no_interval(name, own):
        return Estimate(value, None, own.n, why)
    ci = varied(apart, level)
    return Estimate(value, ci, own.n, None if ci else SAME)
