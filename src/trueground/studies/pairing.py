"""Two finished runs side by side: the items and metrics that both have, and what does not match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.components import ResultKey
from trueground.errors import UsageError
from trueground.metrics import METRICS
from trueground.records import shorten
from trueground.studies.finished import FIELDS, NO_HASH, FinishedRun, Hashes, Scores
from trueground.studies.run_level import names_of
from trueground.types import Status

SCORED = Status.SCORED.code
_FIRST = 3  # ids that a sentence names
Rows = NDArray[np.int64]
Texts = tuple[str, ...]


@dataclass(frozen=True)
class OtherField:
    """`count` ids have something else in this field in b; `first` names some, `readers` metrics."""

    count: int
    first: tuple[str, ...]
    readers: tuple[str, ...]


@dataclass(frozen=True)
class Mismatch:
    """What sets two runs apart; empty when they can be compared as they are.

    `only_a` and `only_b` count ids; `other_questions`, `other_groups` and `other_fields` (by field)
    those with something else in b. `first_…` name some. `signatures` holds both of each metric
    where they differ, `tasks` likewise.
    """

    only_a: int = 0
    only_b: int = 0
    first_only_a: tuple[str, ...] = ()
    first_only_b: tuple[str, ...] = ()
    other_questions: int = 0
    first_other_questions: tuple[str, ...] = ()
    other_fields: dict[str, OtherField] = field(default_factory=dict)
    signatures: dict[str, tuple[str, str]] = field(default_factory=dict)
    tasks: tuple[str | None, str | None] | None = None
    other_groups: int = 0


@dataclass(frozen=True)
class Side:
    """One of two runs under its letter; row i of both sides is one item that both have.

    `rows` are the places of the items in items.jsonl, `scores` their numbers.
    """

    label: str
    run: FinishedRun
    rows: Rows
    scores: Scores

    def read_ids(self, rows: Rows) -> Texts:
        """The first few of these items by name."""
        return tuple(item.id for item in read_items(self.run, rows[:_FIRST]).values())


@dataclass(frozen=True)
class Aligned:
    """Two runs over the items that both have, in the order of a.

    `clusters` (items,) is None where no two of the items are known to be of one group.
    """

    a: Side
    b: Side
    clusters: Rows | None
    mismatch: Mismatch


class ItemTexts(msgspec.Struct):
    """What of a record is shown beside its scores.

    Of a question with several answers `id` is the question's name, `answer` the id of the first.
    """

    id: str
    question: str | None = None
    response: str | None = None
    group: str | None = None
    answer: str | None = None

    @property
    def on_page(self) -> str:
        """Under which id the page of the run shows it."""
        return self.id if self.answer is None else self.answer


def read_items(run: FinishedRun, rows: Rows) -> dict[int, ItemTexts]:
    """The texts of these rows, or only their ids where the run kept no records."""
    wanted = set(rows.tolist())
    if not wanted:
        return {}
    files = run.files
    lines = files.iter_records(ItemTexts) if files.has_records else files.iter_items(ItemTexts)
    items = islice(_named(run, lines), max(wanted) + 1)
    return {i: item for i, item in enumerate(items) if i in wanted}


def _named(run: FinishedRun, items: Iterable[ItemTexts]) -> Iterator[ItemTexts]:
    if run.questions is None:
        yield from items
        return
    for name, item in run.questions.first_answers(items):
        item.id, item.answer = name, item.id
        yield item


def common_metrics(a: FinishedRun, b: FinishedRun, wanted: Sequence[str] | None) -> Texts:
    """Metrics of both runs in the order of a, or the wanted ones. Raises UsageError.

    Micro values of whole runs are among them, each behind its metric.
    """
    common = names_of(metric for metric in a.signatures if metric in b.signatures)
    if not common:
        raise UsageError(
            f"{a.path} and {b.path} have no metric in common: {', '.join(a.signatures)} in the "
            f"first, {', '.join(b.signatures)} in the other. Score both with the same --metrics"
        )

    def find(name: str) -> str:
        """The metric with that key, or the only one with that bare name."""
        near = ResultKey.find(name, common)
        if len(near) == 1:
            return near[0]
        where = [f"only in {run.path}" for run in (a, b) if name in names_of(run.signatures)]
        reason = f"{len(near)} metrics of that name" if near else "in neither run"
        raise UsageError(
            f"metric {name!r}: {where[0] if where else reason}; both runs have: {', '.join(common)}"
        )

    return tuple(common if wanted is None else dict.fromkeys(map(find, wanted)))


def align(a: Side, b: Side, metrics: Sequence[str]) -> Aligned:
    """Pair the items of two whole runs by their ids, and tell what does not match."""
    _, rows_a, rows_b = np.intersect1d(
        a.scores.ids, b.scores.ids, assume_unique=True, return_indices=True
    )
    order = np.argsort(rows_a)
    rows_a, rows_b = rows_a[order], rows_b[order]
    alone_a = np.setdiff1d(a.rows, rows_a, assume_unique=True)
    alone_b = np.setdiff1d(b.rows, rows_b, assume_unique=True)
    readers = _metrics_by_field(metrics)
    in_a, in_b = (
        {name: column[rows] for name, column in contents.items()}
        if side.run.files.has_records
        and (contents := side.run.read_contents(side.scores.ids, (*readers,)))
        else None
        for side, rows in ((a, rows_a), (b, rows_b))
    )
    questions = groups = rows_a[:0]
    others: dict[str, OtherField] = {}
    if in_a and in_b:
        questions = rows_a[_differ(in_a["question"], in_b["question"])]
        groups = rows_a[_differ(in_a["group"], in_b["group"])]
        for name, metrics_of in readers.items():
            rows = rows_a[_differ(in_a[name], in_b[name])]
            if len(rows):
                others[name] = OtherField(len(rows), a.read_ids(rows), metrics_of)
    in_both = [(m, a.run.signatures[m], b.run.signatures[m]) for m in metrics]
    mismatch = Mismatch(
        only_a=len(alone_a),
        only_b=len(alone_b),
        first_only_a=a.read_ids(alone_a),
        first_only_b=b.read_ids(alone_b),
        other_questions=len(questions),
        first_other_questions=a.read_ids(questions),
        other_fields=others,
        signatures={m: (mine, other) for m, mine, other in in_both if mine != other},
        tasks=(a.run.task, b.run.task) if a.run.task != b.run.task else None,
        other_groups=len(groups),
    )
    a = Side(a.label, a.run, rows_a, a.scores.at(rows_a))
    b = Side(b.label, b.run, rows_b, b.scores.at(rows_b))
    return Aligned(a, b, _clusters(a.scores.ids, in_a, in_b), mismatch)


def _metrics_by_field(metrics: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Field of `FIELDS` → those of these metrics that need it, in the order of the fields.

    A metric that is not known here, such as one of a package that is not installed, tells nothing.
    """
    readers: dict[str, list[str]] = {name: [] for name in FIELDS}
    for metric in metrics:
        try:
            needs = METRICS.parse(ResultKey.parse(metric).spec).needs
        except UsageError:
            continue
        for need in needs:
            if need in readers:
                readers[need].append(metric)
    return {name: tuple(keys) for name, keys in readers.items() if keys}


