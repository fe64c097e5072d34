"""Reading a file takes four times the time when it is so much larger, whatever stands in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.wings.graphs.loading.files import nt

from trueground.errors import GraphError
from trueground.wings.graphs.operations import open_graph

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")
pytestmark = pytest.mark.long

XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e:">'
ITEM = '{"type":"item","id":"Q1","labels":{},"claims":'


def numbered(text: str, n: int) -> str:
    return ",".join(text % i for i in range(n))


MADE: dict[str, Callable[[int], str]] = {
    "text.nt": lambda n: f'<urn:a> <urn:b> "{"> _ " * (n // 4)}" .\n',
    "escapes.nt": lambda n: '<urn:a> <urn:b> "' + "\\n" * (n // 2) + '" .\n',
    "open.nt": lambda n: '<urn:a> <urn:b> "c\n' * (n // 19),
    "space.nt": lambda n: "<urn:a> " + " " * n + '<urn:b> "c" .\n',
    "blank.nt": lambda n: "_:a <urn:b> _:c .\n" * (n // 18),
    "tags.truthy.nt": lambda n: nt("Q1", "label", '"' + '\\"@' * (n // 3) + '"@en'),
    "lists.ttl": lambda n: "<urn:a> <urn:b> " + "(" * (n // 10) + ")" * (n // 10) + " .",
    "nodes.ttl": lambda n: "<urn:a> <urn:b> " + "[<urn:b> " * (n // 10) + "1" + "]" * (n // 10),
    "open.ttl": lambda n: '<urn:a> <urn:b> """' + '"" ' * (n // 3),
    "dots.ttl": lambda n: "@prefix a: <urn:x> . a:b a:c a:d" + "." * n,
    "names.ttl": lambda n: "".join(f"@prefix a{i}: <urn:x> .\n" for i in range(n // 26)),
    "nested.rdf": lambda n: XML + "<e:D><e:p>" * (n // 22) + "</e:p></e:D>" * (n // 22),
    "spread.rdf": lambda n: (
        XML + ("<e:D><e:p>" * 490 + "</e:p></e:D>" * 490) * (n // 10_780) + "</rdf:RDF>"
    ),
    "attributes.rdf": lambda n: XML + "<e:D " + "".join(f'e:a{i}="x" ' for i in range(n // 12)),
    "comment.rdf": lambda n: XML + "<!--" + "x" * n,
    "entities.rdf": lambda n: (
        "<!DOCTYPE rdf:RDF ["
        + "".join(f'<!ENTITY a{i} "urn:x">' for i in range(n // 24))
        + f"]>{XML}<e:D e:p='x'/></rdf:RDF>"
    ),
    "nested.json": lambda n: f"[{ITEM}{'[' * (n // 2)}{']' * (n // 2)}]",
    "kalma.json": lambda n: (
        '[["q",[' + numbered('{"qid":"Q%d","name":"one name"}', n // 32) + "]]]"
    ),
    "values.json": lambda n: '[["q",[{"qid":"Q1","name":[' + numbered('"v%d"', n // 8) + "]}]]]",
    "fields.json": lambda n: '[["q",[{"qid":"Q1",' + numbered('"p%d":"v"', n // 14) + "}]]]",
    "quotes.json": lambda n: '[["q","' + "\\\\" * (n // 2),
    "lists.json": lambda n: '[["q",' + "[" * (n // 2) + "]" * (n // 2) + "]]",
    "digits.jsonl": lambda n: '{"qid":"Q1","name":"a","x":' + "1" * n + "}\n",
    "columns.csv": lambda n: "subject,predicate,object," + numbered("c%d", n // 7) + "\n",
    "cells.csv": lambda n: "subject,predicate,object\n" + "x," * (n // 2) + "\n",
    "open.csv": lambda n: "subject,predicate,object\n" + 'a,b,"\n' * (n // 6),
    "quotes.tsv": lambda n: "subject\tpredicate\tobject\n" + '"\t' * (n // 2) + "\n",
    "names.csv": lambda n: (
        "qid,name,property,value\n" + "".join(f"Q1,n{i},p,{i}\n" for i in range(n // 16))
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_four_times_as_much_takes_four_times_as_long(tmp_path: Path, name: str) -> None:
    def seconds(size: int) -> float:
        path = tmp_path / name
        path.write_text(MADE[name](size))
        begun = time.process_time()
        with suppress(GraphError):
            open_graph(path).close()
        return time.process_time() - begun

    seconds(1_000)  # what is imported then is not measured
    # The least of two, since a busy machine adds to either.
    quarter, whole = (min(seconds(size) for _ in range(2)) for size in (300_000, 1_200_000))
    assert whole < 1.0 or whole < 9 * quarter  # the square would be 16
