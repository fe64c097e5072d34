"""One batch of records → lines for items.jsonl, and numbers for the summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from trueground.errors import fails_alone
from trueground.evaluate.plan import Plan
from trueground.evaluate.table import QuestionRule, Scored, answer_hash
from trueground.metrics import (
    AnswerVerdict,
    BatchContext,
    ClaimCheck,
    Column,
    Results,
    Role,
    Spec,
)
from trueground.net import raised
from trueground.records import field_text
from trueground.text import hash_text
from trueground.types import (
    Answered,
    Failure,
    ReasonKind,
    Record,
    Status,
)

T = TypeVar("T")
NONE = "(none)"
_KINDS = list(ReasonKind)
Failures = Sequence[Failure | None]


def new_results(plan: Plan) -> Results:
    """No answers yet, under a plan."""
    splitting = [check for check in plan.checks if check.splits]
    return Results(
        skip_when_abstained=plan.spare,
        skip_splitting_abstained=plan.spare.issuperset(splitting),
    )


def collect_results(plan: Plan, context: BatchContext) -> None:
    """Ask the components of the plan what its metrics need to know about this batch.

    Requests that are answered already aren't asked again.
    """
    answers = context.results.answers
    specs = (*plan.specs, *plan.hidden)
    queries = list(dict.fromkeys(query for spec in specs for query in spec.queries))
    if any(isinstance(query, ClaimCheck) and query.splits for query in queries):
        texts = _requests_of(lambda: context.texts_to_split)
        plan.components.decomposer.answer_once(texts, answers[Role.decomposer()])
    requests: dict[Role, list[Any]] = {}
    for query in queries:
        asked = _requests_of(query.list_requests, context)
        for role in query.roles(len(plan.components.judges)):
            requests.setdefault(role, []).extend(asked)
    for role in sorted(requests, key=_turn):
        if requests[role]:
            plan.components.component(role).answer_once(requests[role], answers[role])


def _turn(role: Role) -> int:
    """When a role is asked: judges first, then the rater, then comparers."""
    return ("judge", "rater", "comparer").index(role.kind)


def _requests_of(make: Callable[..., Sequence[T | None]], *args: Any) -> list[T]:
    """Return the requests of all items, or an empty list if making them fails.

    The metric that needs them will fail for the same reason.
    """
    try:
        return [request for request in make(*args) if request is not None]
    except BaseException as error:
        if not fails_alone(error):
            raise
        return []


class _BatchNumbers(NamedTuple):
    """Of some records in a row: values and status (n, width), lines of items.jsonl, counts."""

    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    lines: bytes
    agreement: NDArray[np.int64]
    reasons: NDArray[np.int64]


class Scorer:
    """Scores batches under a plan; has no state between them.

    Where a batch fails as a whole, its halves are scored, down to the item that is in the way: of
    that one the metrics that fail have the status `error`. What was judged, rated and compared is
    known meanwhile, so that nobody is asked twice.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._encoder = msgspec.json.Encoder()

    def __call__(self, records: Sequence[Record]) -> Scored:
        """Score one batch."""
        plan = self.plan
        numbers = self._score(records, new_results(plan))
        rule = None if plan.repeats_of is None else QuestionRule(plan.repeats_of)
        questions = None if rule is None else [rule.read(record) for record in records]
        names = [record.id for record in records] if questions is None else questions
        clusters = [  # an item without a group is its own, with the answers to its question
            hash_text(f"i{name}" if record.group is None else f"g{record.group}")
            for record, name in zip(records, names, strict=True)
        ]
        there = [not (isinstance(r, Answered) and r.failure is not None) for r in records]
        pairs = list(zip(records, there, strict=True))
        answerable = [-1 if r.answerable is None or not ok else r.answerable for r, ok in pairs]
        return Scored(
            n=len(records),
            items=numbers.lines,
            records=self._encoder.encode_lines(records) if plan.keep_records else b"",
            values=numbers.values,
            status=numbers.status,
            clusters=np.array(clusters, np.int64),
            answerable=np.array(answerable, np.int8),
            by=[[field_text(r, field) or NONE for r in records] for field in plan.by],
            empty=sum(ok and not r.response.strip() for r, ok in pairs),
            agreement=numbers.agreement,
            reasons=numbers.reasons,
            questions=questions,
            answers=None if rule is None else np.array(list(map(answer_hash, records)), np.int64),
        )

    def _score(self, records: Sequence[Record], results: Results) -> _BatchNumbers:
        """All numbers of the records; without those that cannot be computed."""
        try:
            return self._score_together(records, results)
        except BaseException as error:
            if not fails_alone(error):
                raise
        if len(records) == 1:
            return self._score_together(records, results, alone=True)
        middle = len(records) // 2
        halves = [self._score(part, results) for part in (records[:middle], records[middle:])]
        return _BatchNumbers(
            np.concatenate([half.values for half in halves]),
            np.concatenate([half.status for half in halves]),
            b"".join(half.lines for half in halves),
            halves[0].agreement + halves[1].agreement,
            halves[0].reasons + halves[1].reasons,
        )

    def _score_together(
        self, records: Sequence[Record], results: Results, alone: bool = False
    ) -> _BatchNumbers:
        """The numbers of these records; of a record that is `alone` what fails is left out."""
        plan = self.plan
        failures = [r.failure if isinstance(r, Answered) else None for r in records]
        failed = np.array([failure is not None for failure in failures], np.bool_)
        context = BatchContext.of(_without_failed(records, failures), results)
        collect_results(plan, context)
        evidence = ItemEvidence(len(records))
        compute = evidence.column_of_one if alone else evidence.column
        columns = [
            _unscored(compute(spec, context, number < len(plan.specs)), failures, failed)
            for number, spec in enumerate((*plan.specs, *plan.hidden))
        ]
        for i, failure in enumerate(failures):
            if failure is not None:
                evidence.items[i] = {key: {"reason": failure.reason} for key in plan.keys}
        agreement, reasons = _no_counts(plan)
        try:
            agreement, reasons = (
                count(plan, context, failed) for count in (count_verdict_pairs, count_reasons)
            )
        except BaseException as error:
            if not (alone and fails_alone(error)):
                raise
        return _BatchNumbers(
            np.column_stack([c.values for c in columns]),
            np.column_stack([c.status for c in columns]),
            _lines(plan, records, columns, evidence.items),
            agreement,
            reasons,
        )


