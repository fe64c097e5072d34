"""Brackets that cite triples, `[qid, property: value, …]`, and [NA].

A bracket cites triples if it begins with the id of a given graph, with a word such as Q42, with
`qid:` or with `name:`; an NA may stand before that. An entity without a pair that could be read is
one incomplete citation if a given graph has its id or `qid:` is written. Beside given graphs a
bracket without an id cites if one of its parts is `property: value` and either that property is one
of a given graph, or a number or a name stands before it. Any other bracket is text, and so is one
that is never closed, and a link, `[Q42](…)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from trueground.text.citations.base import Citation
from trueground.text.citations.brackets import Bracket, Closing, Flat
from trueground.text.citations.ids import Ids, Named
from trueground.text.citations.known import Known
from trueground.text.citations.pairs import Pairs
from trueground.text.citations.triples import plain_property
from trueground.text.citations.ways import Part
from trueground.types import Graph

_MISSING = re.compile(r"\[ ?N/?A ?\]", re.IGNORECASE)
_MISSING_FIRST = re.compile(r" ?(?:N/?A|\[ ?N/?A ?\]) ?[,;] ?")
_NAME = re.compile(r" ?(?=name ?:)", re.IGNORECASE)
_BORDER = re.compile(r"[\[\],;] ?")
_CALLED = re.compile(r"([^,;:\[\]]*): ?")  # [Ann Bell: occupation: poet]
_INNERMOST = re.compile(r"\[[^\[\]]*\]")
_WORD = re.compile(r"\w+")
_SMALL_WORD = 3  # letters of "of", "de", "von" in a name
_LONGEST_NAME = 200  # characters


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
        self._unnamed = self._without_ids() if known.given else {}

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
        head, name = self._head(place, first.end() if first else place + 1)
        read = self._pairs.read(head.qid, head.place) if head else None
        if head is None or read is None:
            return None, place + 1
        end, parts = read
        if name:
            parts.insert(0, Part("", name=name))
        if first:
            parts.append(Part(head.qid, missing=True))
        if head.sure and (parts or not self._text.startswith("(", end)):
            parts.insert(0, Part(head.qid))
        if all(part.name for part in parts):
            return None, place + 1
        start, stop = self._flat.span(place, end)
        missed = any(part.missing for part in parts)
        return Bracket(start, stop, self._citations(parts, start, stop), missed), end

    def _citations(self, parts: Sequence[Part], start: int, end: int) -> tuple[Citation, ...]:
        """What the parts cite; an entity by itself only if the bracket says no more of it."""
        first = next((part.qid for part in parts if part.qid), "")  # its name may stand before it
        name = next(filter(None, map(_called, parts)), "")
        told = {part.qid or first for part in parts if part.told}
        cited = []
        for part in parts:
            name = _called(part) or name
            qid = part.qid or first
            if part.name or part.missing or (not part.told and qid in told):
                continue
            told.add(qid)
            spelt = self._known.spelt(qid)
            called = "" if qid else name
            cited.append(Citation(spelt, part.property, part.value, start, end, called))
        return tuple(cited)

    def _head(self, opened: int, place: int) -> tuple[Named | None, str]:
        """The entity with which a bracket begins; with its name, the id may come later.

        The name beside it is one that only a colon sets apart.
        """
        if found := self._ids.first(place):
            return found, ""
        if name := _NAME.match(self._text, place):
            return Named("", name.end(), False), ""
        if opened not in self._unnamed:
            return None, ""
        if called := self._called(place + self._text.startswith(" ", place)):
            return Named("", called.end(), False), called[1].strip()
        return Named("", place + self._text.startswith(" ", place), False), ""

    def _without_ids(self) -> set[int]:
        """Where the brackets open that cite without an id; pairs of inner brackets are not theirs.

        Each border is looked at once, and the words before a bracket's first pair only.
        """
        found: set[int] = set()
        seen: set[int] = set()
        opened: list[int] = []
        for border in _BORDER.finditer(self._text):
            if border[0][0] == "]":
                del opened[-1:]
                continue
            if border[0][0] == "[":
                opened.append(border.start())
            if not opened or opened[-1] in found:
                continue
            here = opened[-1]
            if name := self._pairs.written(border.end()):
                if self._known.has_property(name) or (
                    here not in seen and self._led(here, border, name)
                ):
                    found.add(here)
                seen.add(here)
        return found

    def _led(self, opened: int, border: re.Match[str], name: str) -> bool:
        """Whether a number or a name stands before the first pair, whose property no graph has."""
        if border.start() == opened:
            return self._called(border.end()) is not None
        if border.start() - opened > _LONGEST_NAME:
            return False
        words = self._text[opened + 1 : border.start()].strip()
        if words.isdecimal():
            return name[0].isalpha()
        like_a_name = _is_like_a_name(words) or self._is_said(words)
        return self._known.has_name(words) or (name[0].islower() and like_a_name)

    def _is_said(self, word: str) -> bool:
        """Whether the answer has this word outside brackets, always with a large letter."""
        return word[:1].isupper() and word in self._words and word.lower() not in self._words

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(_INNERMOST.sub(" ", self._text)))

    def _called(self, place: int) -> re.Match[str] | None:
        """The name of a graph here and the colon behind it, if a pair follows."""
        found = _CALLED.match(self._text, place)
        if found and self._known.has_name(found[1]) and self._pairs.written(found.end()):
            return found
        return None


def _called(part: Part) -> str:
    """The name that a part gives an entity."""
    is_name = plain_property(part.property).casefold() == "name"
    return part.name or (part.value if is_name else "")


def _is_like_a_name(words: str) -> bool:
    """Several words with large letters; little ones within may have none: "Anna de Vries"."""
    first, *rest = words.split() or [""]
    inner = [word for word in rest[:-1] if len(word) > _SMALL_WORD or not word.islower()]
    return bool(rest) and all(word[0].isupper() for word in (first, *inner, rest[-1]))
