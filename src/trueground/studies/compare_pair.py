"""Two finished runs over the same items: what differs in each metric, and how sure that is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.metrics import METRICS, AnswerVerdict
from trueground.runs import RunFiles
from trueground.stats import Paired, Sizes, sum_counts
from trueground.studies.pairing import (
    SCORED,
    Aligned,
    Mismatch,
    Side,
    check_alike,
    count_statuses,
    read_items,
)
from trueground.studies.run_level import RunDifference, compare_whole_runs

_REASONS = 5  # that an error names


@dataclass(frozen=True)
class Change:
    """One item whose score differs.

    Attributes:
        question: None if the runs kept no records; the responses likewise.
        link_a: Link from the directory of run a (`report.html#item-q1`), or None.
        link_b: Link from the directory of run b, or None.
    """

    id: str
    score_a: float
    score_b: float
    question: str | None
    response_a: str | None
    response_b: str | None
    link_a: str | None = None
    link_b: str | None = None


@dataclass(frozen=True)
class MetricComparison:
    """One metric in two runs: `result` is about the items scored in both, b − a.

    Of a micro value, and of an F1 that is the harmonic mean of two means, it is about the runs as
    wholes, over all items that both have, without test and `sizes`; what is counted or named item
    by item goes by the items' own values.

    `won` and `lost` count items that are better and worse in b, whichever way is better, `only_a`
    by their status in b the items that are scored in a alone. `changes_…` are the largest changes.
    """

    result: Paired
    p_holm: float | None
    higher_is_better: bool
    won: int
    lost: int
    only_a: dict[str, int]
    only_b: dict[str, int]
    changes_lost: tuple[Change, ...]
    changes_won: tuple[Change, ...]
    sizes: Sizes | None = None


@dataclass(frozen=True)
class PairComparison:
    """Run b against run a, by their labels. `items` are those that both have.

    `clusters` is the number of groups, None where no two items are of one group. `notes` are
    sentences. `left_out_a` are metrics of a that b lacks. `verdicts` are the shares of answers that
    are grounded, partly grounded, and so on (`AnswerVerdict.NAMES`); None if a run has none, or
    other ones.
    `corrected` are the differences that people would see, by metric, where labels were given.
    """

    a: str
    b: str
    items: int
    clusters: int | None
    mismatch: Mismatch
    notes: tuple[str, ...]
    left_out_a: tuple[str, ...]
    left_out_b: tuple[str, ...]
    metrics: dict[str, MetricComparison]
    verdicts: dict[str, Paired] | None = None
    corrected: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class CompareOptions:
    """How runs are compared; see `compare`. `tests` is how many Holm's adjustment counts."""

    resamples: int
    seed: int
    level: float
    allow_mismatch: bool
    flips: int
    power: float
    detect: tuple[float, ...]
    tests: int = 1

    def __post_init__(self) -> None:
        for difference in self.detect:
            if not 0 < difference < inf:
                raise UsageError(
                    f"detect={difference}; it is a difference of means above 0: 0.02 for 2 points "
                    "of 100"
                )

    @property
    def alpha(self) -> float:
        """The level of the tests for which is planned."""
        return round(1 - self.level, 12)

    @property
    def draws(self) -> dict[str, Any]:
        """How intervals are drawn."""
        return {"resamples": self.resamples, "seed": self.seed, "level": self.level}


def compare_pair(
    aligned: Aligned, metrics: Sequence[str], names: Sequence[str], options: CompareOptions
) -> PairComparison:
    """All of b against a: `metrics` are the columns of both, `names` the numbers to be told.

    UsageError: runs that do not match, where that is not allowed; no metric with an item that is
    scored in both; a difference to detect that no scores can have.
    """
    a, b, clusters = aligned.a, aligned.b, aligned.clusters
    notes = check_alike(aligned, options.allow_mismatch)
    check_detect(options.detect, metrics, a.scores.values, b.scores.values)
    whole, reasons = compare_whole_runs(metrics, a.scores, b.scores, clusters, **options.draws)
    gaps = _check_scored(a, b, metrics, names, whole, reasons)
    items = _compare_items(aligned, metrics, options)
    # The shares of each verdict are over all items that both have.
    verdicts, left_out = None, []
    mine, other = a.run.verdict_signature, b.run.verdict_signature
    if mine is not None and mine == other:
        shares = Paired.compare(a.scores.verdicts, b.scores.verdicts, clusters, **options.draws)
        verdicts = dict(zip(AnswerVerdict.NAMES, shares, strict=True))
    elif mine is not None and other is not None:
        left_out = ["verdicts of answers are not compared: other judges or claims made them"]
    return PairComparison(
        a.label,
        b.label,
        len(a.rows),
        None if clusters is None else len(np.unique(clusters)),
        aligned.mismatch,
        (*notes, *gaps, *left_out),
        tuple(m for m in a.run.signatures if m not in b.run.signatures),
        tuple(m for m in b.run.signatures if m not in a.run.signatures),
        {
            name: _as_whole_run(items, name, whole[name], len(a.rows))
            if name in whole
            else items[name]
            for name in names
            if name not in reasons
        },
        verdicts,
    )


