"""The parts of one bracket: of all ways to read it, the one that the graphs explain best.

A bracket is read as parts between commas (or semicolons): `property: value`, another value of the
same property, the name of an entity, NA, or the id of the entity that the parts after it are about.
As values have commas and colons themselves, the parts form a net of places with the possible
readings as its edges, and the way through it is taken on which the characters that a graph explains
outweigh the others most; of equal ways the one that ends last, then the one with the fewest parts.
What no graph explains is read by the plain rule: the property up to the colon, the value up to
where the next part begins or the bracket ends. Words by themselves after a value that a graph has
are one more value of that property, which no graph has; after an id or NA they say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trueground.text.citations.brackets import Closing
from trueground.text.citations.ids import Ids
from trueground.text.citations.known import Known, Property
from trueground.text.citations.ways import Node, Part, Step, best_way

_NA = r"\[ ?(?i:N/?A) ?\]"
_MISSING = re.compile(rf"(?:N/?A(?= ?[,;\]])|{_NA}) ?[,;]? ?")
_AFTER = re.compile(rf" ?(?:([,;\]]) ?|(?={_NA}))")
_PLAIN = re.compile(r"([^,;:\[\]]*):(?: |(?=\]))")
_TIGHT = re.compile(r"([^,;:\[\]]*):")
_STOP = re.compile(r"[,;\[]")
_OTHERS = 1  # a pair that another entity's graph has is better than one that none has


class Pairs:
    """Reads the parts of brackets in one text."""

    def __init__(self, text: str, known: Known, ids: Ids, closing: Closing) -> None:
        self._text = text
        self._view = text.replace("_", " ")
        self._known = known
        self._ids = ids
        self._closing = closing
        self._dead: set[Node] = set()
        self._starts: dict[int, tuple[int, int] | None] = {}

    def read(self, qid: str, place: int) -> tuple[int, list[Part]] | None:
        """The end of the bracket whose parts begin at `place`, and these; None if unclosed."""
        return best_way(Node(place, qid, ""), self._steps, self._dead)

    def _steps(self, node: Node) -> Iterator[Step]:
        """All ways to read the part that begins here."""
        place, qid, last = node
        own = self._known.of(qid)
        if self._text.startswith("]", place):
            yield Step(node._replace(place=place + 1), True, 0, None)
        for facts, cost in ((own, 0), (self._known.all, _OTHERS)):
            for each, begin in facts.properties_at(self._text, self._view, place):
                yield from self._known_values(node, each, begin, cost)
        for each in own.named(last):
            yield from self._known_values(node, each, place, 0)
        for facts in (own, self._known.all):
            for name, after in facts.names.at(self._text, place):
                part = None if qid else Part("", name=name)
                yield from self._ended(node, after, place - after, part)
        end = self._closing.around(place)
        if named := self._ids.at(place):
            alone = Part(named.qid) if named.sure else None
            yield Step(Node(named.place, named.qid, ""), False, 0, alone)
        elif missing := _MISSING.match(self._text, place):
            yield self._missing(node, missing.end())
        elif end is not None and end > place:
            yield self._plain(node, end)

    def _missing(self, node: Node, place: int) -> Step:
        return Step(Node(place, node.qid, ""), False, 0, Part(node.qid, missing=True))

    def _known_values(self, node: Node, each: Property, begin: int, cost: int) -> Iterator[Step]:
        """The pairs of a property that a graph has; the values begin at `begin`."""
        for value, end in each.values.at(self._text, begin):
            part = Part(node.qid, each.name, value)
            yield from self._ended(node, end, cost + node.place - end, part, each)

    def _ended(
        self, node: Node, end: int, cost: int, part: Part | None, each: Property | None = None
    ) -> Iterator[Step]:
        """The step up to here, if the part can end here: what follows is a part, or words."""
        after = _AFTER.match(self._text, end)
        if after is None:
            return
        name = each.name if each else node.last
        if after[1] == "]":
            yield Step(Node(after.start(1) + 1, node.qid, name), True, cost, part)
        elif (
            self._begins(after.end())
            or self._bare(node, after.end(), each)
            or (part and part.told and self._closing.around(after.end()) is not None)
        ):
            yield Step(Node(after.end(), node.qid, name), False, cost, part)

    def _begins(self, place: int) -> bool:
        """Whether `property: `, an id or NA stands here, or the bracket's end."""
        return (
            self._text.startswith("]", place)
            or self.written(place) is not None
            or _MISSING.match(self._text, place) is not None
            or self._ids.at(place) is not None
        )

    def written(self, place: int) -> str | None:
        """The property that begins a part here; None if it is no pair."""
        for each, _ in self._known.all.properties_at(self._text, self._view, place):
            return each.name
        plain = _PLAIN.match(self._text, place)
        return plain[1].strip() if plain else None

    def _bare(self, node: Node, place: int, each: Property | None) -> bool:
        """Whether a name or another value of the same property stands here by itself."""
        names = self._known.of(node.qid).names
        return any(
            _AFTER.match(self._text, end)
            for some in ((names, each.values) if each else (names,))
            for _, end in some.at(self._text, place)
        )

    def _plain(self, node: Node, end: int) -> Step:
        """The part by the plain rule; words by themselves are one more value, or say nothing."""
        text, place = self._text, node.place
        name, begin, cost = self._property(node, end)
        if begin > place and (missing := _MISSING.match(text, begin)):
            return self._missing(node, missing.end())
        stop, start = self._next_start(begin, end) or (end, end)
        value = text[begin:stop].strip()
        part = Part(node.qid, name, value) if name or begin > place else None
        if part is None and not node.qid:
            part = Part("", name=value)
        return Step(Node(start, node.qid, name), False, cost + len(value) + 1, part)

    def _property(self, node: Node, end: int) -> tuple[str, int, int]:
        """The property with which a part begins, where its value does, and what it costs."""
        text, place = self._text, node.place
        several = (self._known.of(node.qid), self._known.all)
        for facts in several:
            for each, begin in facts.properties_at(text, self._view, place):
                return each.name, begin, 0
        plain = _PLAIN.match(text, place, end + 1) or _TIGHT.match(text, place, end)
        if plain is None:
            return node.last, place, 0
        name = plain[1].strip()
        spelt = (found for facts in several if (found := facts.spelt(name)))
        return next(spelt, name), plain.end(), plain.end() - place

    def _next_start(self, place: int, end: int) -> tuple[int, int] | None:
        """Where the next part begins, outside inner brackets, and the comma before it."""
        passed: list[int] = []
        found: tuple[int, int] | None = None
        while stop := _STOP.search(self._text, place, end):
            at = stop.start()
            if at in self._starts:
                found = self._starts[at]
                break
            passed.append(at)
            if stop[0] == "[":
                if _MISSING.match(self._text, at):
                    found = at, at
                    break
                closed = self._closing.of(at)
                place = end if closed is None else closed + 1
                continue
            place = at + 2 if self._text.startswith(" ", at + 1) else at + 1
            if self._begins(place):
                found = at, place
                break
        for at in passed:
            self._starts[at] = found
        return found
