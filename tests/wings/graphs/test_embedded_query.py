"""SPARQL against the embedded graph: values are bound, nothing is changed, no other asked."""

from __future__ import annotations

import re
import select
import socket
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from tests.wings.graphs.people import people

from trueground.errors import GraphError
from trueground.wings.graphs.embedded import EmbeddedGraph
from trueground.wings.graphs.operations import open_graph

LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
BY_NAME = f"SELECT ?s {{ ?s {LABEL} ?l FILTER(STR(?l) = ?name) }} ORDER BY ?s"
HUMAN = "http://www.wikidata.org/entity/Q5"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedGraph:
    opened = open_graph(people(tmp_path_factory.mktemp("graph")))
    assert isinstance(opened, EmbeddedGraph)
    return opened


@pytest.mark.parametrize("name", ["Anna Ruck", 'O\'Brien "x" \\ }', "two\nlines > . } ?s"])
def test_values_are_bound_as_they_are(graph: EmbeddedGraph, name: str) -> None:
    assert len(list(graph.query(BY_NAME, {"name": name}))) == 1


@pytest.mark.parametrize(
    "name",
    ['") } SELECT * { ?s ?p ?o } #', "x\0y", '" || true || "', "\\", '"', "\\u0022) || (1=1", "?s"],
)
def test_a_value_changes_no_query(graph: EmbeddedGraph, name: str) -> None:
    assert list(graph.query(BY_NAME, {"name": name})) == []
    # It comes back as it went in.
    echo = list(graph.query(f"SELECT ?name {{ <{HUMAN}> {LABEL} ?l }}", {"?name": name}))
    assert {row["name"] for row in echo} == {name}


def test_an_address_is_bound_in_angle_brackets(graph: EmbeddedGraph) -> None:
    rows = graph.query(
        f"SELECT ?l {{ ?s {LABEL} ?l FILTER(LANG(?l) = 'en') }}", {"s": f"<{HUMAN}>"}
    )
    assert list(rows) == [{"l": "human"}]


def test_rows_of_every_kind_of_query(graph: EmbeddedGraph) -> None:
    assert list(graph.query("ASK { ?s ?p 5 }")) == [{"ask": "false"}]
    assert list(graph.query(f"ASK {{ ?s {LABEL} 'human'@en }}")) == [{"ask": "true"}]
    made = list(graph.query(f"CONSTRUCT {{ ?s <urn:x> ?l }} WHERE {{ ?s {LABEL} ?l }} LIMIT 1"))
    assert list(made[0]) == ["subject", "predicate", "object"]
    assert list(graph.query(f"DESCRIBE <{HUMAN}>"))
    (row,) = graph.query(f"SELECT ?l ?no {{ <{HUMAN}> {LABEL} ?l FILTER(LANG(?l)='en') }}")
    assert row == {"l": "human", "no": None}
    (count,) = graph.query(
        f"SELECT (COUNT(*) AS ?n) {{ ?s {LABEL} ?l FILTER(STR(?l) = ?name) }}", {"name": "human"}
    )
    assert count == {"n": "1"}


def test_the_usual_prefixes_need_no_declaration(graph: EmbeddedGraph) -> None:
    rows = graph.query("SELECT ?s { ?s wdt:P19 wd:Q100 ; rdfs:label ?name }", {"s": "<urn:x>"})
    assert list(rows) == []
    assert list(graph.query("PREFIX wd: <urn:other:> ASK { wd:Q2 ?p ?o }")) == [{"ask": "false"}]


