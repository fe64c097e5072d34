"""A judge against human labels: its threshold, its probabilities, and how far both hold.

Truly-Ground chose its thresholds so that the judge's verdicts correlate most with people's
(appendix B.2); that is the objective `correlation`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import numpy as np

from trueground.claims import Decomposer, get_decomposer
from trueground.errors import InputError, UsageError, unknown_name
from trueground.judges import Judge, ask, get_judge
from trueground.stats.thresholds import OBJECTIVES
from trueground.studies.calibration import Calibration
from trueground.studies.calibration_numbers import Judged, conclude
from trueground.studies.labelled import Labelled, LabelledFiles
from trueground.types import Claim, Failure, JudgeRequest, Status, Verdict

Progress = Callable[[str, int, int | None], None]


def _silent(_phase: str, _done: int, _total: int | None) -> None:
    """Say nothing."""


def calibrate(
    source: Any,
    judge: str | Judge,
    *,
    label: str | None = None,
    positive_above: float = 0.5,
    decomposer: str | Decomposer | None = None,
    objective: str = "balanced_accuracy",
    mapping: Mapping[str, str] | None = None,
    on_bad_row: Literal["stop", "skip"] = "stop",
    limit: int | None = None,
    seed: int = 0,
    resamples: int = 2_000,
    level: float = 0.95,
    cache: bool = True,
    progress: Progress = _silent,
) -> Calibration:
    """Judge labelled answers; choose the threshold, and fit probabilities, that suit the labels.

    `source` is what `score` takes; of several files each is also reported by itself. The judge is
    asked once per record whether its contexts support the whole response; with a `decomposer` once
    per claim, and the weakest claim counts. `label` is a key of `human` (default: the only one,
    else "faithful"), and a record is positive where it is greater than `positive_above`. `limit`
    takes the first records of each file.

    UsageError: a name that is not known, a judge without scores. InputError: a file or label that
    cannot be used, labels of one kind only, scores that are all equal. UnreachableError: the judge.
    """
    if objective not in OBJECTIVES:
        raise unknown_name("objective", objective, OBJECTIVES)
    if resamples < 1 or seed < 0 or not 0 < level < 1:
        raise UsageError(
            f"resamples={resamples}, seed={seed}, level={level}; expected 1 or more, 0 or more, "
            "and a number between 0 and 1"
        )
    asked = get_judge(judge, cache=cache) if isinstance(judge, str) else judge
    if not getattr(asked, "scores", True):
        raise _no_scores(asked)
    splitter = (
        get_decomposer(decomposer, cache=cache) if isinstance(decomposer, str) else decomposer
    )
    with (
        _closing(asked, judge),
        _closing(splitter, decomposer),
        LabelledFiles(
            source,
            label=label,
            positive_above=positive_above,
            mapping=mapping,
            on_bad_row=on_bad_row,
            limit=limit,
            progress=lambda rows: progress("check", rows, None),
        ) as files,
    ):
        gathered = _Gathered([Counter(file.unused) for file in files.files])
        for number, batch in files.batches():
            # The first record by itself: a judge without scores is found out at the price of one.
            first = 0 if gathered.asked else 1
            for part in filter(None, (batch[:first], batch[first:])):
                gathered.add(number, part, _weakest(part, asked, splitter))
                gathered.see_scores(asked)
                progress("score", gathered.asked, files.n)
        return conclude(
            gathered.judged(files, asked, splitter, positive_above),
            objective=objective,
            seed=seed,
            resamples=resamples,
            level=level,
        )


def _closing(part: Any, given: object) -> Any:
    """Close what was made here; what the caller made is the caller's."""
    return closing(part) if part is not given and hasattr(part, "close") else nullcontext()


