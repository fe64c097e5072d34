"""Ways through one bracket: what its parts say, and the way that costs least."""

from __future__ import annotations

import builtins
import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Node(NamedTuple):
    """Where a part begins; the entity, and the property before it ("" for none)."""

    place: int
    qid: str
    last: str


@dataclass(frozen=True, slots=True)
class Part:
    """What one part says of an entity: a pair, that something is missing, or nothing but its id.

    `name` is that of an entity without an id, for the parts that follow.
    """

    qid: str
    property: str = ""
    value: str = ""
    missing: bool = False
    name: str = ""

    @builtins.property
    def told(self) -> bool:
        """Whether it is more than the id."""
        return bool(self.property or self.value or self.missing)


@dataclass(frozen=True, slots=True)
class Step:
    """One part read: up to `node`, where the next begins or, if `ends`, the bracket is over."""

    node: Node
    ends: bool
    cost: int
    part: Part | None


def best_way(
    first: Node, steps: Callable[[Node], Iterable[Step]], dead: set[Node]
) -> tuple[int, list[Part]] | None:
    """Where the best way from here ends, and the parts on it; None if no way ends.

    Of ways that cost the same it is the one that ends last, then the one with the fewest parts.
    From the nodes in `dead` no way ends; those that are found so are added.
    """
    came: dict[Node, tuple[Node, Part | None]] = {}
    best: dict[Node, tuple[int, int]] = {first: (0, 0)}
    goal: tuple[tuple[int, int, int], Node, Step] | None = None
    waiting = [first]
    while waiting:
        node = heapq.heappop(waiting)  # steps lead forward only, so nothing is read twice
        cost, parts = best[node]
        for step in steps(node):
            now = (cost + step.cost, parts + 1)
            after = step.node
            if step.ends:
                rank = (now[0], -after.place, now[1])
                if goal is None or rank < goal[0]:
                    goal = rank, node, step
            elif after not in dead and (after not in best or now < best[after]):
                if after not in best:
                    heapq.heappush(waiting, after)
                best[after] = now
                came[after] = node, step.part
    if goal is None:
        dead.update(best)
        return None
    return goal[2].node.place, _parts(goal[1], goal[2].part, came)


def _parts(node: Node, part: Part | None, came: dict[Node, tuple[Node, Part | None]]) -> list[Part]:
    """The parts on the way to this last one, which begins at `node`."""
    parts = [part]
    while node in came:
        node, part = came[node]
        parts.append(part)
    return [one for one in reversed(parts) if one is not None]
