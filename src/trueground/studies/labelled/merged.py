"""Labels that stand beside the records: files of `trueground annotate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from trueground.annotation.answers import read_answers
from trueground.annotation.base import Field, TaskKind, item_of
from trueground.annotation.from_records import Pairing, parts_of
from trueground.annotation.kinds import KINDS
from trueground.annotation.labels import read_labels
from trueground.annotation.lines import UNREADABLE, numbered
from trueground.errors import InputError, UsageError
from trueground.studies.labelled.rule import Votes
from trueground.types import Record

# The label that a kind of task gives. The first of which there are any is the one that is meant.
_LABELS = {
    "support": "faithful",
    "correctness": "correct",
    "contains": "contains",
    "contains-list": "contains-list",
    "alignment": "aligned",
    "relevance": "relevant",
}
_KINDS = {label: kind for kind, label in _LABELS.items()}
_OF_RECORDS = ("support", "correctness", "relevance")  # the others ask about parts of a record
_PAIRINGS: tuple[Pairing, ...] = ("gold", "response")


class LabelFiles:
    """Labels by task. A task's id tells what was shown: no label meets another text.

    Files are what `annotate import` wrote (one label a task), or what annotators filled in (each
    with a name, so that they can be held against each other).
    """

    def __init__(self, paths: Sequence[Path], wanted: str | None, *, claims: bool = False) -> None:
        """`wanted` is the label meant, such as "faithful" (kind support) or "aligned" (alignment).

        With `claims` parts of records are claims with their texts, as judges are asked.

        InputError: a file that cannot be read or has no such labels. UsageError.
        """
        known = ", ".join(_KINDS)
        if wanted is not None and wanted not in _KINDS:
            raise UsageError(
                f"--labels gives the labels {known}, not {wanted!r}; leave --label out"
            )
        self._claims = claims
        self._votes = {kind: votes for kind in _LABELS if (votes := _votes(kind, paths))}
        kind = next(iter(self._votes), None) if wanted is None else _KINDS[wanted]
        if kind not in self._votes:
            kinds = ", ".join(_LABELS) if kind is None else kind
            raise InputError(
                f"{', '.join(map(str, paths))}: no labels of the kind {kinds}; expected a file "
                "that `trueground annotate import` wrote, or one that an annotator filled in"
            )
        self._kind = kind
        self.label = _LABELS[kind]
        self.of_parts = kind not in _OF_RECORDS
        self._labelled = {
            item_of(task).rpartition("#")[0] for task in self._votes[kind] if self.of_parts
        }

    def labelled(self, record: Record, source: int) -> Iterator[Record]:
        """A record of the source of that number (from 1) with what was said of it in `human`.

        Where labels are of parts of records, each part that anybody labelled, as a record.
        """
        human: dict[str, float] = {}
        for kind in self._votes:
            if kind in _OF_RECORDS:
                human |= self._said(kind, record, source)
        others = {n: v for n, v in (record.human or {}).items() if not self._is_own(n)}
        record = replace(record, human={**others, **human})
        if not self.of_parts:
            yield record
        elif not self._labelled.isdisjoint((record.id, f"{source}:{record.id}")):
            for task, part in self._parts(self._kind, record):
                if votes := self._of(self._kind, task, source):
                    yield replace(part, human={**(record.human or {}), **votes})

    def _is_own(self, name: str) -> bool:
        """Whether a label in the records gives way to those in files."""
        return name.partition(":")[0] == self.label

    def _said(self, kind: str, record: Record, source: int) -> Votes:
        """What was said of a whole record; of a task for each passage the highest."""
        found: dict[str, float] = {}
        for task, _ in self._parts(kind, record):
            for name, value in self._of(kind, task, source).items():
                found[name] = max(value, found.get(name, value))
        return found

    def _parts(self, kind: str, record: Record) -> Iterator[tuple[str, Record]]:
        seen: set[str] = set()
        for pairing in _PAIRINGS:
            for task, part in parts_of(kind, record, pairing, claims=self._claims):
                if task not in seen:
                    seen.add(task)
                    yield task, part

    def _of(self, kind: str, task: str, source: int) -> Votes:
        votes = self._votes[kind]
        return votes.get(task) or votes.get(f"{source}:{task}") or {}


def _votes(kind: str, paths: Sequence[Path]) -> dict[str, Votes]:
    """What was said in files of a kind, by task: by all together, or by each annotator."""
    found: dict[str, Votes] = {}
    field, label = _field(KINDS[kind]), _LABELS[kind]
    filled = [path for path in paths if _is_filled(path)]
    for path in paths:
        if path not in filled:
            for task, merged in read_labels(path, kind).items():
                if (word := merged.values.get(field.name)) is not None:
                    found[task] = {label: _number(field, word)}
    for (of, task), given in (read_answers(filled).tasks if filled else {}).items():
        if of == kind:
            found[task] = {
                f"{label}:{one.annotator}": _number(field, one.values[field.name])
                for one in given
                if field.name in one.values
            }
    return found


def _field(kind: TaskKind) -> Field:
    return kind.fields[0]


def _number(field: Field, word: str) -> float:
    """1 for the highest option, 0 for the lowest, which stands last; evenly between."""
    last = len(field.options) - 1
    return (last - field.options.index(word)) / last


def _is_filled(path: Path) -> bool:
    """Whether a file is one that an annotator fills in."""
    if path.suffix.lower() == ".csv":
        return True
    for _, line in numbered(path):
        try:
            first = msgspec.json.decode(line)
        except UNREADABLE:
            return False
        return isinstance(first, dict) and "answer" in first
    return False
