"""The embedded graph in memory: names, one-hop subgraphs, hostile names."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from tests.wings.graphs.people import PREFIXES, people

from trueground.errors import GraphError
from trueground.wings.graphs.base import KnowledgeGraph, Listed, NamedEntity, PropertyValue, Queried
from trueground.wings.graphs.embedded import EmbeddedGraph
from trueground.wings.graphs.operations import open_graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedGraph:
    opened = open_graph(people(tmp_path_factory.mktemp("graph")))
    assert isinstance(opened, EmbeddedGraph)
    return opened


def made(folder: Path, triples: str, lang: str = "en") -> EmbeddedGraph:
    path = folder / "some.ttl"
    path.write_text(PREFIXES + triples, encoding="utf-8")
    opened = open_graph(path, lang=lang)
    assert isinstance(opened, EmbeddedGraph)
    return opened


def test_it_keeps_the_protocols(graph: EmbeddedGraph) -> None:
    assert isinstance(graph, KnowledgeGraph)
    assert isinstance(graph, Listed)
    assert isinstance(graph, Queried)


def test_names_and_aliases_are_found_whatever_their_case(graph: EmbeddedGraph) -> None:
    ruck, alias, other, nothing = graph.find(["  anna ruck ", "a. RUCK", "Ännchen", "Anna"])
    assert ruck == [
        NamedEntity("Anna Ruck", "Q2", ("human", "Q5")),
        NamedEntity("anna  RUCK", "Q10", ("city", "Q515")),
    ]
    assert alias == [NamedEntity("A. Ruck", "Q2", ("human", "Q5"))]
    assert other == nothing == []


def test_a_subgraph_has_names_for_what_has_names(graph: EmbeddedGraph) -> None:
    (ruck,) = graph.entities(["Q2"])
    assert ruck is not None
    assert (ruck.name, ruck.aliases, ruck.types) == ("Anna Ruck", ("A. Ruck",), ("human", "Q5"))
    assert ruck.properties == {
        "date of birth": (PropertyValue("1871-11-01", "date"),),
        "date of death": (PropertyValue("1900", "date"),),
        "height": (PropertyValue("1.85 metre", "quantity", unit="metre"),),
        "instance of": (PropertyValue("human", "entity", id="Q5"),),
        "name (P2561)": (PropertyValue("Ruckian"),),
        "occupation": (
            PropertyValue("Q777", "entity", id="Q777"),
            PropertyValue("writer", "entity", id="Q36180"),
        ),
        "place of birth": (PropertyValue("Korvik", "entity", id="Q100"),),
    }
    assert list(ruck.properties) == sorted(ruck.properties)
    assert ruck.graph()["occupation"] == ["Q777", "writer"]
    assert (ruck.graph()["qid"], ruck.graph()["name"]) == ("Q2", "Anna Ruck")


def test_ids_are_answered_in_order_and_unknown_ones_by_none(graph: EmbeddedGraph) -> None:
    found = graph.entities(["Q10", "Q404", "Q2", "no id > }", "\ud800", "http://bad host/"])
    assert [one and one.qid for one in found] == ["Q10", None, "Q2", None, None, None]
    assert found[0] is not None
    assert found[0].properties["inception"] == (PropertyValue("-0044-03-15", "date"),)


def test_names_are_listed_without_properties_and_articles(graph: EmbeddedGraph) -> None:
    listed = [(one.qid, one.text) for one in graph.names()]
    assert listed == [
        ("Q2", "A. Ruck"),
        ("Q2", "Anna Ruck"),
        ("Q5", "human"),
        ("Q10", "anna  RUCK"),
        ("Q11", 'O\'Brien "x" \\ }'),
        ("Q12", "two\nlines > . } ?s"),
        ("Q100", "Korvik"),
        ("Q515", "city"),
        ("Q36180", "writer"),
    ]
    assert graph.find(["place of birth"]) == [[]]


@pytest.mark.parametrize(
    ("name", "qid"),
    [('o\'brien "X" \\ }', "Q11"), ("Two\nlines > . } ?S", "Q12"), (" two lines > . } ?s", "Q12")],
)
def test_a_name_is_data(graph: EmbeddedGraph, name: str, qid: str) -> None:
    assert [one.qid for one in graph.find([name])[0]] == [qid]


@pytest.mark.parametrize(
    "name", ["", " ", "\0", "Anna\0Ruck", "\ud800", '" } DROP ALL #', "?s", "> . } ?s", "\\u0041"]
)
def test_a_name_that_nobody_has_finds_nobody(graph: EmbeddedGraph, name: str) -> None:
    assert graph.find([name]) == [[]]
    assert len(list(graph.names())) == 9


def test_names_in_another_language(tmp_path: Path) -> None:
    graph = open_graph(people(tmp_path), lang="de")
    assert [one.text for one in graph.find(["ännchen", "a. ruck"])[0]] == ["Ännchen"]
    (ruck,) = graph.entities(["Q2"])
    assert ruck is not None
    assert ruck.name == "Anna Ruck (Autorin)"
    # Property and class have German names, the profession has none.
    assert ruck.properties["ist ein"] == (PropertyValue("Mensch", "entity", id="Q5"),)
    assert ruck.properties["P106"][0] == PropertyValue("Q36180", "entity", id="Q36180")


def test_texts_in_other_languages_count_where_no_other_is_there(tmp_path: Path) -> None:
    graph = made(
        tmp_path,
        """wd:Q1 rdfs:label "One" ; <urn:x:motto> "all"@en, "alle"@de ; <urn:x:own> "eins"@de ;
           <urn:x:blank> " " .""",
    )
    (one,) = graph.entities(["Q1"])
    assert one is not None
    assert one.properties == {"motto": (PropertyValue("all"),), "own": (PropertyValue("eins"),)}


def test_values_keep_their_kind(tmp_path: Path) -> None:
    graph = made(
        tmp_path,
        """<urn:x:a> rdfs:label "A" ; <urn:x:n> 12, 1.50, true ;
             <urn:x:d> "1871-11"^^xsd:gYearMonth, "1871-00-00T00:00:00Z"^^xsd:dateTime,
               "1871-11-01T10:20:30+02:00"^^xsd:dateTime, "somewhen"^^xsd:date ;
             <urn:x:page> <https://example.org/a> ; <urn:x:friend> <urn:x:b>, <urn:x:c> ;
             <urn:x:unknown> <http://www.wikidata.org/.well-known/genid/1> ; <urn:x:blank> [] .
           <urn:x:b> rdfs:label "B" . <urn:x:c> <urn:x:n> 1 .""",
    )
    (a,) = graph.entities(["urn:x:a"])
    assert a is not None
    assert a.properties == {
        "d": tuple(PropertyValue(t, "date") for t in ("1871", "1871-11", "1871-11-01", "somewhen")),
        "friend": (
            PropertyValue("B", "entity", id="urn:x:b"),
            PropertyValue("urn:x:c", "entity", id="urn:x:c"),
        ),
        "n": (
            PropertyValue("1.5", "quantity"),
            PropertyValue("12", "quantity"),
            PropertyValue("true", "other"),
        ),
        "page": (PropertyValue("https://example.org/a", "other"),),
    }


def test_two_properties_of_one_name_stand_together(tmp_path: Path) -> None:
    graph = made(
        tmp_path,
        """<urn:x:p> rdfs:label "job" . <urn:y:p> rdfs:label "job" .
           wd:Q1 rdfs:label "One" ; <urn:x:p> "cook" ; <urn:y:p> "baker", "cook" .""",
    )
    (one,) = graph.entities(["Q1"])
    assert one is not None
    assert one.graph() == {"qid": "Q1", "name": "One", "job": ["baker", "cook"]}


def test_the_best_label_names_and_the_others_are_aliases(tmp_path: Path) -> None:
    graph = made(
        tmp_path,
        """wd:Q1 schema:name "Third" ; skos:prefLabel "Second"@en-gb, "Also second"@mul .
           wd:Q2 rdfs:label "One"@fr .""",
    )
    one, two = graph.entities(["Q1", "Q2"])
    assert one is not None
    assert two is not None
    assert (one.name, one.aliases) == ("Also second", ("Second", "Third"))
    assert two.name == "Q2"  # it has no name in this language
    assert graph.find(["one", "third"]) == [[], [NamedEntity("Third", "Q1")]]


def test_signatures_tell_graphs_apart(tmp_path: Path) -> None:
    path = people(tmp_path)
    first, again = open_graph(path), open_graph(str(path))
    assert first.signature == again.signature
    assert first.signature != open_graph(path, lang="de").signature
    assert first.name == str(path)


def test_a_closed_graph_says_so(tmp_path: Path) -> None:
    graph = open_graph(people(tmp_path))
    assert isinstance(graph, EmbeddedGraph)
    names = graph.names()
    assert next(names).qid == "Q2"
    graph.close()
    with pytest.raises(GraphError, match=r"people\.ttl is closed; open it again"):
        list(names)
    graph.close()
    with pytest.raises(GraphError, match=r"people\.ttl is closed; open it again"):
        graph.find(["x"])
