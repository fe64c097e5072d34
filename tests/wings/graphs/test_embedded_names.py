"""The index of names is the same whether lines or the store gave it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from trueground.errors import GraphError
from trueground.wings.graphs.embedded import EmbeddedGraph
from trueground.wings.graphs.folder import build_graph
from trueground.wings.graphs.loading import Loading
from trueground.wings.graphs.names import name_key

E, D = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#label"
SCHEMA, ALIAS = "http://schema.org/name", "http://www.w3.org/2004/02/skos/core#altLabel"
PLAIN = f"""\
<{E}Q1> <{RDFS}> "Anna  RUCK"@en .
<{E}Q1> <{ALIAS}> "Straße"@en-GB .
<{E}Q1> <{ALIAS}> "Anna"@de .
<{E}Q2> <{RDFS}> "tagless" .
<{E}Q2> <{RDFS}> " "@en .
<{E}Q3> <{ALIAS}> "everywhere"@mul .
<{E}Q3> <{D}P735> <http://example.org/surname> .
<{E}Q3> <http://www.w3.org/2000/01/rdf-schema#seeAlso> <{RDFS}> .
<{E}P9> <{RDFS}> "a property"@en .
<{E}P9> <http://wikiba.se/ontology#directClaim> <{D}P9> .
<{D}P9> <{RDFS}> "an address"@en .
<urn:trueground:property:x> <{RDFS}> "our own"@en .
<http://example.org/Anna> <{SCHEMA}> "the article"@en .
<http://example.org/Anna> <http://schema.org/about> <{E}Q1> .
<http://example.org/other> <{SCHEMA}> "no article"@en .
"""
ODD = [
    f'<{E}Q7> <{RDFS}> "quo\\"ted"@en .\n',
    f'<{E}Q7> <{RDFS}> "\\u00C4nne"@en .\n',
    f'<{E}Q7> <http://www.w3.org/2000/01/rdf-schema\\u0023label> "hidden"@en .\n',
    f'<{E}Q\\u0037> <{RDFS}> "Seven"@en .\n',
    f'<{E}Q7>\t<{RDFS}>\t"tab"@en\t.\n',
    f'<{E}Q7><{RDFS}>"tight"@en.\n',
    f'<{E}Q7> <{RDFS}> "typed"^^<http://www.w3.org/2001/XMLSchema#token> .\n',
    f'<{E}Q7> <{RDFS}> "noted"@en . # why\n',
    f'<{E}Q7> <{RDFS}> "returned"@en .\r\n',
]


def built(folder: Path, text: str, ending: str) -> EmbeddedGraph:
    path = folder / f"some{ending}"
    path.write_bytes(text.encode())
    return build_graph([path], folder / ending[1:], Loading(), overwrite=True)


def index(graph: EmbeddedGraph, text: str) -> dict[str, list[str]]:
    """Whom the names of the text find, those that nobody should have too."""
    names = [part.split('"')[0] for part in text.split(' "')[1:]]
    names += ["hidden", "tight", "tab", 'quo"ted', "Änne", *(one.text for one in graph.names())]
    found = zip(names, graph.find(names), strict=True)
    return {name: [one.qid for one in named] for name, named in found}


@pytest.mark.parametrize("odd", ["", *ODD])
def test_lines_and_store_give_one_index(tmp_path: Path, odd: str) -> None:
    text = PLAIN + odd
    lines, turtle = built(tmp_path, text, ".nt"), built(tmp_path, text, ".ttl")
    found = index(lines, text)
    assert found == index(turtle, text)
    assert list(lines.names()) == list(turtle.names())
    # Every name that is listed is found, and nothing else.
    listed = {name_key(one.text) for one in lines.names()}
    assert {name_key(name) for name, qids in found.items() if qids} == listed
    assert {"anna ruck", "strasse", "tagless", "everywhere", "no article"} <= listed
    assert len(listed) == 5 + bool(odd)


def test_what_is_added_later_takes_names_away(tmp_path: Path) -> None:
    graph = built(tmp_path, f'<urn:x:page> <{RDFS}> "Page" .\n<{E}P8> <{RDFS}> "later" .\n', ".nt")
    assert all(graph.find(["page", "later"]))
    more = tmp_path / "more.nt"
    more.write_text(
        f"<urn:x:page> <http://schema.org/about> <{E}Q1> .\n"
        f"<{E}P8> <http://wikiba.se/ontology#directClaim> <{D}P8> .\n"
    )
    graph = build_graph([more], tmp_path / "nt", Loading())
    assert graph.find(["page", "later"]) == [[], []]
    assert list(graph.names()) == []


@pytest.mark.parametrize(
    "line",
    [
        "<http://bad host/> <urn:x:p> <urn:x:o> .",
        "<no-address> <urn:x:p> <urn:x:o> .",
        "<urn:x:s> <urn:x:p> <http://example.org:port/> .",
        "<urn:x:s> <urn:x:p> <http://example.org/%zz> .",
        "<urn:x:s> <urn:x:p> <http://example.org/a#b#c> .",
        '<urn:x:s> <urn:x:p> "x"^^<relative> .',
        '<urn:x:s> <urn:x:p> "x"@toolongatag .',
        '<urn:x:s> <urn:x:p> "\\q" .',
    ],
)
def test_addresses_are_still_checked(tmp_path: Path, line: str) -> None:
    with pytest.raises(GraphError, match=r"some\.nt, line 16"):
        built(tmp_path, PLAIN + line + "\n", ".nt")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.nt"
    path.write_bytes(f'<{E}Q1> <{RDFS}> "Ann\xff"@en .\n'.encode("latin-1"))
    with pytest.raises(GraphError, match=r"some\.nt, line 1"):
        build_graph([path], tmp_path / "g", Loading())
