"""Labels that stand beside the records: files of `trueground annotate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueground.annotation.answers import read_answers
from trueground.annotation.base import Field, Kind, Label
from trueground.annotation.from_records import tasks_of
from trueground.annotation.kinds import KINDS
from trueground.annotation.labels import read_labels
from trueground.annotation.lines import UNREADABLE, numbered
from trueground.errors import InputError, UsageError
from trueground.studies.labelled.rule import Votes
from trueground.types import Record

# Kinds with one task a record, by the label that they give.
_KINDS = {"faithful": "support", "correct": "correctness"}
_LABELS = {kind: label for label, kind in _KINDS.items()}


class LabelFiles:
    """Labels of one kind by task. A task's id tells what was shown: no label meets another text.

    Files are what `annotate import` wrote (one label a task), or what annotators filled in (each
    with a name, so that they can be held against each other).
    """

    def __init__(self, paths: Sequence[Path], wanted: str | None) -> None:
        """`wanted` is the label meant: "faithful" (kind support) or "correct" (correctness).

        InputError: a file that cannot be read or has labels of neither kind. UsageError.
        """
        known = ", ".join(_KINDS)
        if wanted is not None and wanted not in _KINDS:
            raise UsageError(
                f"--labels gives the labels {known}, not {wanted!r}; leave --label out"
            )
        merged = [path for path in paths if not _is_filled(path)]
        filled = [path for path in paths if path not in merged]
        answers = read_answers(filled).tasks if filled else {}
        for label in (wanted,) if wanted is not None else _KINDS:
            self.label, self._kind = label, KINDS[_KINDS[label]]
            self._votes: dict[str, Votes] = {}
            for path in merged:
                for task, found in read_labels(path, self._kind.name).items():
                    self._votes[task] = self._one(found)
            for (kind, task), given in answers.items():
                if kind == self._kind.name:
                    own = {f"{label}:{a.annotator}": self._value(a.values) for a in given}
                    self._votes[task] = {n: v for n, v in own.items() if v is not None}
            if self._votes:
                return
        raise InputError(
            f"{', '.join(map(str, paths))}: no labels of the kind "
            f"{' or '.join(_LABELS) if wanted is None else _KINDS[wanted]}; expected a file that "
            "`trueground annotate import` wrote, or one that an annotator filled in"
        )

    def of(self, record: Record, source: int) -> Votes:
        """What was said of a record of the source of that number, from 1; empty where nothing."""
        for task in tasks_of(self._kind.name, record, "gold"):
            name = getattr(task, "id", None)  # none: a record of which no task can be made
            for id_ in (name, f"{source}:{name}") if name else ():
                if id_ in self._votes:
                    return self._votes[id_]
        return {}

    def _one(self, label: Label) -> Votes:
        value = self._value(label.values)
        return {} if value is None else {self.label: value}

    def _value(self, values: Any) -> float | None:
        field = _field(self._kind)
        word = values.get(field.name)
        return None if word is None else _number(field, word)


def _field(kind: Kind) -> Field:
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
