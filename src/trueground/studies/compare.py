"""Compare finished runs over the same items: each later run with the first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.metrics.column import CODES, STATUSES
from trueground.metrics.registry import all_metrics, split_specs
from trueground.stats.paired import Paired, holm, paired
from trueground.studies.comparison import (
    Change,
    ComparedRun,
    Comparison,
    MetricComparison,
    PairComparison,
)
from trueground.studies.pairing import Aligned, align, common_metrics
from trueground.studies.reading import (
    FinishedRun,
    Scores,
    Words,
    open_run,
    read_scores,
    read_words,
)
from trueground.types import Status

_SCORED = CODES[Status.SCORED]


@dataclass(frozen=True)
class _Settings:
    resamples: int
    seed: int
    level: float
    flips: int
    allow_mismatch: bool


def compare(
    paths: Sequence[str | Path],
    *,
    metrics: str | Sequence[str] | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    allow_mismatch: bool = False,
    flips: int = 20,
) -> Comparison:
    """Compare run directories: every later one with the first, item by item.

    `metrics` are names or one comma-separated text; without them, all that both runs have. `flips`
    is the most changed items to name per metric and direction. Raises UsageError for options, for
    the same run twice and, unless `allow_mismatch`, where items, questions, signatures or tasks
    differ; InputError for a run that is not finished or cannot be read.
    """
    settings = _Settings(resamples, seed, level, flips, allow_mismatch)
    _check(settings)
    runs = [open_run(Path(path)) for path in paths]
    _see_different(runs)
    wanted = split_specs(metrics) if isinstance(metrics, str) else metrics
    names = [common_metrics(runs[0], other, wanted) for other in runs[1:]]
    every = tuple(dict.fromkeys(chain.from_iterable(names)))
    first = read_scores(runs[0], every)
    labels = [_label(i) for i in range(len(runs))]
    compared = [_compared(labels[0], runs[0], first)]
    pairs = []
    for label, run, chosen in zip(labels[1:], runs[1:], names, strict=True):
        scores = read_scores(run, chosen)
        columns = [every.index(metric) for metric in chosen]
        mine = Scores(first.ids, first.values[:, columns], first.status[:, columns])
        pair = _Pair(runs[0], mine, run, scores, chosen, settings)
        pairs.append(pair.compare(labels[0], label))
        compared.append(_compared(label, run, scores))
    return Comparison(tuple(compared), _adjusted(pairs), level, resamples, seed)


@dataclass(frozen=True)
class _Pair:
    """Two runs whose columns stand for the same metrics."""

    run_a: FinishedRun
    a: Scores
    run_b: FinishedRun
    b: Scores
    metrics: tuple[str, ...]
    settings: _Settings

    def compare(self, label_a: str, label_b: str) -> PairComparison:
        aligned = align(self.run_a, self.a, self.run_b, self.b, self.metrics)
        told = self._see_alike(aligned, label_a, label_b)
        clusters = aligned.clusters
        results = paired(
            self.a.values[aligned.rows_a],
            self.b.values[aligned.rows_b],
            clusters,
            resamples=self.settings.resamples,
            seed=self.settings.seed,
            level=self.settings.level,
        )
        better = [_higher_is_better(metric) for metric in self.metrics]
        changes = self._changes(aligned, better)
        return PairComparison(
            label_a,
            label_b,
            len(aligned.rows_a),
            None if clusters is None else len(np.unique(clusters)),
            aligned.mismatch,
            told,
            tuple(m for m in self.run_a.signatures if m not in self.run_b.signatures),
            tuple(m for m in self.run_b.signatures if m not in self.run_a.signatures),
            {
                metric: _metric(
                    results[i],
                    better[i],
                    self.a.status[aligned.rows_a, i],
                    self.b.status[aligned.rows_b, i],
                    *changes[i],
                )
                for i, metric in enumerate(self.metrics)
            },
        )

    def _changes(
        self, aligned: Aligned, better: Sequence[bool]
    ) -> list[tuple[tuple[Change, ...], tuple[Change, ...]]]:
        """For each metric the items that lost most, and those that won most."""
        rows_a, rows_b = aligned.rows_a, aligned.rows_b
        values_a, values_b = self.a.values[rows_a], self.b.values[rows_b]
        chosen = [
            _changed(values_b[:, i] - values_a[:, i], higher, self.settings.flips)
            for i, higher in enumerate(better)
        ]
        rows = np.unique(np.concatenate([part for parts in chosen for part in parts]))
        words_a = read_words(self.run_a, rows_a[rows])
        words_b = read_words(self.run_b, rows_b[rows])

        def change(row: int, i: int) -> Change:
            in_a, in_b = words_a[int(rows_a[row])], words_b[int(rows_b[row])]
            return _change(in_a, in_b, float(values_a[row, i]), float(values_b[row, i]))

        return [
            (tuple(change(row, i) for row in lost), tuple(change(row, i) for row in won))
            for i, (lost, won) in enumerate(chosen)
        ]

    def _see_alike(self, aligned: Aligned, label_a: str, label_b: str) -> tuple[str, ...]:
        """What does not match, in sentences. Raises UsageError where that is not allowed."""
        told = aligned.mismatch.sentences(label_a, label_b)
        names = f"{label_a} = {self.run_a.path}, {label_b} = {self.run_b.path}"
        if not len(aligned.rows_a):
            raise UsageError(f"{names}: the runs have no item in common; compare runs over one set")
        if told and not self.settings.allow_mismatch:
            raise UsageError(
                "; ".join([f"{names}: these runs do not match", *told])
                + ". Pass --allow-mismatch to compare what both have."
            )
        if aligned.clusters is None and (self.run_a.has_groups or self.run_b.has_groups):
            told.append(
                "the runs have groups, but these stand in the records, which were not kept: every "
                "item counts by itself, so intervals and p values may be too narrow and too small"
            )
        a, b = self.run_a.options, self.run_b.options
        told += [
            f"{name} is {a.get(name)!r} in {label_a}, {b.get(name)!r} in {label_b}"
            for name in sorted(a.keys() | b.keys())
            if a.get(name) != b.get(name)
        ]
        return tuple(told)


def _metric(
    result: Paired,
    higher_is_better: bool,
    status_a: NDArray[np.uint8],
    status_b: NDArray[np.uint8],
    lost: tuple[Change, ...],
    won: tuple[Change, ...],
) -> MetricComparison:
    counts = (result.higher, result.lower)
    return MetricComparison(
        result,
        None,
        higher_is_better,
        *(counts if higher_is_better else counts[::-1]),
        _statuses(status_b[(status_a == _SCORED) & (status_b != _SCORED)]),
        _statuses(status_a[(status_b == _SCORED) & (status_a != _SCORED)]),
        lost,
        won,
    )


def _statuses(codes: NDArray[np.uint8]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(STATUSES)).tolist()
    return {status.value: n for status, n in zip(STATUSES, counts, strict=True) if n}


def _changed(
    difference: NDArray[np.float64], higher_is_better: bool, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that lost most and rows that won most, at most `most` of each; ties in order."""
    gain = difference if higher_is_better else -difference
    order = np.argsort(gain, kind="stable")  # NaN stands last
    lost = order[: min(most, int((gain < 0).sum()))]
    order = np.argsort(-gain, kind="stable")
    return lost, order[: min(most, int((gain > 0).sum()))]


