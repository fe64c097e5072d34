"""Brackets that cite triples, `[qid, property: value, …]`, and [NA].

A bracket cites triples if it begins with the id of a given graph, with a word such as Q42, with
`qid:` or with `name:`; an NA may stand before that. An entity without a pair that could be read is
one incomplete citation if a given graph has its id or `qid:` is written. Any other bracket is text,
and so is one that is never closed, and a link, `[Q42](…)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from trueground.text.citations.base import Citation
from trueground.text.citations.brackets import Bracket, Closing, Flat
from trueground.text.citations.ids import Ids, Named
from trueground.text.citations.known import Known
from trueground.text.citations.pairs import Pairs
from trueground.text.citations.ways import Part
from trueground.types import Graph

_MISSING = re.compile(r"\[ ?N/?A ?\]", re.IGNORECASE)
_MISSING_FIRST = re.compile(r" ?(?:N/?A|\[ ?N/?A ?\]) ?[,;] ?")
_NAME = re.compile(r" ?(?=name ?:)", re.IGNORECASE)


def triple_brackets(text: str, graphs: Sequence[Graph]) -> list[Bracket]:
    """The brackets of an answer in NFC that cite triples or say [NA], in order."""
    if "[" not in text:
        return []
    return _Reader(text, Known(graphs)).brackets()


class _Reader:
    def __init__(self, text: str, known: Known) -> None:
        self._flat = Flat(text)
        self._text = self._flat.text
        self._known = known
        self._ids = Ids(self._text, known)
        self._pairs = Pairs(self._text, known, self._ids, Closing(self._text))

    def brackets(self) -> list[Bracket]:
        found = []
        place = self._text.find("[")
        while place >= 0:
            bracket, end = self._bracket(place)
            if bracket is not None:
                found.append(bracket)
            place = self._text.find("[", end)
        return found

    def _bracket(self, place: int) -> tuple[Bracket | None, int]:
        """What the "[" here opens, and from where to look on."""
        if missing := _MISSING.match(self._text, place):
            return Bracket(*self._flat.span(place, missing.end()), missing=True), missing.end()
        first = _MISSING_FIRST.match(self._text, place + 1)
        head = self._head(first.end() if first else place + 1)
        read = self._pairs.read(head.qid, head.place) if head else None
        if head is None or read is None:
            return None, place + 1
        end, parts = read
        if first:
            parts.append(Part(head.qid, missing=True))
        if head.sure and (parts or not self._text.startswith("(", end)):
            parts.insert(0, Part(head.qid))
        if not parts:
            return None, place + 1
        start, stop = self._flat.span(place, end)
        missed = any(part.missing for part in parts)
        return Bracket(start, stop, self._citations(parts, start, stop), missed), end

    def _citations(self, parts: Sequence[Part], start: int, end: int) -> tuple[Citation, ...]:
        """What the parts cite; an entity by itself only if the bracket says no more of it."""
        first = next((part.qid for part in parts if part.qid), "")  # its name may stand before it
        told = {part.qid or first for part in parts if part.told}
        cited = []
        for part in parts:
            qid = part.qid or first
            if part.missing or (not part.told and qid in told):
                continue
            told.add(qid)
            spelt = self._known.spelt(qid)
            cited.append(Citation(spelt, part.property, part.value, start, end))
        return tuple(cited)

    def _head(self, place: int) -> Named | None:
        """The entity with which a bracket begins; with its name, the id may come later."""
        if found := self._ids.first(place):
            return found
        name = _NAME.match(self._text, place)
        return Named("", name.end(), False) if name else None
