"""Brackets that cite triples, `[qid, property: value, …]`, and [NA].

A bracket cites triples if it begins with the id of a given graph, with a word such as Q42, with
`qid:` or with `name:`; an NA may stand before that. An entity without a pair that could be read is
one incomplete citation if a given graph has its id or `qid:` is written. Beside given graphs a
bracket without an id cites if one of its parts is `property: value` and either that property is one
of a given graph, or a number or a name stands before it. Any other bracket is text, and so is one
that is never closed, and a link, `[Q42](…)`.

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

import builtins
import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from trueground.text.triples import (
    Bracket,
    Citation,
    ClosingBrackets,
    FlatText,
    GraphProperty,
    GraphTriple,
    KnownGraphs,
)
from trueground.types import Graph

_QID = re.compile(r" ?qid ?: ?", re.IGNORECASE)
_ITEM = re.compile(r"Q[0-9]+(?!\w)")
_ANY_ID = re.compile(r"[^,;\[\]]*")
_DELIMITER = re.compile(r" ?(?:[,;] ?|(?=\]))")
_LOOSE = re.compile(r" ?: ?| ")
_ONLY_NA = re.compile(r"\[ ?N/?A ?\]", re.IGNORECASE)
_NA_FIRST = re.compile(r" ?(?:N/?A|\[ ?N/?A ?\]) ?[,;] ?")
_NAME = re.compile(r" ?(?=name ?:)", re.IGNORECASE)
_BORDER = re.compile(r"[\[\],;] ?")
_CALLED = re.compile(r"([^,;:\[\]]*): ?")  # [Ann Bell: occupation: poet]
_INNERMOST = re.compile(r"\[[^\[\]]*\]")
_WORD = re.compile(r"\w+")
_SMALL_WORD = 3  # letters of "of", "de", "von" in a name
_LONGEST_NAME = 200  # characters
_NA = r"\[ ?(?i:N/?A) ?\]"
_MISSING = re.compile(rf"(?:N/?A(?= ?[,;\]])|{_NA}) ?[,;]? ?")
_AFTER = re.compile(rf" ?(?:([,;\]]) ?|(?={_NA}))")
_PLAIN = re.compile(r"([^,;:\[\]]*):(?: |(?=\]))")
_TIGHT = re.compile(r"([^,;:\[\]]*):")
_STOP = re.compile(r"[,;\[]")
_OTHERS = 1  # a pair that another entity's graph has is better than one that none has


class _Entity(NamedTuple):
    """An entity, where its parts begin, and whether it is cited even without a pair."""

    qid: str
    place: int
    sure: bool


class _Node(NamedTuple):
    """Where a part begins; the entity, and the property before it ("" for none)."""

    place: int
    qid: str
    last: str


@dataclass(frozen=True, slots=True)
class _Part:
    """What one part says of an entity: a pair, that something is missing, or nothing but its id.

    `name` is that of an entity without an id, for the parts that follow.
    """

    qid: str
    property: str = ""
    value: str = ""
    missing: bool = False
    name: str = ""

    @builtins.property
    def informative(self) -> bool:
        """Whether it is more than the id."""
        return bool(self.property or self.value or self.missing)

    @builtins.property
    def entity_name(self) -> str:
        """The name that the part gives an entity."""
        is_name = GraphTriple.plain_property(self.property).casefold() == "name"
        return self.name or (self.value if is_name else "")


# One part read: where the next begins, or the bracket's end; whether it is that; cost; the part.
_Step = tuple[_Node, bool, int, _Part | None]


def triple_brackets(text: str, graphs: Sequence[Graph]) -> list[Bracket]:
    """The brackets of an answer in NFC that cite triples or say [NA], in order."""
    return _TripleReader(text, KnownGraphs(graphs)).brackets() if "[" in text else []


class _TripleReader:
    def __init__(self, text: str, known: KnownGraphs) -> None:
        self._flat = FlatText(text)
        self._text = self._flat.text
        self._view = self._text.replace("_", " ")
        self._known = known
        self._closing = ClosingBrackets(self._text)
        self._dead: set[_Node] = set()  # from which no way through a bracket ends
        self._starts: dict[int, tuple[int, int] | None] = {}
        self._without_id = self._brackets_without_id() if known else set()

    def brackets(self) -> list[Bracket]:
        """All brackets of the text."""
        brackets = []
        place = self._text.find("[")
        while place >= 0:
            bracket, end = self._bracket(place)
            if bracket is not None:
                brackets.append(bracket)
            place = self._text.find("[", end)
        return brackets

    def _bracket(self, place: int) -> tuple[Bracket | None, int]:
        """What the "[" here opens, and from where to look on."""
        if missing := _ONLY_NA.match(self._text, place):
            return Bracket(*self._flat.span(place, missing.end()), missing=True), missing.end()
        first = _NA_FIRST.match(self._text, place + 1)
        head, name = self._head(place, first.end() if first else place + 1)
        read = self._best_way(_Node(head.place, head.qid, "")) if head else None
        if head is None or read is None:
            return None, place + 1
        end, parts = read
        if name:
            parts.insert(0, _Part("", name=name))
        if first:
            parts.append(_Part(head.qid, missing=True))
        if head.sure and (parts or not self._text.startswith("(", end)):
            parts.insert(0, _Part(head.qid))
        if all(part.name for part in parts):
            return None, place + 1
        start, stop = self._flat.span(place, end)
        missed = any(part.missing for part in parts)
        return Bracket(start, stop, self._citations(parts, start, stop), missed), end

    def _citations(self, parts: Sequence[_Part], start: int, end: int) -> tuple[Citation, ...]:
        """What the parts cite; an entity by itself only if the bracket says no more of it."""
        first = next((part.qid for part in parts if part.qid), "")  # its name may stand before it
        name = next(filter(None, (part.entity_name for part in parts)), "")
        done = {part.qid or first for part in parts if part.informative}
        cited = []
        for part in parts:
            name = part.entity_name or name
            qid = part.qid or first
            if part.name or part.missing or (not part.informative and qid in done):
                continue
            done.add(qid)
            spelling = self._known.spelling(qid)
            cited.append(
                Citation(spelling, part.property, part.value, start, end, "" if qid else name)
            )
        return tuple(cited)

    # Entities: a bare id, one written `qid: …`, or a name where the bracket has no id.

    def _head(self, opened: int, place: int) -> tuple[_Entity | None, str]:
        """The entity with which a bracket begins; with its name, the id may come later.

        The name beside it is one that only a colon sets apart.
        """
        begin = place + self._text.startswith(" ", place)
        # At the start of a bracket a space or colon may follow a word such as Q42.
        if entity := self._entity_at(begin) or self._item(begin, _LOOSE):
            return entity, ""
        if name := _NAME.match(self._text, place):
            return _Entity("", name.end(), False), ""
        if opened not in self._without_id:
            return None, ""
        if called := self._called(begin):
            return _Entity("", called.end(), False), called[1].strip()
        return _Entity("", begin, False), ""

    def _entity_at(self, place: int) -> _Entity | None:
        """The entity that a whole part names: an id of a graph, a word such as Q42, `qid: …`."""
        word = _QID.match(self._text, place)
        if word is None:
            return self._bare_id(place)
        begin = word.end()
        if entity := self._bare_id(begin) or self._item(begin, _LOOSE):
            return entity._replace(sure=True)
        any_id = _ANY_ID.match(self._text, begin)
        if any_id and (after := _DELIMITER.match(self._text, any_id.end())):
            return _Entity(any_id[0].strip(), after.end(), True)
        return _Entity("", begin, True)

    def _bare_id(self, place: int) -> _Entity | None:
        for qid, end in self._known.ids.at(self._text, place):
            if after := _DELIMITER.match(self._text, end):
                return _Entity(qid, after.end(), True)
        return self._item(place, _DELIMITER)

    def _item(self, place: int, followed: re.Pattern[str]) -> _Entity | None:
        item = _ITEM.match(self._text, place)
        after = followed.match(self._text, item.end()) if item else None
        return _Entity(item[0], after.end(), False) if item and after else None

    def _brackets_without_id(self) -> set[int]:
        """Where the brackets open that cite without an id; pairs of inner brackets are not theirs.

        Each border is looked at once, and the words before a bracket's first pair only.
        """
        results: set[int] = set()
        seen: set[int] = set()
        opened: list[int] = []
        for border in _BORDER.finditer(self._text):
            if border[0][0] == "]":
                del opened[-1:]
                continue
            if border[0][0] == "[":
                opened.append(border.start())
            if not opened or opened[-1] in results:
                continue
            here = opened[-1]
            if name := self._property_at(border.end()):
                if self._known.has_property(name) or (
                    here not in seen and self._is_led(here, border, name)
                ):
                    results.add(here)
                seen.add(here)
        return results

    def _is_led(self, opened: int, border: re.Match[str], name: str) -> bool:
        """Whether a number or a name stands before the first pair, whose property no graph has."""
        if border.start() == opened:
            return self._called(border.end()) is not None
        if border.start() - opened > _LONGEST_NAME:
            return False
        words = self._text[opened + 1 : border.start()].strip()
        if words.isdecimal():
            return name[0].isalpha()
        like_a_name = _is_like_a_name(words) or (
            # The answer has this word outside brackets, always with a large letter.
            words[:1].isupper() and words in self._words and words.lower() not in self._words
        )
        return self._known.has_name(words) or (name[0].islower() and like_a_name)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(_INNERMOST.sub(" ", self._text)))

    def _called(self, place: int) -> re.Match[str] | None:
        """The name of a graph here and the colon behind it, if a pair follows."""
        called = _CALLED.match(self._text, place)
        if called and self._known.has_name(called[1]) and self._property_at(called.end()):
            return called
        return None

    # Parts: all ways to read one, and the best way through a bracket.

    def _best_way(self, first: _Node) -> tuple[int, list[_Part]] | None:
        """Where the best way from here ends, and the parts on it; None if no way ends.

        Of ways that cost the same it is the one that ends last, then the one with the fewest parts.
        """
        came: dict[_Node, tuple[_Node, _Part | None]] = {}
        best: dict[_Node, tuple[int, int]] = {first: (0, 0)}
        goal: tuple[tuple[int, int, int], _Node, _Part | None] | None = None
        waiting = [first]
        while waiting:
            node = heapq.heappop(waiting)  # steps lead forward only, so nothing is read twice
            cost, count = best[node]
            for after, ends, price, part in self._steps(node):
                now = (cost + price, count + 1)
                if ends:
                    rank = (now[0], -after.place, now[1])
                    if goal is None or rank < goal[0]:
                        goal = rank, node, part
                elif after not in self._dead and (after not in best or now < best[after]):
                    if after not in best:
                        heapq.heappush(waiting, after)
                    best[after] = now
                    came[after] = node, part
        if goal is None:
            self._dead.update(best)
            return None
        rank, node, part = goal
        parts = [part]
        while node in came:
            node, part = came[node]
            parts.append(part)
        return -rank[1], [one for one in reversed(parts) if one is not None]

    def _steps(self, node: _Node) -> Iterator[_Step]:
        """All ways to read the part that begins here."""
        place, qid, last = node
        own, every = self._known.facts(qid), self._known.all_facts
        if self._text.startswith("]", place):
            yield node._replace(place=place + 1), True, 0, None
        for facts, cost in ((own, 0), (every, _OTHERS)):
            for each, begin in facts.properties_at(self._text, self._view, place):
                yield from self._known_values(node, each, begin, cost)
        for each in own.named(last):
            yield from self._known_values(node, each, place, 0)
        for facts in (own, every):
            for name, after in facts.names.at(self._text, place):
                part = None if qid else _Part("", name=name)
                yield from self._steps_to(node, after, place - after, part)
        end = self._closing.around(place)
        if entity := self._entity_at(place):
            alone = _Part(entity.qid) if entity.sure else None
            yield _Node(entity.place, entity.qid, ""), False, 0, alone
        elif missing := _MISSING.match(self._text, place):
            yield _Node(missing.end(), qid, ""), False, 0, _Part(qid, missing=True)
        elif end is not None and end > place:
            yield self._plain_step(node, end)

    def _known_values(
        self, node: _Node, each: GraphProperty, begin: int, cost: int
    ) -> Iterator[_Step]:
        """The pairs of a property that a graph has; the values begin at `begin`."""
        for value, end in each.values.at(self._text, begin):
            part = _Part(node.qid, each.name, value)
            yield from self._steps_to(node, end, cost + node.place - end, part, each)

    def _steps_to(
        self,
        node: _Node,
        end: int,
        cost: int,
        part: _Part | None,
        each: GraphProperty | None = None,
    ) -> Iterator[_Step]:
        """The step up to here, if the part can end here: what follows is a part, or words."""
        after = _AFTER.match(self._text, end)
        if after is None:
            return
        name = each.name if each else node.last
        if after[1] == "]":
            yield _Node(after.start(1) + 1, node.qid, name), True, cost, part
            return
        place = after.end()
        names = self._known.facts(node.qid).names
        if (
            self._is_part(place)
            # A name or another value of the same property by itself.
            or any(
                _AFTER.match(self._text, stop)
                for index in ((names, each.values) if each else (names,))
                for _, stop in index.at(self._text, place)
            )
            or (part and part.informative and self._closing.around(place) is not None)
        ):
            yield _Node(place, node.qid, name), False, cost, part

    def _is_part(self, place: int) -> bool:
        """Whether `property: `, an id or NA stands here, or the bracket's end."""
        return (
            self._text.startswith("]", place)
            or self._property_at(place) is not None
            or _MISSING.match(self._text, place) is not None
            or self._entity_at(place) is not None
        )

    def _property_at(self, place: int) -> str | None:
        """The property that begins a part here; None if it is no pair."""
        for each, _ in self._known.all_facts.properties_at(self._text, self._view, place):
            return each.name
        match = _PLAIN.match(self._text, place)
        return match[1].strip() if match else None

    def _plain_step(self, node: _Node, end: int) -> _Step:
        """The part by the plain rule; words by themselves are one more value, or say nothing."""
        text, place, qid = self._text, node.place, node.qid
        name, begin, cost = self._plain_property(node, end)
        if begin > place and (missing := _MISSING.match(text, begin)):
            return _Node(missing.end(), qid, ""), False, 0, _Part(qid, missing=True)
        stop, start = self._next_part(begin, end) or (end, end)
        value = text[begin:stop].strip()
        part = _Part(qid, name, value) if name or begin > place else None
        if part is None and not qid:
            part = _Part("", name=value)
        return _Node(start, qid, name), False, cost + len(value) + 1, part

    def _plain_property(self, node: _Node, end: int) -> tuple[str, int, int]:
        """The property with which a part begins, where its value does, and what it costs."""
        text, place = self._text, node.place
        several = (self._known.facts(node.qid), self._known.all_facts)
        for facts in several:
            for each, begin in facts.properties_at(text, self._view, place):
                return each.name, begin, 0
        match = _PLAIN.match(text, place, end + 1) or _TIGHT.match(text, place, end)
        if match is None:
            return node.last, place, 0
        name = match[1].strip()
        spellings = (known for facts in several if (known := facts.spelling(name)))
        return next(spellings, name), match.end(), match.end() - place

    def _next_part(self, place: int, end: int) -> tuple[int, int] | None:
        """The comma after which the next part outside inner brackets begins, and where it does."""
        passed: list[int] = []
        result: tuple[int, int] | None = None
        while stop := _STOP.search(self._text, place, end):
            at = stop.start()
            if at in self._starts:
                result = self._starts[at]
                break
            passed.append(at)
            if stop[0] == "[":
                if _MISSING.match(self._text, at):
                    result = at, at
                    break
                closed = self._closing.of(at)
                place = end if closed is None else closed + 1
                continue
            place = at + 2 if self._text.startswith(" ", at + 1) else at + 1
            if self._is_part(place):
                result = at, place
                break
        self._starts.update(dict.fromkeys(passed, result))
        return result


def _is_like_a_name(words: str) -> bool:
    """Several words with large letters; little ones within may have none: "Anna de Vries"."""
    first, *rest = words.split() or [""]
    inner = [word for word in rest[:-1] if len(word) > _SMALL_WORD or not word.islower()]
    return bool(rest) and all(word[0].isupper() for word in (first, *inner, rest[-1]))
