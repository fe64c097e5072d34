"""Two names and a relation → two entities, in every kind of graph."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import RdfFormat, Store
from tests.wings.graphs.endpoint.sparql_server import SparqlServer
from tests.wings.papers.builders.kalma.world import graph_file, turtle

from trueground.errors import InputError, UsageError
from trueground.wings.graphs.base import KnowledgeGraph
from trueground.wings.graphs.endpoint import EndpointGraph
from trueground.wings.graphs.json_graph import JsonGraph
from trueground.wings.graphs.operations import open_graph
from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.client import ModelClient
from trueground.wings.papers.builders.kalma.items import LinkedPair, SourcePair
from trueground.wings.papers.builders.kalma.pairs import Relations, linking_stage, read_relations

JSON = [
    {"qid": "Q10", "name": "Tobias Quill", "spouse": "Anna Harrow", "child": "Mira Quill"},
    {"qid": "Q11", "name": "Anna Harrow", "spouse": "Tobias Quill"},
    {"qid": "Q12", "name": "Anna Harrow", "spouse": "Bo Lark", "instance of": "human"},
    {"qid": "Q13", "name": "Bo Lark", "spouse": "Anna Harrow"},
    {"qid": "Q14", "name": "Mira Quill", "father": "Tobias Quill"},
]


def linked(
    graph: KnowledgeGraph,
    head: str,
    relation: str,
    tail: str,
    relations: Relations | None = None,
    types: Any = (),
) -> LinkedPair:
    stage = linking_stage(graph, relations or Relations(), types)
    (found,) = asyncio.run(stage.work(SourcePair("1", "…", head, relation, tail), ModelClient({})))
    return found


def fallen(*given: Any, **more: Any) -> str:
    with pytest.raises(Rejected) as caught:
        linked(*given, **more)
    return caught.value.reason


@pytest.fixture(params=["store", "json", "endpoint"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "json":
        yield JsonGraph.of(JSON)
    elif request.param == "store":
        found = open_graph(graph_file(tmp_path))
        yield found
        found.close()
    else:
        store = Store()
        store.load(turtle().encode(), format=RdfFormat.TURTLE)
        with SparqlServer(store) as server:
            endpoint = EndpointGraph(server.url, kind="rdf")
            yield endpoint
            endpoint.close()


def test_namesakes_are_told_apart_by_the_edge(graph: KnowledgeGraph) -> None:
    assert linked(graph, "Tobias Quill", "spouse", "Anna Harrow").qids == ("Q10", "Q11")
    assert linked(graph, "Anna Harrow", "Spouse", "Bo Lark").qids == ("Q12", "Q13")
    found = linked(graph, "Mira Quill", "father", "Tobias Quill")
    assert (found.qids, found.edge) == (("Q14", "Q10"), "father")
    assert [one["qid"] for one in found.graphs] == ["Q14", "Q10"]


def test_an_edge_that_the_other_tells_will_do(graph: KnowledgeGraph) -> None:
    assert linked(graph, "Tobias Quill", "father", "Mira Quill").edge == "father"


def test_what_is_not_there_falls(graph: KnowledgeGraph) -> None:
    assert fallen(graph, "Zora Blank", "spouse", "Anna Harrow") == "name_not_found"
    assert fallen(graph, "Mira Quill", "spouse", "Bo Lark") == "no_such_pair"
    assert fallen(graph, "Mira Quill", "spouse", "Tobias Quill") == "other_relation"
    odd = 'x" } ?s ?p ?o . #'
    assert fallen(graph, odd, "spouse", "Anna Harrow") == "name_not_found"


class Talkative:
    """A graph whose answers hold what was not asked for, each answer twice."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def query(self, sparql: str) -> Any:
        rows = list(self.inner.query(sparql))
        stranger = "http://www.wikidata.org/entity/Q999"
        more = [{**row, "one": stranger} for row in rows] + [{**row, "other": "?"} for row in rows]
        return iter([*more, *rows, *rows])


def test_an_endpoint_that_names_strangers_is_not_believed(tmp_path: Path) -> None:
    with closing(open_graph(graph_file(tmp_path))) as graph:
        found = linked(Talkative(graph), "Tobias Quill", "spouse", "Anna Harrow")
    assert found.qids == ("Q10", "Q11")


def test_relations_may_be_mapped_or_all_edges_taken(graph: KnowledgeGraph, tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"hasParent": ["father", "mother"], "wed": "spouse"}))
    mapped = read_relations(path, any_edge=False)
    assert linked(graph, "Mira Quill", "has parent", "Tobias Quill", mapped).edge == "father"
    assert linked(graph, "Bo Lark", "wed", "Anna Harrow", mapped).qids == ("Q13", "Q12")
    every = Relations(any_edge=True)
    assert linked(graph, "Mira Quill", "whatever", "Tobias Quill", every).qids == ("Q14", "Q10")


def test_classes_narrow_the_choice(graph: KnowledgeGraph) -> None:
    if isinstance(graph, JsonGraph):
        assert linked(graph, "Anna Harrow", "spouse", "Bo Lark").qids == ("Q12", "Q13")
    else:
        found = linked(graph, "Anna Harrow", "spouse", "Bo Lark", types=("Q5",))
        assert found.qids == ("Q12", "Q13")
    given = (graph, "Anna Harrow", "spouse", "Bo Lark")
    assert fallen(*given, types=("lighthouse",)) == "name_not_found"


def test_two_pairs_that_are_joined_alike_are_ambiguous(tmp_path: Path) -> None:
    twice = [
        {"qid": "Q1", "name": "Ona Reed", "sibling": "Ilse Reed"},
        {"qid": "Q2", "name": "Ilse Reed", "sibling": "Ona Reed"},
        {"qid": "Q3", "name": "Ilse Reed", "sibling": "Ona Reed"},
    ]
    assert fallen(JsonGraph.of(twice), "Ona Reed", "sibling", "Ilse Reed") == "ambiguous_pair"
    path = tmp_path / "twice.ttl"
    path.write_text(
        turtle() + '\nwd:Q10 wdt:P26 wd:Q30 . wd:Q30 rdfs:label "Anna Harrow"@en .', "utf-8"
    )
    graph = open_graph(path)
    assert fallen(graph, "Tobias Quill", "spouse", "Anna Harrow") == "ambiguous_pair"
    graph.close()


@pytest.mark.parametrize("text", ["[1]", "no", '{"a": [1]}', '{"a": null}'])
def test_maps_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "map.json"
    path.write_text(text)
    with pytest.raises((InputError, UsageError), match=r"map\.json"):
        read_relations(path, any_edge=False)
    with pytest.raises(InputError, match=r"none\.json"):
        read_relations(tmp_path / "none.json", any_edge=False)
