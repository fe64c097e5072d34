"""Numbers of two whole runs that are no means over their items, and how far they lie apart.

A micro value is the sum of hits over the sum of units; the F1 of a run is the harmonic mean of its
precision and its recall (`evaluate.run_level`, which sums up each run by itself). Here both are
over the items that two runs have in common. Both runs are drawn with the same items or clusters,
so that the interval is one of the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.evaluate.run_level import TOTAL_NAMES, RunLevel, macro_key
from trueground.metrics.base import Spec
from trueground.metrics.registry import parse_spec
from trueground.plugins import split_key
from trueground.stats.bootstrap import Floats, Interval, all_alike, percentiles, resampled_means


@dataclass(frozen=True)
class Side:
    """One run, over the items that both have: values (items, metrics), NaN where not scored.

    `counts` (items, metrics, 2) holds hits and units, NaN where the run does not tell them.
    """

    values: Floats
    counts: Floats


@dataclass(frozen=True)
class Whole:
    """One number of both runs; `difference` is b − a. Without units: None.

    There is no interval where every resample gives the same difference.
    """

    mean_a: float | None
    mean_b: float | None
    difference: float | None
    ci: Interval | None


def names_of(keys: Iterable[str]) -> list[str]:
    """What a run has to show for these metrics: each, and behind it its micro value."""
    found = []
    for key in keys:
        spec = _spec(key)
        found += RunLevel([spec]).keys if spec else [key]
    return found


def columns_for(names: Sequence[str], keys: Sequence[str]) -> tuple[str, ...]:
    """The metrics of items, of those in `keys`, from which these numbers come."""
    found: dict[str, None] = {}
    for name in names:
        key = name if name in keys else macro_key(name)
        parts = (part for part in _parts(_spec(key)) if part in keys)
        found |= dict.fromkeys((key, *parts))
    return tuple(found)


def whole_runs(
    metrics: Sequence[str],
    a: Side,
    b: Side,
    clusters: NDArray[np.int64] | None,
    *,
    resamples: int,
    seed: int,
    level: float,
) -> tuple[dict[str, Whole], dict[str, str]]:
    """The run-level numbers that `metrics` (the columns of a and b) have, by name.

    Beside them why others cannot be told: name → reason.
    """
    specs = [spec for key in metrics if (spec := _spec(key))]
    missing = {s.key: [part for part in _parts(s) if part not in metrics] for s in specs}
    told = [spec for spec in specs if not missing[spec.key]]
    reasons = {
        name: f"it comes from {' and '.join(_parts(spec))}, which not both runs have; score with "
        "these as well"
        for spec in specs
        for name in RunLevel([spec]).keys
        if missing[spec.key]
    }
    if not told:
        return {}, reasons
    run_level = RunLevel(told)
    sums = [_summed(run_level, told, metrics, side, clusters, resamples, seed, level)
            for side in (a, b)]  # fmt: skip
    found = {}
    for name in run_level.keys:
        key = macro_key(name)
        spec = _spec(key)
        if name == key and not _parts(spec):
            continue  # a mean over items
        uncounted = [k for k in (_parts(spec) or [key]) if _lacks(metrics.index(k), a, b)]
        if name != key and uncounted:
            reasons[name] = (
                f"not both runs tell the counts of {' and '.join(uncounted)} item by item; runs "
                "of this version do: score again"
            )
        else:
            (means_a, draws_a), (means_b, draws_b) = sums
            drawn = draws_b[name] - draws_a[name]
            ci = None if all_alike(drawn) else percentiles(drawn, level)
            found[name] = _whole(means_a[name], means_b[name], ci)
    return found, reasons


def _summed(
    run_level: RunLevel,
    specs: Sequence[Spec],
    metrics: Sequence[str],
    side: Side,
    clusters: NDArray[np.int64] | None,
    resamples: int,
    seed: int,
    level: float,
) -> tuple[dict[str, float | None], dict[str, Floats]]:
    """Each number of one run, and what it is in each resample, shape (resamples,)."""
    keys = [spec.key for spec in (*specs, *run_level.hidden)]
    table = np.stack([_column(key, metrics, side) for key in keys], axis=1)
    drawn = resampled_means(table, clusters, resamples=resamples, seed=seed)
    totals, scored = np.nansum(table, axis=0), (~np.isnan(table)).sum(axis=0)
    entries = {
        key: {"mean": float(total / n) if n else None, "ci": percentiles(means, level)}
        for key, total, n, means in zip(keys, totals, scored, drawn, strict=True)
    }
    sums = dict(zip(keys, map(float, totals), strict=True))
    whole, draws = run_level.added(entries, sums, dict(zip(keys, drawn, strict=True)), level)
    return {key: entry["mean"] for key, entry in whole.items()}, draws


def _column(key: str, metrics: Sequence[str], side: Side) -> Floats:
    for which, name in enumerate(TOTAL_NAMES):
        if key.endswith(name):
            return np.nan_to_num(side.counts[:, metrics.index(key.removesuffix(name)), which])
    return side.values[:, metrics.index(key)]


def _lacks(column: int, *sides: Side) -> bool:
    """Whether some item has a value there, but no counts."""
    return any(
        bool((~np.isnan(side.values[:, column]) & np.isnan(side.counts[:, column, 0])).any())
        for side in sides
    )


def _whole(mean_a: float | None, mean_b: float | None, ci: Interval | None) -> Whole:
    if mean_a is None or mean_b is None:
        return Whole(mean_a, mean_b, None, None)
    return Whole(mean_a, mean_b, mean_b - mean_a, ci)


def _spec(key: str) -> Spec | None:
    """The metric of that key where it has numbers of whole runs; None for others, known or not."""
    _, name, judge = split_key(key)
    try:
        spec = parse_spec(name)
    except UsageError:
        return None
    if not (spec.metric.totals or spec.metric.harmonic) or spec.key != name:
        return None
    return spec.by_judge(1, judge) if judge else spec


def _parts(spec: Spec | None) -> list[str]:
    """The keys of the two metrics of which this one is the harmonic mean."""
    if spec is None or not spec.metric.harmonic:
        return []
    return [s.key for s in RunLevel([spec]).hidden if not s.key.endswith(TOTAL_NAMES)]
