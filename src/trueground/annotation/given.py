"""A task as annotators get it: texts in cells, the values that may be filled in, and its check.

The check names the task and what was shown, so that a line whose id or text was changed by hand, or
by a spreadsheet, is found when the answers come back. White space and apostrophes at a cell's
beginning, which spreadsheets change, are no difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from trueground.annotation.base import AnnotationTask, Field, LabelDraw, TaskKind
from trueground.errors import InputError
from trueground.records.problems import describe

_HALF = 10


@dataclass(frozen=True)
class Given:
    """A task with `cells`, the text of everything that is shown, by name.

    `parts` says of each list whose numbers are asked for how many parts it has. `shown` is what the
    cells were made of; None where only these are known, as in a spreadsheet.
    """

    kind: TaskKind
    id: str
    cells: Mapping[str, str]
    parts: Mapping[str, int]
    shown: Mapping[str, Any] | None = None
    drawn: LabelDraw | None = None

    def options(self, field: Field) -> tuple[str, ...]:
        """The values that may be given for a field; none where anything may."""
        if not field.numbers_of:
            return field.options
        return tuple(str(number) for number in range(1, self.parts[field.numbers_of] + 1))

    @property
    def check(self) -> str:
        """Which task it is, and what was shown, each as a few letters and digits."""
        shown = [f"{name}: {_plain(text)}" for name, text in sorted(self.cells.items())]
        shown += [f"{name}: {count}" for name, count in sorted(self.parts.items())]
        return f"{name_check(self.kind.name, self.id)}-{_digest(shown)}"


def name_check(kind: str, id_: str) -> str:
    """The first half of the check: that of the task's kind and id alone."""
    return f"t{_digest([kind, id_])}"


def give(task: AnnotationTask, kind: TaskKind, place: str) -> Given:
    """The task as annotators get it. InputError, with `place`: something to show is missing."""
    for name in kind.shows:
        if name not in task.shown and name not in kind.optional:
            raise InputError(
                f"{place}: the task {task.id!r} of kind {kind.name} lacks shown.{name} "
                f"({kind.shows[name]}); expected {', '.join(kind.shows)}"
            )
    parts = {}
    for field in kind.fields:
        if field.numbers_of:
            shown = task.shown[field.numbers_of]
            if not isinstance(shown, list | tuple):
                raise InputError(
                    f"{place}: the task {task.id!r} has {describe(shown)} as "
                    f"shown.{field.numbers_of}; expected a list"
                )
            parts[field.numbers_of] = len(shown)
    try:
        cells = {name: render(task.shown.get(name)) for name in kind.shows}
    except RecursionError:
        raise InputError(
            f"{place}: what the task {task.id!r} shows is lists in lists without end; expected "
            "texts, and lists of texts"
        ) from None
    return Given(kind, task.id, cells, parts, task.shown, task.drawn)


def render(value: Any) -> str:
    """A shown value as text: lists as numbered lines, passages with their titles."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        if all(isinstance(part, Mapping) and part.keys() == {"label", "text"} for part in value):
            return "\n".join(f"{part['label']}) {part['text']}" for part in value)
        return "\n".join(f"[{number}] {_part(part)}" for number, part in enumerate(value, 1))
    return _part(value)


def _part(value: Any) -> str:
    """One part of a list on a line of its own."""
    if isinstance(value, Mapping):
        title, text = value.get("title"), value.get("text")
        if isinstance(text, str):
            return f"{title}: {text}" if title else text
        return ", ".join(f"{name}: {_part(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return " | ".join(map(_part, value))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _plain(text: str) -> str:
    return " ".join(text.lstrip("'").split())


def _digest(texts: list[str]) -> str:
    content = msgspec.json.encode(texts, order="deterministic")
    return hashlib.sha256(content).hexdigest()[:_HALF]
