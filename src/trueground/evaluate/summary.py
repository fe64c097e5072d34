"""Per-item numbers → summary.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.evaluate.plan import ABSTAINED, Plan
from trueground.evaluate.values import Values
from trueground.metrics.column import CODES, STATUSES
from trueground.stats.bootstrap import Table, average_intervals, intervals
from trueground.types import Status

_ROWS = 65_536
SCORED = CODES[Status.SCORED]


def summarise(plan: Plan, values: Values, skipped: Sequence[str], bad: int) -> dict[str, Any]:
    """The content of summary.json, in the shape of the contract."""
    clusters = len(np.unique(values.clusters))
    grouped = clusters < values.n
    everything = _metrics(plan, values, grouped)
    shown = {key: everything[key] for key in plan.keys}
    summary = {
        "n": values.n,
        "metrics": shown,
        "by": {field: _breakdown(plan, values, i, grouped) for i, field in enumerate(plan.by)},
        "averages": {field: _averages(plan, values, i, grouped) for i, field in enumerate(plan.by)},
        "abstention_rate": everything[ABSTAINED]["mean"],
        "abstention": _confusion(values),
        "empty_responses": values.empty,
        "clusters": clusters if grouped else None,
    }
    if bad:
        summary["skipped"] = bad
        summary["skipped_rows"] = list(skipped)
    return summary


def _metrics(
    plan: Plan, values: Values, grouped: bool, rows: NDArray[np.int64] | None = None
) -> dict[str, Any]:
    """Mean, interval and coverage of each metric, over all items or over some rows."""
    scores, status = values.scores, values.status
    ranges = intervals(
        scores,
        values.clusters if grouped else None,
        rows,
        resamples=plan.resamples,
        seed=plan.seed,
        level=plan.level,
    )
    n = values.n if rows is None else len(rows)
    specs = (*plan.specs, *plan.hidden)
    totals = np.zeros(len(specs))
    counts = np.zeros((len(specs), len(STATUSES)), np.int64)
    # In blocks, so that columns on disk are never read into memory as a whole.
    for low in range(0, n, _ROWS):
        part = slice(low, low + _ROWS) if rows is None else rows[low : low + _ROWS]
        totals += np.nansum(scores[part], axis=0)
        codes = status[part]
        for column in range(len(specs)):
            counts[column] += np.bincount(codes[:, column], minlength=len(STATUSES))
    return {
        spec.key: _entry(plan, float(total), n, count.tolist(), ci)
        for spec, total, count, ci in zip(specs, totals, counts, ranges, strict=True)
    }


def _entry(
    plan: Plan, total: float, n: int, counts: list[int], ci: tuple[float, float] | None
) -> dict[str, Any]:
    scored = counts[SCORED]
    return {
        "mean": total / scored if scored else None,
        "ci": ci,
        "ci_level": plan.level,
        "n": n,
        "scored": scored,
        "unscored": {
            STATUSES[code].value: count
            for code, count in enumerate(counts)
            if count and code != SCORED
        },
    }


def _breakdown(plan: Plan, values: Values, i: int, grouped: bool) -> dict[str, Any]:
    """Metrics within each value of one field, in the order of the values' names."""
    codes = values.by(i)
    result = {}
    for name, code in sorted(values.names[i].items()):
        metrics = _metrics(plan, values, grouped, np.flatnonzero(codes == code))
        result[name] = dict(list(metrics.items())[: len(plan.specs)])
    return result


def _averages(plan: Plan, values: Values, i: int, grouped: bool) -> dict[str, Any]:
    """The unweighted average of each metric over the values of one field, with its interval."""
    codes, scores = values.by(i), values.scores
    strata = [np.flatnonzero(codes == code) for code in range(len(values.names[i]))]
    ranges = average_intervals(
        scores,
        strata,
        values.clusters if grouped else None,
        resamples=plan.resamples,
        seed=plan.seed,
        level=plan.level,
    )
    means = [_means(scores, rows) for rows in strata]
    result = {}
    for column, key in enumerate(plan.keys):
        some = [float(mean[column]) for mean in means if not np.isnan(mean[column])]
        mean = sum(some) / len(some) if some else None
        result[key] = {"mean": mean, "ci": ranges[column], "values": len(some)}
    return result


def _means(scores: Table, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean of the scored values of each column over some rows; NaN where there are none."""
    part = np.asarray(scores[rows])
    scored = (~np.isnan(part)).sum(axis=0)
    total = np.nansum(part, axis=0)
    means = np.full(part.shape[1], np.nan)
    np.divide(total, scored, out=means, where=scored > 0)
    return means


def _confusion(values: Values) -> dict[str, Any] | None:
    """Abstaining against `answerable`; to abstain where nothing can be answered is the positive."""
    (tp, fp), (fn, tn) = values.abstained, values.answered
    if not tp + fp + fn + tn:
        return None

    def share(a: int, b: int) -> float | None:
        return a / b if b else None

    return {
        "p_ir": share(tp, tp + fn),
        "p_g": share(fp, fp + tn),
        "precision": share(tp, tp + fp),
        "recall": share(tp, tp + fn),
        "f1": share(2 * tp, 2 * tp + fp + fn),
        "confusion": {
            "unanswerable": {"abstained": tp, "answered": fn},
            "answerable": {"abstained": fp, "answered": tn},
        },
    }
