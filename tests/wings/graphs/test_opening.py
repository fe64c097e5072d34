"""What users write of a graph."""

from __future__ import annotations

import bz2
import gzip
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from tests.wings.graphs.loading.files import write
from tests.wings.graphs.people import people

from trueground.errors import GraphError
from trueground.wings.graphs import plain_rdf
from trueground.wings.graphs.embedded import EmbeddedGraph
from trueground.wings.graphs.folder import build_graph
from trueground.wings.graphs.loading import Loading
from trueground.wings.graphs.operations import open_graph


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
    with pytest.raises(GraphError, match=r"was loaded with names in 'de', not .* 'en'"):
        open_graph(tmp_path / "g", lang="en")


@pytest.mark.parametrize("written", ["nothing", "no\0thing", "", " ", "a/b.nt", "graph.json"])
def test_what_is_not_there_is_told_with_what_could_be(tmp_path: Path, written: str) -> None:
    place = tmp_path / written if written.strip() else written
    with pytest.raises(GraphError, match=r"sparql:URL or wikidata") as caught:
        open_graph(place)
    assert "a folder made by `trueground graph load`" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("graph", "x"),
        ("a.tar.gz", "x"),
        ("latest.json", '[\n{"type":"item","id":"Q1","labels":{}}\n]\n'),
    ],
)
def test_other_files_are_loaded_first(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(GraphError, match=re.escape(f"trueground graph load {path} --out DIR")):
        open_graph(path)


XML = (
    '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://e.org/">'
    '<r:Description r:about="urn:a"><x:b>&x;</x:b></r:Description></r:RDF>'
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.turtle", '<urn:a> <http://e.org/b> "c" .'),
        ("a.xml", XML.replace("&x;", "c")),
        ("a.json", '{"qid": "urn:a", "b": "c"}'),
        ("a.jsonl", '{"qid": "urn:a", "b": "c"}\n{"qid": "urn:b"}\n'),
        ("a.csv", "qid,property,value\nurn:a,b,c\n"),
    ],
)
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_what_is_loaded_can_be_opened_too(
    tmp_path: Path, name: str, content: str, packing: str
) -> None:
    path = write(tmp_path / f"{name}{packing}", content)
    (entity,) = open_graph(path).entities(["urn:a"])
    assert entity is not None
    assert [value.text for value in entity.properties["b"]] == ["c"]


DEEP = "".join(f'<!ENTITY e{n + 1} "&e{n};&e{n};">' for n in range(60))


@pytest.mark.parametrize(
    "entities",
    [
        f'<!ENTITY e0 "ha">{DEEP}<!ENTITY x "&e60;">',
        f'<!ENTITY x "{"ha" * 5000}">',
        '<!ENTITY x "a&#38;b;">',
        '<!ENTITY % x "a">',
    ],
)
@pytest.mark.parametrize("before", [0, 2030, 2046])  # where a part of the file ends in between
def test_entities_that_may_grow_are_refused(tmp_path: Path, entities: str, before: int) -> None:
    path = tmp_path / "a.rdf"
    path.write_text(f"{' ' * before}<!DOCTYPE r:RDF [{entities}]>{XML}")
    with pytest.raises(
        GraphError, match=r"a\.rdf: found the entity '<!ENTITY .* expected entities"
    ):
        open_graph(path)


@pytest.mark.parametrize("before", [0, 2000, 2030, 2040, 2046])
@pytest.mark.parametrize("comment", ["", f'<!-- <!ENTITY x "{"ha" * 300}"> -->'])
def test_short_entities_are_read(tmp_path: Path, before: int, comment: str) -> None:
    path = tmp_path / "a.owl"
    path.write_text(f'{" " * before}<!DOCTYPE r:RDF [{comment}<!ENTITY x "http://e.org/">]>{XML}')
    (entity,) = open_graph(path).entities(["urn:a"])
    assert entity is not None
    assert entity.properties["b"][0].text == "http://e.org/"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", ["pipe.nt", "pipe.json", "pipe"])
def test_a_pipe_is_no_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(GraphError, match="isn't a regular file; expected"):
        open_graph(tmp_path / name)
    with pytest.raises(GraphError, match="isn't a regular file; expected"):
        build_graph([tmp_path / name], tmp_path / "g", Loading())
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize("space", [" ", "  ", "\t", " \t ", ""])
def test_blank_nodes_stay_whole_however_lines_are_spaced(
    tmp_path: Path, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_rdf, "_BYTES", 10_000)  # many parts, in which a node could fall apart
    path = tmp_path / "a.nt"
    filler = "".join(f'<urn:x{n}> <urn:p> "{"x" * 900}" .\n' for n in range(100))
    path.write_text(
        f"<urn:a>{space}<urn:q>{space}_:b{space} .\n{filler}_:b{space}<urn:r>{space}<urn:c> .\n"
    )
    graph = open_graph(path)
    assert isinstance(graph, EmbeddedGraph)
    assert list(graph.query("SELECT ?c { <urn:a> <urn:q>/<urn:r> ?c }")) == [{"c": "urn:c"}]
    assert list(graph.query("SELECT (COUNT(?b) AS ?n) { ?b <urn:r> ?c }")) == [{"n": "1"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.nt", '<urn:a> <urn:p> "a\\u0000b" .\n'),
        ("a.nt", '<urn:a> <urn:p> "a\\U00000000b" .\n'),
        ("a.nt", '<urn:a> <urn:p> "a\0b" .\n'),
        ("a.ttl", '<urn:a> <urn:p> "a\\u0000b" .\n'),
        ("a.rdf", XML.replace("&x;", "a\0b")),
        ("a.csv", "qid,property,value\nurn:a,p,a\0b\n"),
        ("a.csv", "qid,property,value\nAnna\0,p,b\n"),
        ("a.json", '[{"qid": "Q1", "p": "a\\u0000b"}]'),
    ],
)
def test_a_nul_character_is_refused_with_its_place(tmp_path: Path, name: str, content: str) -> None:
    path = write(tmp_path / name, content)
    location = rf"{re.escape(name)}, (entry 1|row 1 .*|line 1|<urn:a> <.*>).*"
    place = location + ": found .*(NUL|invalid RDF/XML)"
    with pytest.raises(GraphError, match=place):
        open_graph(path)
    with pytest.raises(GraphError, match=place):
        build_graph([path], tmp_path / "g", Loading())


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"isn't a knowledge graph: graph\.json"):
        open_graph(tmp_path)
    (tmp_path / "graph.json").write_text("{}")
    with pytest.raises(GraphError, match=r"can't read .*graph\.json"):
        open_graph(tmp_path)
    (tmp_path / "graph.json").write_text('{"trueground_graph": 99}')
    with pytest.raises(GraphError, match="found format 99, and this trueground reads"):
        open_graph(tmp_path)


def test_an_endpoint_is_not_asked_yet() -> None:
    from trueground.wings.graphs.endpoint import EndpointGraph

    opened = open_graph("sparql:http://127.0.0.1:9/sparql", cache=False)
    assert isinstance(opened, EndpointGraph)
    opened.close()
