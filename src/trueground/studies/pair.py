"""Two finished runs, item by item and as wholes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.evaluate.run_level import macro_key
from trueground.metrics.column import CODES, STATUSES
from trueground.metrics.registry import higher_is_better
from trueground.reports.item_links import item_links
from trueground.stats.bootstrap import ALIKE
from trueground.stats.paired import Paired, differences, paired
from trueground.studies.comparison import Change, MetricComparison, PairComparison, Sizes
from trueground.studies.finished import FinishedRun
from trueground.studies.pair_notes import Named, check_alike
from trueground.studies.pair_scored import Scored, check_detect, check_scored
from trueground.studies.pair_sizes import Settings, sizes_of
from trueground.studies.pairing import Aligned, align
from trueground.studies.run_level import Side, Whole, whole_runs
from trueground.studies.scores import Scores
from trueground.studies.words import read_words
from trueground.types import Status

_SCORED = CODES[Status.SCORED]


@dataclass(frozen=True)
class Pair:
    """Two runs whose columns stand for the same metrics; `names` are the numbers to be told."""

    run_a: FinishedRun
    a: Scores
    run_b: FinishedRun
    b: Scores
    metrics: tuple[str, ...]
    names: tuple[str, ...]
    settings: Settings

    def compare(self, label_a: str, label_b: str) -> PairComparison:
        """All of b against a.

        UsageError: runs that do not match, where that is not allowed; no metric with an item that
        is scored in both; a difference to detect that no scores can have.
        """
        aligned = align(self.run_a, self.a, self.run_b, self.b, self.metrics)
        a, b = Named(label_a, self.run_a), Named(label_b, self.run_b)
        told = check_alike(a, b, aligned, self.settings.allow_mismatch)
        values = self.a.values[aligned.rows_a], self.b.values[aligned.rows_b]
        check_detect(self.settings.detect, self.metrics, *values)
        whole, reasons = self._whole(aligned)
        told += self._gaps(a, b, aligned, whole, reasons)
        items = self._items(aligned)
        clusters = aligned.clusters
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
                name: _of_runs(items, name, whole[name], len(aligned.rows_a))
                if name in whole
                else items[name]
                for name in self.names
                if name not in reasons
            },
        )

    def _items(self, aligned: Aligned) -> dict[str, MetricComparison]:
        """Each metric as means over the items that both have scored."""
        values_a, values_b = self.a.values[aligned.rows_a], self.b.values[aligned.rows_b]
        results = paired(
            values_a,
            values_b,
            aligned.clusters,
            resamples=self.settings.resamples,
            seed=self.settings.seed,
            level=self.settings.level,
            tests=self.settings.tests,
        )
        sizes = sizes_of(results, values_a, values_b, aligned.clusters, self.settings)
        better = [higher_is_better(metric) is not False for metric in self.metrics]
        changes = self._changes(aligned, better)
        return {
            metric: _metric(
                results[i],
                sizes[i],
                better[i],
                self.a.status[aligned.rows_a, i],
                self.b.status[aligned.rows_b, i],
                *changes[i],
            )
            for i, metric in enumerate(self.metrics)
        }

    def _whole(self, aligned: Aligned) -> tuple[dict[str, Whole], dict[str, str]]:
        """What is a number of a whole run, and why some of it is not known."""
        a, b, rows_a, rows_b = self.a, self.b, aligned.rows_a, aligned.rows_b
        return whole_runs(
            self.metrics,
            Side(a.values[rows_a], a.counts[rows_a]),
            Side(b.values[rows_b], b.counts[rows_b]),
            aligned.clusters,
            resamples=self.settings.resamples,
            seed=self.settings.seed,
            level=self.settings.level,
        )

    def _gaps(
        self,
        a: Named,
        b: Named,
        aligned: Aligned,
        whole: Mapping[str, Whole],
        reasons: Mapping[str, str],
    ) -> tuple[str, ...]:
        """Numbers that cannot be told of both runs, and why. UsageError where all are such."""
        out = {name: reasons[name] for name in self.names if name in reasons}
        statuses = self.a.status[aligned.rows_a], self.b.status[aligned.rows_b]
        scored = Scored(self.metrics, *statuses)
        nowhere = scored.nowhere() | {n for n in whole if whole[n].difference is None}
        known = {n for n in whole if whole[n].difference is not None}
        kept = [name for name in self.names if name not in out]
        empty = [name for name in kept if name in nowhere and name not in known]
        notes = check_scored(a, b, scored, empty, len(kept) - len(empty), out)
        return (*(f"{name} is left out: {reason}" for name, reason in out.items()), *notes)

    def _changes(
        self, aligned: Aligned, better: Sequence[bool]
    ) -> list[tuple[tuple[Change, ...], tuple[Change, ...]]]:
        """For each metric the items that lost most, and those that won most."""
        rows_a, rows_b = aligned.rows_a, aligned.rows_b
        values_a, values_b = self.a.values[rows_a], self.b.values[rows_b]
        found = differences(values_a, values_b)
        chosen = [
            _changed(found[:, i], higher, self.settings.flips) for i, higher in enumerate(better)
        ]
        rows = np.unique(np.concatenate([part for parts in chosen for part in parts]))
        words_a = read_words(self.run_a, rows_a[rows])
        words_b = read_words(self.run_b, rows_b[rows])
        links_a = item_links(self.run_a.path, [words.on_page for words in words_a.values()])
        links_b = item_links(self.run_b.path, [words.on_page for words in words_b.values()])

        def change(row: int, i: int) -> Change:
            in_a, in_b = words_a[int(rows_a[row])], words_b[int(rows_b[row])]
            scores = float(values_a[row, i]), float(values_b[row, i])
            question = in_a.question if in_a.question is not None else in_b.question
            answers = in_a.response, in_b.response
            links = links_a.get(in_a.on_page), links_b.get(in_b.on_page)
            return Change(in_a.id, *scores, question, *answers, *links)

        return [
            (tuple(change(row, i) for row in lost), tuple(change(row, i) for row in won))
            for i, (lost, won) in enumerate(chosen)
        ]


def _metric(
    result: Paired,
    sizes: Sizes,
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
        sizes,
    )


def _of_runs(
    items: Mapping[str, MetricComparison], name: str, whole: Whole, n: int
) -> MetricComparison:
    """A number of the two runs as wholes: no test; what is told of items is that of the metric."""
    metric = items[macro_key(name)]
    told = dataclasses.asdict(whole)
    why = ALIKE if whole.difference is not None and whole.ci is None else None
    result = dataclasses.replace(
        metric.result, n=n, p=None, test=None, mcnemar=None, patterns=None, why=why, **told
    )
    metric = dataclasses.replace(metric, result=result, sizes=None)
    if name in items:
        return metric
    return dataclasses.replace(metric, only_a={}, only_b={}, changes_lost=(), changes_won=())


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
