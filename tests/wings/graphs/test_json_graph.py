"""Graphs of JSON files in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trueground.errors import GraphError
from trueground.wings.graphs.base import KnowledgeGraph, Listed, NamedEntity, PropertyValue, Queried
from trueground.wings.graphs.folder import build_graph
from trueground.wings.graphs.json_graph import JsonGraph
from trueground.wings.graphs.loading import Loading
from trueground.wings.graphs.operations import open_graph

RUCK = {
    "qid": "Q2",
    "name": "Anna Ruck",
    "instance of": "human",
    "occupation": ["writer", "poet"],
    "height": 1.85,
    "alive": False,
    "spouse": None,
    "motto": " ",
}
KORVIK = {"qid": "Q10", "name": "Korvik", "instance of": "city"}


def written(folder: Path, value: Any, name: str = "graphs.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_it_keeps_the_protocols() -> None:
    graph = JsonGraph.of([RUCK])
    assert isinstance(graph, KnowledgeGraph)
    assert isinstance(graph, Listed)
    assert not isinstance(graph, Queried)


def test_a_list_of_graphs(tmp_path: Path) -> None:
    graph = open_graph(written(tmp_path, [RUCK, KORVIK]))
    ruck, nothing, korvik = graph.entities(["Q2", "Q3", "Q10"])
    assert ruck is not None
    assert nothing is None
    assert korvik is not None
    assert (ruck.qid, ruck.name, ruck.types, ruck.aliases) == ("Q2", "Anna Ruck", ("human",), ())
    assert ruck.properties == {
        "instance of": (PropertyValue("human"),),
        "occupation": (PropertyValue("writer"), PropertyValue("poet")),
        "height": (PropertyValue("1.85", "quantity"),),
        "alive": (PropertyValue("false", "other"),),
    }
    # What is there comes back in its order; what is empty was no knowledge.
    assert list(ruck.graph()) == [
        "qid", "name", "instance of", "occupation", "height", "alive"
    ]  # fmt: skip
    assert korvik.graph() == KORVIK
    assert graph.name == str(tmp_path / "graphs.json")


def test_the_kalma_form_is_the_union_of_its_graphs(tmp_path: Path) -> None:
    more = {"qid": "Q2", "name": "A. Ruck", "occupation": "poet", "place of birth": "Korvik"}
    again = {"qid": "Q2", "occupation": ["clown", "writer"]}
    form = [["Who?", [RUCK, KORVIK]], ["Where?", [more]], ["Nothing?", []], ["And?", [again]]]
    graph = open_graph(written(tmp_path, form))
    (ruck,) = graph.entities(["Q2"])
    assert ruck is not None
    assert (ruck.name, ruck.aliases) == ("Anna Ruck", ("A. Ruck",))
    assert [v.text for v in ruck.properties["occupation"]] == ["writer", "poet", "clown"]
    assert list(ruck.properties)[-1] == "place of birth"
    assert isinstance(graph, JsonGraph)
    assert [(one.qid, one.text) for one in graph.names()] == [
        ("Q2", "Anna Ruck"),
        ("Q2", "A. Ruck"),
        ("Q10", "Korvik"),
    ]


def test_names_are_found_whatever_their_case() -> None:
    twin = {"qid": "Q11", "name": "ANNA  ruck", "type": ["ship", "wreck"]}
    graph = JsonGraph.of([twin, RUCK, {"qid": "Q1", "name": " "}, {"qid": "Q0"}])
    found, nothing, blank, by_id = graph.find([" anna ruck", "Anna", " ", "q1"])
    assert found == [
        NamedEntity("Anna Ruck", "Q2", ("human",)),
        NamedEntity("ANNA  ruck", "Q11", ("ship", "wreck")),
    ]
    assert nothing == blank == []
    assert by_id == [NamedEntity("Q1", "Q1")]  # an entity without a name is called by its id


@pytest.mark.parametrize("name", ["instance of", "instance_of", "type", "P31", "http://x/type"])
def test_classes_are_the_same_in_a_file_and_when_it_is_loaded(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")
    path = written(
        tmp_path, [{"qid": "Q2", "name": "Anna Ruck", name: ["human", "writer"], "n": 1}]
    )
    wanted = () if name == "http://x/type" else ("human", "writer")
    for graph in (open_graph(path), build_graph([path], tmp_path / "g", Loading())):
        assert isinstance(graph, Listed)
        assert [one.types for one in graph.names()] == [wanted]
        [[found]] = graph.find(["anna ruck"])
        [entity] = graph.entities(["Q2"])
        assert entity is not None
        assert found.types == entity.types == wanted
        graph.close()


def test_lines_of_graphs(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff" + json.dumps(RUCK) + "\n\n" + json.dumps(KORVIK), "g.jsonl")
    graph = open_graph(str(path))
    assert all(graph.entities(["Q2", "Q10"]))
    graph.close()


def test_signatures_are_those_of_the_content(tmp_path: Path) -> None:
    first = open_graph(written(tmp_path, [RUCK], "a.json"))
    same = open_graph(written(tmp_path, [RUCK], "b.json"))
    other = open_graph(written(tmp_path, [KORVIK], "c.json"))
    assert first.signature == same.signature != other.signature
    assert JsonGraph.of([RUCK]).signature != JsonGraph.of([KORVIK]).signature


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("[1, 2", "graphs.json, entry 1: found int 1; expected a graph such as"),
        ('[{"qid": "Q1"}, {"q', "graphs.json, entry 2: found the file ends in the middle"),
        ("\x00", "graphs.json: found a NUL byte"),
        ("7", "graphs.json: found int 7; expected a graph such as"),
        ('{\n"qid": 1}', "graphs.json, field 'qid': found int 1; expected a graph"),
        ([RUCK, "x"], 'graphs.json, entry 2: found str "x"; expected a graph such as'),
        ([{"name": "x"}], "entry 1, field 'qid': found null; expected a graph such as"),
        ([{"qid": 7}], "entry 1, field 'qid': found int 7; expected"),
        ([{"qid": " "}], "entry 1, field 'qid': found str"),
        (
            [["q", [RUCK]], ["q", RUCK]],
            "entry 2: found object {qid, name, instance of, occupation, height, alive, spouse, ",
        ),
        ([["q", [RUCK, 5]]], "entry 1, graph 2: found int 5; expected a graph"),
        ([[7, [RUCK]]], "entry 1, question: found int 7; expected a text"),
        ([{"qid": "Q1", "a": {"b": 1}}], "entry 1, field 'a': found object {b}; expected a text"),
        ([{"qid": "Q1", "a": ["b", ["c"]]}], "field 'a': found list of 1"),
    ],
)
def test_what_is_no_graph_is_named(tmp_path: Path, value: Any, words: str) -> None:
    with pytest.raises(GraphError) as caught:
        open_graph(written(tmp_path, value))
    assert words in str(caught.value)
    assert "Fix the" in str(caught.value)


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"g\.jsonl, line 3: found a JSON syntax error"):
        open_graph(written(tmp_path, json.dumps(RUCK) + "\n\n{oops\n", "g.jsonl"))


def test_a_graph_of_records_that_is_none_is_named() -> None:
    with pytest.raises(GraphError, match="graphs, graph 2, field 'qid': found null"):
        JsonGraph.of([RUCK, {}])


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ({"qid": "Q1", "a": "\ud800"}, "graph 1, field 'a': found a lone surrogate"),
        ({"qid": "\ud800"}, "graph 1, field 'qid': found a lone surrogate"),
        ({"qid": "Q1", "\ud800": "a"}, "graph 1: found a lone surrogate"),
        ({"qid": "Q1", "a": "b\0"}, "graph 1, field 'a': found a NUL character"),
        ({"qid": "Q1", "a": float("nan")}, "graph 1, field 'a': found NaN"),
        ({"qid": "Q1", "a": 10**5000}, "graph 1, field 'a': found a number of thousands of digits"),
        ({"qid": 2**70}, f"graph 1, field 'qid': found int {2**70}; expected"),
        ({"qid": "Q1", "a": {"b": 2**70}}, "'a': found object {b}"),
        ({"qid": "Q1", "a": object()}, "'a': found a Python object"),
    ],
)
def test_values_that_no_record_can_hold_are_named(graph: Any, words: str) -> None:
    with pytest.raises(GraphError) as caught:
        JsonGraph.of([graph])
    assert words in str(caught.value)


def test_large_integers_are_kept_whole(tmp_path: Path) -> None:
    large = {"qid": "Q1", "a": 2**70}
    for graph in (JsonGraph.of([large]), open_graph(written(tmp_path, [large]))):
        (entity,) = graph.entities(["Q1"])
        assert entity is not None
        assert entity.properties["a"] == (PropertyValue("1180591620717411303424", "quantity"),)
