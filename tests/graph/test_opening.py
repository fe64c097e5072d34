"""What users write of a graph."""

from __future__ import annotations

import bz2
import gzip
import re
from pathlib import Path

import pytest

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from tests.graph.people import people

from trueground.errors import GraphError
from trueground.graph.embedded.building import build_graph
from trueground.graph.embedded.graph import EmbeddedGraph
from trueground.graph.loading import Loading
from trueground.graph.opening import open_graph


def test_triples_are_read_packed_too(tmp_path: Path) -> None:
    path = people(tmp_path)
    packed = [
        (tmp_path / "p.ttl.gz", gzip.compress(path.read_bytes())),
        (tmp_path / "P.TTL.bz2", bz2.compress(path.read_bytes())),
    ]
    for place, content in packed:
        place.write_bytes(content)
        assert len(open_graph(place).find(["anna ruck"])[0]) == 2


def test_lines_of_triples_with_and_without_blank_nodes(tmp_path: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    plain = f'<urn:a> {label} "One _:x" .\n# a note\n\n<urn:a> <urn:p> "1" .'
    linked = plain + "\n<urn:a> <urn:q> _:b .\n_:b <urn:r> <urn:c> ."
    for number, text in enumerate((plain, linked)):
        path = tmp_path / f"{number}.nt"
        path.write_text(text)
        graph = open_graph(path)
        assert isinstance(graph, EmbeddedGraph)
        assert graph.find(["one _:x"])[0][0].qid == "urn:a"
        found = list(graph.query("SELECT ?c { <urn:a> <urn:q>/<urn:r> ?c }"))
        assert found == [{"c": "urn:c"}] * number  # a blank node is one node of the whole file


def test_a_line_that_is_no_triple_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.nt"
    path.write_text('<urn:a> <urn:p> "1" .\n<urn:a> "p" "1" .\n')
    with pytest.raises(GraphError, match=r"bad\.nt, line 2: found"):
        open_graph(path)


def test_a_folder_knows_its_language(tmp_path: Path) -> None:
    build_graph([people(tmp_path)], tmp_path / "g", Loading(lang="de")).close()
    opened = open_graph(tmp_path / "g")
    assert isinstance(opened, EmbeddedGraph)
    assert opened.lang == "de"
    open_graph(tmp_path / "g", lang="de").close()
    with pytest.raises(GraphError, match="was loaded with names in 'de', and 'en' is asked"):
        open_graph(tmp_path / "g", lang="en")


@pytest.mark.parametrize("written", ["nothing", "no\0thing", "", " ", "a/b.nt", "graph.json"])
def test_what_is_not_there_is_told_with_what_could_be(tmp_path: Path, written: str) -> None:
    place = tmp_path / written if written.strip() else written
    with pytest.raises(GraphError, match=r"sparql:URL or wikidata") as caught:
        open_graph(place)
    assert "a folder that `trueground graph load` made" in str(caught.value)


@pytest.mark.parametrize("name", ["graph.csv", "graph", "latest.json.bz2", "a.tar.gz"])
def test_other_files_are_loaded_first(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("x")
    with pytest.raises(GraphError, match=re.escape(f"trueground graph load {path} --out DIR")):
        open_graph(path)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"is no knowledge graph: graph\.json"):
        open_graph(tmp_path)
    (tmp_path / "graph.json").write_text("{}")
    with pytest.raises(GraphError, match=r"graph\.json cannot be read"):
        open_graph(tmp_path)
    (tmp_path / "graph.json").write_text('{"trueground_graph": 99}')
    with pytest.raises(GraphError, match="found a graph of format 99; this trueground reads"):
        open_graph(tmp_path)


def test_an_endpoint_is_not_asked_yet() -> None:
    from trueground.graph.endpoint.graph import EndpointGraph

    opened = open_graph("sparql:http://127.0.0.1:9/sparql", cache=False)
    assert isinstance(opened, EndpointGraph)
    opened.close()
