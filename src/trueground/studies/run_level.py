"""Numbers of two whole runs that are no means over their items, and how far they lie apart.

A micro value is the sum of hits over the sum of units; the F1 of a run is the harmonic mean of its
precision and its recall (`evaluate.summary`, which sums up each run by itself). Here both are
over the items that two runs have in common. Both runs are drawn with the same items or clusters,
so that the interval is one of the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.components import ResultKey
from trueground.errors import UsageError
from trueground.evaluate import RunLevel
from trueground.metrics import METRICS, Spec
from trueground.runs import MetricSummary
from trueground.stats import Bootstrap, sum_counts, total as add_rows
from trueground.studies.finished import Scores


class RunDifference(NamedTuple):
    """One number of both runs, `difference` is b − a; None: no units, or nothing varies."""

    mean_a: float | None
    mean_b: float | None
    difference: float | None
    ci: tuple[float, float] | None


def names_of(keys: Iterable[str]) -> list[str]:
    """What a run has to show for these metrics: each, and behind it its micro value."""
    names = []
    for key in keys:
        spec = _run_level_spec(key)
        names += RunLevel([spec]).keys if spec else [key]
    return names


def columns_for(names: Sequence[str], keys: Sequence[str]) -> tuple[str, ...]:
    """The metrics of items, of those in `keys`, from which these numbers come."""
    columns: dict[str, None] = {}
    for name in names:
        key = name if name in keys else METRICS.macro_key(name)
        parts = (part for part in _parts(_run_level_spec(key)) if part in keys)
        columns |= dict.fromkeys((key, *parts))
    return tuple(columns)


def compare_whole_runs(
    metrics: Sequence[str],
    a: Scores,
    b: Scores,
    clusters: NDArray[np.int64] | None,
    *,
    resamples: int,
    seed: int,
    level: float,
) -> tuple[dict[str, RunDifference], dict[str, str]]:
    """The run-level numbers that `metrics` (the columns of a and b) have, by name.

    Row i of a and of b is one item. Beside them why others cannot be told: name → reason.
    """
    specs = [spec for key in metrics if (spec := _run_level_spec(key))]
    computable: list[Spec] = []
    reasons: dict[str, str] = {}
    for spec in specs:
        if all(part in metrics for part in _parts(spec)):
            computable.append(spec)
        else:
            reason = (
                f"it comes from {' and '.join(_parts(spec))}, which not both runs have; score with "
                "these as well"
            )
            reasons |= dict.fromkeys(RunLevel([spec]).keys, reason)
    if not computable:
        return {}, reasons
    run_level = RunLevel(computable)
    bootstrap = Bootstrap(resamples, seed, level)
    keys = [spec.key for spec in (*computable, *run_level.hidden)]
    numbers_a, numbers_b = (
        _compute(run_level, keys, metrics, scores, clusters, bootstrap) for scores in (a, b)
    )
    differences = {}
    for name in run_level.keys:
        key = METRICS.macro_key(name)
        parts = _parts(_run_level_spec(key))
        if name == key and not parts:
            continue  # a mean over items
        uncounted = [  # some item has a value there, but no counts
            k
            for k in (parts or [key])
            for i in (metrics.index(k),)
            if any((~np.isnan(x.values[:, i]) & np.isnan(x.counts[:, i, 0])).any() for x in (a, b))
        ]
        if name != key and uncounted:
            reasons[name] = (
                f"not both runs have the counts of {' and '.join(uncounted)} item by item; score "
                "both again with this version"
            )
            continue
        (mean_a, drawn_a), (mean_b, drawn_b) = numbers_a[name], numbers_b[name]
        difference = ci = None
        if mean_a is not None and mean_b is not None:
            difference, drawn = mean_b - mean_a, drawn_b - drawn_a
            ci = bootstrap.varying_interval(drawn)
        differences[name] = RunDifference(mean_a, mean_b, difference, ci)
    return differences, reasons


def _compute(
    run_level: RunLevel,
    keys: Sequence[str],
    metrics: Sequence[str],
    scores: Scores,
    clusters: NDArray[np.int64] | None,
    bootstrap: Bootstrap,
) -> dict[str, tuple[float | None, NDArray[np.float64]]]:
    """Each number of one run, and what it is in each resample, shape (resamples,)."""
    columns = []
    for key in keys:
        totals = [i for i, name in enumerate(RunLevel.TOTAL_NAMES) if key.endswith(name)]
        if totals:
            i = metrics.index(key.removesuffix(RunLevel.TOTAL_NAMES[totals[0]]))
            columns.append(np.nan_to_num(scores.counts[:, i, totals[0]]))
        else:
            columns.append(scores.values[:, metrics.index(key)])
    table = np.stack(columns, axis=1)
    drawn = bootstrap.means(table, clusters)
    has_value = ~np.isnan(table)
    sums, scored = add_rows(np.where(has_value, table, 0.0), axis=0), sum_counts(has_value, axis=0)
    entries = {
        key: MetricSummary(
            float(total / n) if n else None, bootstrap.interval(means), bootstrap.level
        )
        for key, total, n, means in zip(keys, sums, scored, drawn, strict=True)
    }
    sums_by_key = dict(zip(keys, map(float, sums), strict=True))
    by_key = dict(zip(keys, drawn, strict=True))
    entries, draws = run_level.added(entries, sums_by_key, by_key, bootstrap.level)
    return {key: (entry.mean, draws[key]) for key, entry in entries.items()}


def _run_level_spec(key: str) -> Spec | None:
    """The metric of that key where it has numbers of whole runs; None for others, known or not."""
    _, name, judge = ResultKey.parse(key)
    try:
        spec = METRICS.parse(name)
    except UsageError:
        return None
    if not (spec.metric.aggregation.totals or spec.metric.aggregation.harmonic) or spec.key != name:
        return None
    return spec.by_judge(1, judge) if judge else spec


def _parts(spec: Spec | None) -> list[str]:
    """The keys of the two metrics of which this one is the harmonic mean."""
    if spec is None or not spec.metric.aggregation.harmonic:
        return []
    return [s.key for s in RunLevel([spec]).hidden if not s.key.endswith(RunLevel.TOTAL_NAMES)]
