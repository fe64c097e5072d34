"""What the studies do to graphs: pieces removed, graphs replaced; nested, seeded, and no more."""

from __future__ import annotations

import copy

import pytest
from tests.wings.papers.kalma_files import EDDA, IVAR, MINIMUM, ORLA, PIM

from trueground.errors import InputError
from trueground.text.triples import GraphTriple
from trueground.types import Graph, Triple
from trueground.wings.papers.kalma.graphs import gold_graphs, remove_pieces, replace_graphs
from trueground.wings.papers.kalma.source import GraphQuestion

SET: list[Triple] = MINIMUM[0][1]


def entry(number: int, graphs: list[Graph], minimum: list[Triple] | None = None) -> GraphQuestion:
    own = None if minimum is None else tuple(minimum)
    return GraphQuestion(str(number), f"Question {number}?", tuple(graphs), (), own)


def test_pieces_go_in_the_order_of_the_set_and_only_those_that_are_there() -> None:
    graphs = [ORLA, IVAR]
    before = copy.deepcopy(graphs)
    there = GraphTriple.keys_of(graphs)
    last: list[Triple] = []
    for number in range(6):
        left, removed = remove_pieces(graphs, SET, number)
        assert removed == [SET[0], SET[2], SET[3]][:number]
        assert removed[: len(last)] == last
        assert GraphTriple.keys_of(left) == there - {GraphTriple(*triple).key for triple in removed}
        last = removed
    assert graphs == before


def test_pieces_of_the_first_round_stay() -> None:
    graphs = [ORLA, IVAR]
    for number in range(4):
        left, removed = remove_pieces(graphs, SET, number, [SET[0], SET[1]])
        assert removed == [SET[2], SET[3]][:number]
        assert GraphTriple(*SET[0]).key in GraphTriple.keys_of(left)
    assert remove_pieces(graphs, SET, 3, SET) == (graphs, [])


def test_of_several_values_only_the_one_goes() -> None:
    (left, _), removed = remove_pieces([ORLA, IVAR], SET, 1)
    assert removed == [["Q101", "occupation", "illustrator"]]
    assert left["occupation"] == "botanist"
    assert {k: v for k, v in left.items() if k != "occupation"} == {
        k: v for k, v in ORLA.items() if k != "occupation"
    }
    three = {"qid": "Q1", "n": ["a", "b", 3], "date_of_birth": "1900", "m": None}
    pieces = [["Q1", "n", "3"], ["Q1", "date of birth", " 1900"], ["Q1", "n", "3"]]
    assert remove_pieces([three], pieces, 9) == (
        [{"qid": "Q1", "n": ["a", "b"], "m": None}],
        pieces[:2],
    )


def test_nothing_to_remove() -> None:
    assert remove_pieces([EDDA], [], 3) == ([EDDA], [])
    assert remove_pieces([], SET, 3) == ([], [])
    assert remove_pieces([EDDA], SET, 3) == ([EDDA], [])


def people(number: int) -> list[Graph]:
    return [{"qid": f"Q{i}", "name": f"Person {i}x", "n": str(i)} for i in range(number)]


def test_what_stays_right_is_nested_and_the_rest_is_always_the_same() -> None:
    graphs = people(60)
    shown = [graphs[i : i + 2] for i in range(0, 60, 2)]
    entries = [entry(i, own) for i, own in enumerate(shown)]
    before: set[str] = set()
    wrong: dict[tuple[int, int], Graph] = {}
    for accuracy in (0, 20, 33, 40, 60, 80, 100):
        made, counts = replace_graphs(entries, shown, accuracy, 1)
        assert (made, counts) == replace_graphs(entries, shown, accuracy, 1)
        right = {g["qid"] for own, new in zip(shown, made, strict=True) for g in new if g in own}
        assert before <= right
        assert len(right) == round(60 * accuracy / 100)
        assert sum(counts) == 60 - len(right)
        before = right
        for i, new in enumerate(made):
            assert len({g["qid"] for g in new}) == 2
            for j, graph in enumerate(new):
                if graph is not shown[i][j]:
                    assert graph["qid"] not in {g["qid"] for g in shown[i]}
                    assert wrong.setdefault((i, j), graph) == graph
    assert made == shown
    assert replace_graphs(entries, shown, 60, 2) != replace_graphs(entries, shown, 60, 1)


def test_what_replaces_has_nothing_to_do_with_the_question() -> None:
    # Ivar is named by the set, Edda's graph came with the question, Pim stands in the question.
    near = GraphQuestion(
        "0",
        "Who knew Pim  Aster?",
        (EDDA,),
        (),
        (["Q101", "n", "x"], ["Q102", "occupation", "miller"]),
    )
    far: Graph = {"qid": "Q105", "name": "Una Far"}
    others = [entry(1, [PIM]), entry(2, [IVAR]), entry(3, [far])]
    shown = [[ORLA], [], [], []]
    for seed in range(20):
        made, counts = replace_graphs([near, *others], shown, 0, seed)
        assert (made[0], counts) == ([far], [1, 0, 0, 0])
    with pytest.raises(InputError, match="question '0': found no graph of another question"):
        replace_graphs([near, *others[:2]], shown[:3], 0, 0)


def test_graphs_that_stay_need_no_irrelevant_ones() -> None:
    # For the first question there is one irrelevant graph, for its two.
    first = GraphQuestion("0", "Orla Venn, Ivar Venn, Edda Holt?", (ORLA, IVAR), ())
    entries = [first, entry(1, [EDDA]), entry(2, [PIM])]
    shown: list[list[Graph]] = [[ORLA, IVAR], [EDDA], [PIM]]
    made = {tuple(replace_graphs(entries, shown, 75, seed)[1]) for seed in range(20)}
    assert made == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
    with pytest.raises(InputError, match="question '0': found no graph of another question"):
        replace_graphs(entries, shown, 0, 1)


def test_gold_graphs_are_those_that_the_set_names() -> None:
    first = entry(0, [EDDA, IVAR], [["Q102", "a", "b"], ["Q101", "a", "b"], ["Q102", "c", "d"]])
    second = entry(1, [ORLA, {**IVAR, "occupation": "baker"}], [["Q999", "a", "b"]])
    third = entry(2, [ORLA])
    assert gold_graphs([first, second, third], None) == [[IVAR, ORLA], [], []]
