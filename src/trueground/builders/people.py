"""What people said of a build's items: tasks for annotators, and the vote on what stays.

Source: FaithEval 3.2 (included is what a majority finds right), Truly-Ground A.2, A.5, KaLMA C.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.annotation.base import AnnotationTask, Label
from trueground.annotation.kinds import KINDS
from trueground.annotation.labels import read_labels
from trueground.builders.base import BatchStage
from trueground.builders.quality.labels import tell
from trueground.builders.rejected import Rejected
from trueground.errors import InputError

REASONS: Mapping[str, str] = {
    "unlabelled": "people have not decided about it",
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
            read = {kind: read_labels(labels, kind) for kind in kinds}
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
        return BatchStage("people", doc, kind, kind, self._work, reasons)

    def account(
        self, judged: Callable[[Any, AnnotationTask], Mapping[str, str]]
    ) -> dict[str, Any] | None:
        """What people said of all items that came to the vote; None without labels.

        {"kinds": as quality.labels.tell}. `judged(item, task)` is what a judge model said of the
        same task, by field: {} where it was not asked. So agreement is counted over what people
        voted down too.
        """
        if not self.labels:
            return None
        pairs = [(item, task) for item in self.asked for task in self._tasks_of(item)]
        said = {task.id: judged(item, task) for item, task in pairs if self.label(task)}
        return {"kinds": tell([task for _, task in pairs], self.labels, said)}

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
            for field in KINDS[task.kind].keeps:
                said = None if label is None else label.values.get(field)
                if said is None:
                    detail = "no label" if label is None else f"{field} is not decided"
                    return Rejected("unlabelled", f"{task.id}: {detail}", item, id=item.id)
                if said != "yes":
                    return Rejected("voted_down", f"{task.id}: {field} {said}", item, id=item.id)
        return item
