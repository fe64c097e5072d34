"""Labels of two runs' answers → how often people would prefer which: the difference corrected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError, UsageError
from trueground.evaluate import LabeledSlice
from trueground.metrics import METRICS
from trueground.stats import LabelSample, mean, sum_counts
from trueground.studies.compare_pair import PairComparison
from trueground.studies.finished import FinishedRun
from trueground.studies.pairing import Aligned
from trueground.types import Answered


class RunLabels:
    """Human labels of several runs' answers.

    If there are as many files as runs, each file is of one run, in their order. Otherwise each
    line names its run: by the answer that was shown (`trueground annotate`), or by `run` (its
    label here, folder or model).
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        drawn: Literal["random"] | None,
        runs: Sequence[FinishedRun],
        names: Sequence[str],
    ) -> None:
        """Read the labels.

        Raises:
            InputError: Fewer than two runs have usable labels.
            UsageError: A run has several answers to a question.
        """
        if any(run.questions is not None for run in runs):
            raise UsageError(
                "--labels is for runs with one answer to each question, and some have several; "
                "leave it out"
            )
        self.slices: dict[str, LabeledSlice] = {}
        self.missing: dict[str, str] = {}
        paths = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        is_file_per_run = len(paths) == len(runs)
        for number, (run, name) in enumerate(zip(runs, names, strict=True)):
            run.files.check_records()
            try:
                self.slices[name] = LabeledSlice.read(
                    [paths[number]] if is_file_per_run else paths,
                    drawn,
                    ([record] for record in run.iter_records(Answered)),
                    source=1 if is_file_per_run else number + 1,
                    runs=[*filter(None, (name, run.path.name, str(run.path), run.model))],
                    by_run=not is_file_per_run,
                )
            except InputError as error:
                self.missing[name] = str(error)
        if len(self.slices) < 2:
            reasons = [*dict.fromkeys(self.missing.values())]
            if is_file_per_run:
                reasons.append("as many --labels files as runs are read in the order of the runs")
            raise InputError("; ".join(reasons))

    def add_to(
        self, pair: PairComparison, aligned: Aligned, metrics: Sequence[str], level: float
    ) -> PairComparison:
        """Return the pair with corrected differences, or with a note why there are none.

        Args:
            metrics: Keys of the columns of `aligned`.
        """
        reasons = [f"{n}: {self.missing[n]}" for n in (pair.a, pair.b) if n in self.missing]
        if reasons:
            return replace(pair, notes=(*pair.notes, *reasons))
        a, b = self.slices[pair.a], self.slices[pair.b]
        notes = [*a.note_unknown(b), *dict.fromkeys([*a.notes, *b.notes])]
        corrected: dict[str, dict[str, Any]] = {}
        for column, key in enumerate(metrics):
            if key not in pair.metrics:
                continue
            metric = METRICS.of_key(key)
            label = None if metric is None else metric.predicted_label
            if label is None or label not in a.labels or label not in b.labels:
                continue
            try:
                corrected[key] = _correct(aligned, column, label, a, b, level)
            except InputError as error:
                notes.append(f"{key} is not corrected: {error}")
        return replace(
            pair, corrected=corrected, notes=(*pair.notes, *(f"labels: {note}" for note in notes))
        )


def _correct(
    aligned: Aligned, column: int, label: str, a: LabeledSlice, b: LabeledSlice, level: float
) -> dict[str, Any]:
    scores: NDArray[np.float64] = (
        aligned.b.scores.values[:, column] - aligned.a.scores.values[:, column]
    )
    rows = np.flatnonzero(~np.isnan(scores))
    scores = scores[rows]
    sides = ((a, aligned.a.rows[rows]), (b, aligned.b.rows[rows]))
    y_a, y_b = (slice_.labels[label][item_rows] for slice_, item_rows in sides)
    clusters = None if aligned.clusters is None else aligned.clusters[rows]
    sample = _sample_of_both(~np.isnan(y_b - y_a), sides, clusters)
    estimate = sample.correct_difference(scores, y_b - y_a, level=level)
    notes = []
    if sample.is_shifted(scores):
        notes.append("the judge sees another difference on the labeled items than on all")
    if sample.is_reversed(scores, y_b - y_a):
        notes.append(
            "item by item people see the difference the other way round from the judge: were "
            "the labels of the two runs swapped?"
        )
    return {
        "label": label,
        "difference": estimate.mean,
        "ci": estimate.ci,
        "ci_level": level,
        "n": len(rows),
        "labels": estimate.labels,
        "labels_difference": estimate.labels_mean,
        "labels_ci": estimate.labels_ci,
        "judge_difference": mean(scores),
        "lambda": estimate.weight,
        "drawn": "random" if sample.equal else "weighted",
        "notes": notes,
    }


def _sample_of_both(
    labeled: Any,
    sides: Sequence[tuple[LabeledSlice, NDArray[np.int64]]],
    clusters: NDArray[np.int64] | None,
) -> LabelSample:
    """Return the items with labels of both runs, one sample if the probabilities are equal."""
    if labeled.all() or all(slice_.random[rows][labeled].all() for slice_, rows in sides):
        return LabelSample.random(labeled, clusters)
    share = sum_counts(labeled) / len(labeled)
    (slice_a, rows_a), (slice_b, rows_b) = sides
    probability_a = np.where(slice_a.random[rows_a], share, slice_a.probability[rows_a])
    probability_b = np.where(slice_b.random[rows_b], share, slice_b.probability[rows_b])
    if np.isnan((probability_a + probability_b)[labeled]).any():
        raise InputError(
            "some labels do not say with which probability they were drawn; if all were drawn at "
            "random, pass --labels-drawn random"
        )
    same = bool(np.allclose(probability_a[labeled], probability_b[labeled]))
    strata = sides[0][0].strata if same else None
    probability = probability_a if same else probability_a * probability_b
    if same and strata is None and np.ptp(probability_a[labeled]) < 1e-9:
        return LabelSample.random(labeled, clusters)
    return LabelSample(
        labeled, probability, None if strata is None else strata[sides[0][1]], clusters
    )
