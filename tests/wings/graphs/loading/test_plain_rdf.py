"""RDF files as they are, packed or not; what is no RDF is named with file and line."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import Store
from tests.wings.graphs.loading.files import embedded, load, nt, short, shown, triples, write

from trueground.errors import GraphError, UsageError, WriteError
from trueground.wings.graphs.folder import load_into
from trueground.wings.graphs.loading import Loading

TURTLE = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ada rdfs:label "Ada, \\"the\\" first: [x]"@en ; ex:knows ex:ben, ex:cy ; ex:born 1871 .
ex:ben rdfs:label "Ben"@en .
ex:knows rdfs:label "knows"@en .
"""
ADA, BEN = "http://example.org/ada", "http://example.org/ben"


def other_forms() -> dict[str, str]:
    """One triple in every form."""
    triple = "<http://example.org/ada> <http://example.org/knows> <http://example.org/ben>"
    xml = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:ex="http://example.org/"><rdf:Description rdf:about="http://example.org/ada">'
        '<ex:knows rdf:resource="http://example.org/ben"/></rdf:Description></rdf:RDF>'
    )
    return {
        "a.nt": f"{triple} .\n",
        "a.ttl": f"# a comment\n{triple} .",
        "a.nq": f"{triple} <http://example.org/graph> .\n",
        "a.trig": f"<http://example.org/graph> {{ {triple} }}",
        "a.rdf": xml,
        "a.xml": xml,
    }


@pytest.mark.parametrize("name", other_forms())
@pytest.mark.parametrize("packing", ["", ".gz", ".bz2", ".zst"])
def test_every_form(tmp_path: Path, name: str, packing: str) -> None:
    store, counts = load(write(tmp_path / (name + packing), other_forms()[name]))
    assert triples(store) == {(ADA, "http://example.org/knows", BEN)}
    assert (counts.format, counts.triples) == ("rdf", 1)
    assert all(str(quad.graph_name) == "DEFAULT" for quad in store), "graph names are dropped"


def test_through_the_embedded_graph(tmp_path: Path) -> None:
    [ada] = embedded(write(tmp_path / "a.ttl.bz2", TURTLE)).entities([ADA])
    assert ada is not None
    assert shown(ada) == {
        "qid": ADA,
        "name": 'Ada, "the" first: [x]',
        "born": "1871",
        "knows": ["Ben", "http://example.org/cy"],
    }


def test_blank_nodes_of_two_files_stay_apart(tmp_path: Path) -> None:
    one = write(tmp_path / "1.nt", '_:b <http://example.org/p> "1" .\n')
    two = write(tmp_path / "2.nt", '_:b <http://example.org/p> "2" .\n')
    store, _ = load(one)
    load_into(store, two)
    assert len({short(str(quad.subject)) for quad in store}) == 2


def test_what_is_no_rdf(tmp_path: Path) -> None:
    good = nt("Q1", "P1", "Q2")
    cases = {
        "iri.nt": (good + "<http://a> <http://b c> <http://d> .\n", r"line 2: .*Invalid IRI"),
        "utf8.nt": (good.encode() + b'<http://a> <http://b> "\xff" .\n', r"line 2: .*UTF-8"),
        "cut.nt": (good + "<http://a> <http://b", r"line 2: "),
        "a.ttl": (TURTLE + "ex:ada ex:knows\n", r"found invalid Turtle"),
        "a.rdf": ("<rdf:RDF", r"found invalid RDF/XML"),
        "tag.nt": ('<http://a> <http://b> "x"@toolongtag123 .\n', r"line 1: "),
    }
    for name, (text, found) in cases.items():
        path = write(tmp_path / name, text)
        with pytest.raises(GraphError, match=found) as told:
            load(path)
        assert name in str(told.value)
        assert "expected valid" in str(told.value)


XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e:">'


def deep_xml(n: int) -> str:
    return XML + "<e:D><e:p>" * n + "</e:p></e:D>" * n + "</rdf:RDF>"


def many_attributes(n: int) -> str:
    return XML + "<e:D " + "".join(f'e:a{i}="x" ' for i in range(n)) + "/></rdf:RDF>"


@pytest.mark.parametrize(
    ("name", "made", "most", "found"),
    [
        ("a.rdf", deep_xml, 499, "found more than 1,000 nested elements"),
        ("c.rdf", many_attributes, 1_000, r"found 10?,00\d attributes of one element <e:D>"),
    ],
)
def test_what_no_parser_stands_is_refused(
    tmp_path: Path, name: str, made: Callable[[int], str], most: int, found: str
) -> None:
    _, counts = load(write(tmp_path / name, made(most)))
    assert counts.triples > 0
    for n in (most + 1, 10 * most):
        with pytest.raises(GraphError, match=f"{name}: {found}"):
            load(write(tmp_path / name, made(n)))


def test_a_tag_or_a_text_of_many_megabytes_is_refused(tmp_path: Path) -> None:
    comment = XML + "<!--" + "x" * 2_000_000 + "--></rdf:RDF>"
    with pytest.raises(GraphError, match=r"a\.rdf: found a tag or comment of more than 1 MiB"):
        load(write(tmp_path / "a.rdf", comment))
    text = f'_:a <urn:b> "{"x" * 20_000_000}" .\n'
    for name in ("a.nt", "a.ttl", "a.nq", "a.trig"):
        with pytest.raises(GraphError, match=rf"{name}: found a text or an address that is too"):
            load(write(tmp_path / name, text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"no\.nt does not exist"):
        load(tmp_path / "no.nt")
    with pytest.raises(GraphError, match="is empty"):
        load(write(tmp_path / "empty.nt", ""))
    with pytest.raises(GraphError, match="found no triple at all"):
        load(write(tmp_path / "comment.nt", "# nothing\n"))
    (tmp_path / "folder.nt").mkdir()
    with pytest.raises(GraphError, match="is a folder"):
        load(tmp_path / "folder.nt")
    with pytest.raises(GraphError, match="unknown format"):
        load(write(tmp_path / "a.doc", "hello"))
    with pytest.raises(GraphError, match="expected an RDF file to end in"):
        load(write(tmp_path / "a.doc", "hello"), format="rdf")
    with pytest.raises(GraphError, match="UTF-16"):
        load(write(tmp_path / "wide.nt", nt("Q1", "P1", "Q2").encode("utf-16")))
    with pytest.raises(UsageError, match=r"unknown graph format 'rfd'.*'rdf'"):
        Loading(format="rfd")
    with pytest.raises(UsageError, match="which doesn't support classes"):
        load(write(tmp_path / "a.ttl", TURTLE), classes=("Q5",))
    with pytest.raises(UsageError, match="language 'e n'"):
        Loading(lang="e n")


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "s.nt"))
        with pytest.raises(GraphError, match=r"s\.nt isn't a regular file; expected"):
            load(tmp_path / "s.nt")


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(WriteError, match="can't write the store"):
        load_into(store, write(tmp_path / "a.ttl", TURTLE))


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    load_into(Store(), write(tmp_path / "a.ttl", TURTLE), progress=lambda *what: told.append(what))
    assert told == [("triples", 6, None)]