@dataclass
class _Gathered:
    """The numbers of all judged records; nothing else grows with the files."""

    unscored: list[Counter[str]]
    asked: int = 0
    scores: array[float] = field(default_factory=lambda: array("d"))
    probabilities: array[float] = field(default_factory=lambda: array("d"))
    positive: bytearray = field(default_factory=bytearray)
    clusters: array[int] = field(default_factory=lambda: array("q"))
    files: array[int] = field(default_factory=lambda: array("l"))

    def add(self, file: int, batch: Sequence[Labelled], verdicts: Sequence[Verdict]) -> None:
        """Keep the score of every verdict that has one; count the others by status."""
        self.asked += len(batch)
        for item, verdict in zip(batch, verdicts, strict=True):
            score = _score(verdict)
            if score is None:
                scored = verdict.status is Status.SCORED
                status = Status.NOT_APPLICABLE if scored else verdict.status
                self.unscored[file][status.value] += 1
                continue
            self.scores.append(score)
            known = verdict.probability
            self.probabilities.append(float("nan") if known is None else known)
            self.positive.append(item.positive)
            self.clusters.append(item.cluster)
            self.files.append(file)

    def see_scores(self, judge: Judge) -> None:
        """UsageError where there are verdicts, and none has a score."""
        if not self.scores and any(counts[Status.NOT_APPLICABLE] for counts in self.unscored):
            raise _no_scores(judge)

    def judged(
        self,
        files: LabelledFiles,
        judge: Judge,
        decomposer: Decomposer | None,
        positive_above: float,
    ) -> Judged:
        """All that is known, for the statistics. InputError where no record has a score."""
        unscored = sum(self.unscored, Counter[str]())
        if not self.scores:
            told = ", ".join(f"{count:,} {status}" for status, count in unscored.items())
            raise InputError(f"the judge {judge.name!r} could score no record: {told}")
        return Judged(
            judge=judge,
            decomposer=decomposer,
            label=files.label,
            positive_above=positive_above,
            files=files.files,
            unscored=self.unscored,
            scores=np.array(self.scores),
            probabilities=np.array(self.probabilities),
            labels=np.frombuffer(bytes(self.positive), np.bool_),
            clusters=np.array(self.clusters, np.int64) if files.has_groups else None,
            file_numbers=np.array(self.files, np.int64),
        )


def _score(verdict: Verdict) -> float | None:
    """The judge's own number; a judge that has none compares its probability."""
    if verdict.status is not Status.SCORED:
        return None
    return verdict.probability if verdict.score is None else verdict.score


def _weakest(
    batch: Sequence[Labelled], judge: Judge, decomposer: Decomposer | None
) -> list[Verdict]:
    """For each record the verdict on its weakest claim, or on the whole response."""
    claims = list(_claims(batch, decomposer))
    requests = [
        JudgeRequest(claim.text, item.texts)
        for item, own in zip(batch, claims, strict=True)
        if not isinstance(own, Failure)
        for claim in own
    ]
    verdicts = iter(ask(judge, requests))
    return [
        Verdict(status=own.status)
        if isinstance(own, Failure)
        else _least(list(islice(verdicts, len(own))))
        for own in claims
    ]


def _claims(
    batch: Sequence[Labelled], decomposer: Decomposer | None
) -> Iterator[Sequence[Claim] | Failure]:
    texts = [item.record.response for item in batch]
    if decomposer is not None:
        yield from decomposer.decompose(texts)
        return
    for text in texts:
        yield [Claim(text, 0, len(text))]


def _least(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict with the least score; one without, if there is any; `no_claims` for none."""
    if not verdicts:
        return Verdict(status=Status.NO_CLAIMS)
    scores = [_score(verdict) for verdict in verdicts]
    if None in scores:
        return verdicts[scores.index(None)]
    return min(zip(scores, range(len(scores)), verdicts, strict=True))[2]


def _no_scores(judge: Judge) -> UsageError:
    return UsageError(
        f"the judge {judge.name!r} gives verdicts without a score or a probability, so there is no "
        "threshold to choose; `trueground list judges` shows others"
    )
