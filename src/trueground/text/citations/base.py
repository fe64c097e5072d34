"""What a reader of citations gives: the sentences of an answer, and what each of them cites.

All places are character offsets into the answer after Unicode NFC.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Citation:
    """One cited triple. A bracket with n property-value pairs is n citations of its qid.

    `property` and `value` are spelt as the graph spells them where it has them, else as the answer
    does; what the answer leaves out is "". `start` and `end` are those of the whole bracket.
    `name` is what stands in the place of an id that the answer leaves out.
    """

    qid: str
    property: str
    value: str
    start: int
    end: int
    name: str = ""

    @builtins.property
    def complete(self) -> bool:
        """Whether qid, property and value are all there."""
        return bool(self.qid and self.property and self.value)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer, its brackets before or after the full stop included.

    `text` is the sentence without its brackets; "" where the answer has nothing but brackets.
    `missing` counts its brackets that say NA. `passages` are the numbers that it cites, from 1, in
    their order.
    """

    text: str
    start: int
    end: int
    citations: tuple[Citation, ...] = ()
    missing: int = 0
    passages: tuple[int, ...] = ()