def test_the_index_of_names_is_not_seen(graph: EmbeddedGraph) -> None:
    assert list(graph.query("SELECT * { ?s <urn:trueground:key> ?o }")) == []
    assert list(graph.query("SELECT * { GRAPH ?g { ?s ?p ?o } }")) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <http://127.0.0.1:9/sparql> { ?s ?p ?o } }",
        "SELECT * { service silent <http://127.0.0.1:9/sparql> { ?s ?p ?o } }",
        "SELECT * { ?s <urn:it's> ?x . SERVICE ?e { ?s ?p ?o } # '\n }",
        "SELECT * { ?s <urn:\\u0041'> ?x . SERVICE ?e { ?s ?p ?o } # '\n }",
        "PREFIX a: <urn:a> SELECT * { ?s a:b\\' ?x . SERVICE ?e { ?s ?p ?o } # '\n }",
        "SELECT * { # '\n SERVICE ?e { ?s ?p '' } }",
        "SELECT * { ?s ?p ''' ' ''' . {SERVICE<urn:x>{ ?s ?p ?o }}}",
        "SELECT * { ?s ?p ?o .SERVICE <http://127.0.0.1:9/x> { ?s ?p ?o } }",
        "SELECT * { ?s ?p 1.SERVICE <http://127.0.0.1:9/x> { ?s ?p ?o } }",
        "SELECT * { ?s ?p trueSERVICESILENT<http://127.0.0.1:9/x>{ ?s ?p ?o } }",
        "PREFIX p: <urn:p:> SELECT * { p:a p:b p:.SERVICE p:x { ?s ?p ?o } }",
        "PREFIX p: <urn:p:> SELECT * { p:a p:b p:cSERVICE , p:d SERVICEp:x { ?s ?p ?o } }",
        "PREFIX : <urn:p:> PREFIX service: <urn:s:> ASK { service:a ?p ?o . SERVICE:a { } }",
    ],
)
def test_no_other_endpoint_is_asked(graph: EmbeddedGraph, query: str) -> None:
    with pytest.raises(
        GraphError, match="the query has SERVICE, which would query another endpoint"
    ):
        graph.query(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?service { ?service ?p 'SERVICE' }",
        "PREFIX service: <urn:service:> SELECT * { ?s service:service ?o }",
        "SELECT * { ?s <urn:SERVICE> ?o } # SERVICE <x>",
        'SELECT * { ?s ?p """SERVICE " SERVICE""" }',
        r"SELECT ?SERVICE ?service { ?SERVICE ?service '\\u0053ERVICE\n', '\u0053ERVIC\u0045' }",
        "PREFIX p: <urn:p:> SELECT * { ?s p:x.SERVICE ?o, p:service }",
    ],
)
def test_the_word_service_may_stand_elsewhere(graph: EmbeddedGraph, query: str) -> None:
    assert list(graph.query(query)) == []


def made_up(random: Random, target: str) -> str:
    """A query that may have SERVICE in it, glued to whatever stands around it."""

    def some(*choices: str) -> str:
        return random.choice(choices)

    word = "".join(random.choice((c, c.lower())) for c in "SERVICE")
    word = some(word, word, word, word + some("SILENT", " silent "), word.replace("E", "\\u0045"))
    glue = some("", "", " ", "\n", "#\n", "# ' \n", "\\u0020")
    call = f"{glue}{word}{glue}{some(target, target, 'p:x', ':x', '?e')}{glue}{{ ?x ?y ?z }}"
    end = some("?o", "1", "1.", "1.5e3", "true", "'x'", "'x'@en", "'''#'''", "p:b", "p:", "p:\\.")
    end = some(end, end, "p:x.y", "<urn:'>", '"\\u0022"', "[]", "()", "'1'^^p:x", "?service", "_:b")
    triple = f"?s {some('?p', 'a', 'p:b', 'p:b?', '<urn:#>', '^p:b/p:c*')} {end}"
    before = some("", "", f"{triple}", f"{triple}", f"{triple}.", f"{triple} .", f"{triple};", "{}")
    before = some(before, before, "FILTER(1<2)", "BIND(1 AS ?q)", "OPTIONAL{}", "VALUES ?e {<x:>}")
    inner = f"{before}{call}{some('', '.', ' . ?a ?b ?c', '}{')}"
    inner = some(inner, inner, f"{{{inner}}}", f"FILTER EXISTS{{{inner}}}", f"GRAPH ?g{{{inner}}}")
    inner = some(inner, inner, f"?s ?p '''{call}'''", f"{{SELECT*{{{inner}}}}}", f"#{call}\n")
    form = some("ASK{", "SELECT*{", "CONSTRUCT{?s ?p ?o}{", f"SELECT(EXISTS{{{inner}}} AS ?i){{")
    form = some(form, form, form, f"SELECT*FROM {target}{{", f"LOAD {target};ASK{{", "DESCRIBE*{")
    return f"PREFIX p:<{target[1:-1]}>PREFIX :<urn:x>PREFIX service:<urn:y>{form}{inner}}}"