def _change(a: Words, b: Words, score_a: float, score_b: float) -> Change:
    question = a.question if a.question is not None else b.question
    return Change(a.id, score_a, score_b, question, a.response, b.response)


def _adjusted(pairs: Sequence[PairComparison]) -> tuple[PairComparison, ...]:
    """The same with Holm's p values over all of them."""
    adjusted = iter(holm([m.result.p for pair in pairs for m in pair.metrics.values()]))
    return tuple(
        dataclasses.replace(
            pair,
            metrics={
                name: dataclasses.replace(metric, p_holm=next(adjusted))
                for name, metric in pair.metrics.items()
            },
        )
        for pair in pairs
    )


def _higher_is_better(key: str) -> bool:
    metric = all_metrics().get(key.partition("(")[0])
    return metric is None or metric.higher_is_better


def _compared(label: str, run: FinishedRun, scores: Scores) -> ComparedRun:
    n = len(scores.ids)
    return ComparedRun(label, str(run.path), n, run.task, run.model, run.notices)


def _label(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else f"R{i + 1}"


def _check(settings: _Settings) -> None:
    for name, least in (("resamples", 1), ("seed", 0), ("flips", 0)):
        value = getattr(settings, name)
        if value < least:
            raise UsageError(f"{name}={value}; it must be a whole number, {least} or more")
    if not 0 < settings.level < 1:
        raise UsageError(f"level={settings.level}; it must lie between 0 and 1, such as 0.95")


def _see_different(runs: Sequence[FinishedRun]) -> None:
    if len(runs) < 2:
        raise UsageError(f"{len(runs)} run was given; name two or more run directories")
    seen: set[Path] = set()
    for run in runs:
        whole = run.path.resolve()
        if whole in seen:
            raise UsageError(f"{run.path} is given twice; name different run directories")
        seen.add(whole)
