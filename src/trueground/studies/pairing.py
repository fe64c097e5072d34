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
from trueground.text import several
from trueground.types import Status

SCORED = Status.SCORED.code
_MAX_LISTED_IDS = 3
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
    """Differences between two runs; empty if they can be compared as they are.

    Attributes:
        only_a: Number of ids that only a has; `only_b` likewise.
        first_only_a: Some of these ids; the other `first_…` likewise.
        other_questions: Number of ids with another question in b; `other_groups` likewise.
        other_fields: Field → the ids with another value in b.
        signatures: Metric → its signatures in a and b, if they differ.
        tasks: The tasks of a and b, if they differ.
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
    """One of two runs; row i of both sides is the same item.

    Attributes:
        rows: Row of each item in items.jsonl, shape (items,).
        scores: Scores of the items, in the same order.
    """

    label: str
    run: FinishedRun
    rows: Rows
    scores: Scores

    def read_ids(self, rows: Rows) -> Texts:
        """Return the ids of the first few of these items."""
        return tuple(item.id for item in read_items(self.run, rows[:_MAX_LISTED_IDS]).values())


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
    """Texts of a record that are shown with its scores.

    If a question has several answers, `id` is the question's name and `answer` the first's id.
    """

    id: str
    question: str | None = None
    response: str | None = None
    group: str | None = None
    answer: str | None = None

    @property
    def on_page(self) -> str:
        """The id of the item on the page of the run."""
        return self.id if self.answer is None else self.answer


def read_items(run: FinishedRun, rows: Rows) -> dict[int, ItemTexts]:
    """Return the texts of these rows, or only their ids if the run kept no records."""
    indices = set(rows.tolist())
    if not indices:
        return {}
    files = run.files
    lines = files.iter_records(ItemTexts) if files.has_records else files.iter_items(ItemTexts)
    items = islice(_named(run, lines), max(indices) + 1)
    return {i: item for i, item in enumerate(items) if i in indices}


def _named(run: FinishedRun, items: Iterable[ItemTexts]) -> Iterator[ItemTexts]:
    if run.questions is None:
        yield from items
        return
    for name, item in run.questions.first_answers(items):
        item.id, item.answer = name, item.id
        yield item


def common_metrics(a: FinishedRun, b: FinishedRun, requested: Sequence[str] | None) -> Texts:
    """Return the metrics of both runs in the order of a, or the requested ones.

    Micro values of whole runs are included, each after its metric.

    Raises:
        UsageError: No common metric, or a requested metric that not both runs have.
    """
    common = names_of(metric for metric in a.signatures if metric in b.signatures)
    if not common:
        raise UsageError(
            f"{a.path} and {b.path} have no metric in common: {', '.join(a.signatures)} in the "
            f"first, {', '.join(b.signatures)} in the other. Score both with the same --metrics"
        )

    def find(name: str) -> str:
        """Return the metric with that key, or the only one with that bare name."""
        matches = ResultKey.find(name, common)
        if len(matches) == 1:
            return matches[0]
        sides = [f"only in {run.path}" for run in (a, b) if name in names_of(run.signatures)]
        reason = f"{len(matches)} metrics of that name" if matches else "in neither run"
        raise UsageError(
            f"metric {name!r}: {sides[0] if sides else reason}; both runs have: {', '.join(common)}"
        )

    return tuple(common if requested is None else dict.fromkeys(map(find, requested)))


def align(a: Side, b: Side, metrics: Sequence[str]) -> Aligned:
    """Pair the items of two whole runs by their ids, and list what doesn't match."""
    _, rows_a, rows_b = np.intersect1d(
        a.scores.ids, b.scores.ids, assume_unique=True, return_indices=True
    )
    order = np.argsort(rows_a)
    rows_a, rows_b = rows_a[order], rows_b[order]
    alone_a = np.setdiff1d(a.rows, rows_a, assume_unique=True)
    alone_b = np.setdiff1d(b.rows, rows_b, assume_unique=True)
    readers = _metrics_by_field(metrics)
    in_a, in_b = _read_contents(a, rows_a, readers), _read_contents(b, rows_b, readers)
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
        signatures={
            m: (signature_a, signature_b)
            for m, signature_a, signature_b in in_both
            if signature_a != signature_b
        },
        tasks=(a.run.task, b.run.task) if a.run.task != b.run.task else None,
        other_groups=len(groups),
    )
    a = Side(a.label, a.run, rows_a, a.scores.at(rows_a))
    b = Side(b.label, b.run, rows_b, b.scores.at(rows_b))
    return Aligned(a, b, _clusters(a.scores.ids, in_a, in_b), mismatch)


