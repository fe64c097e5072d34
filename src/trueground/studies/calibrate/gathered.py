"""What a judge says of labelled records, gathered as numbers."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from trueground.claims import Decomposer
from trueground.errors import InputError, UsageError
from trueground.evaluate.checks import decompose
from trueground.judges import Judge, ask, get_judge
from trueground.plugins import parse_part
from trueground.studies.calibrate.judged import Judged
from trueground.studies.labelled import LabelledSet, LabelledSets
from trueground.types import Claim, Failure, JudgeRequest, Record, Status, Verdict

_POSITIVE = 0.5  # between labels as the statistics get them, 0 and 1


def uncalibrated(judge: str | Judge, cache: bool) -> Judge:
    """The judge, made of its name. UsageError: the name has a calibration already.

    With one, its threshold would pass for the judge's own. A judge that is handed over is taken as
    it is.
    """
    if not isinstance(judge, str):
        return judge
    given = parse_part("judge", judge)
    if "calibration" in given.options:
        raise UsageError(
            f"the judge {given.name!r} has a calibration already "
            f"(calibration={given.options['calibration']}); a new one is chosen here, beside the "
            "judge's own threshold: leave that option out"
        )
    return get_judge(judge, cache=cache)


def texts_of(record: Record) -> tuple[str, ...]:
    """The context texts that are not blank."""
    return tuple(p.text for p in record.contexts or () if p.text.strip())


def unfit(record: Record) -> str | None:
    """Why no judge can be asked about a record, if so."""
    if not texts_of(record):
        return Status.MISSING_FIELD.value
    return None if record.response.strip() else Status.NO_CLAIMS.value


@dataclass
class Gathered:
    """The numbers of all judged records; nothing else grows with the files.

    `scoreless` says that the judge's verdicts are all there is. Where it does not, and no verdict
    has a score, the verdicts count too.
    """

    sets: LabelledSets
    scoreless: bool = False
    unscored: list[Counter[str]] = field(init=False)
    asked: int = 0
    scores: array[float] = field(default_factory=lambda: array("d"))
    probabilities: array[float] = field(default_factory=lambda: array("d"))
    verdicts: bytearray = field(default_factory=bytearray)
    positive: bytearray = field(default_factory=bytearray)
    clusters: array[int] = field(default_factory=lambda: array("q"))
    files: array[int] = field(default_factory=lambda: array("l"))

    def __post_init__(self) -> None:
        self.unscored = [Counter(one.unused) for one in self.sets.all_sets]

    def add(self, one: LabelledSet, first: int, verdicts: Sequence[Verdict]) -> None:
        """Keep what the verdicts on the labelled records of a set say, from the row `first` on.

        Those that say nothing are counted by status.
        """
        self.asked += len(verdicts)
        file = one.number - 1
        for row, verdict in enumerate(verdicts, first):
            if verdict.status is not Status.SCORED:
                self.unscored[file][verdict.status.value] += 1
                continue
            for column, known in (
                (self.scores, None if self.scoreless else _score(verdict)),
                (self.probabilities, None if self.scoreless else verdict.probability),
            ):
                column.append(float("nan") if known is None else known)
            self.verdicts.append(bool(verdict.supported))
            self.positive.append(bool(one.labels[row] > _POSITIVE))
            self.clusters.append(int(one.clusters[row]))
            self.files.append(file)

    def check_scores(self, judge: Judge) -> None:
        """UsageError where there are verdicts, and none has a score."""
        if self.scores and np.isnan(self.scores).all():
            raise no_scores(judge)

    def judged(self, judge: Judge, decomposer: Decomposer | None) -> Judged:
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
        grouped = any(one.grouped for one in self.sets.all_sets)
        return Judged(
            judge=judge,
            decomposer=decomposer,
            label=self.sets.rule.label,
            positive_above=self.sets.rule.positive_above,
            files=self.sets.all_sets,
            told=self.sets.notes,
            unscored=self.unscored,
            by_verdict=by_verdict,
            scores=scores[kept],
            probabilities=np.array(self.probabilities)[kept],
            labels=np.frombuffer(bytes(self.positive), np.bool_)[kept],
            clusters=np.array(self.clusters, np.int64)[kept] if grouped else None,
            file_numbers=numbers[kept],
        )


def _score(verdict: Verdict) -> float | None:
    """The judge's own number; a judge that has none compares its probability."""
    return verdict.probability if verdict.score is None else verdict.score


def weakest(
    records: Sequence[Record], judge: Judge, decomposer: Decomposer | None
) -> list[Verdict]:
    """For each record the verdict on its weakest claim, or on the whole response."""
    claims = list(_claims(records, decomposer))
    requests = [
        JudgeRequest(claim.text, texts)
        for texts, own in zip(map(texts_of, records), claims, strict=True)
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
    records: Sequence[Record], decomposer: Decomposer | None
) -> Iterator[Sequence[Claim] | Failure]:
    texts = [record.response for record in records]
    if decomposer is not None:
        yield from decompose(decomposer, texts)
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


def no_scores(judge: Judge) -> UsageError:
    return UsageError(
        f"the judge {judge.name!r} gives verdicts without a score or a probability, so there is no "
        "threshold to choose; leave --objective and --precision out, and its True and False get "
        "probabilities, or take another judge (`trueground list judges`)"
    )
