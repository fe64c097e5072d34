"""Labels of tasks: files of merged labels, and the labels that tasks give to records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec

from trueground.errors import InputError
from trueground.labels import LabelDraw, LabelRule, TaskLabels
from trueground.records import UNREADABLE, DataPath, describe
from trueground.types import Record
from trueground.wings.labeling.answers import read_answers
from trueground.wings.labeling.base import Label, item_of
from trueground.wings.labeling.kinds import KINDS, TaskKind
from trueground.wings.labeling.record_parts import MissingPart, TaskPart

# The kinds that give labels, the most telling first: the first label in the files counts. If two
# kinds give a record the same label, the first kind does.
_FIRST = ("support", "span", "correctness", "contains", "contains-list", "alignment", "relevance")
_KINDS = [KINDS[name] for name in dict.fromkeys((*_FIRST, *KINDS)) if KINDS[name].label]


class AnnotateLabels(TaskLabels, name="annotate"):
    """Labels in files of `annotate import` (one per task) and in files that annotators filled in.

    The label of each annotator has the annotator's name, so that they can be compared.
    """

    kinds: ClassVar[Mapping[str, str]] = {kind.name: kind.label for kind in _KINDS}
    scopes: ClassVar = {kind.label: kind.label_of for kind in _KINDS}

    @classmethod
    def recognizes(cls, path: Path, first_line: bytes) -> bool:
        """Return whether a file is a sheet, or has lines with `kind`."""
        if path.suffix.lower() == ".csv":
            return True
        try:
            content = msgspec.json.decode(first_line)
        except UNREADABLE:
            return b'"kind"' in first_line
        return isinstance(content, dict) and "kind" in content

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read the files. Raises InputError."""
        self.draws: dict[str, LabelDraw] = {}
        self.changed: dict[str, str] = {}
        self._by_task: dict[str, dict[str, Mapping[str, float]]] = {
            kind.name: {} for kind in _KINDS
        }
        filled = [path for path in paths if _is_filled(path)]
        merged = [path for path in paths if path not in filled]
        for kind, task, votes, drawn in _read_votes(merged, filled):
            self._by_task[kind][task] = votes
            if drawn is not None:
                self.draws[item_of(task)] = drawn
        self._records = {kind.name: self._record_ids(kind) for kind in _KINDS}

    @property
    def labels(self) -> list[str]:
        """The labels in the files, the one that counts first."""
        return [kind.label for kind in _KINDS if self._by_task[kind.name]]

    @property
    def record_ids(self) -> set[str]:
        """The ids of whole records that the files label."""
        whole = [self._records[kind.name] for kind in _KINDS if kind.label_of == "record"]
        return set[str]().union(*whole)

    def read_votes(self, record: Record, source: int) -> Mapping[str, float]:
        """Return the labels of a whole record; of passages, the highest label counts."""
        human: dict[str, float] = {}
        for kind in (kind for kind in _KINDS if kind.label_of != "part"):
            earlier = {LabelRule.label_of(name) for name in human}
            for task in self._find_tasks(kind, record, source):
                if kind.label in earlier:
                    continue
                for name, value in task.votes.items():
                    human[name] = max(value, human.get(name, value))
        return human

    def find_parts(
        self, label: str, record: Record, source: int, *, claims: bool
    ) -> Iterator[tuple[Mapping[str, float], Record]]:
        """Yield each labeled part of a record, as a record, with its labels."""
        for kind in _KINDS:
            if kind.label == label and kind.label_of == "part":
                for task in self._find_tasks(kind, record, source):
                    yield task.votes, task.part.record(record, task.item, claims=claims)

    def _find_tasks(self, kind: TaskKind, record: Record, source: int) -> Iterator[_LabeledTask]:
        """Yield the labeled tasks of a record. Without any, its text has changed."""
        by_task = self._by_task[kind.name]
        names = self._records[kind.name] & {record.id, f"{source}:{record.id}"}
        seen: set[str] = set()
        for pairing in ("gold", "response") if names else ():
            try:
                for task, part in kind.tasks_of(record, pairing):
                    votes = by_task.get(task.id) or by_task.get(f"{source}:{task.id}")
                    if votes and task.id not in seen:
                        seen.add(task.id)
                        yield _LabeledTask(votes, part, task.item)
            except MissingPart:
                continue
        if not seen:
            self.changed |= dict.fromkeys(sorted(names), record.id)

    def _record_ids(self, kind: TaskKind) -> set[str]:
        """The ids of the records that tasks of a kind were made of."""
        items = {item_of(task) for task in self._by_task[kind.name]}
        if kind.label_of == "record":
            return items
        return {item.rpartition("#")[0] for item in items}


class _LabeledTask(NamedTuple):
    votes: Mapping[str, float]
    part: TaskPart
    item: str


def _is_filled(path: Path) -> bool:
    """Whether an annotator filled a file in, so that its lines have answers instead of labels."""
    if path.suffix.lower() == ".csv":
        return True
    with DataPath(path).open() as lines:
        first_line = next((line for line in lines if line.strip()), b"")
    try:
        return "answer" in msgspec.json.decode(first_line)
    except UNREADABLE:
        return False


def _read_votes(
    labels: Sequence[Path], filled: Sequence[Path]
) -> Iterator[tuple[str, str, Mapping[str, float], LabelDraw | None]]:
    """Kind, task, votes and draw: of all people together in `labels`, of each one in `filled`."""
    for path in labels:
        for (kind, task), merged in Label.read_all(path).items():
            if kind in KINDS and (label := KINDS[kind].label):
                try:
                    vote = KINDS[kind].vote(merged.values)
                except ValueError:
                    field = KINDS[kind].fields[0]
                    raise InputError(
                        f"{path}: the label of {task!r} says {field.name}: "
                        f"{describe(merged.values[field.name])}; expected "
                        f"{field.describe_expected(field.options)}"
                    ) from None
                if vote is not None:
                    yield kind, task, {label: vote}, merged.drawn
    for (kind, task), answers in (read_answers(filled).tasks if filled else {}).items():
        if label := KINDS[kind].label:
            votes = {
                LabelRule.name_vote(label, one.annotator): KINDS[kind].vote(one.values)
                for one in answers
            }
            known = {name: vote for name, vote in votes.items() if vote is not None}
            if known:
                yield kind, task, known, answers[0].task.drawn