def _compare_items(
    aligned: Aligned, metrics: Sequence[str], options: CompareOptions
) -> dict[str, MetricComparison]:
    a, b, clusters = aligned.a.scores, aligned.b.scores, aligned.clusters
    results = Paired.compare(a.values, b.values, clusters, tests=options.tests, **options.draws)
    sizes = Sizes.compute(
        results,
        a.values,
        b.values,
        clusters,
        detect=options.detect,
        power=options.power,
        **options.draws,
    )
    better = [METRICS.higher_is_better(metric) is not False for metric in metrics]
    changes = _largest_changes(aligned, better, options.flips)
    comparisons = {}
    for i, (metric, result) in enumerate(zip(metrics, results, strict=True)):
        counts = (result.higher, result.lower)
        in_a, in_b = a.status[:, i], b.status[:, i]
        comparisons[metric] = MetricComparison(
            result,
            None,
            better[i],
            *(counts if better[i] else counts[::-1]),
            count_statuses(in_b[(in_a == SCORED) & (in_b != SCORED)]),
            count_statuses(in_a[(in_b == SCORED) & (in_a != SCORED)]),
            *changes[i],
            sizes[i],
        )
    return comparisons


def _as_whole_run(
    items: Mapping[str, MetricComparison], name: str, whole: RunDifference, n: int
) -> MetricComparison:
    """Return a number of the two whole runs: no test, and the items of its metric."""
    metric = items[METRICS.macro_key(name)]
    result = metric.result.of_whole_runs(n, **whole._asdict())
    metric = dataclasses.replace(metric, result=result, sizes=None)
    if name in items:
        return metric
    return dataclasses.replace(metric, only_a={}, only_b={}, changes_lost=(), changes_won=())


def _largest_changes(
    aligned: Aligned, better: Sequence[bool], limit: int
) -> list[tuple[tuple[Change, ...], tuple[Change, ...]]]:
    """Return, for each metric, the items that lost most and won most, ties in order."""
    a, b = aligned.a, aligned.b
    gains = Paired.differences(a.scores.values, b.scores.values) * np.where(better, 1.0, -1.0)
    rows_of_metrics = []
    for gain in gains.T:  # NaN sorts last in either order.
        by_loss, by_gain = np.argsort(gain, kind="stable"), np.argsort(-gain, kind="stable")
        lost = by_loss[: min(limit, sum_counts(gain < 0))]
        won = by_gain[: min(limit, sum_counts(gain > 0))]
        rows_of_metrics.append((lost, won))
    rows = np.unique(np.concatenate(list(chain.from_iterable(rows_of_metrics))))
    texts_a, texts_b = read_items(a.run, a.rows[rows]), read_items(b.run, b.rows[rows])
    links_a = RunFiles(a.run.path).item_links([item.on_page for item in texts_a.values()])
    links_b = RunFiles(b.run.path).item_links([item.on_page for item in texts_b.values()])

    def change(row: int, i: int) -> Change:
        in_a, in_b = texts_a[int(a.rows[row])], texts_b[int(b.rows[row])]
        return Change(
            in_a.id,
            float(a.scores.values[row, i]),
            float(b.scores.values[row, i]),
            in_a.question if in_a.question is not None else in_b.question,
            in_a.response,
            in_b.response,
            links_a.get(in_a.on_page),
            links_b.get(in_b.on_page),
        )

    changes = []
    for i, (lost, won) in enumerate(rows_of_metrics):
        changes_lost = tuple(change(row, i) for row in lost)
        changes_won = tuple(change(row, i) for row in won)
        changes.append((changes_lost, changes_won))
    return changes


