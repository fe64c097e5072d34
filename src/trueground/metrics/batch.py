"""A batch of answers as columns: what the evidence of all metrics is drawn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from trueground.errors import UsageError
from trueground.metrics.column import Mask
from trueground.text.citations import Sentence, read_numbers, read_triples
from trueground.types import Choice, Graph, Passage, Record, Triple, Turn


@dataclass
class Batch:
    """n answers; every column has n entries, `None` where the field was not given."""

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
                    f"{name} has {len(column)} entries, responses has {len(self)}; "
                    "every list must have one entry per response"
                )
            setattr(self, name, [None] * len(self))

    def __len__(self) -> int:
        return len(self.responses)

    @classmethod
    def of(cls, records: Sequence[Record]) -> Batch:
        """The columns of these records."""
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
        """Which items have this field, shape (n,). Blank contexts are no contexts."""
        if need not in self._present:
            self._present[need] = np.fromiter(_TESTS[need](self), np.bool_, len(self))
        return self._present[need]

    def context_numbers(self, item: int, scope: str = "input") -> list[int]:
        """Numbers of the non-blank contexts of one item: all, or only those marked as gold."""
        passages = enumerate(self.contexts[item] or ())
        return [
            i
            for i, p in passages
            if p.text and not p.text.isspace() and (scope == "input" or p.gold)
        ]

    def texts(self, item: int, rows: Sequence[int]) -> tuple[str, ...]:
        """The texts of these contexts."""
        passages = self.contexts[item] or ()
        return tuple(passages[i].text for i in rows)

    @cached_property
    def knowledge(self) -> list[str]:
        """K: the context texts of each item, without titles, joined with one space."""
        return [" ".join([p.text for p in ps]) if ps else "" for ps in self.contexts]

    @cached_property
    def prior_turns(self) -> list[str]:
        """H: question plus history, joined with one space."""
        pairs = zip(self.questions, self.histories, strict=True)
        return [
            q or "" if not h else " ".join([q or "", *(t.content for t in h)]) for q, h in pairs
        ]

    @cached_property
    def cited(self) -> list[tuple[Sentence, ...]]:
        """The sentences of each response with the triples that they cite."""
        pairs = zip(self.responses, self.graphs, strict=True)
        return [read_triples(response, graphs or ()) for response, graphs in pairs]

    @cached_property
    def numbered(self) -> list[tuple[Sentence, ...]]:
        """The sentences of each response with the numbers of passages that they cite."""
        return [read_numbers(response) for response in self.responses]

    @cached_property
    def references_flat(self) -> list[str]:
        """All references, item after item."""
        return [r for refs in self.references if refs for r in refs]

    @cached_property
    def reference_counts(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Number of references of each item, shape (n,)."""
        return np.array([len(refs) if refs else 0 for refs in self.references], np.int64)


def _triples_or_no_graph(batch: Batch, column: Sequence[list[Triple] | None]) -> Iterator[bool]:
    """Where there is no graph to cite, nothing is missing: the metrics do not apply."""
    pairs = zip(column, batch.graphs, strict=True)
    return (triples is not None or graphs == [] for triples, graphs in pairs)


_TESTS: dict[str, Callable[[Batch], Iterable[bool]]] = {
    "contexts": lambda b: (bool(k) and not k.isspace() for k in b.knowledge),
    "gold_contexts": lambda b: (bool(b.context_numbers(i, "gold")) for i in range(len(b))),
    "question": lambda b: (bool(h) and not h.isspace() for h in b.prior_turns),
    "references": lambda b: (bool(refs) for refs in b.references),
    "given_references": lambda b: (refs is not None for refs in b.references),
    "gold_facts": lambda b: (facts is not None for facts in b.gold_facts),
    "answerable": lambda b: (flag is not None for flag in b.answerable),
    "choices": lambda b: (bool(c) for c in b.choices),
    "knowledge": lambda b: (graphs is not None for graphs in b.graphs),
    "gold_knowledge": lambda b: _triples_or_no_graph(b, b.gold_knowledge),
    "absent_knowledge": lambda b: _triples_or_no_graph(b, b.absent_knowledge),
}
NEEDS = tuple(_TESTS)