def _differ(a: Rows, b: Rows) -> NDArray[np.bool_]:
    """Where both tell something, and not the same."""
    return np.asarray((a != NO_HASH) & (b != NO_HASH) & (a != b), np.bool_)


def _clusters(ids: Hashes, *contents: dict[str, Hashes] | None) -> Rows | None:
    """The groups of the common items, by the first records that name any.

    None where none names one, and where every group is one item: that is no grouping.
    """
    for one in contents:
        if one and (one["group"] != NO_HASH).any():
            # An item without a group is a group of its own; its id stands for it.
            groups = np.where(one["group"] == NO_HASH, ids, one["group"])
            return groups if len(np.unique(groups)) < len(groups) else None
    return None


def check_alike(aligned: Aligned, allow_mismatch: bool) -> Texts:
    """What does not match, and what else to know. UsageError where it is not allowed."""
    a, b = aligned.a, aligned.b
    names = f"{a.label} = {a.run.path}, {b.label} = {b.run.path}"
    if not len(a.rows):
        raise UsageError(f"{names}: the runs have no item in common; compare runs over one set")
    differences = list(_mismatch_notes(aligned))
    fields = [
        f"other {name} in {b.label} than in {a.label} under {_count_ids(one.count)}"
        f"{_first_ids(one.first, one.count)}, read by {', '.join(one.readers)}"
        for name, one in aligned.mismatch.other_fields.items()
    ]
    # One benchmark task with other options may give other texts.
    if a.run.task is None or a.run.task != b.run.task or a.run.options == b.run.options:
        differences, fields = differences + fields, []
    if differences and not allow_mismatch:
        raise UsageError(
            "; ".join([f"{names}: these runs do not match", *differences])
            + ". Pass --allow-mismatch to compare what both have."
        )
    return (*differences, *fields, *_other_notes(aligned))


