"""Human labels of a build's items: tasks for annotators, majority votes, counts.

Source: FaithEval 3.2 (items that a majority finds right are kept), Truly-Ground A.2, A.5,
KaLMA C.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.wings.labeling import AnnotationTask, Label
from trueground.wings.papers.builders.base import BatchStage, Rejected
from trueground.wings.papers.builders.directory import ANNOTATE

_YES_NO = frozenset(("yes", "no"))
# A field with more different values has free texts. Only their number is reported.
MAX_LISTED_VALUES = 12
JudgeLabels = Mapping[str, Mapping[str, str]]  # task id → field → label of a judge
REASONS: Mapping[str, str] = {
    "unlabeled": "people have not decided about it",
    "voted_down": "most people find that it is not right",
}


class PeopleLabels:
    """The tasks for annotators that items have, and their labels.

    The declaration of a kind of task names the fields that must be yes (`Kind.keeps`).
    """

    def __init__(
        self,
        kinds: Sequence[str],
        tasks_of: Callable[[Any], Iterable[AnnotationTask]],
        labels: Path | None,
    ) -> None:
        """Read the labels.

        Args:
            kinds: The kinds of the tasks.
            tasks_of: `tasks_of(item)` returns all tasks of an item.
            labels: The file of merged labels, if there is one.

        Raises:
            InputError: The file has no labels of these kinds, or is damaged.
        """
        self.file = labels
        self.labels: dict[str, dict[str, Label]] = {}
        if labels is not None:
            for kind in kinds:
                labels_of_kind = Label.read(labels, kind)
                if labels_of_kind:
                    self.labels[kind] = labels_of_kind
            if not self.labels:
                raise InputError(
                    f"--labels {labels}: found no label of the kinds {', '.join(kinds)}; expected "
                    "the file that `trueground annotate import` wrote for tasks of this build"
                )
        self._tasks_of = tasks_of
        self.asked: Sequence[Any] = ()
        self._before: Sequence[Any] = ()

    @property
    def tasks(self) -> list[AnnotationTask]:
        """The tasks of all items that were voted on, including those voted down."""
        return list(chain.from_iterable(map(self._tasks_of, self.asked)))

    def stage(self, kind: type[Any]) -> BatchStage[Any, Any]:
        """Return the stage that sets the tasks and, if there are labels, applies the majority."""
        doc = "Follow the majority of people" if self.labels else "Set the tasks for annotators"
        reasons = REASONS if self.labels else {}
        return BatchStage("people", doc, kind, self._work, reasons)

    def account(
        self, judge_labels: Callable[[Any, AnnotationTask], Mapping[str, str]]
    ) -> dict[str, Any] | None:
        """Return the counts of the labels of all items that were voted on.

        The agreement with the judge includes items that people voted down.

        Args:
            judge_labels: `judge_labels(item, task)` returns a judge model's labels of a task by
                field, {} if it has none.

        Returns:
            {"kinds": the result of `count_labels`}, or None without labels.
        """
        if not self.labels:
            return None
        tasks: list[AnnotationTask] = []
        labels_by_judge: dict[str, Mapping[str, str]] = {}
        for item in self.asked:
            for task in self._tasks_of(item):
                tasks.append(task)
                if self.label(task):
                    labels_by_judge[task.id] = judge_labels(item, task)
        return {"kinds": count_labels(tasks, self.labels, labels_by_judge)}

    def label(self, task: AnnotationTask) -> Label | None:
        """Return the label of a task; None if there is none, or if it is for another text."""
        return self.labels.get(task.kind, {}).get(task.id)

    def decided_before(self, items: Sequence[Any]) -> None:
        """Add items that were dropped in an earlier stage because of their labels."""
        self._before = list(items)

    def _work(self, items: Sequence[Any]) -> list[Any]:
        self.asked = [*self._before, *items]
        if not self.labels:
            return list(items)
        if not any(map(self.label, self.tasks)) and self.asked:
            raise InputError(
                f"--labels {self.file}: none of its labels is for a task of this build; expected "
                "ids in the files of its annotate/ folder. The labels may be for other texts"
            )
        return [self._voted(item) for item in items]

    def _voted(self, item: Any) -> Any:
        for task in self._tasks_of(item):
            if task.kind not in self.labels:
                continue
            label = self.label(task)
            for field in task.required_fields:
                value = None if label is None else label.values.get(field)
                if value is None:
                    detail = "no label" if label is None else f"{field} is not decided"
                    return Rejected("unlabeled", f"{task.id}: {detail}", item, id=item.id)
                if value != "yes":
                    return Rejected("voted_down", f"{task.id}: {field} {value}", item, id=item.id)
        return item


def count_labels(
    tasks: Iterable[AnnotationTask],
    labels: Mapping[str, Mapping[str, Label]],
    judge_labels: JudgeLabels,
) -> Any:
    """Count the labels of each kind of task that has labels.

    Args:
        tasks: The tasks.
        labels: The human labels by kind and task id.
        judge_labels: The labels of a judge by task id and field.

    Returns:
        [{"kind", "tasks", "labeled", "annotators": {"3": 12}, "fields": [{"field", "decided",
        "values", "how", "confirmed", "judge"}]}]. `confirmed` is the number of yes in a field that
        must be yes, None in other fields. `judge` is the agreement in the tasks that a judge
        labeled, too: {"n", "raw", "kappa", "kappa_ci"}; None if there are none.
    """
    tasks_by_kind: dict[str, list[AnnotationTask]] = {}
    for task in tasks:
        tasks_by_kind.setdefault(task.kind, []).append(task)
    accounts = []
    for kind, tasks_of_kind in tasks_by_kind.items():
        all_labels = labels.get(kind, {})
        labels_of_kind = {
            task.id: all_labels[task.id] for task in tasks_of_kind if task.id in all_labels
        }
        if labels_of_kind:
            counts = _count_labels(labels_of_kind, tasks_of_kind[-1].required_fields, judge_labels)
            accounts.append({"kind": kind, "tasks": len(tasks_of_kind), **counts})
    return accounts


def _count_labels(
    labels: Mapping[str, Label], required: Sequence[str], judge_labels: JudgeLabels
) -> dict[str, Any]:
    annotators: Counter[str] = Counter()
    names: set[str] = set()
    for label in labels.values():
        names.update(label.values, label.how)
        if label.annotators:
            annotators[str(label.annotators)] += 1
    return {
        "labeled": len(labels),
        "annotators": dict(sorted(annotators.items())),
        "fields": [_count_field(name, labels, required, judge_labels) for name in sorted(names)],
    }


def _count_field(
    name: str, labels: Mapping[str, Label], required: Sequence[str], judge_labels: JudgeLabels
) -> dict[str, Any]:
    values: Counter[str] = Counter()
    decisions: Counter[str] = Counter()
    for label in labels.values():
        if name in label.values:
            values[_format_label(label.values[name])] += 1
        if name in label.how:
            decisions[label.how[name]] += 1
    counts = dict(sorted(values.items()))
    if len(values) > MAX_LISTED_VALUES:
        counts = {"different answers": len(values)}
    return {
        "field": name,
        "decided": values.total(),
        "values": counts,
        "how": dict(sorted(decisions.items())),
        "confirmed": values["yes"] if name in required else None,
        "judge": _compare_with_judge(name, labels, judge_labels),
    }


def _compare_with_judge(
    name: str, labels: Mapping[str, Label], judge_labels: JudgeLabels
) -> dict[str, Any] | None:
    """Return the agreement of people and judge about a yes-no field."""
    pairs = []
    for id_, label in labels.items():
        by_judge = judge_labels.get(id_, {})
        if name in label.values and name in by_judge:
            a, b = by_judge[name], _format_label(label.values[name])
            if {a, b} <= _YES_NO:
                pairs.append((a == "yes", b == "yes"))
    if not pairs:
        return None
    from trueground.stats import TwoJudges

    agreement = TwoJudges.of(pairs)
    interval = None if agreement.kappa_ci is None else list(agreement.kappa_ci)
    return {
        "n": agreement.n,
        "raw": agreement.agreement,
        "kappa": agreement.kappa,
        "kappa_ci": interval,
    }


def _format_label(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def read_people(folder: Path, labels: Path) -> dict[str, Any]:
    """Return the counts of merged labels for the tasks of a build.

    Args:
        folder: The folder of the build.
        labels: The file of merged labels.

    Returns:
        {"file", "unknown": the number of labels for other tasks, "kinds": as `count_labels`}.

    Raises:
        InputError: The labels can't be read, the build has no tasks, or all labels are for
            other tasks.
    """
    paths = [folder / ANNOTATE / name for name in AnnotationTask.file_names()]
    files = {file.stem: file for file in paths if file.exists()}
    tasks: list[AnnotationTask] = []
    for file in files.values():
        try:
            tasks += msgspec.json.Decoder(AnnotationTask).decode_lines(file.read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"{file} can't be read: {error}; run the build again") from None
    if not tasks:
        raise InputError(f"{folder} has no tasks in {ANNOTATE}/, so it can't have labels")
    labels_by_kind = {kind: Label.read(labels, kind) for kind in files}
    kinds = count_labels(tasks, labels_by_kind, {})
    if not kinds:
        raise InputError(
            f"{labels}: no label is for a task of {folder}; expected ids of the tasks in "
            f"{folder / ANNOTATE}, merged by `trueground annotate import`"
        )
    n_labels = sum(map(len, labels_by_kind.values()))
    unknown = n_labels - sum(kind["labeled"] for kind in kinds)
    return {"file": labels.name, "unknown": unknown, "kinds": kinds}