@pytest.mark.long
def test_ten_thousand_made_up_queries_ask_no_one(graph: EmbeddedGraph) -> None:
    random = Random(16)
    ends = {"answered": 0, "has SERVICE": 0, "cannot": 0}
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listening:
        target = f"<http://127.0.0.1:{listening.getsockname()[1]}/>"
        for number in range(10_000):
            query = made_up(random, target)
            try:
                list(graph.query(query, {"e": target} if number % 5 == 0 else None))
            except GraphError as error:
                end = next((one for one in ends if one in str(error)), "cannot")
            else:
                end = "answered"
            ends[end] += 1
        # Who had connected would wait there.
        assert select.select([listening], [], [], 0)[0] == []
    assert min(ends.values()) > 500, ends


@pytest.mark.parametrize(
    "query",
    [
        "DROP ALL",
        "insert data { <urn:a> <urn:b> 1 }",
        "PREFIX a: <urn:a#> # here\n DELETE WHERE { ?s ?p ?o }",
        "LOAD <http://127.0.0.1:9/x.ttl>",
        "WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
    ],
)
def test_nothing_is_changed(graph: EmbeddedGraph, query: str) -> None:
    with pytest.raises(GraphError, match=r"which changes a graph; expected one SELECT, ASK"):
        graph.query(query)
    assert len(list(graph.names())) == 9


def test_what_cannot_be_read_is_told_with_its_place(graph: EmbeddedGraph) -> None:
    with pytest.raises(GraphError, match="line 2, column 11: found '}', which isn't") as caught:
        graph.query("SELECT ?s {\n  ?s ?p  x }".replace("  x", " x"))
    assert "expected one SELECT, ASK, CONSTRUCT or DESCRIBE" in str(caught.value)
    with pytest.raises(GraphError, match="it ends too early"):
        graph.query("SELECT ?s {")
    with pytest.raises(GraphError, match=r"line 1, column \d+"):
        graph.query("SELECT ?s { ?s ?p ?name ", {"name": "a\nb\nc"})
    with pytest.raises(GraphError, match="can't parse"):
        graph.query("")
    with pytest.raises(GraphError, match="UTF-8"):
        graph.query("SELECT ?s { ?s ?p '\ud800' }")


@pytest.mark.parametrize(
    ("bindings", "words"),
    [
        ({"nobody": "x"}, "the query has no variable ?nobody"),
        ({"a b": "x"}, "'a b' is no variable"),
        ({"name": "<not an address>"}, "isn't an IRI"),
        ({"name": "\ud800"}, "is no text"),
    ],
)
def test_bindings_that_cannot_be_meant(
    graph: EmbeddedGraph, bindings: dict[str, str], words: str
) -> None:
    with pytest.raises(GraphError, match=re.escape(words)):
        graph.query(BY_NAME, bindings)


def test_named_graphs_of_a_file_are_asked_as_one(tmp_path: Path) -> None:
    path = tmp_path / "some.nq"
    path.write_text("<urn:a> <urn:p> <urn:b> <urn:g> .\n<urn:b> <urn:p> <urn:c> .\n")
    graph = open_graph(path)
    assert isinstance(graph, EmbeddedGraph)
    rows = graph.query("SELECT ?c { <urn:a> <urn:p>/<urn:p> ?c }")
    assert list(rows) == [{"c": "urn:c"}]
