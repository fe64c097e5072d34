"""What a judge says of labeled records, as numbers."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import nan

import numpy as np
from numpy.typing import NDArray

from trueground.claims import Decomposer
from trueground.components import ComponentSpec
from trueground.errors import CoverageError, UsageError
from trueground.judges import Judge, get_judge
from trueground.stats import ScoredLabels
from trueground.studies.labeled import LabeledSets
from trueground.types import Claim, Failure, JudgeRequest, Record, Status, Verdict

_POSITIVE = 0.5  # between labels as the statistics get them, 0 and 1


@dataclass(frozen=True)
class JudgedRecords:
    """Scores and labels of all judged records, each of shape (n,).

    Attributes:
        unscored: For each of `sets.all_sets`, the number of unscored records by status.
        by_verdict: Whether the judge has no scores, so that they are 1 for True, 0 for False.
        probabilities: NaN if the judge returned none.
        file_numbers: Index into `sets.all_sets`.
    """

    judge: Judge
    decomposer: Decomposer | None
    sets: LabeledSets
    unscored: Sequence[Counter[str]]
    by_verdict: bool
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    labels: NDArray[np.bool_]
    clusters: NDArray[np.int64] | None
    file_numbers: NDArray[np.int64]

    @property
    def scored(self) -> ScoredLabels:
        """Scores with their labels."""
        return ScoredLabels(self.scores, self.labels)


def make_uncalibrated(judge: str | Judge, cache: bool) -> Judge:
    """Return the judge with that name, or the given judge unchanged.

    Raises:
        UsageError: The name has a calibration, whose threshold would count as the default.
    """
    if not isinstance(judge, str):
        return Judge.adapt(judge)
    spec = ComponentSpec.parse("judge", judge)
    if "calibration" in spec.options:
        raise UsageError(
            f"the judge {spec.name!r} has a calibration already "
            f"(calibration={spec.options['calibration']}). This command makes a new one and "
            "compares it with the judge's default threshold; leave that option out"
        )
    return get_judge(judge, cache=cache)


def why_unfit(record: Record) -> str | None:
    """Return why a record can't be judged, or None."""
    if not context_texts(record):
        return Status.MISSING_FIELD.value
    return None if record.response.strip() else Status.NO_CLAIMS.value


def judge_records(
    sets: LabeledSets,
    judge: Judge,
    decomposer: Decomposer | None,
    needs_scores: bool,
    progress: Callable[[str, int, int | None], None],
) -> JudgedRecords:
    """Judge all labeled records and keep only the numbers.

    Raises:
        CoverageError: No record has a verdict.
        UsageError: `needs_scores` is set, and no verdict has a score.
    """
    scoreless, any_score, done = not judge.scores, False, 0
    unscored = [Counter(labeled_set.unused) for labeled_set in sets.all_sets]
    numbers, verdicts = array("d"), array("q")  # score and probability; file, record and verdict
    for labeled_set in sets.sets:
        row, file = 0, labeled_set.number - 1
        for batch in sets.batches(labeled_set):
            records = [record for record, _ in batch]
            # Judge one record first, so that a judge without scores fails at the cost of one.
            first = 0 if done else 1
            for part in filter(None, (records[:first], records[first:])):
                for index, verdict in enumerate(_weakest_verdicts(part, judge, decomposer), row):
                    if verdict.status is not Status.SCORED:
                        unscored[file][verdict.status.value] += 1
                        continue
                    score = None if scoreless else _score(verdict)
                    probability = None if scoreless else verdict.probability
                    any_score |= score is not None
                    numbers.extend(nan if x is None else x for x in (score, probability))
                    verdicts.extend((file, index, bool(verdict.supported)))
                row += len(part)
                done += len(part)
                if needs_scores and numbers and not any_score:
                    raise no_scores(judge)
                progress("score", done, sets.n)
    if not numbers:
        counts = sum(unscored, Counter[str]()).items()
        reasons = ", ".join(f"{count:,} {status}" for status, count in counts)
        raise CoverageError(f"the judge {judge.name!r} could score no record: {reasons}")
    scores, probabilities = np.array(numbers).reshape(-1, 2).T
    files, indices, supported = np.array(verdicts, np.int64).reshape(-1, 3).T
    used = ~np.isnan(scores)
    if by_verdict := not used.any():
        scores, used = supported.astype(np.float64), ~used
    for number in files[~used].tolist():
        unscored[number][Status.NOT_APPLICABLE.value] += 1
    # The records are of all sets in turn.
    starts = np.cumsum([0, *(labeled_set.n for labeled_set in sets.all_sets)])
    rows = (starts[files] + indices)[used]
    clusters = np.concatenate([labeled_set.clusters for labeled_set in sets.all_sets])[rows]
    return JudgedRecords(
        judge,
        decomposer,
        sets,
        unscored,
        by_verdict,
        scores[used],
        probabilities[used],
        np.concatenate([labeled_set.labels for labeled_set in sets.all_sets])[rows] > _POSITIVE,
        clusters if any(labeled_set.grouped for labeled_set in sets.all_sets) else None,
        files[used],
    )


def no_scores(judge: Judge) -> UsageError:
    """Return the error for choosing a threshold without scores."""
    return UsageError(
        f"the judge {judge.name!r} gives verdicts without a score or a probability, so there is no "
        "threshold to choose; leave --objective and --precision out, and its True and False get "
        "probabilities, or take another judge (`trueground list judges`)"
    )


def _weakest_verdicts(
    records: Sequence[Record], judge: Judge, decomposer: Decomposer | None
) -> list[Verdict]:
    """Return, for each record, the verdict on its weakest claim or on the whole response."""
    responses = [record.response for record in records]
    claims: Sequence[Sequence[Claim] | Failure]
    if decomposer is None:
        claims = [[Claim(text, 0, len(text))] for text in responses]
    else:
        claims = decomposer.answer_once(responses)
    requests: list[JudgeRequest] = []
    for record, claims_or_failure in zip(records, claims, strict=True):
        if not isinstance(claims_or_failure, Failure):
            contexts = context_texts(record)
            requests += [JudgeRequest(claim.text, contexts) for claim in claims_or_failure]
    verdicts = iter(judge.answer_once(requests))
    weakest = []
    for claims_or_failure in claims:
        if isinstance(claims_or_failure, Failure):
            weakest.append(Verdict(status=claims_or_failure.status))
        else:
            of_record = islice(verdicts, len(claims_or_failure))
            weakest.append(min(of_record, key=_rank, default=Verdict(status=Status.NO_CLAIMS)))
    return weakest


def _rank(verdict: Verdict) -> tuple[int, float]:
    """Sort unscored verdicts first, then those without a score, then by the score."""
    if verdict.status is not Status.SCORED:
        return (0, 0.0)
    score = _score(verdict)
    return (1, float(bool(verdict.supported))) if score is None else (2, score)


def _score(verdict: Verdict) -> float | None:
    """Return the judge's score, or else its probability."""
    return verdict.probability if verdict.score is None else verdict.score


def context_texts(record: Record) -> tuple[str, ...]:
    """The context texts that are not blank."""
    return tuple(p.text for p in record.contexts or () if p.text.strip())
