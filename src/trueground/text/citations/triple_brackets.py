"""Brackets that cite triples, `[qid, property: value, …]`, and [NA].

A bracket cites triples if it begins with the id of a given graph, with a word such as Q42, with
`qid:` or with `name:`. One of these without a pair that could be read is one incomplete citation.
Any other bracket is text, and so is one that is never closed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from trueground.text.citations.base import Citation
from trueground.text.citations.brackets import Bracket, Closing, Flat
from trueground.text.citations.known import Known
from trueground.text.citations.pairs import Pairs
from trueground.text.citations.triples import plain_property
from trueground.types import Graph

_MISSING = re.compile(r"\[ ?N/?A ?\]", re.IGNORECASE)
_QID = re.compile(r" ?qid ?: ?", re.IGNORECASE)
_LATER_QID = re.compile(r"[,;] ?qid ?: ?", re.IGNORECASE)
_NAME = re.compile(r" ?(?=name ?:)", re.IGNORECASE)
_ITEM = re.compile(r"Q[0-9]+(?!\w)")
_ANY_ID = re.compile(r"[^,;\[\]]*")
_DELIMITER = re.compile(r" ?(?:[,;] ?|(?=\]))")
_LOOSE = re.compile(r" ?: ?| ")


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
        self._closing = Closing(self._text)
        self._pairs = Pairs(self._text, known, self._closing)

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
        back = self._flat.back
        if missing := _MISSING.match(self._text, place):
            return Bracket(back(place), back(missing.end() - 1) + 1, missing=True), missing.end()
        head = self._head(place + 1)
        read = self._pairs.read(head[0], head[1]) if head else None
        if head is None or read is None:
            return None, place + 1
        qid, _, sure = head
        end, pairs = read
        if not pairs and not sure:
            return None, place + 1
        start, stop = back(place), back(end - 1) + 1
        spelt = self._known.spelt(qid)
        kept = [pair for pair in pairs if plain_property(pair[0]).lower() != "qid"] or [("", "")]
        return Bracket(start, stop, tuple(Citation(spelt, *p, start, stop) for p in kept)), end

    def _head(self, place: int) -> tuple[str, int, bool] | None:
        """The id, where the parts begin, and whether it is a citation even without a pair."""
        if written := _QID.match(self._text, place):
            return self._id(written.end(), any_id=True) or ("", written.end(), True)
        if found := self._id(place + self._text.startswith(" ", place), any_id=False):
            return found
        if name := _NAME.match(self._text, place):
            return self._later_id(name.end()), name.end(), True
        return None

    def _id(self, place: int, *, any_id: bool) -> tuple[str, int, bool] | None:
        for qid, end in self._known.ids_at(self._text, place):
            if after := _DELIMITER.match(self._text, end):
                return qid, after.end(), True
        if item := _ITEM.match(self._text, place):
            if after := _DELIMITER.match(self._text, item.end()):
                return item[0], after.end(), True
            if after := _LOOSE.match(self._text, item.end()):
                return item[0], after.end(), any_id
        if any_id:
            found = _ANY_ID.match(self._text, place)
            assert found is not None, "it matches the empty text too"
            if after := _DELIMITER.match(self._text, found.end()):
                return found[0].strip(), after.end(), True
        return None

    def _later_id(self, place: int) -> str:
        """The id of a bracket that begins with the name; "" where it has none."""
        end = self._closing.around(place)
        later = _LATER_QID.search(self._text, place, end) if end is not None else None
        found = self._id(later.end(), any_id=True) if later else None
        return found[0] if found else ""
