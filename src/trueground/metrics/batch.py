"""A batch of answers as columns, and the values of a metric over a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trueground.components import describe_value
from trueground.errors import ProtocolError, UsageError
from trueground.types import (
    Choice,
    Comparison,
    Failure,
    Graph,
    Passage,
    Rating,
    Record,
    Status,
    Triple,
    Turn,
)

if TYPE_CHECKING:
    from trueground.text import Sentence


# For each field that a metric may need, which items have it.
_TESTS: dict[str, Callable[[Batch], Iterable[bool]]] = {
    "contexts": lambda b: (bool(k) and not k.isspace() for k in b.knowledge),
    "gold_contexts": lambda b: (bool(b.context_numbers(i, "gold")) for i in range(len(b))),
    "question": lambda b: (bool(h) and not h.isspace() for h in b.prior_turns),
    "references": lambda b: (bool(refs) for refs in b.references),
    "given_references": lambda b: (refs is not None for refs in b.references),
    "gold_facts": lambda b: (facts is not None for facts in b.gold_facts),
    "history": lambda b: (bool(turns) for turns in b.histories),
    "response_facts": lambda b: (facts is not None for facts in b.response_facts),
    "meta": lambda b: (meta is not None for meta in b.metas),
    "answerable": lambda b: (flag is not None for flag in b.answerable),
    "choices": lambda b: (bool(c) for c in b.choices),
    "knowledge": lambda b: (graphs is not None for graphs in b.graphs),
    "gold_knowledge": lambda b: _triples_or_no_graph(b, b.gold_knowledge),
    "absent_knowledge": lambda b: _triples_or_no_graph(b, b.absent_knowledge),
}
NEEDS = tuple(_TESTS)
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Codes = NDArray[np.uint8]

Options = Mapping[str, str]
Notes = list[dict[str, Any] | None]
# Hits and units of one item, or why it has none. Without units, the status is `no_claims`.
Tally = tuple[int, int] | Status | Failure


@dataclass
class Batch:
    """Columns of n answers. An entry is None if the record doesn't have the field."""

    responses: Sequence[str]
    questions: Sequence[str | None] = ()
    histories: Sequence[list[Turn] | None] = ()
    contexts: Sequence[list[Passage] | None] = ()
    references: Sequence[list[str] | None] = ()
    gold_facts: Sequence[list[str] | None] = ()
    response_facts: Sequence[list[str] | None] = ()
    answerable: Sequence[bool | None] = ()
    choices: Sequence[list[Choice] | None] = ()
    graphs: Sequence[list[Graph] | None] = ()  # `knowledge` of the records
    gold_knowledge: Sequence[list[Triple] | None] = ()
    absent_knowledge: Sequence[list[Triple] | None] = ()
    metas: Sequence[dict[str, Any] | None] = ()
    _present: dict[str, Mask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, column in vars(self).items():
            if name == "_present" or len(column) == len(self):
                continue
            if len(column):
                raise UsageError(
                    f"{name} has {len(column)} entries, but there are {len(self)} responses. Pass "
                    "one entry per response"
                )
            setattr(self, name, [None] * len(self))

    def __len__(self) -> int:
        return len(self.responses)

    @classmethod
    def of(cls, records: Sequence[Record]) -> Batch:
        """Return the columns of records."""
        return cls(
            responses=[r.response for r in records],
            questions=[r.question for r in records],
            histories=[r.history for r in records],
            contexts=[r.contexts for r in records],
            references=[r.references for r in records],
            gold_facts=[r.gold_facts for r in records],
            response_facts=[r.response_facts for r in records],
            answerable=[r.answerable for r in records],
            choices=[r.choices for r in records],
            graphs=[r.knowledge for r in records],
            gold_knowledge=[r.gold_knowledge for r in records],
            absent_knowledge=[r.absent_knowledge for r in records],
            metas=[r.meta for r in records],
        )

    def has(self, need: str) -> Mask:
        """Return which items have a field, shape (n,). Blank contexts don't count."""
        if need not in self._present:
            self._present[need] = np.fromiter(_TESTS[need](self), np.bool_, len(self))
        return self._present[need]

    def context_numbers(self, item: int, scope: str = "input") -> list[int]:
        """Return the indexes of an item's contexts that aren't blank.

        Args:
            item: Index of the item.
            scope: "input" for all contexts, "gold" for those marked as gold.
        """
        numbers = []
        for number, passage in enumerate(self.contexts[item] or ()):
            if scope != "input" and not passage.gold:
                continue
            if passage.text and not passage.text.isspace():
                numbers.append(number)
        return numbers

    def texts(self, item: int, rows: Sequence[int]) -> tuple[str, ...]:
        """Return the texts of an item's contexts with these indexes."""
        passages = self.contexts[item] or ()
        return tuple(passages[i].text for i in rows)

    @cached_property
    def knowledge(self) -> list[str]:
        """K: the context texts of each item, without titles, joined with one space."""
        return [_join_passages(passages) for passages in self.contexts]

    @cached_property
    def prior_turns(self) -> list[str]:
        """H: the question and the history of each item, joined with one space."""
        return list(map(_join_turns, self.questions, self.histories))

    @cached_property
    def numbered(self) -> list[tuple[Sentence, ...]]:
        """The sentences of each response, with the numbers of passages that they cite."""
        from trueground.text import CitedText

        return [CitedText(response).numbered_sentences() for response in self.responses]

    @cached_property
    def references_flat(self) -> list[str]:
        """All references, item after item."""
        flat: list[str] = []
        for references in self.references:
            if references:
                flat += references
        return flat

    @cached_property
    def reference_counts(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The number of references of each item, shape (n,)."""
        return np.array([len(refs) if refs else 0 for refs in self.references], np.int64)


def _join_passages(passages: Sequence[Passage] | None) -> str:
    return " ".join([passage.text for passage in passages]) if passages else ""


def _join_turns(question: str | None, history: Sequence[Turn] | None) -> str:
    if not history:
        return question or ""
    return " ".join([question or "", *[turn.content for turn in history]])


def _triples_or_no_graph(batch: Batch, column: Sequence[list[Triple] | None]) -> Iterator[bool]:
    """Yield whether an item has triples; without a graph to cite, none are missing."""
    pairs = zip(column, batch.graphs, strict=True)
    return (triples is not None or graphs == [] for triples, graphs in pairs)


@dataclass
class Column:
    """The values of one metric over a batch of n items.

    Attributes:
        values: Value of each item, shape (n,). NaN for items that aren't scored.
        status: Status code of each item, shape (n,). 0 is scored.
        notes: More evidence of each item for items.jsonl, n entries.
        details: Returns the evidence of one item from the batch's context and the item's index.
            If several metrics have the same function, only the first one writes the evidence.
    """

    values: Floats
    status: Codes
    notes: Notes | None = None
    details: Callable[[Any, int], dict[str, Any]] | None = None

    @classmethod
    def of(cls, values: NDArray[np.floating] | NDArray[np.integer] | Mask) -> Column:
        """Return a column in which every item is scored.

        Args:
            values: One number or bool per item, shape (n,).

        Raises:
            ProtocolError: A value isn't a number.
        """
        try:
            numbers = np.asarray(values, np.float64)
        except (TypeError, ValueError) as error:
            raise ProtocolError(
                f"Column.of got {describe_value(values)}; expected one number per item ({error})"
            ) from None
        return cls(numbers, np.zeros(len(numbers), np.uint8))

    @classmethod
    def harmonic(cls, precision: Column, recall: Column) -> Column:
        """Return the F1 of each item; 0 if it has a recall but no claims for a precision."""
        empty = precision.status == Status.NO_CLAIMS.code
        values = harmonic_mean(np.where(empty, 0.0, precision.values), recall.values)
        status = np.where(recall.status > 0, recall.status, np.where(empty, 0, precision.status))
        values = np.where(status > 0, np.nan, values)
        return cls(values, status.astype(np.uint8), recall.notes)

    def without(self, mask: Mask, status: Status) -> Column:
        """Return the column with this status for the masked items that are scored so far."""
        mask = mask & (self.status == 0)
        code = np.uint8(status.code)
        values = np.where(mask, np.nan, self.values)
        return replace(self, values=values, status=np.where(mask, code, self.status))

    def replaced(self, mask: Mask, value: float) -> Column:
        """Return the column with this value for the masked items that are scored."""
        return replace(self, values=np.where(mask & (self.status == 0), value, self.values))

    def filled(
        self, answers: Sequence[Comparison | Rating | None], values: Sequence[float | None]
    ) -> Column:
        """Return the column with the value and status of each answer.

        Items without an answer don't change. The notes have the reply of the model, and the reason
        if there is no value.
        """
        column = replace(self, values=self.values.copy(), status=self.status.copy())
        column.notes = [None] * len(answers)
        for i, (answer, value) in enumerate(zip(answers, values, strict=True)):
            if answer is None:
                continue
            column.values[i] = np.nan if value is None else value
            column.status[i] = answer.status.code
            note: dict[str, Any] = {"reply": answer.reply, "reason": answer.reason}
            if isinstance(answer, Rating):
                note["replies"] = list(answer.replies) or None
            else:
                note |= answer.detail or {}
            column.notes[i] = {key: text for key, text in note.items() if text is not None} or None
        return column


def check_column(metric: str, column: object, n: int) -> None:
    """Raise ProtocolError unless this is a Column with a value and a status for each item.

    Args:
        metric: The metric, as the error names it.
        column: The object that the metric returned.
        n: Number of items in the batch.
    """
    expected = f"expected a Column of {n} items, such as Column.of(values)"
    if not isinstance(column, Column):
        raise ProtocolError(f"{metric} returned {describe_value(column)}; {expected}")
    kinds = {"values": "biuf", "status": "iu"}  # Kinds of dtypes in numpy.
    for name, kind in kinds.items():
        array = getattr(column, name)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kind:
            raise ProtocolError(
                f"{metric} returned a Column whose {name} are {_describe_array(array)}; {expected}"
            )
        if array.shape != (n,):
            raise ProtocolError(
                f"{metric} returned a Column whose {name} have shape {array.shape}; {expected}"
            )
    if column.notes is not None and len(column.notes) != n:
        raise ProtocolError(f"{metric} returned {len(column.notes)} notes; {expected}")
    if n and int(column.status.max()) >= len(Status):
        raise ProtocolError(
            f"{metric} returned the status {column.status.max()}; expected 0 to "
            f"{len(Status) - 1}. Set statuses with `Column.without`"
        )


def _describe_array(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return describe_value(value)


@dataclass(frozen=True)
class Counts:
    """Tallies of n items as columns of shape (n,); hits and units are 0 without a tally."""

    hits: Floats
    units: Floats
    status: Codes
    notes: Notes | None = None

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Counts:
        """Return the columns of tallies."""
        n = len(tallies)
        notes: Notes = [None] * n
        counts = cls(np.zeros(n), np.zeros(n), np.zeros(n, np.uint8), notes)
        for i, tally in enumerate(tallies):
            if isinstance(tally, tuple) and tally[1]:
                counts.hits[i], counts.units[i] = tally
                continue
            if isinstance(tally, Failure):
                notes[i] = {"reason": tally.reason}
                tally = tally.status
            counts.status[i] = (tally if isinstance(tally, Status) else Status.NO_CLAIMS).code
        return counts

    def under(self, policy: str, declined: Mask) -> Counts:
        """Return the counts under a policy for responses that abstain.

        If the policy sets a value, all units of the response count as hits or none does. A
        response without units counts as one unit.

        Args:
            policy: The option `abstain` of the metric.
            declined: Which responses abstain, shape (n,).
        """
        if policy == "as_is":
            return self
        if policy == "exclude":
            excluded = declined & (self.status == 0)
            status = np.where(excluded, np.uint8(Status.ABSTAINED.code), self.status)
            hits, units = np.where(excluded, 0, self.hits), np.where(excluded, 0, self.units)
            return Counts(hits, units, status, self.notes)
        covered = declined & ((self.status == 0) | (self.status == Status.NO_CLAIMS.code))
        units = np.where(covered, np.maximum(self.units, 1), self.units)
        hits = np.where(covered, units if policy == "one" else 0, self.hits)
        return Counts(hits, units, np.where(covered, np.uint8(0), self.status), self.notes)

    @property
    def totals(self) -> tuple[Floats, Floats]:
        """Hits and units."""
        return self.hits, self.units

    @property
    def column(self) -> Column:
        """Hits over units."""
        has_units = self.units > 0
        nan = np.full(len(self.units), np.nan)
        values = np.divide(self.hits, self.units, out=nan, where=has_units)
        return Column(values, self.status.copy(), self.notes)


def ratio(a: NDArray[np.int64], b: NDArray[np.int64], empty: float) -> Floats:
    """Return a / b, or `empty` if b is 0, elementwise."""
    return np.where(b > 0, a / np.maximum(b, 1), empty)


def harmonic_mean(a: Floats, b: Floats) -> Floats:
    """Return 2ab / (a + b), or 0 if both are 0, elementwise; a and b must be at least 0."""
    total = a + b
    return np.where(total > 0, 2 * a * b / np.where(total > 0, total, 1.0), total)
