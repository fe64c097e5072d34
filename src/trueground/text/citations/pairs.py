"""The pairs of one bracket: of all ways to read it, the one that the graphs explain best.

A bracket is read as parts between commas (or semicolons): `property: value`, another value of the
same property, or the name of an entity. As values have commas and colons themselves, the parts form
a net of places with the possible readings as its edges, and the way through it is taken on which
the characters that a graph explains outweigh the others most; of equal ways the one that ends last,
then the one with the fewest parts. What no graph explains is read by the plain rule: the property
up to the colon, the value up to the next ", something: " or the end of the bracket.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass

from trueground.text.citations.brackets import Closing
from trueground.text.citations.known import Facts, Known, Property

Pair = tuple[str, str]
Node = tuple[int, str]  # where a part begins, and the property before it ("" for none)

_AFTER = re.compile(r" ?([,;\]]) ?")
_PLAIN = re.compile(r"([^,;:\[\]]*):(?: |(?=\]))")
_TIGHT = re.compile(r"([^,;:\[\]]*):")
_STOP = re.compile(r"[,;\[]")
_OTHERS = 1  # a pair that another entity's graph has is better than one that none has


@dataclass(frozen=True, slots=True)
class Step:
    """One part read: up to `place`, where the next begins or, if `ends`, the bracket is over."""

    place: int
    ends: bool
    cost: int
    pair: Pair | None
    last: str


class Pairs:
    """Reads the pairs of brackets in one text."""

    def __init__(self, text: str, known: Known, closing: Closing) -> None:
        self._text = text
        self._view = text.replace("_", " ")
        self._known = known
        self._closing = closing
        self._dead: set[tuple[str, Node]] = set()
        self._starts: dict[int, tuple[int, int] | None] = {}

    def read(self, qid: str, place: int) -> tuple[int, list[Pair]] | None:
        """The end of the bracket whose parts begin at `place`, and its pairs; None if unclosed."""
        came: dict[Node, tuple[Node, Pair | None]] = {}
        found = self._best(qid, (place, ""), came)
        if found is None:
            return None
        node, step = found
        pairs = [step.pair]
        while node in came:
            node, pair = came[node]
            pairs.append(pair)
        return step.place, [pair for pair in reversed(pairs) if pair is not None]

    def _best(
        self, qid: str, first: Node, came: dict[Node, tuple[Node, Pair | None]]
    ) -> tuple[Node, Step] | None:
        """The last step of the best way, and from where; `came` gets the way to each place."""
        own = self._known.of(qid)
        best: dict[Node, tuple[int, int]] = {first: (0, 0)}
        goal: tuple[tuple[int, int, int], Node, Step] | None = None
        waiting = [first]
        while waiting:
            node = heapq.heappop(waiting)  # steps lead forward only, so nothing is read twice
            cost, parts = best[node]
            for step in self._steps(own, node):
                now = (cost + step.cost, parts + 1)
                after = (step.place, step.last)
                if step.ends:
                    rank = (now[0], -step.place, now[1])
                    if goal is None or rank < goal[0]:
                        goal = rank, node, step
                elif (qid, after) not in self._dead and (after not in best or now < best[after]):
                    if after not in best:
                        heapq.heappush(waiting, after)
                    best[after] = now
                    came[after] = node, step.pair
        if goal is None:
            self._dead.update((qid, node) for node in best)
            return None
        return goal[1:]

    def _steps(self, own: Facts, node: Node) -> Iterator[Step]:
        """All ways to read the part that begins here."""
        place, last = node
        if self._text.startswith("]", place):
            yield Step(place + 1, True, 0, None, last)
        for facts, cost in ((own, 0), (self._known.all, _OTHERS)):
            for each, begin in facts.properties_at(self._text, self._view, place):
                yield from self._known_values(own, each, (place, begin), cost)
        for each in own.named(last):
            yield from self._known_values(own, each, (place, place), 0)
        for facts in (own, self._known.all):
            for _, after in facts.names.at(self._text, place):
                yield from self._ended(own, after, place - after, None, last, None)
        end = self._closing.around(place)
        if end is not None and end > place:
            yield self._plain(own, node, end)

    def _known_values(
        self, own: Facts, each: Property, at: tuple[int, int], cost: int
    ) -> Iterator[Step]:
        """The pairs of a property that a graph has; `at` is where pair and value begin."""
        for value, end in each.values.at(self._text, at[1]):
            explained = end - at[0]
            yield from self._ended(own, end, cost - explained, (each.name, value), each.name, each)

    def _ended(
        self, own: Facts, end: int, cost: int, pair: Pair | None, last: str, each: Property | None
    ) -> Iterator[Step]:
        """The step up to here, if the part can end here: what follows must be a part again."""
        after = _AFTER.match(self._text, end)
        if after is None:
            return
        if after[1] == "]":
            yield Step(after.start(1) + 1, True, cost, pair, last)
        elif self._begins(after.end()) or self._bare(own, after.end(), each):
            yield Step(after.end(), False, cost, pair, last)

    def _begins(self, place: int) -> bool:
        """Whether `property: ` stands here, or the bracket's end."""
        return (
            self._text.startswith("]", place)
            or _PLAIN.match(self._text, place) is not None
            or bool(self._known.all.properties_at(self._text, self._view, place))
        )

    def _bare(self, own: Facts, place: int, each: Property | None) -> bool:
        """Whether a name or another value of the same property stands here by itself."""
        texts = (own.names, each.values) if each else (own.names,)
        return any(
            _AFTER.match(self._text, end) for some in texts for _, end in some.at(self._text, place)
        )

    def _plain(self, own: Facts, node: Node, end: int) -> Step:
        """The part by the plain rule; a bare part is a value of the property before it."""
        text, facts, (place, last) = self._text, self._known.all, node
        found = own.properties_at(text, self._view, place) or facts.properties_at(
            text, self._view, place
        )
        name, begin, cost = last, place, 0
        if found:
            name, begin = found[0][0].name, found[0][1]
        elif plain := _PLAIN.match(text, place, end + 1) or _TIGHT.match(text, place, end):
            name, begin = plain[1].strip(), plain.end()
            name = own.spelt(name) or facts.spelt(name) or name
            cost = begin - place
        start = self._next_start(begin, end)
        stop = end if start is None else start[0]
        value = text[begin:stop].strip()
        pair = (name, value) if begin > place or last else None
        cost += len(value) + 1
        if start is None:
            return Step(end + 1, True, cost, pair, name)
        return Step(start[1], False, cost, pair, name)

    def _next_start(self, place: int, end: int) -> tuple[int, int] | None:
        """The next comma, outside inner brackets, after which a part begins, and where that is."""
        passed: list[int] = []
        found: tuple[int, int] | None = None
        while stop := _STOP.search(self._text, place, end):
            at = stop.start()
            if at in self._starts:
                found = self._starts[at]
                break
            passed.append(at)
            if stop[0] == "[":
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
