"""Ids of annotation tasks, and the merged labels of their annotators."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.labels import LabelDraw, decode_lines
from trueground.records import describe

_MARK, _DIGEST = "~", 8
_canonical = msgspec.json.Encoder(order="sorted").encode


class BadAnswer(ValueError):  # noqa: N818 - one of many that are reported together
    """An invalid answer: what was found, and what was expected."""

    def __init__(self, found: Any, expected: str) -> None:
        super().__init__(f"found {describe(found)}; expected {expected}")


def make_task_id(item: str, shown: dict[str, Any]) -> str:
    """Return the id of an item's task. It changes with what annotators are shown."""
    digest = hashlib.sha256(_canonical(shown)).hexdigest()[:_DIGEST]
    return f"{item}{_MARK}{digest}"


def item_of(task: str) -> str:
    """Return the id of the item of a task."""
    return task.rpartition(_MARK)[0] or task


class Label(msgspec.Struct, omit_defaults=True):
    """The merged answers of the annotators of one task.

    Attributes:
        kind: The kind of task.
        id: The id of the task.
        values: The fields with a decision. For spans that are `open`, the words that most
            annotators marked, if there are any.
        how: How each field was decided: all `agreed`, only one answered (`single`), by `majority`,
            by the `tie` rule, or not (`open`). Texts can also be `united` (all texts of all
            annotators) or `first` (those of the first annotator). A scale has its `mean`.
            `decided`: the lead of a labeling project resolved a disagreement.
        annotators: How many annotators answered.
        drawn: How the item was sampled, if known.
    """

    kind: str
    id: str
    values: dict[str, Any] = {}
    how: dict[str, str] = {}
    annotators: int = 0
    drawn: LabelDraw | None = None

    @classmethod
    def read(cls, path: Path, kind: str) -> dict[str, Label]:
        """Return the labels of a kind of task in a file of merged labels, by task id.

        Raises:
            InputError: The file or a line can't be read, or a task comes twice.
        """
        return {id_: label for (of, id_), label in cls.read_all(path).items() if of == kind}

    @classmethod
    def read_all(cls, path: Path) -> dict[tuple[str, str], Label]:
        """Return all labels of a file of merged labels, by kind and task id.

        Raises:
            InputError: The file or a line can't be read, or a task comes twice.
        """
        labels: dict[tuple[str, str], Label] = {}
        lines: dict[tuple[str, str], int] = {}
        remedy = "expected a line that `trueground annotate import` wrote, with kind, id and values"
        for number, label in decode_lines(path, cls, "not a label", remedy):
            name = label.kind, label.id
            if name in labels:
                raise InputError(
                    f"{path}, line {number}: task {label.id!r} already has a label in line "
                    f"{lines[name]}; expected one label per task, as `trueground annotate import` "
                    "writes"
                )
            labels[name], lines[name] = label, number
        return labels

    @property
    def disputed(self) -> tuple[str, ...]:
        """The fields without a majority, even if the tie rule decided them."""
        return tuple(name for name, how in self.how.items() if how in ("open", "tie"))