def _read_contents(side: Side, rows: Rows, fields: Iterable[str]) -> dict[str, Hashes] | None:
    """Return hashes of the fields of these rows, or None if the run kept no records."""
    if not side.run.files.has_records:
        return None
    contents = side.run.read_contents(side.scores.ids, (*fields,))
    return {name: column[rows] for name, column in contents.items()} or None


def _metrics_by_field(metrics: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return each field of `FIELDS` with the metrics that need it, in the order of the fields.

    Unknown metrics, such as those of a package that isn't installed, are skipped.
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
    """Return where both have a value and the values differ, shape (items,)."""
    return np.asarray((a != NO_HASH) & (b != NO_HASH) & (a != b), np.bool_)


def _clusters(ids: Hashes, *contents: dict[str, Hashes] | None) -> Rows | None:
    """Return the groups of the common items, by the first run that has any.

    None if no run has groups, or if every group is a single item.
    """
    for columns in contents:
        if columns and (columns["group"] != NO_HASH).any():
            # An item without a group is a group of its own; its id stands for it.
            groups = np.where(columns["group"] == NO_HASH, ids, columns["group"])
            return groups if len(np.unique(groups)) < len(groups) else None
    return None


def check_alike(aligned: Aligned, allow_mismatch: bool) -> Texts:
    """Return notes on what doesn't match. Raise UsageError if mismatches aren't allowed."""
    a, b = aligned.a, aligned.b
    names = f"{a.label} = {a.run.path}, {b.label} = {b.run.path}"
    if not len(a.rows):
        raise UsageError(f"{names}: the runs have no item in common; compare runs over one set")
    differences = list(_mismatch_notes(aligned))
    fields = []
    for name, other in aligned.mismatch.other_fields.items():
        ids = f"{_count_ids(other.count)}{_first_ids(other.first, other.count)}"
        readers = ", ".join(other.readers)
        fields.append(f"other {name} in {b.label} than in {a.label} under {ids}, read by {readers}")
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
    for metric, (signature_a, signature_b) in mismatch.signatures.items():
        only = [(_only_in(signature_a, signature_b), a), (_only_in(signature_b, signature_a), b)]
        what = ", ".join(f"{parts} only in {label}" for parts, label in only if parts)
        alike.setdefault(what or "other order", []).append(metric)
    for what, metrics in alike.items():
        yield f"the signatures of {', '.join(metrics)} differ: {what}"
    if mismatch.tasks:
        task_a, task_b = (task or "none" for task in mismatch.tasks)
        yield f"the tasks differ: {task_a} in {a}, {task_b} in {b}"


def _only_in(signature: str, other: str) -> str:
    parts_of_other = other.split("|")
    return "|".join(part for part in signature.split("|") if part not in parts_of_other)


def _other_notes(aligned: Aligned) -> Iterator[str]:
    """Yield notes on groups, repeated answers, records, and settings of the models."""
    sides = a, b = aligned.a, aligned.b
    if count := aligned.mismatch.other_groups:
        yield (
            f"other groups in {b.label} than in {a.label} under {count:,} of the ids; the clusters "
            f"are the groups of {a.label}"
        )
    unknown = [s.label for s in sides if s.run.has_groups and not s.run.files.has_records]
    if aligned.clusters is None and unknown:
        yield (
            f"{' and '.join(unknown)} had groups, but the records that name them were not kept. "
            "Every item counts by itself, so intervals may be too narrow and p values too small"
        )
    for side in sides:
        if side.run.questions is None:
            if side.run.repeats_of is not None:
                yield (
                    f"{side.label} has several answers to a question, but which ones (by "
                    f"{side.run.repeats_of}) is in the records, which not all runs kept. Every "
                    "answer counts by itself, so intervals may be too narrow and p values too small"
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
    """Return how many items have each status that occurs."""
    counts = np.bincount(codes, minlength=len(Status)).tolist()
    return {status.value: n for status, n in zip(Status, counts, strict=True) if n}


def _count_ids(count: int) -> str:
    return several(count, "id")


def _first_ids(ids: Sequence[str], count: int) -> str:
    if not ids:
        return ""
    more = ", …" if count > len(ids) else ""
    return f" ({', '.join(shorten(id_) for id_ in ids)}{more})"