def _check_scored(
    a: Side,
    b: Side,
    metrics: Sequence[str],
    names: Sequence[str],
    whole: Mapping[str, RunDifference],
    reasons: Mapping[str, str],
) -> list[str]:
    """Return a note with the reason for each of the `names` without a number of both runs.

    Args:
        reasons: Name → reason, of those that are left out.

    Raises:
        UsageError: No name has a number.
    """
    left_out = {name: reasons[name] for name in names if name in reasons}
    notes = [f"{name} is left out: {reason}" for name, reason in left_out.items()]
    both = ((a.scores.status == SCORED) & (b.scores.status == SCORED)).any(axis=0).tolist()
    scored = {name for name, numbers in whole.items() if numbers.difference is not None}
    for name, is_scored in zip(metrics, both, strict=True):
        if is_scored and name not in whole:
            scored.add(name)
    empty = {}
    for name in names:
        if name not in left_out and name not in scored:
            # A number of whole runs has the items of its metric. It may lack units although they
            # are scored.
            i = metrics.index(name if name in metrics else METRICS.macro_key(name))
            counts = f"{_format_statuses(a, i)}; {_format_statuses(b, i)}"
            reason = "no item is scored in both"
            if both[i]:
                reason = "not both runs have the units that it counts"
            empty[name] = f"{reason} ({counts})"
    if len(empty) + len(left_out) < len(names):
        return [*notes, *(f"{name}: {reason}" for name, reason in empty.items())]
    alike: dict[str, list[str]] = {}
    for name, reason in empty.items():
        alike.setdefault(reason, []).append(name)
    notes = [f"{', '.join(named)}: {reason}" for reason, named in alike.items()] + notes
    more = [f"and {len(notes) - _REASONS:,} more"] if len(notes) > _REASONS else []
    raise UsageError(
        f"{a.label} = {a.run.path}, {b.label} = {b.run.path}: nothing can be compared; "
        f"{'; '.join([*notes[:_REASONS], *more])}. Name a metric that both have scored, or look up "
        "in items.jsonl why the items have no score"
    )


def _format_statuses(side: Side, column: int) -> str:
    statuses = count_statuses(side.scores.status[:, column])
    return f"{side.label}: " + ", ".join(f"{n:,} {status}" for status, n in statuses.items())


def check_detect(
    differences: Sequence[float], names: Sequence[str], *values: NDArray[np.float64]
) -> None:
    """Raise UsageError for a difference of 1 or more of a metric with scores in 0…1."""
    largest = max(differences, default=0.0)
    if largest < 1:
        return
    scores = np.concatenate(values)
    with np.errstate(invalid="ignore"):
        outside = np.any((scores < 0) | (scores > 1), axis=0).tolist()
    has_scores = np.any(~np.isnan(scores), axis=0).tolist()
    for name, is_outside, is_scored in zip(names, outside, has_scores, strict=True):
        if is_scored and not is_outside:
            are = "point is" if largest == 1 else "points are"
            points = ""
            if largest < 100:
                points = f"; {largest:.12g} {are} --detect {largest / 100:.12g}"
            raise UsageError(
                f"--detect {largest:.12g}: a difference of {name} lies between 0 and 1{points}. "
                "For a metric with other scores, name it alone with --metrics"
            )


def adjust(pairs: Sequence[PairComparison], alpha: float) -> tuple[PairComparison, ...]:
    """Return the pairs with Holm's p values, and notes if none can reach `alpha`.

    p from random patterns is at least 1 / (patterns + 1); Holm's first is `tests` times that.
    """
    p_values: list[float | None] = []
    for pair in pairs:
        p_values += [metric.result.p for metric in pair.metrics.values()]
    holm_values = iter(Paired.adjust(p_values))
    tests = sum(p is not None for p in p_values)
    adjusted = []
    for pair in pairs:
        notes = pair.notes
        sampled = [m.result.sampled_patterns for m in pair.metrics.values()]
        if patterns := min((n for n in sampled if n is not None), default=None):
            least = tests / (patterns + 1)
            if least > alpha:
                notes += (
                    f"with {patterns:,} random sign patterns and {tests:,} tests the smallest Holm "
                    f"p attainable here is {min(1.0, least):.3g}; raise --resamples",
                )
        metrics = {}
        for name, metric in pair.metrics.items():
            metrics[name] = dataclasses.replace(metric, p_holm=next(holm_values))
        adjusted.append(dataclasses.replace(pair, notes=notes, metrics=metrics))
    return tuple(adjusted)
