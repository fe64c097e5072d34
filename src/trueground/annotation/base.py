"""What is asked of annotators: kinds of tasks, their fields, and the labels that come of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

# one of the options; some of them; a whole number; a text; several texts
Form = Literal["choice", "choices", "scale", "text", "texts"]
Measure = Literal["nominal", "ordinal", "interval", "set"]


class Task(msgspec.Struct, frozen=True):
    """One thing to be labelled: `shown` is what annotators read, by name, as the kind says."""

    kind: str
    id: str
    shown: dict[str, Any]


def _no_options(_task: Task) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Field:
    """One thing to fill in.

    `options(task)` are the values that may be given, where there are any: those of `choices` may
    depend on the task, such as the numbers of its facts. `low` and `high` bound a scale. `measure`
    says how disagreement is counted; fields without it (texts) are no matter of agreement.
    """

    name: str
    doc: str
    form: Form
    options: Callable[[Task], tuple[str, ...]] = _no_options
    low: int = 1
    high: int = 5
    measure: Measure | None = "nominal"
    needed: bool = True


@dataclass(frozen=True)
class Kind:
    """A kind of task: what annotators are told, what they see, what they fill in.

    `shows` are the names in `Task.shown` with a word for people. `made_of` says where the tasks
    come from: "build" (a folder of `trueground build`) or "records" (answered questions).
    """

    name: str
    doc: str
    instructions: str
    shows: dict[str, str]
    fields: tuple[Field, ...]
    made_of: Literal["build", "records"]
    source: str = ""


class Label(msgspec.Struct, omit_defaults=True):
    """What the annotators of one task said together.

    `values` has the fields that are decided, `how` says of every field whether it was `agreed`,
    decided by the `majority`, by the `tie` rule, or is `open`. `annotators` is how many answered.
    """

    kind: str
    id: str
    values: dict[str, Any] = {}
    how: dict[str, str] = {}
    annotators: int = 0
