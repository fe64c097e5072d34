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
from trueground.errors import InputError, UsageError
from trueground.judges import Judge, ask, get_judge
from trueground.studies.calibration import Calibration
from trueground.studies.calibration_how import How
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
    objective: str | None = None,
    precision: float | None = None,
    method: str = "platt",
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

    The threshold is chosen for an `objective` (default: balanced accuracy), or is the lowest that
    reaches a wanted `precision`; `method` is "platt" or "isotonic". A judge whose verdicts have no
    score has no threshold to choose: its True and False get probabilities.

    UsageError: a name that is not known, an objective or precision for a judge without scores.
    InputError: a file or label that cannot be used, labels of one kind only, scores that are all
    equal, a precision out of reach, too few records for a method. UnreachableError: the judge.
    """
    how = How(objective, precision, method, seed, resamples, level)
    asked = get_judge(judge, cache=cache) if isinstance(judge, str) else judge
    scoreless = not getattr(asked, "scores", True)
    if scoreless and how.chooses:
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
        gathered = _Gathered([Counter(file.unused) for file in files.files], scoreless)
        for number, batch in files.batches():
            # The first record by itself: a judge without scores is found out at the price of one.
            first = 0 if gathered.asked else 1
            for part in filter(None, (batch[:first], batch[first:])):
                gathered.add(number, part, _weakest(part, asked, splitter))
                if how.chooses:
                    gathered.see_scores(asked)
                progress("score", gathered.asked, files.n)
        return conclude(gathered.judged(files, asked, splitter, positive_above), how)


def _closing(part: Any, given: object) -> Any:
    """Close what was made here; what the caller made is the caller's."""
    return closing(part) if part is not given and hasattr(part, "close") else nullcontext()


@dataclass
class _Gathered:
    """The numbers of all judged records; nothing else grows with the files.

    `scoreless` says that the judge's verdicts are all there is. Where it does not, and no verdict
    has a score, the verdicts count too.
    """

    unscored: list[Counter[str]]
    scoreless: bool = False
    asked: int = 0
    scores: array[float] = field(default_factory=lambda: array("d"))
    probabilities: array[float] = field(default_factory=lambda: array("d"))
    verdicts: bytearray = field(default_factory=bytearray)
    positive: bytearray = field(default_factory=bytearray)
    clusters: array[int] = field(default_factory=lambda: array("q"))
    files: array[int] = field(default_factory=lambda: array("l"))

    def add(self, file: int, batch: Sequence[Labelled], verdicts: Sequence[Verdict]) -> None:
        """Keep what every verdict says; count those that say nothing by status."""
        self.asked += len(batch)
        for item, verdict in zip(batch, verdicts, strict=True):
            if verdict.status is not Status.SCORED:
                self.unscored[file][verdict.status.value] += 1
                continue
            for column, known in (
                (self.scores, None if self.scoreless else _score(verdict)),
                (self.probabilities, None if self.scoreless else verdict.probability),
            ):
                column.append(float("nan") if known is None else known)
            self.verdicts.append(bool(verdict.supported))
            self.positive.append(item.positive)
            self.clusters.append(item.cluster)
            self.files.append(file)

    def see_scores(self, judge: Judge) -> None:
        """UsageError where there are verdicts, and none has a score."""
        if self.scores and np.isnan(self.scores).all():
            raise _no_scores(judge)

    def judged(
        self,
        files: LabelledFiles,
        judge: Judge,
        decomposer: Decomposer | None,
        positive_above: float,
    ) -> Judged:
        """All that is known, for the statistics. InputError where no record has a verdict."""
        if not self.scores:
            unscored = sum(self.unscored, Counter[str]())
            told = ", ".join(f"{count:,} {status}" for status, count in unscored.items())
            raise InputError(f"the judge {judge.name!r} could score no record: {told}")
        scores, numbers = np.array(self.scores), np.array(self.files, np.int64)
        kept = ~np.isnan(scores)
        if by_verdict := not kept.any():
            scores, kept = np.array(self.verdicts, np.float64), ~kept
        for number in numbers[~kept].tolist():
            self.unscored[number][Status.NOT_APPLICABLE.value] += 1
        return Judged(
            judge=judge,
            decomposer=decomposer,
            label=files.label,
            positive_above=positive_above,
            files=files.files,
            unscored=self.unscored,
            by_verdict=by_verdict,
            scores=scores[kept],
            probabilities=np.array(self.probabilities)[kept],
            labels=np.frombuffer(bytes(self.positive), np.bool_)[kept],
            clusters=np.array(self.clusters, np.int64)[kept] if files.has_groups else None,
            file_numbers=numbers[kept],
        )


def _score(verdict: Verdict) -> float | None:
    """The judge's own number; a judge that has none compares its probability."""
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
    """The verdict with the least score, or one that says less: not scored, without a score.

    Of verdicts without a score an unsupported one; `no_claims` for none.
    """
    if not verdicts:
        return Verdict(status=Status.NO_CLAIMS)
    return min(verdicts, key=_rank)


def _rank(verdict: Verdict) -> tuple[int, float]:
    if verdict.status is not Status.SCORED:
        return (0, 0.0)
    score = _score(verdict)
    return (1, float(bool(verdict.supported))) if score is None else (2, score)


def _no_scores(judge: Judge) -> UsageError:
    return UsageError(
        f"the judge {judge.name!r} gives verdicts without a score or a probability, so there is no "
        "threshold to choose; leave --objective and --precision out, and its True and False get "
        "probabilities, or take another judge (`trueground list judges`)"
    )
