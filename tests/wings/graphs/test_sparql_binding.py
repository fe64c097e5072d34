"""Values in place of variables, held against what pyoxigraph makes of the same bindings."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from pyoxigraph import Literal, NamedNode, QueryBoolean, QuerySolutions, Variable
from tests.wings.graphs.endpoint.invented import PLAIN, store_of

from trueground.errors import GraphError
from trueground.wings.graphs.sparql import bound, check_reading

STORE = store_of(PLAIN)
P = "PREFIX ex: <http://example.org/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
ADA, POET = "<http://example.org/ada>", "<http://example.org/Poet>"


def rows(query: str, **given: str) -> object:
    substitutions = {
        Variable(name): NamedNode(v[1:-1]) if v.startswith("<") else Literal(v)
        for name, v in given.items()
    }
    found = STORE.query(query, substitutions=substitutions)  # type: ignore[arg-type]
    if isinstance(found, QueryBoolean):
        return bool(found)
    assert isinstance(found, QuerySolutions)
    names = [one.value for one in found.variables]
    return sorted(str([(name, row[name]) for name in sorted(names)]) for row in found)


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("SELECT ?s ?p WHERE { ?s ?p ex:inkford }", {"s": ADA}),
        ("SELECT ?s ?o WHERE { ?s rdfs:label ?o }", {"s": ADA}),
        ("SELECT ?s ?n WHERE { ?s rdfs:label ?l . FILTER(STR(?l) = ?n) }", {"n": "Ada Quill"}),
        ("SELECT ?s ?n WHERE { ?s rdfs:label ?l FILTER(?n=STR(?l)) }", {"n": "Ada Quill"}),
        ("SELECT DISTINCT $s WHERE { ?s a ?o OPTIONAL { $s ex:age ?a } }", {"s": ADA}),
        ("SELECT ?t (COUNT(?s) AS ?c) WHERE { ?s a ?t } GROUP BY ?t", {"t": POET}),
        ("SELECT ?t ?s WHERE { ?s a ?t } ORDER BY ?t DESC(?t) LIMIT 3", {"t": POET}),
        ("SELECT ?s ?o WHERE { ?s a ex:Poet MINUS { ?s ex:livesIn ?o } }", {"o": POET}),
        ("SELECT ?s ?t WHERE { ?s ex:age ?x FILTER NOT EXISTS { ?s a ?t } }", {"t": ADA}),
        ("SELECT ?s ?t ?x WHERE { ?s a ?t { SELECT ?s ?x WHERE { ?s ex:age ?x } } }", {"t": POET}),
        ("ASK { ?s a ?t }", {"s": ADA, "t": POET}),
    ],
)
def test_as_pyoxigraph_substitutes(query: str, given: dict[str, str]) -> None:
    written, added = bound(P + query, given)
    assert not added
    assert rows(written) == rows(P + query, **given)
    assert rows(written)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?p WHERE { ?s ?p ex:inkford }", 1),
        ("SELECT ?t WHERE { { SELECT ?t WHERE { ?s a ?t } } }", 1),
        ("SELECT (STR(?s) AS ?z) WHERE { ?s a ex:Poet }", 1),
        ("SELECT ?c WHERE { ?s ex:age ?c FILTER(EXISTS { ?s a ex:Poet } && ISIRI(?s)) }", 1),
        ("SELECT ?x WHERE { VALUES (?x) { (1) (2) } ?s a ex:Poet } ORDER BY ?s", 2),
        ("SELECT ?c WHERE { ?s ex:age ?c } GROUP BY ?s ?c HAVING(?c > 1)", 1),
    ],
)
def test_a_variable_need_not_be_selected(query: str, expected: int) -> None:
    found = rows(bound(P + query, {"?s": ADA})[0])
    assert isinstance(found, list)
    assert len(found) == expected


def test_select_all_tells_the_values_too() -> None:
    written, added = bound(P + "SELECT DISTINCT * { ?s a ?t }", {"s": ADA})
    assert added == {"s": "http://example.org/ada"}
    assert rows(written) == ["[('t', <NamedNode value=http://example.org/Poet>)]"]
    assert bound(P + "SELECT (COUNT(*) AS ?n) { ?s a ?t }", {"s": ADA})[1] == {}


def test_texts_comments_and_addresses_stay_as_they_are() -> None:
    query = (
        "SELECT ('?n' AS ?a) (\"?n \\\" ?n\" AS ?b) ('''?n ' ?n''' AS ?c) # ?n in a comment\n"
        '("""?n "" ?n""" AS ?d) (<http://example.org/?n> AS ?e) ("x"@as AS ?f) (?n AS ?g)'
        " WHERE { } # ?n"
    )
    written, _ = bound(query, {"n": "v"})
    assert rows(written) == [
        str(
            [
                ("a", Literal("?n")),
                ("b", Literal('?n " ?n')),
                ("c", Literal("?n ' ?n")),
                ("d", Literal('?n "" ?n')),
                ("e", NamedNode("http://example.org/?n")),
                ("f", Literal("x", language="as")),
                ("g", Literal("v")),
            ]
        )
    ]
    assert written.count("?n") == query.count("?n") - 1


@given(
    st.text(
        alphabet=st.one_of(
            st.sampled_from("\\\"'u0022{}<>?#. \n"), st.characters(exclude_categories=["Cs"])
        )
    )
)
def test_a_value_never_becomes_part_of_the_query(value: str) -> None:
    query = "SELECT (?n AS ?a) ('?n' AS ?b) WHERE { FILTER(?n = ?n) } # ?n"
    wanted = value if not (value.startswith("<") and value.endswith(">")) else f" {value}"
    written, _ = bound(query, {"n": wanted})
    assert rows(written) == [str([("a", Literal(wanted)), ("b", Literal("?n"))])]


@pytest.mark.parametrize(
    ("query", "name", "words"),
    [
        ("SELECT ?x { ?s a ?x }", "n", r"no variable \?n"),
        ("SELECT ?x { ?s a ?x } # ?n", "n", r"no variable \?n"),
        ("SELECT ?x { ?s a ?xn }", "n", r"no variable \?n"),
        ("SELECT ?x { BIND(1 AS ?x) }", "x", "after AS"),
        ("SELECT (1 AS ?x) { }", "x", "after AS"),
        ("SELECT ?s { ?s a ?t FILTER(bound(?x)) }", "x", "in BOUND"),
        ("SELECT ?s { VALUES ?x { 1 } }", "x", "before the values"),
        ("SELECT ?s { VALUES (?s ?x) { (1 2) } }", "x", "before the values"),
        ("SELECT ?s { ?s ex:a ?d FILTER(?a<?x&&?x>?d) }", "x", "spaces around the <"),
        ("SELECT ?s { ?s a ?x }", "x y", "is no variable"),
        ("SELECT ?s { ?s a ?x }", "", "is no variable"),
    ],
)
def test_what_cannot_be_bound(query: str, name: str, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        bound(query, {name: "v"})


@pytest.mark.parametrize(
    "good", ["select * {}", "# DROP\nPREFIX a: <b> BASE <c> ASK {}", P + "SELECT ?a {}"]
)
def test_reading(good: str) -> None:
    check_reading(good)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("DROP ALL", "DROP changes"),
        (P + "INSERT DATA { ex:a ex:b ex:c }", "INSERT changes"),
        ("with <a> delete {} where {}", "WITH changes"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "write CONSTRUCT as a SELECT"),
        ("", "has no keyword"),
        ("HELLO", "begins with HELLO"),
    ],
)
def test_only_reading(query: str, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        check_reading(query)
