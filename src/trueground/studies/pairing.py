"""Two runs side by side: which items and metrics both have, and what does not match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.records.problems import shorten
from trueground.studies.finished import NO_HASH, FinishedRun
from trueground.studies.run_level import names_of
from trueground.studies.scores import Contents, Scores, metrics_by_field, read_contents
from trueground.studies.words import read_words

_FIRST = 3
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class OtherField:
    """`count` ids have something else in this field in b; `first` names some, `readers` metrics."""

    count: int
    first: tuple[str, ...]
    readers: tuple[str, ...]


@dataclass(frozen=True)
class Mismatch:
    """What sets two runs apart; empty when they can be compared as they are.

    `only_a` and `only_b` count ids, `first_only_…` names the first of them. `other_questions`
    counts ids that have another question in b, `other_fields` (field → how many) those that were
    measured against something else, such as other references. `signatures` holds both signatures of
    each metric where they differ, `tasks` both tasks where they differ. `other_groups` counts ids
    that stand in another group in b.
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

    def sentences(self, label_a: str, label_b: str) -> list[str]:
        """One for each kind of difference."""
        told = []
        if self.only_a or self.only_b:
            named_a = _named(self.first_only_a, self.only_a)
            named_b = _named(self.first_only_b, self.only_b)
            told.append(
                f"the items differ: {_ids_in_words(self.only_a)} only in {label_a}{named_a}, "
                f"{self.only_b:,} only in {label_b}{named_b}"
            )
        if self.other_questions:
            count = _ids_in_words(self.other_questions)
            named = _named(self.first_other_questions, self.other_questions)
            told.append(f"another question in {label_b} than in {label_a} under {count}{named}")
        for metric, (a, b) in self.signatures.items():
            told.append(f"the signatures of {metric} differ: {a} in {label_a}, {b} in {label_b}")
        if self.tasks:
            task_a, task_b = (task or "none" for task in self.tasks)
            told.append(f"the tasks differ: {task_a} in {label_a}, {task_b} in {label_b}")
        return told

    def of_fields(self, label_a: str, label_b: str) -> list[str]:
        """One sentence for each field that differs."""
        return [
            f"other {name} in {label_b} than in {label_a} under {_ids_in_words(one.count)}"
            f"{_named(one.first, one.count)}, read by {', '.join(one.readers)}"
            for name, one in self.other_fields.items()
        ]


@dataclass(frozen=True)
class Aligned:
    """Row numbers in a and in b of the items that both have, in the order of a.

    `clusters` (items,) is None where no two of the items are known to be of one group.
    """

    rows_a: Rows
    rows_b: Rows
    clusters: Rows | None
    mismatch: Mismatch


def align(
    a: FinishedRun, scores_a: Scores, b: FinishedRun, scores_b: Scores, metrics: Sequence[str]
) -> Aligned:
    """Pair the items of two runs by their ids, and see what does not match."""
    order = np.argsort(scores_b.ids, kind="stable")
    sorted_b = scores_b.ids[order]
    place = np.searchsorted(sorted_b, scores_a.ids)
    place[place == len(order)] = 0
    known = sorted_b[place] == scores_a.ids if len(order) else np.zeros(len(place), np.bool_)
    rows_a, rows_b = np.flatnonzero(known), order[place[known]]
    alone_a = np.flatnonzero(~known)
    alone_b = np.setdiff1d(np.arange(len(order)), rows_b)
    readers = metrics_by_field(metrics)
    in_a = _kept(a, scores_a, rows_a, tuple(readers))
    in_b = _kept(b, scores_b, rows_b, tuple(readers))
    questions = groups = rows_a[:0]
    others: dict[str, OtherField] = {}
    if in_a and in_b:
        questions = rows_a[_differ(in_a.questions, in_b.questions)]
        groups = rows_a[_differ(in_a.groups, in_b.groups)]
        for name in readers:
            fields = rows_a[_differ(in_a.fields[name], in_b.fields[name])]
            if len(fields):
                others[name] = OtherField(len(fields), _ids(a, fields), readers[name])
    mismatch = Mismatch(
        len(alone_a),
        len(alone_b),
        _ids(a, alone_a),
        _ids(b, alone_b),
        len(questions),
        _ids(a, questions),
        others,
        {
            m: (a.signatures[m], b.signatures[m])
            for m in metrics
            if a.signatures[m] != b.signatures[m]
        },
        (a.task, b.task) if a.task != b.task else None,
        len(groups),
    )
    clusters = _clusters(scores_a.ids[rows_a], in_a, in_b)
    return Aligned(rows_a, rows_b, clusters, mismatch)


def common_metrics(a: FinishedRun, b: FinishedRun, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Metrics of both runs in the order of a, or the wanted ones. Raises UsageError.

    Micro values of whole runs are among them, each behind its metric.
    """
    common = names_of(metric for metric in a.signatures if metric in b.signatures)
    if not common:
        raise UsageError(
            f"{a.path} and {b.path} have no metric in common: {', '.join(a.signatures)} in A, "
            f"{', '.join(b.signatures)} in B. Score both with the same --metrics"
        )
    if wanted is None:
        return tuple(common)
    return tuple(dict.fromkeys(_find(name, common, a, b) for name in wanted))


def _find(name: str, common: Sequence[str], a: FinishedRun, b: FinishedRun) -> str:
    """The metric with that key, or the only one with that bare name."""
    near = [key for key in common if key.partition("(")[0] == name]
    if name in common:
        return name
    if len(near) == 1:
        return near[0]
    where = [f"only in {run.path}" for run in (a, b) if name in names_of(run.signatures)]
    found = where[0] if where else f"{len(near)} metrics of that name" if near else "in neither run"
    raise UsageError(f"metric {name!r}: {found}; both runs have: {', '.join(common)}")


def _clusters(ids: Rows, in_a: Contents | None, in_b: Contents | None) -> Rows | None:
    """The groups of the common items, by a's records, else by b's.

    None where none names one, and where every group is one item: that is no grouping.
    """
    for kept in (in_a, in_b):
        if kept and (kept.groups != NO_HASH).any():
            # An item without a group is a group of its own; its id stands for it.
            found = np.where(kept.groups == NO_HASH, ids, kept.groups)
            return found if len(np.unique(found)) < len(found) else None
    return None


def _differ(a: Rows, b: Rows) -> NDArray[np.bool_]:
    """Where both tell something, and not the same."""
    return np.asarray((a != NO_HASH) & (b != NO_HASH) & (a != b), np.bool_)


def _kept(run: FinishedRun, scores: Scores, rows: Rows, fields: Sequence[str]) -> Contents | None:
    return read_contents(run, scores.ids, fields).of(rows) if run.has_records else None


def _ids(run: FinishedRun, rows: Rows) -> tuple[str, ...]:
    return tuple(words.id for words in read_words(run, rows[:_FIRST]).values())


def _ids_in_words(count: int) -> str:
    return f"{count:,} id" if count == 1 else f"{count:,} ids"


def _named(ids: Sequence[str], count: int) -> str:
    if not ids:
        return ""
    more = ", …" if count > len(ids) else ""
    return f" ({', '.join(shorten(id_) for id_ in ids)}{more})"
