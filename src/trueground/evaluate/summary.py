"""Per-item numbers → summary.json."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.evaluate.agreement import agreement
from trueground.evaluate.plan import ABSTAINED, Plan
from trueground.evaluate.run_level import Draws, Entries
from trueground.evaluate.values import Values
from trueground.metrics.column import CODES, STATUSES
from trueground.stats.bootstrap import Floats, percentiles, resampled_means, stratum_seed
from trueground.text.refusal import MEASURED
from trueground.types import Status

_ROWS = 65_536
SCORED = CODES[Status.SCORED]


def summarise(plan: Plan, values: Values, skipped: Sequence[str], bad: int) -> dict[str, Any]:
    """The content of summary.json, in the shape of the contract."""
    clusters = len(np.unique(values.clusters))
    grouped = clusters < values.n
    everything, _ = _metrics(plan, values, grouped)
    broken_down = {field: _breakdown(plan, values, i, grouped) for i, field in enumerate(plan.by)}
    shown = {key: everything[key] for key in plan.summary_keys}
    summary = {
        "n": values.n,
        "metrics": shown,
        "by": {field: found for field, (found, _) in broken_down.items()},
        "averages": {field: averages for field, (_, averages) in broken_down.items()},
        "abstention_rate": everything[ABSTAINED]["mean"],
        "abstention": _confusion(values),
        "abstention_rules": MEASURED,
        "empty_responses": values.empty,
        "clusters": clusters if grouped else None,
    }
    if values.agreement is not None and len(plan.parts.judges) > 1:
        summary["judges"] = plan.parts.labels
        summary["judge_agreement"] = agreement(plan, values.agreement)
    if bad:
        summary["skipped"] = bad
        summary["skipped_rows"] = list(skipped)
    return summary


def _metrics(
    plan: Plan,
    values: Values,
    grouped: bool,
    rows: NDArray[np.int64] | None = None,
    seed: int | None = None,
) -> tuple[Entries, Draws]:
    """Mean, interval and coverage of each metric, over all items or over some rows.

    Beside them the means in each resample, (resamples,) for each metric.
    """
    scores, status = values.scores, values.status
    means = resampled_means(
        scores,
        values.clusters if grouped else None,
        rows,
        resamples=plan.resamples,
        seed=plan.seed if seed is None else seed,
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
    keys = [spec.key for spec in specs]
    entries = {
        key: _entry(plan, float(total), n, count.tolist(), percentiles(column, plan.level))
        for key, total, count, column in zip(keys, totals, counts, means, strict=True)
    }
    sums = dict(zip(keys, map(float, totals), strict=True))
    return plan.run_level.added(entries, sums, dict(zip(keys, means, strict=True)), plan.level)


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


def _breakdown(
    plan: Plan, values: Values, i: int, grouped: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metrics within each value of one field, by name, and their unweighted averages."""
    codes = values.by(i)
    found: dict[str, Any] = {}
    # Each value is drawn by itself, so that averages over them can be taken. What has no interval
    # in some value is NaN there and from then on.
    keys = plan.summary_keys
    total = {key: np.zeros(plan.resamples) for key in keys}
    for number, (name, code) in enumerate(sorted(values.names[i].items())):
        rows = np.flatnonzero(codes == code)
        metrics, means = _metrics(plan, values, grouped, rows, stratum_seed(plan.seed, number))
        found[name] = {key: metrics[key] for key in keys}
        for key in keys:
            if metrics[key]["scored"]:
                total[key] += means[key]
    averages = {
        key: _average(plan, [entries[key] for entries in found.values()], total[key])
        for key in keys
    }
    return found, averages


def _average(plan: Plan, entries: list[dict[str, Any]], total: Floats) -> dict[str, Any]:
    """One metric's unweighted average over the values in which anything was scored.

    `total` (resamples,) is the sum of their means in each resample. `sd` is the standard deviation
    of the means (of a sample), as papers report it over repeated runs; None for a single one.
    """
    means = [entry["mean"] for entry in entries if entry["scored"]]  # scored: there is a mean
    if not means:
        return {"mean": None, "sd": None, "ci": None, "values": 0, "of": len(entries)}
    return {
        "mean": sum(means) / len(means),
        "sd": stdev(means) if len(means) > 1 else None,
        "ci": percentiles(total / len(means), plan.level),
        "values": len(means),
        "of": len(entries),
    }


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
