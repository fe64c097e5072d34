"""Two finished runs, item by item and as wholes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.evaluate.run_level import macro_key
from trueground.metrics.column import CODES, STATUSES
from trueground.reports.item_links import item_links
from trueground.stats.paired import Paired, paired
from trueground.studies.comparison import Change, MetricComparison, PairComparison, Sizes
from trueground.studies.pair_sizes import Settings, sizes_of
from trueground.studies.pairing import Aligned, align
from trueground.studies.reading import FinishedRun, Scores, higher_is_better, read_words
from trueground.studies.run_level import Side, Whole, whole_runs
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
        """All of b against a. UsageError: runs that do not match, where that is not allowed."""
        aligned = align(self.run_a, self.a, self.run_b, self.b, self.metrics)
        told = self._see_alike(aligned, label_a, label_b)
        items = self._items(aligned)
        whole, reasons = self._whole(aligned)
        told += tuple(f"{name} is left out: {reasons[name]}" for name in self.names
                      if name in reasons)  # fmt: skip
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
        )
        sizes = sizes_of(results, values_a, values_b, aligned.clusters, self.settings)
        better = [higher_is_better(metric) for metric in self.metrics]
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
        ids = [words_a[int(row)].id for row in rows_a[rows]]
        links_a, links_b = _links(self.run_a, ids), _links(self.run_b, ids)

        def change(row: int, i: int) -> Change:
            in_a, in_b = words_a[int(rows_a[row])], words_b[int(rows_b[row])]
            scores = float(values_a[row, i]), float(values_b[row, i])
            question = in_a.question if in_a.question is not None else in_b.question
            answers = in_a.response, in_b.response
            links = links_a.get(in_a.id), links_b.get(in_a.id)
            return Change(in_a.id, *scores, question, *answers, *links)

        return [
            (tuple(change(row, i) for row in lost), tuple(change(row, i) for row in won))
            for i, (lost, won) in enumerate(chosen)
        ]

    @property
    def _asked_otherwise(self) -> bool:
        """Whether both are of one benchmark task with other options, which may give other texts."""
        a, b = self.run_a, self.run_b
        return a.task is not None and a.task == b.task and a.options != b.options

    def _see_alike(self, aligned: Aligned, label_a: str, label_b: str) -> tuple[str, ...]:
        """What does not match, in sentences. Raises UsageError where that is not allowed."""
        mismatch = aligned.mismatch
        told = mismatch.sentences(label_a, label_b)
        others = mismatch.of_fields(label_a, label_b)
        names = f"{label_a} = {self.run_a.path}, {label_b} = {self.run_b.path}"
        if not len(aligned.rows_a):
            raise UsageError(f"{names}: the runs have no item in common; compare runs over one set")
        if not self._asked_otherwise:
            told, others = told + others, []
        if told and not self.settings.allow_mismatch:
            raise UsageError(
                "; ".join([f"{names}: these runs do not match", *told])
                + ". Pass --allow-mismatch to compare what both have."
            )
        told += others
        if mismatch.other_groups:
            told.append(
                f"other groups in {label_b} than in {label_a} under {mismatch.other_groups:,} of "
                f"the ids; the clusters are the groups of {label_a}"
            )
        if aligned.clusters is None and (self.run_a.has_groups or self.run_b.has_groups):
            told.append(
                "the runs have groups, but these stand in the records, which were not kept: every "
                "item counts by itself, so intervals and p values may be too narrow and too small"
            )
        told += [
            f"{label} has {run.repeats:,} answers to each question: each question counts once, by "
            "the mean over its answers; texts and links are those of the first"
            for label, run in ((label_a, self.run_a), (label_b, self.run_b))
            if run.by_question
        ]
        if not (self.run_a.has_records and self.run_b.has_records):
            told.append(
                "not both runs kept their records: whether questions, contexts and references are "
                "the same was not seen"
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
    result = dataclasses.replace(metric.result, n=n, p=None, test=None, mcnemar=None, **told)
    metric = dataclasses.replace(metric, result=result, sizes=None)
    if name in items:
        return metric
    return dataclasses.replace(metric, only_a={}, only_b={}, changes_lost=(), changes_won=())


def _links(run: FinishedRun, ids: Sequence[str]) -> dict[str, str]:
    """Id → link; of a question with several answers to the first of them."""
    on_page = {f"{one}#1" if run.by_question else one: one for one in ids}
    return {on_page[one]: link for one, link in item_links(run.path, on_page).items()}


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
