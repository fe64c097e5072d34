"""One batch of records → lines for items.jsonl, and numbers for the summary."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from trueground.evaluate.agreement import verdict_pairs
from trueground.evaluate.checks import Checker, Claims, as_json
from trueground.evaluate.plan import Plan
from trueground.evaluate.questioned import answer_hash, question_of
from trueground.judges.comparing import compare
from trueground.metrics.batch import Batch
from trueground.metrics.column import CODES, STATUSES, Column
from trueground.metrics.evidence import Evidence, no_ratings
from trueground.records.fields import field_text
from trueground.types import Answered, Comparison, ComparisonRequest, Failure, Record, Status

NONE = "(none)"
Evidences = list[dict[str, Any]]


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


class Scorer:
    """Scores batches under a plan; has no state between them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        made = [kind for kind in plan.kinds if kind.startswith("claims")]
        claims = Claims(plan.parts.decomposer, plan.spare.issuperset(made))
        self._checkers = [Checker(judge, claims, plan.spare) for judge in plan.parts.judges]
        self._encoder = msgspec.json.Encoder()

    def __call__(self, records: Sequence[Record]) -> Scored:
        """Score one batch."""
        plan = self.plan
        failures = [r.failure if isinstance(r, Answered) else None for r in records]
        failed = np.array([failure is not None for failure in failures], np.bool_)
        rate = no_ratings if plan.parts.rater is None else plan.parts.rater.rate
        batch = Batch.of(_without_failed(records, failures))
        evidence = Evidence(batch, self._checkers, rate, self._compare)
        columns = [
            _unscored(spec.column(evidence), failures, failed)
            for spec in (*plan.specs, *plan.hidden)
        ]
        shown = columns[: len(plan.specs)]
        found = _evidence(plan, evidence, shown)
        for i in np.flatnonzero(failed):
            failure = failures[i]
            assert failure is not None
            found[i] = {key: {"reason": failure.reason} for key in plan.keys}
        of = plan.repeats_of
        questions = None if of is None else [question_of(record, of) for record in records]
        packed = b""
        if plan.keep_records:
            packed = self._encoder.encode_lines(records)
        return Scored(
            n=len(records),
            items=self._lines(records, shown, found),
            records=packed,
            values=np.column_stack([c.values for c in columns]),
            status=np.column_stack([c.status for c in columns]),
            clusters=_clusters(records, questions),
            answerable=np.array(
                [
                    -1 if r.answerable is None or lost else r.answerable
                    for r, lost in zip(records, failed, strict=True)
                ],
                np.int8,
            ),
            by=[[field_text(r, field) or NONE for r in records] for field in plan.by],
            empty=sum(
                not r.response.strip() and not lost for r, lost in zip(records, failed, strict=True)
            ),
            agreement=verdict_pairs(plan, evidence, failed),
            questions=questions,
            answers=None if of is None else np.array(list(map(answer_hash, records)), np.int64),
        )

    def _compare(self, written: str, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        return compare(self.plan.parts.comparer(written), requests)

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


def _evidence(plan: Plan, evidence: Evidence, columns: Sequence[Column]) -> Evidences:
    """For each item the evidence by metric; what two metrics share stands at the first of them."""
    result: Evidences = [{} for _ in range(len(evidence.batch))]
    told: dict[object, str] = {}
    for spec, column in zip(plan.specs, columns, strict=True):
        for found, note in zip(result, column.notes or (), strict=False):
            if note:
                found[spec.key] = dict(note)
        if spec.metric.tells and told.setdefault(spec.metric.tells, spec.key) == spec.key:
            for i, found in enumerate(result):
                if said := spec.metric.tells(evidence, i):
                    found.setdefault(spec.key, {}).update(said)
        if spec.metric.totals:
            hits, units = spec.metric.totals(evidence.of_judge(spec.judge), spec.options)
            for i in np.flatnonzero((column.status == 0) & (units > 0)).tolist():
                result[i].setdefault(spec.key, {})["counts"] = [_plain(hits[i]), _plain(units[i])]
        for kind in spec.metric.checks(spec.options):
            first = told.setdefault((spec.judge, kind), spec.key)
            judged = evidence.of_judge(spec.judge).checks(kind)
            for found, checked in zip(result, judged, strict=True):
                if said := as_json(checked, kind):
                    entry = found.setdefault(spec.key, {})
                    entry.update(said if first == spec.key else {"see": first})
    return result


def _clusters(records: Sequence[Record], questions: Sequence[str] | None) -> NDArray[np.int64]:
    """Hashes of the groups; an item without one is its own, with the answers to its question."""
    names = [record.id for record in records] if questions is None else questions
    found = [_hash(record.group, name) for record, name in zip(records, names, strict=True)]
    return np.array(found, np.int64)


def _plain(count: float) -> int | float:
    return int(count) if count == int(count) else float(count)


def _hash(group: str | None, id_: str) -> int:
    name = f"i{id_}" if group is None else f"g{group}"
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
