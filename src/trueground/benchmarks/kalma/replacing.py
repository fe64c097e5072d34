"""Retrieval accuracy: a share of the graphs replaced by irrelevant ones (section 5.3).

What stays at a lower accuracy also stays at a higher one, and a graph that is replaced is always
replaced by the same other one.
"""

from __future__ import annotations

from collections.abc import Sequence

from trueground.benchmarks.kalma.draws import number, ranked
from trueground.benchmarks.kalma.shown import Shown
from trueground.benchmarks.kalma.source import GraphQuestion
from trueground.errors import InputError
from trueground.text.triples import plain
from trueground.types import Graph


def replaced(
    entries: Sequence[GraphQuestion], shown: Shown, accuracy: int, seed: int
) -> tuple[Shown, list[int]]:
    """The graphs of which `accuracy` percent of all are right, and how many of each are wrong.

    InputError: no other question has a graph to put in a wrong one's place.
    """
    places = [(i, j) for i, graphs in enumerate(shown) for j in range(len(graphs))]
    order = ranked(places, f"{seed}/order")
    # Of each question the places that are wrong; what is wrong at higher accuracies comes first.
    wrong: list[list[int]] = [[] for _ in shown]
    for i, j in reversed(order[_right(len(places), accuracy) :]):
        wrong[i].append(j)
    pool = _pool(entries, shown)
    made: Shown = []
    for entry, graphs, own in zip(entries, shown, wrong, strict=True):
        others = _irrelevant(entry, graphs, own, pool, f"{seed}/{entry.id}")
        made.append([others.get(j, graph) for j, graph in enumerate(graphs)])
    return made, [len(own) for own in wrong]


def _right(total: int, accuracy: int) -> int:
    """How many graphs stay: the percentage, rounded half up."""
    return (2 * total * accuracy + 100) // 200


def _pool(entries: Sequence[GraphQuestion], shown: Shown) -> list[Graph]:
    """Each entity's graph once: those shown with a question, then those that came with one."""
    found: dict[str, Graph] = {}
    came = [list(entry.graphs or ()) for entry in entries]
    for graph in (graph for graphs in (*shown, *came) for graph in graphs):
        found.setdefault(_qid(graph), graph)
    return list(found.values())


def _irrelevant(
    entry: GraphQuestion,
    graphs: Sequence[Graph],
    places: Sequence[int],
    pool: Sequence[Graph],
    seed: str,
) -> dict[int, Graph]:
    """A graph for each of the places: of an entity that the question has nothing to do with.

    That is: its graph came with the question neither as retrieved nor as gold, the minimum set does
    not name it, and its name does not stand in the question.
    """
    near = {_qid(graph) for graph in (*graphs, *(entry.graphs or ()))}
    near |= {plain(triple[0]) for triple in entry.minimum or ()}
    asked = plain(entry.question).casefold()
    found: dict[int, Graph] = {}
    for place in places:
        start = number(seed, place) % len(pool)
        for step in range(len(pool)):
            graph = pool[(start + step) % len(pool)]
            name = plain(str(graph.get("name") or "")).casefold()
            if _qid(graph) not in near and not (name and name in asked):
                near.add(_qid(graph))
                found[place] = graph
                break
        else:
            raise InputError(
                f"question {entry.id!r}: found no graph of another question that is irrelevant to "
                "it; expected data with more questions, or leave --retrieval-accuracy out"
            )
    return found


def _qid(graph: Graph) -> str:
    return plain(str(graph["qid"]))