class ItemEvidence:
    """For each item the evidence by metric; what two metrics share stands at the first of them."""

    def __init__(self, n: int) -> None:
        self.items: list[dict[str, Any]] = [{} for _ in range(n)]
        self._first: dict[object, str] = {}

    def column(self, spec: Spec, context: BatchContext, shown: bool) -> Column:
        """The metric's values; where they are to be shown, its evidence is added to the items."""
        column = spec.column(context)
        if (~np.isfinite(column.values) & (column.status == 0)).any():
            raise ValueError(
                "its value is not a finite number; give such an item a status (Column.without)"
            )
        if shown:
            self._add(spec, context.of_judge(spec.judge), column)
        return column

    def column_of_one(self, spec: Spec, context: BatchContext, shown: bool) -> Column:
        """The same for a single item; the status `error`, with its reason, where it fails."""
        before, first = dict(self.items[0]), dict(self._first)
        try:
            column = self.column(spec, context, shown)
            if column.values.shape != (1,) or column.status.shape != (1,):
                raise ValueError(f"{len(column.values)} values for 1 item")
            orjson.dumps(self.items[0])  # what cannot be written is an error of this metric
        except BaseException as error:
            if not fails_alone(error):
                raise
            reason = f"the metric failed: {raised(error)}"
            self.items[0], self._first = before | {spec.key: {"reason": reason}}, first
            column = Column.of(np.zeros(1)).without(np.ones(1, np.bool_), Status.ERROR)
        return column

    def _add(self, spec: Spec, context: BatchContext, column: Column) -> None:
        metric, key, first = spec.metric, spec.key, self._first
        for item, note in zip(self.items, column.notes or (), strict=False):
            if note:
                item[key] = dict(note)
        details_of = column.details
        if details_of and first.setdefault(details_of, key) == key:
            for i, item in enumerate(self.items):
                if details := details_of(context, i):
                    item.setdefault(key, {}).update(details)
        if metric.aggregation.totals:
            hits, units = metric.aggregation.totals(context, spec.options)
            for i in np.flatnonzero((column.status == 0) & (units > 0)).tolist():
                counts = [_plain(hits[i]), _plain(units[i])]
                self.items[i].setdefault(key, {})["counts"] = counts
        for check in spec.checks:
            shown_at = first.setdefault((spec.judge, check), key)
            for item, checked in zip(self.items, context.checks(check), strict=True):
                if found := checked.evidence(check):
                    item.setdefault(key, {}).update(found if shown_at == key else {"see": shown_at})


