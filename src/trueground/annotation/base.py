"""What is asked of annotators: kinds of tasks, their fields, and the labels that come of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

_MARK, _DIGEST = "~", 8
_canonical = msgspec.json.Encoder(order="sorted").encode
# one of the options; some of them; a whole number; a text; several texts
Form = Literal["choice", "choices", "scale", "text", "texts"]
Measure = Literal["nominal", "ordinal", "interval", "set"]


class LabelDraw(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an item came to be labelled: the probability, and the stratum that it was drawn from."""

    probability: float
    stratum: str = ""

    @classmethod
    def of(cls, value: Any) -> LabelDraw | None:
        """What stands under `drawn` in a line; None where it tells no probability."""
        try:
            draw = msgspec.convert(value, cls, strict=False)
        except msgspec.ValidationError:
            return None
        return draw if 0 < draw.probability <= 1 else None


class AnnotationTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to be labelled: `shown` is what annotators read, by name, as the kind says."""

    kind: str
    id: str
    shown: dict[str, Any]
    drawn: LabelDraw | None = None

    @classmethod
    def of(
        cls, kind: str, item: str, shown: dict[str, Any], drawn: LabelDraw | None = None
    ) -> AnnotationTask:
        """The task of an item. Its id changes with what is shown: no label meets another text."""
        digest = hashlib.sha256(_canonical(shown)).hexdigest()[:_DIGEST]
        return cls(kind, f"{item}{_MARK}{digest}", shown, drawn)

    @property
    def item(self) -> str:
        """The id of the item that it was made of, where `of` made it."""
        return item_of(self.id)


def item_of(task: str) -> str:
    """The id of the item, from that of its task."""
    return task.rpartition(_MARK)[0] or task


@dataclass(frozen=True)
class Field:
    """One thing to fill in.

    `options` are the values that may be given, the lowest last where they have an order. With
    `numbers_of`, the name of a list that is shown, they are the numbers of its parts, from 1.
    `low` and `high` bound a scale. `measure` says how disagreement is counted; fields without it
    (texts) are no matter of agreement. `when` (another field, its value) is the answer without
    which this field is not asked.
    """

    name: str
    doc: str
    form: Form
    options: tuple[str, ...] = ()
    numbers_of: str = ""
    low: int = 1
    high: int = 5
    measure: Measure | None = "nominal"
    needed: bool = True
    when: tuple[str, str] | None = None


@dataclass(frozen=True)
class TaskKind:
    """A kind of task: what annotators are told, what they see, what they fill in.

    `shows` are the names in `Task.shown` with a word for people; those in `optional` may be absent.
    `made_of` says where the tasks come from: "build" (a folder of `trueground build`), "records"
    (answered questions) or "both". A field stands behind the one that its `when` names. `keeps` are
    the fields whose answer must be yes for the thing to stand.
    """

    name: str
    doc: str
    instructions: str
    shows: dict[str, str]
    fields: tuple[Field, ...]
    made_of: Literal["build", "records", "both"]
    source: str = ""
    optional: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()


class Label(msgspec.Struct, omit_defaults=True):
    """What the annotators of one task said together.

    `values` has the fields that are decided. `how` says of every field that was asked whether all
    `agreed`, only one answered (`single`), the `majority` or the `tie` rule decided, or it is
    `open`; of texts also `united` (all that anyone gave) and `first` (the first one's of several),
    of grades on a scale their `mean`.
    `annotators` is how many answered, `drawn` how the item came to be asked about, if known.
    """

    kind: str
    id: str
    values: dict[str, Any] = {}
    how: dict[str, str] = {}
    annotators: int = 0
    drawn: LabelDraw | None = None
