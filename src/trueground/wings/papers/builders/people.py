"""What people said of a build's items: tasks for annotators, the vote on what stays, in numbers.

Source: FaithEval 3.2 (included is what a majority finds right), Truly-Ground A.2, A.5, KaLMA C.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.wings.labeling import AnnotationTask, Label
from trueground.wings.papers.builders.base import BatchStage, Rejected
from trueground.wings.papers.builders.directory import ANNOTATE

_YES_NO = frozenset(("yes", "no"))
# A field with more different values than this holds texts: their number is told, not they.
_MOST_VALUES = 12
Judged = Mapping[str, Mapping[str, str]]  # task id → field → what a judge said
REASONS: Mapping[str, str] = {
    "unlabeled": "people have not decided about it",
    "voted_down": "most people find that it is not right",
}


class PeopleLabels:
    """The tasks that items give, and the labels that came back.

    `tasks_of(item)` are all tasks of an item, of these `kinds`. The labels are those of one file;
    a kind's fields that must be yes are in its declaration (`Kind.keeps`).
    """

    def __init__(
        self,
        kinds: Sequence[str],
        tasks_of: Callable[[Any], Iterable[AnnotationTask]],
        labels: Path | None,
    ) -> None:
        """Reads the labels. InputError: none of these kinds is in the file, or it is damaged."""
        self.file = labels
        self.labels: dict[str, dict[str, Label]] = {}
        if labels is not None:
            read = {kind: Label.read(labels, kind) for kind in kinds}
            self.labels = {kind: found for kind, found in read.items() if found}
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
        """The tasks of all items that came to the vote, those voted down included."""
        return [task for item in self.asked for task in self._tasks_of(item)]

    def stage(self, kind: type[Any]) -> BatchStage[Any, Any]:
        """The stage that sets the tasks and, where there are labels, follows the majority."""
        doc = "Follow the majority of people" if self.labels else "Set the tasks for annotators"
        reasons = REASONS if self.labels else {}
        return BatchStage("people", doc, kind, self._work, reasons)

    def account(
        self, judged: Callable[[Any, AnnotationTask], Mapping[str, str]]
    ) -> dict[str, Any] | None:
        """What people said of all items that came to the vote; None without labels.

        {"kinds": as `count_labels`}. `judged(item, task)` is what a judge model said of the
        same task, by field: {} where it was not asked. So agreement is counted over what people
        voted down too.
        """
        if not self.labels:
            return None
        pairs = [(item, task) for item in self.asked for task in self._tasks_of(item)]
        said = {task.id: judged(item, task) for item, task in pairs if self.label(task)}
        return {"kinds": count_labels([task for _, task in pairs], self.labels, said)}

    def label(self, task: AnnotationTask) -> Label | None:
        """What people said of a task; None where they did not, or said it of another text."""
        return self.labels.get(task.kind, {}).get(task.id)

    def decided_before(self, items: Sequence[Any]) -> None:
        """These fell in an earlier stage by their labels: their tasks count all the same."""
        self._before = list(items)

    def _work(self, items: Sequence[Any]) -> list[Any]:
        self.asked = [*self._before, *items]
        if not self.labels:
            return list(items)
        if not any(map(self.label, self.tasks)) and self.asked:
            raise InputError(
                f"--labels {self.file}: none of its labels is of a task of this build; expected "
                "ids that stand in its annotate/ folder. Were they given to other texts?"
            )
        return [self._voted(item) for item in items]

    def _voted(self, item: Any) -> Any:
        for task in self._tasks_of(item):
            if task.kind not in self.labels:
                continue
            label = self.label(task)
            for field in task.required_fields:
                said = None if label is None else label.values.get(field)
                if said is None:
                    detail = "no label" if label is None else f"{field} is not decided"
                    return Rejected("unlabeled", f"{task.id}: {detail}", item, id=item.id)
                if said != "yes":
                    return Rejected("voted_down", f"{task.id}: {field} {said}", item, id=item.id)
        return item


def count_labels(
    tasks: Iterable[AnnotationTask], labels: Mapping[str, Mapping[str, Label]], judged: Judged
) -> Any:
    """An account for each kind of task that has labels.

    `labels` are by kind and task id. [{"kind", "tasks", "labeled", "annotators": {"3": 12},
    "fields": [{"field", "decided", "values", "how", "confirmed", "judge"}]}]; `confirmed` counts
    the yes of fields that must be yes, None for others; `judge` tells of the tasks that a judge
    answered too {"n", "raw", "kappa", "kappa_ci"}, None where there are none.
    """
    ids: dict[str, list[str]] = {}
    examples: dict[str, AnnotationTask] = {}
    for task in tasks:
        ids.setdefault(task.kind, []).append(task.id)
        examples[task.kind] = task
    found = {
        kind: {one: labels[kind][one] for one in mine if one in labels.get(kind, {})}
        for kind, mine in ids.items()
    }
    accounts = []
    for kind, some in found.items():
        if some:
            counts = _count_labels(some, examples[kind].required_fields, judged)
            accounts.append({"kind": kind, "tasks": len(ids[kind]), **counts})
    return accounts


def _count_labels(
    labels: Mapping[str, Label], required: Sequence[str], judged: Judged
) -> dict[str, Any]:
    people = Counter(str(one.annotators) for one in labels.values() if one.annotators)
    fields = []
    for name in sorted({name for one in labels.values() for name in (*one.values, *one.how)}):
        values = Counter(
            _text_of(one.values[name]) for one in labels.values() if name in one.values
        )
        few = len(values) <= _MOST_VALUES
        how = Counter(one.how[name] for one in labels.values() if name in one.how)
        fields.append(
            {
                "field": name,
                "decided": values.total(),
                "values": dict(sorted(values.items()))
                if few
                else {"different answers": len(values)},
                "how": dict(sorted(how.items())),
                "confirmed": values["yes"] if name in required else None,
                "judge": _against_judge(name, labels, judged),
            }
        )
    return {
        "labeled": len(labels),
        "annotators": dict(sorted(people.items())),
        "fields": fields,
    }


def _against_judge(name: str, labels: Mapping[str, Label], judged: Judged) -> dict[str, Any] | None:
    both = [
        (judged[id_][name], _text_of(label.values[name]))
        for id_, label in labels.items()
        if name in label.values and name in judged.get(id_, {})
    ]
    pairs = [(one == "yes", other == "yes") for one, other in both if {one, other} <= _YES_NO]
    if not pairs:
        return None
    from trueground.stats import TwoJudges

    found = TwoJudges.of(pairs)
    ends = None if found.kappa_ci is None else list(found.kappa_ci)
    return {"n": found.n, "raw": found.agreement, "kappa": found.kappa, "kappa_ci": ends}


def _text_of(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def read_people(folder: Path, labels: Path) -> dict[str, Any]:
    """What merged labels say of the tasks of a build.

    {"file", "unknown": labels of other tasks, "kinds": as `count_labels`}. InputError: labels
    that cannot be read, a build without tasks, labels of other tasks only.
    """
    places = [folder / ANNOTATE / name for name in AnnotationTask.file_names()]
    files = {file.stem: file for file in places if file.exists()}
    tasks: list[AnnotationTask] = []
    for file in files.values():
        try:
            tasks += msgspec.json.Decoder(AnnotationTask).decode_lines(file.read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"{file} cannot be read: {error}; run the build again") from None
    if not tasks:
        raise InputError(f"{folder} has no tasks in {ANNOTATE}/, so that no label can belong to it")
    found = {kind: Label.read(labels, kind) for kind in files}
    kinds = count_labels(tasks, found, {})
    if not kinds:
        raise InputError(
            f"{labels}: no label is of a task of {folder}; expected ids that stand in "
            f"{folder / ANNOTATE}, merged by `trueground annotate import`"
        )
    unknown = sum(map(len, found.values())) - sum(one["labeled"] for one in kinds)
    return {"file": labels.name, "unknown": unknown, "kinds": kinds}
