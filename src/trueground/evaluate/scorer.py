"""One batch of records → lines for items.jsonl, and numbers for the summary."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from trueground.errors import fails_alone
from trueground.evaluate.agreement import no_pairs, verdict_pairs
from trueground.evaluate.checks import Checker, Claims
from trueground.evaluate.plan import Plan
from trueground.evaluate.questioned import answer_hash, question_of
from trueground.evaluate.telling import Evidences, Told
from trueground.judges.comparing import compare
from trueground.metrics.batch import Batch
from trueground.metrics.column import CODES, STATUSES, Column
from trueground.metrics.evidence import BatchContext, no_ratings
from trueground.records.columns import field_text
from trueground.types import (
    Answered,
    Comparison,
    ComparisonRequest,
    Failure,
    Rating,
    RatingRequest,
    Record,
    Status,
)

NONE = "(none)"


@dataclass
class Scored:
    """What a batch comes to. `values` and `status` have shape (n, metrics + hidden ones).

    `by` has one list of n values per breakdown field; `clusters` (n,) are hashes of `group`, or of
    the id where an item has no group. `answerable` (n,) holds 1, 0, or -1 where the record does not
    say. `empty` counts empty responses. `agreement` counts pairs of verdicts (see `agreement`).
    Of repeated answers, `questions` names the question of each and `answers` (n,) are hashes of
    them; None where the plan tells no questions apart.
    """

    n: int
    items: bytes
    records: bytes
    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    clusters: NDArray[np.int64]
    answerable: NDArray[np.int8]
    by: list[list[str]]
    empty: int
    agreement: NDArray[np.int64]
    questions: list[str] | None = None
    answers: NDArray[np.int64] | None = None


Gather = Callable[[Batch], BatchContext]


class _Computed(NamedTuple):
    """Of some records in a row: values and status (n, width), lines of items.jsonl, agreement."""

    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    lines: bytes
    agreement: NDArray[np.int64]


class Scorer:
    """Scores batches under a plan; has no state between them.

    Where a batch fails as a whole, its halves are scored, down to the item that is in the way: of
    that one the metrics that fail have the status `error`. What was judged, rated and compared is
    kept meanwhile, so that nobody is asked twice.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._encoder = msgspec.json.Encoder()

    def __call__(self, records: Sequence[Record]) -> Scored:
        """Score one batch."""
        plan = self.plan
        found = self._computed(records, _gathering(plan))
        lost = [isinstance(r, Answered) and r.failure is not None for r in records]
        of = plan.repeats_of
        questions = None if of is None else [question_of(record, of) for record in records]
        packed = b""
        if plan.keep_records:
            packed = self._encoder.encode_lines(records)
        return Scored(
            n=len(records),
            items=found.lines,
            records=packed,
            values=found.values,
            status=found.status,
            clusters=_clusters(records, questions),
            answerable=np.array(
                [
                    -1 if r.answerable is None or gone else r.answerable
                    for r, gone in zip(records, lost, strict=True)
                ],
                np.int8,
            ),
            by=[[field_text(r, field) or NONE for r in records] for field in plan.by],
            empty=sum(
                not r.response.strip() and not gone for r, gone in zip(records, lost, strict=True)
            ),
            agreement=found.agreement,
            questions=questions,
            answers=None if of is None else np.array(list(map(answer_hash, records)), np.int64),
        )

    def _computed(self, records: Sequence[Record], gather: Gather) -> _Computed:
        """All numbers of the records; without those that cannot be computed."""
        try:
            return self._together(records, gather)
        except BaseException as error:
            if not fails_alone(error):
                raise
        if len(records) == 1:
            return self._together(records, gather, alone=True)
        middle = len(records) // 2
        halves = [self._computed(part, gather) for part in (records[:middle], records[middle:])]
        return _Computed(
            np.concatenate([half.values for half in halves]),
            np.concatenate([half.status for half in halves]),
            b"".join(half.lines for half in halves),
            halves[0].agreement + halves[1].agreement,
        )

    def _together(
        self, records: Sequence[Record], gather: Gather, alone: bool = False
    ) -> _Computed:
        """The numbers of these records; of a record that is `alone` what fails is left out."""
        plan = self.plan
        failures = [r.failure if isinstance(r, Answered) else None for r in records]
        failed = np.array([failure is not None for failure in failures], np.bool_)
        evidence = gather(Batch.of(_without_failed(records, failures)))
        told = Told(len(records))
        column = told.column_of_one if alone else told.column
        columns = [
            _unscored(column(spec, evidence, number < len(plan.specs)), failures, failed)
            for number, spec in enumerate((*plan.specs, *plan.hidden))
        ]
        for i in np.flatnonzero(failed):
            failure = failures[i]
            assert failure is not None
            told.items[i] = {key: {"reason": failure.reason} for key in plan.keys}
        try:
            agreement = verdict_pairs(plan, evidence, failed)
        except BaseException as error:
            if not (alone and fails_alone(error)):
                raise
            agreement = no_pairs(plan)
        return _Computed(
            np.column_stack([c.values for c in columns]),
            np.column_stack([c.status for c in columns]),
            self._lines(records, columns[: len(plan.specs)], told.items),
            agreement,
        )

    def _lines(
        self, records: Sequence[Record], columns: Sequence[Column], evidences: Evidences
    ) -> bytes:
        keys = self.plan.keys
        scores = zip(*(c.values.tolist() for c in columns), strict=True)
        codes = zip(*(c.status.tolist() for c in columns), strict=True)
        all_scored = dict.fromkeys(keys, Status.SCORED.value)
        lines = []
        for record, values, status, found in zip(records, scores, codes, evidences, strict=True):
            words = all_scored
            if any(status):
                words = {k: STATUSES[s].value for k, s in zip(keys, status, strict=True)}
            line = {
                "id": record.id,
                "scores": dict(zip(keys, values, strict=True)),  # NaN is written as null
                "status": words,
                "evidence": found,
            }
            lines.append(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        return b"".join(lines)


def _gathering(plan: Plan) -> Gather:
    """Evidence of a batch and of its parts, for which no part of the plan is asked twice."""
    parts = plan.parts
    made = [kind for kind in plan.kinds if kind.startswith("claims")]
    claims = Claims(parts.decomposer, plan.spare.issuperset(made))
    checkers = [Checker(judge, claims, plan.spare) for judge in parts.judges]
    ratings: dict[RatingRequest, Rating] = {}
    compared: defaultdict[str, dict[ComparisonRequest, Comparison]] = defaultdict(dict)

    def rating(requests: Sequence[RatingRequest]) -> list[Rating]:
        from trueground.judges.rating import rate

        return no_ratings(requests) if parts.rater is None else rate(parts.rater, requests, ratings)

    def comparing(written: str, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        return compare(parts.comparer(written), requests, compared[written])

    return lambda batch: BatchContext(batch, checkers, rating, comparing)


def _without_failed(
    records: Sequence[Record], failures: Sequence[Failure | None]
) -> Sequence[Record]:
    """The records with nothing in the place of a failed answer, so that no judge is asked of it."""
    if not any(failures):
        return records
    return [
        msgspec.structs.replace(r, response="", response_facts=[]) if failure else r
        for r, failure in zip(records, failures, strict=True)
    ]


def _unscored(
    column: Column, failures: Sequence[Failure | None], failed: NDArray[np.bool_]
) -> Column:
    """The column with the status of each failure in place of what was computed."""
    if not failed.any():
        return column
    codes = [CODES[failure.status] if failure else 0 for failure in failures]
    return Column(
        np.where(failed, np.nan, column.values),
        np.where(failed, np.array(codes, column.status.dtype), column.status),
        column.notes,
    )


def _clusters(records: Sequence[Record], questions: Sequence[str] | None) -> NDArray[np.int64]:
    """Hashes of the groups; an item without one is its own, with the answers to its question."""
    names = [record.id for record in records] if questions is None else questions
    found = [_hash(record.group, name) for record, name in zip(records, names, strict=True)]
    return np.array(found, np.int64)


def _hash(group: str | None, id_: str) -> int:
    name = f"i{id_}" if group is None else f"g{group}"
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
