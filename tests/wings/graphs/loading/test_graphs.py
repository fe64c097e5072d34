"""Graphs as records and KaLMA's files hold them; the real data come back as they are."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.wings.graphs.loading.files import embedded, load, short, shown, triples, write

from trueground.errors import GraphError

SHARED = Path(__file__).parents[5] / "shared" / "data" / "kalma"
ADA: dict[str, Any] = {
    "qid": "Q901",
    "name": "Ada Brook",
    "occupation": ["writer", "poet, of sorts", "The Rise: and Fall [1], or: {x}"],
    "date_of_birth": "1871-11-01",
    "date_of_death": "",
    "spouse": None,
    "instance of": "human",
    "height": 1.50,
    "children": 3,
    "retired": True,
    "topic's main category": 'Category:Ada "O\'Brook" \\ }\n',
}
BEN = {"qid": "ben/x y", "name": "Ben", "http://example.org/knows": "Ada"}
CY = {"qid": "http://example.org/cy", "name": ["Cy", "Cyrus"], "notes:x": "a"}


def test_graphs_come_back(tmp_path: Path) -> None:
    path = write(tmp_path / "g.jsonl", "\n".join(json.dumps(g) for g in (ADA, BEN, CY, ADA)))
    graph = embedded(path)
    ada, ben, cy = graph.entities(["Q901", "ben/x y", "http://example.org/cy"])
    assert ada is not None
    assert ben is not None
    assert cy is not None
    empty = {"date_of_death", "spouse"}
    wanted = {k: v for k, v in ADA.items() if k not in empty}
    wanted |= {"height": "1.5", "children": "3", "retired": "true"}
    wanted["occupation"] = sorted(ADA["occupation"])
    assert shown(ada) == wanted
    assert ada.types == ("human",)
    kinds = {name: values[0].kind for name, values in ada.properties.items()}
    assert (kinds["date_of_birth"], kinds["height"], kinds["occupation"]) == (
        "date",
        "quantity",
        "text",
    )
    assert shown(ben) == BEN
    assert shown(cy) == {**CY, "name": "Cy"}
    assert cy.aliases == ("Cyrus",)
    assert {named.text for named in graph.names()} == {"Ada Brook", "Ben", "Cy", "Cyrus"}


def test_counts_and_properties(tmp_path: Path) -> None:
    store, counts = load(write(tmp_path / "g.json.gz", json.dumps([ADA, BEN, ADA])))
    assert (counts.format, counts.entities) == ("graphs", 2)
    found = triples(store)
    assert counts.triples == len(found)
    assert ("urn:trueground:property:occupation", "label", '"occupation"') in found
    assert ("http://example.org/knows", "label", '"http://example.org/knows"') in found


def test_kalma(tmp_path: Path) -> None:
    text = json.dumps([["Who?", [ADA, BEN]], ["Nobody?", []], ["Who else?", [ADA]]])
    store, counts = load(write(tmp_path / "k.json.zst", text))
    assert (counts.format, counts.entities) == ("kalma", 2)
    born = {o for s, p, o in triples(store) if p.endswith("date_of_birth")}
    assert born == {'"1871-11-01"^^<xsd:date>'}
    assert counts.triples == len(triples(store)), "every graph once"


def test_graphs_of_one_entity_are_put_together(tmp_path: Path) -> None:
    parts = [{"qid": "Q1", "name": "A", "p": "1"}, {"qid": "Q1", "name": "A", "p": ["2", "1"]}]
    [found] = embedded(write(tmp_path / "g.json", json.dumps(parts))).entities(["Q1"])
    assert found is not None
    assert shown(found) == {"qid": "Q1", "name": "A", "p": ["1", "2"]}


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("k.json", '[["Who?"]]', r"entry 1: found list of 1; expected \[question, \[graph"),
        ("k.json", '[["Who?", {}]]', r"entry 1: found object .*; expected a list of graphs"),
        ("k.json", '[["Who?", [5]]]', r"entry 1, graph 1: found int 5; expected a graph"),
        ("k.json", '[["Who?", [{"name": "x"}]]]', r"graph 1, field 'qid': found null; expected"),
        ("k.json", '[["Who?", []]]', r"found no graph at all"),
        ("k.json", '[["Who?", [{"qid": "Q1"', r"entry 1: found the file ends in the middle"),
        ("g.json", "[]", r"found no graph at all"),
        ("g.json", '[{"qid": 5}]', r"entry 1, field 'qid': found int 5"),
        ("g.json", '[{"qid": "Q1", "p": {"a": 1}}]', r"entry 1, field 'p': found object \{a\}"),
        ("g.json", '[{"qid": "Q1", "p": [["a"]]}]', r"field 'p': found list of 1; expected a text"),
        ("g.json", '[{"qid": "http://x/%zz"}]', r"field 'qid': found 'http://x/%zz', which isn't"),
        ("g.json", '[{"qid": "Q1", "http://x/%zz": "a"}]', r"which isn't a valid IRI"),
        ("g.json", '[{"qid": "Q1", "p": NaN}]', r"entry 1: found .*NaN"),
        ("g.json", '[{"qid": "Q1", "p": "\\ud800"}]', r"entry 1: found .*surrogate"),
        ("g.jsonl", '{"qid": "Q1", "p": "a"}\n{"qid": "Q2"', r"line 2: found the file ends"),
        ("g.jsonl", b'{"qid": "Q1", "p": "\xff"}\n', r"line 1: found .*UTF-8"),
        ("g.jsonl", "[" * 100_000 + "\n", r"g\.jsonl"),
    ],
)
def test_what_is_no_graph(tmp_path: Path, name: str, text: str | bytes, found: str) -> None:
    with pytest.raises(GraphError, match=found):
        load(write(tmp_path / name, text))


def test_odd_names_and_values_come_back(tmp_path: Path) -> None:
    """Random texts of signs that mean something in RDF, in addresses or in citations."""
    rng = random.Random(7)
    signs = "aé日 \\\"'<>{}|^`%#/?:,;.[]()@&=+~\n\t\x00\U0001f600" + "Qq1"

    def some(length: int) -> str:
        return "x" + "".join(rng.choice(signs) for _ in range(length)) + "x"

    graphs = [
        {"qid": some(5), "name": some(9), some(6): some(9), some(7): sorted({some(5), some(6)})}
        for _ in range(300)
    ]
    graphs = [g for g in graphs if not str(g["qid"]).startswith("x:")]
    path = write(tmp_path / "g.json", json.dumps(graphs).replace("\\u0000", "0"))
    wanted = json.loads(path.read_text())
    found = embedded(path).entities([g["qid"] for g in wanted])
    for graph in wanted:
        graph.update({k: sorted(v) for k, v in graph.items() if isinstance(v, list)})
    assert [shown(one) for one in found] == wanted


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published KaLMA data are not here")
def test_the_real_data_come_back(tmp_path: Path) -> None:
    """All 1,076 people of the published files, in their pairs of property and value."""
    path = SHARED / "complex_question_graph.json"
    store, counts = load(path)
    assert (counts.format, counts.entities) == ("kalma", 1_076)
    labels = {short(str(q.predicate)) for q in store} - {"label"}
    assert len(labels) == 117 - 2, "qid and name are no properties"
    wanted = {g["qid"]: g for _, graphs in json.loads(path.read_text()) for g in graphs}
    graph = embedded(path)
    found = graph.entities(list(wanted))
    for entity, published in zip(found, wanted.values(), strict=True):
        assert entity is not None
        assert entity.graph() == {name: value for name, value in published.items() if value}
        assert entity.types == ("human",)
    again, _ = load(SHARED / "simple_question_graph.json")
    assert triples(again) == triples(store), "both files hold the same graphs"
