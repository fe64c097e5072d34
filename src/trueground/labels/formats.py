"""Formats of label files that other packages add: labels by task instead of by record.

A package names a module as an entry point of the group `trueground.labels`. The module registers a
subclass of `TaskLabels`: `class StarLabels(TaskLabels, name="stars")`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from trueground.components import Registry
from trueground.labels.base import LabelDraw, Votes
from trueground.types import Record

LabelScope = Literal["record", "passages", "part"]
_formats: Registry[type[TaskLabels]] = Registry("format of labels", group="trueground.labels")


class TaskLabels(ABC):
    """Labels of tasks. A task's id identifies what annotators saw, so no label meets another text.

    Attributes:
        kinds: The label that each kind of task gives. A record's first label counts.
        scopes: What each label is about: a record, its passages, or a part of a record.
        draws: How items were sampled, by their ids.
        changed: The ids in the files whose records had another text when they were labeled, each
            with the record's id now.
    """

    kinds: ClassVar[Mapping[str, str]]
    scopes: ClassVar[Mapping[str, LabelScope]]
    draws: dict[str, LabelDraw]
    changed: dict[str, str]

    def __init_subclass__(cls, *, name: str | None = None) -> None:
        """Register the format, if it has a name."""
        super().__init_subclass__()
        if name is not None:
            _formats.register(name, cls)

    @classmethod
    @abstractmethod
    def recognizes(cls, path: Path, first_line: bytes) -> bool:
        """Return whether a file has this format."""

    @abstractmethod
    def __init__(self, paths: Sequence[Path]) -> None:
        """Read the files. Raises InputError."""

    @property
    @abstractmethod
    def labels(self) -> list[str]:
        """The labels in the files, the one that counts first."""

    @property
    @abstractmethod
    def record_ids(self) -> set[str]:
        """The ids of whole records that the files label."""

    @abstractmethod
    def read_votes(self, record: Record, source: int) -> Votes:
        """Return the labels of a whole record of the source of that number (from 1)."""

    @abstractmethod
    def find_parts(
        self, label: str, record: Record, source: int, *, claims: bool
    ) -> Iterator[tuple[Votes, Record]]:
        """Yield each labeled part of a record, as a record, with its labels.

        With `claims`, parts are claims with their texts, as judges read them.
        """


def label_formats() -> list[type[TaskLabels]]:
    """Return the formats of all installed packages."""
    return list(_formats.load().values())