def _plain(count: float) -> int | float:
    return int(count) if count == int(count) else float(count)


def _lines(
    plan: Plan,
    records: Sequence[Record],
    columns: Sequence[Column],
    evidence: Sequence[dict[str, Any]],
) -> bytes:
    """Lines of items.jsonl."""
    keys, at = plan.keys, plan.verdicts_at
    verdicts: list[int | None] = [None] * len(records)
    if at is not None:
        verdicts = AnswerVerdict.encode(columns[at].values, columns[at].status).tolist()
    columns = columns[: len(keys)]
    scores = zip(*(c.values.tolist() for c in columns), strict=True)
    codes = zip(*(c.status.tolist() for c in columns), strict=True)
    all_scored = dict.fromkeys(keys, Status.SCORED.value)
    statuses = list(Status)
    lines = []
    rows = zip(records, verdicts, scores, codes, evidence, strict=True)
    for record, verdict, values, status, item in rows:
        words = all_scored
        if any(status):
            words = {k: statuses[s].value for k, s in zip(keys, status, strict=True)}
        line = {
            "id": record.id,
            **({} if verdict is None else {"verdict": AnswerVerdict.NAMES[verdict]}),
            "scores": dict(zip(keys, values, strict=True)),  # NaN is written as null
            "status": words,
            "evidence": item,
        }
        lines.append(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
    return b"".join(lines)


def _without_failed(records: Sequence[Record], failures: Failures) -> Sequence[Record]:
    """The records with nothing in the place of a failed answer, so that no judge is asked of it."""
    if not any(failures):
        return records
    return [
        msgspec.structs.replace(r, response="", response_facts=[]) if failure else r
        for r, failure in zip(records, failures, strict=True)
    ]


def _unscored(column: Column, failures: Failures, failed: NDArray[np.bool_]) -> Column:
    """The column with the status of each failure in place of what was computed."""
    if not failed.any():
        return column
    codes = [failure.status.code if failure else 0 for failure in failures]
    return Column(
        np.where(failed, np.nan, column.values),
        np.where(failed, np.array(codes, column.status.dtype), column.status),
        column.notes,
    )


def _no_counts(plan: Plan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nothing counted yet: pairs of verdicts, and kinds of reasons."""
    judges = len(plan.components.judges)
    pairs = np.zeros((judges * (judges - 1) // 2, len(plan.checks), 2, 2), np.int64)
    return pairs, np.zeros(len(_KINDS), np.int64)


def count_reasons(
    plan: Plan, context: BatchContext, failed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Claims that the first judge calls unsupported by their contexts, by kind of reason (kinds,).

    Counted are the claims of the first check of that sort, of answers that came: `failed` (n,)
    tells which did not. A claim whose judge names no kind is not counted.
    """
    counts = _no_counts(plan)[1]
    check = next((check for check in plan.checks if check.splits), None)
    if check is None:
        return counts
    for checked, lost in zip(context.of_judge(0).checks(check), failed.tolist(), strict=True):
        for verdict in () if lost else checked.verdicts:
            if verdict.kind is not None:
                counts[_KINDS.index(verdict.kind)] += 1
    return counts


def count_verdict_pairs(
    plan: Plan, context: BatchContext, failed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Counts of verdicts, shape (pairs of judges, checks, 2, 2): not supported, supported.

    A verdict counts where both judges were asked and gave one, on an answer that came.
    """
    counts = _no_counts(plan)[0]
    pairs = combinations(range(len(plan.components.judges)), 2)
    for (number, judges), (place, check) in product(enumerate(pairs), enumerate(plan.checks)):
        one, other = (context.of_judge(judge).checks(check) for judge in judges)
        items = zip(context.requests(check), one, other, failed.tolist(), strict=True)
        for requests, ours, theirs, lost in items:
            if lost or isinstance(requests, Failure):
                continue
            for asked, v, w in zip(requests, ours.verdicts, theirs.verdicts, strict=True):
                if not (asked.request is None or v.supported is None or w.supported is None):
                    counts[number, place, int(v.supported), int(w.supported)] += 1
    return counts