def _mismatch_notes(aligned: Aligned) -> Iterator[str]:
    a, b, mismatch = aligned.a.label, aligned.b.label, aligned.mismatch
    if mismatch.only_a or mismatch.only_b:
        yield (
            f"the items differ: {_count_ids(mismatch.only_a)} only in {a}"
            f"{_first_ids(mismatch.first_only_a, mismatch.only_a)}, {mismatch.only_b:,} only in {b}"
            f"{_first_ids(mismatch.first_only_b, mismatch.only_b)}"
        )
    if count := mismatch.other_questions:
        yield (
            f"another question in {b} than in {a} under {_count_ids(count)}"
            f"{_first_ids(mismatch.first_other_questions, count)}"
        )
    alike: dict[str, list[str]] = {}
    for metric, (mine, other) in mismatch.signatures.items():
        only = [(_only_in(mine, other), a), (_only_in(other, mine), b)]
        what = ", ".join(f"{parts} only in {label}" for parts, label in only if parts)
        alike.setdefault(what or "other order", []).append(metric)
    for what, metrics in alike.items():
        yield f"the signatures of {', '.join(metrics)} differ: {what}"
    if mismatch.tasks:
        task_a, task_b = (task or "none" for task in mismatch.tasks)
        yield f"the tasks differ: {task_a} in {a}, {task_b} in {b}"


def _only_in(signature: str, other: str) -> str:
    theirs = other.split("|")
    return "|".join(part for part in signature.split("|") if part not in theirs)


def _other_notes(aligned: Aligned) -> Iterator[str]:
    """On groups, repeated answers, records, and how the models were asked."""
    sides = a, b = aligned.a, aligned.b
    if count := aligned.mismatch.other_groups:
        yield (
            f"other groups in {b.label} than in {a.label} under {count:,} of the ids; the clusters "
            f"are the groups of {a.label}"
        )
    unknown = [s.label for s in sides if s.run.has_groups and not s.run.files.has_records]
    if aligned.clusters is None and unknown:
        yield (
            f"{' and '.join(unknown)} had groups, but these stand in the records, which were not "
            "kept: every item counts by itself, so intervals and p values may be too narrow and "
            "too small"
        )
    for side in sides:
        if side.run.questions is None:
            if side.run.repeats_of is not None:
                yield (
                    f"{side.label} has several answers to a question, but which ones (by "
                    f"{side.run.repeats_of}) stands in the records, which not all runs kept: every "
                    "answer counts by itself, so intervals and p values may be too narrow and too "
                    "small"
                )
        elif (counts := side.run.questions.answer_counts)[1] > 1:
            most = f"{counts[1]:,}" if counts[0] == counts[1] else f"up to {counts[1]:,}"
            yield (
                f"{side.label} has {most} answers to each question: each question counts once, by "
                "the mean over its answers; texts and links are those of the first"
            )
    if not (a.run.files.has_records and b.run.files.has_records):
        yield (
            "not both runs kept their records: whether questions, contexts and references are the "
            "same was not seen"
        )
    in_a, in_b = a.run.options, b.run.options
    for name in sorted(in_a.keys() | in_b.keys()):
        if in_a.get(name) != in_b.get(name):
            yield f"{name} is {in_a.get(name)!r} in {a.label}, {in_b.get(name)!r} in {b.label}"


def count_statuses(codes: NDArray[np.uint8]) -> dict[str, int]:
    """How many of the items have each status, without those that none has."""
    counts = np.bincount(codes, minlength=len(Status)).tolist()
    return {status.value: n for status, n in zip(Status, counts, strict=True) if n}


def _count_ids(count: int) -> str:
    return f"{count:,} id{'s' * (count != 1)}"


def _first_ids(ids: Sequence[str], count: int) -> str:
    if not ids:
        return ""
    more = ", …" if count > len(ids) else ""
    return f" ({', '.join(shorten(id_) for id_ in ids)}{more})"
