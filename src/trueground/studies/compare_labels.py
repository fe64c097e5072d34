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
    """The labels of several runs' answers.

    As many files as runs are each of one run, in their order; else every line tells of which run it
    is: by what was shown (`trueground annotate`), or by `run`, its name here, folder, or model.
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        drawn: Literal["random"] | None,
        runs: Sequence[FinishedRun],
        names: Sequence[str],
    ) -> None:
        """InputError where no two runs have labels that can be used; UsageError."""
        if any(run.questions is not None for run in runs):
            raise UsageError(
                "--labels is for runs with one answer to each question, and some have several; "
                "leave it out"
            )
        self.slices: dict[str, LabeledSlice] = {}
        self.missing: dict[str, str] = {}
        paths = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        each = len(paths) == len(runs)
        for number, (run, name) in enumerate(zip(runs, names, strict=True)):
            run.files.check_records()
            try:
                self.slices[name] = LabeledSlice.read(
                    [paths[number]] if each else paths,
                    drawn,
                    ([record] for record in run.iter_records(Answered)),
                    source=1 if each else number + 1,
                    runs=[*filter(None, (name, run.path.name, str(run.path), run.model))],
                    by_run=not each,
                )
            except InputError as error:
                self.missing[name] = str(error)
        if len(self.slices) < 2:
            why = [*dict.fromkeys(self.missing.values())]
            if each:
                why.append("as many --labels files as runs are read in the order of the runs")
            raise InputError("; ".join(why))

    def add_to(
        self, pair: PairComparison, aligned: Aligned, metrics: Sequence[str], level: float
    ) -> PairComparison:
        """The pair with the differences that people would see, or a note why there is none.

        `metrics` are those of the columns of `aligned`.
        """
        if why := [f"{n}: {self.missing[n]}" for n in (pair.a, pair.b) if n in self.missing]:
            return replace(pair, notes=(*pair.notes, *why))
        a, b = self.slices[pair.a], self.slices[pair.b]
        notes = [*a.note_unknown(b), *dict.fromkeys([*a.notes, *b.notes])]
        found: dict[str, dict[str, Any]] = {}
        for place, key in enumerate(metrics):
            if key not in pair.metrics:
                continue
            metric = METRICS.of_key(key)
            label = None if metric is None else metric.predicted_label
            if label is None or label not in a.labels or label not in b.labels:
                continue
            try:
                found[key] = _correct(aligned, place, label, a, b, level)
            except InputError as error:
                notes.append(f"{key} is not corrected: {error}")
        return replace(
            pair, corrected=found, notes=(*pair.notes, *(f"labels: {note}" for note in notes))
        )


def _correct(
    aligned: Aligned, place: int, label: str, a: LabeledSlice, b: LabeledSlice, level: float
) -> dict[str, Any]:
    scores: NDArray[np.float64] = (
        aligned.b.scores.values[:, place] - aligned.a.scores.values[:, place]
    )
    rows = np.flatnonzero(~np.isnan(scores))
    scores = scores[rows]
    sides = ((a, aligned.a.rows[rows]), (b, aligned.b.rows[rows]))
    y_a, y_b = (slice_.labels[label][own] for slice_, own in sides)
    clusters = None if aligned.clusters is None else aligned.clusters[rows]
    draw = _draw_of_both(~np.isnan(y_b - y_a), sides, clusters)
    found = draw.correct_difference(scores, y_b - y_a, level=level)
    notes = []
    if draw.is_shifted(scores):
        notes.append("the judge sees another difference on the labeled items than on all")
    if draw.is_reversed(scores, y_b - y_a):
        notes.append(
            "item by item people see the difference the other way round from the judge: were "
            "the labels of the two runs swapped?"
        )
    return {
        "label": label,
        "difference": found.mean,
        "ci": found.ci,
        "ci_level": level,
        "n": len(rows),
        "labels": found.labels,
        "labels_difference": found.labels_mean,
        "labels_ci": found.labels_ci,
        "judge_difference": mean(scores),
        "lambda": found.weight,
        "drawn": "random" if draw.equal else "weighted",
        "notes": notes,
    }


def _draw_of_both(
    labeled: Any,
    sides: Sequence[tuple[LabeledSlice, NDArray[np.int64]]],
    clusters: NDArray[np.int64] | None,
) -> LabelSample:
    """How items came to have a label of both: in one draw where the probabilities are the same."""
    if labeled.all() or all(slice_.random[rows][labeled].all() for slice_, rows in sides):
        return LabelSample.random(labeled, clusters)
    share = sum_counts(labeled) / len(labeled)
    one, other = (
        np.where(slice_.random[rows], share, slice_.probability[rows]) for slice_, rows in sides
    )
    if np.isnan((one + other)[labeled]).any():
        raise InputError(
            "some labels do not say with which probability they were drawn; if all were drawn at "
            "random, pass --labels-drawn random"
        )
    same = bool(np.allclose(one[labeled], other[labeled]))
    strata = sides[0][0].strata if same else None
    probability = one if same else one * other
    if same and strata is None and np.ptp(one[labeled]) < 1e-9:
        return LabelSample.random(labeled, clusters)
    return LabelSample(
        labeled, probability, None if strata is None else strata[sides[0][1]], clusters
    )
