"""After a refused file the same process can load again, even if the error is kept."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from trueground.errors import GraphError
from trueground.wings.graphs.operations import load_graph, open_graph

TRIPLE = "<http://x/a> <http://x/p> <http://x/b> .\n"
BAD = {
    "lines.nt": TRIPLE * 3 + "<http://x/a> broken\n",
    "several.nt": TRIPLE * 40_000 + "<http://x/a> <broken\n" + TRIPLE,
    "turtle.ttl": "<http://x/a> <http://x/p> <http://x/b> .\n<http://x/a> ;",
    "nul.ttl": '<http://x/a> <http://x/p> "a\\u0000b" .\n',
    "empty.nt": "# nothing\n",
    "xml.rdf": "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Desc",
    "table.csv": "subject,predicate,object\nQ1,name\n",
    "graphs.jsonl": '{"id": "Q1", "name": 1}\n',
}


@pytest.fixture
def no_collection() -> Iterator[None]:
    """What is freed is freed by the code itself."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("name", BAD)
def test_load_after_a_refused_file_succeeds_while_the_error_is_held(
    name: str, tmp_path: Path
) -> None:
    bad, good, out = tmp_path / name, tmp_path / "good.nt", tmp_path / "graph"
    bad.write_text(BAD[name], encoding="utf-8")
    good.write_text(TRIPLE, encoding="utf-8")
    errors = []
    for _ in range(2):
        with pytest.raises(GraphError) as refused:
            load_graph([bad], out)
        errors.append(refused.value)
    assert [source.triples for source in load_graph([good], out).sources] == [1]
    with pytest.raises(GraphError) as refused:
        load_graph([bad], out)
    errors.append(refused.value)
    assert [source.triples for source in load_graph([good], out, overwrite=True).sources] == [1]
    # Apart from places in the store's files, each attempt is refused for the same reason.
    assert len({str(error) for error in errors}) == 1
    assert sorted(one.name for one in out.glob("store-*")) == ["store-2"]


@pytest.mark.usefixtures("no_collection")
def test_damaged_store_is_not_held_after_it_was_refused(tmp_path: Path) -> None:
    good, out = tmp_path / "good.nt", tmp_path / "graph"
    good.write_text(TRIPLE, encoding="utf-8")
    load_graph([good], out)
    (out / "store-1" / "CURRENT").write_text("nothing", encoding="utf-8")
    with pytest.raises(GraphError, match="can't read"):
        open_graph(out)
    load_graph([good], out, overwrite=True)
    assert sorted(one.name for one in out.glob("store-*")) == ["store-2"]
