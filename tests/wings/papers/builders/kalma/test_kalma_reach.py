"""A graph that answers nothing ends the build; one that fails now and then is asked again."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, Store
from tests.wings.graphs.endpoint.sparql_server import SparqlServer
from tests.wings.papers.builders.kalma.making import made, reasons, rows_of, unless
from tests.wings.papers.builders.kalma.world import GOOD, turtle
from tests.wings.papers.builders.scripted_server import scripted

from trueground.errors import CoverageError, UnreachableError
from trueground.wings.papers.builders.build import BuildSettings

ROWS = [{**GOOD[0], "id": f"{n}", "paragraph": f"{GOOD[0]['paragraph']} {n}."} for n in range(7)]


def store() -> Store:
    found = Store()
    found.load(turtle().encode(), format=RdfFormat.TURTLE)
    return found


def test_an_endpoint_that_only_errs_ends_the_build(tmp_path: Path) -> None:
    """Whatever share of failed calls is allowed."""
    patient = BuildSettings(max_failed=1.0, cache=False)
    with scripted(unless({})) as server, SparqlServer(store(), lambda _: "error-inside") as graph:
        with pytest.raises(UnreachableError, match=r"stage link .* first 5 of 7 items"):
            made(tmp_path, server, ROWS, settings=patient, graph=f"sparql:{graph.url}")
        impatient = BuildSettings(cache=False)
        with pytest.raises(CoverageError, match="--max-failed"):  # as calls that failed
            made(tmp_path, server, ROWS, settings=impatient, graph=f"sparql:{graph.url}")
        with pytest.raises(UnreachableError, match="first 1 of 1 items"):
            made(tmp_path, server, ROWS[:1], settings=patient, graph=f"sparql:{graph.url}")
        assert not server.calls
    assert not (tmp_path / "out" / "dataset").exists()


def test_a_row_that_fails_among_others_is_asked_for_again(tmp_path: Path) -> None:
    failing = ["Bo Lark"]
    half = BuildSettings(max_failed=0.5, cache=False)

    def mode(_call: int) -> str:
        return "error-inside" if any(one in graph.queries[-1] for one in failing) else "ok"

    with scripted(unless({})) as server, SparqlServer(store(), mode) as graph:
        made(tmp_path, server, settings=half, graph=f"sparql:{graph.url}")
        assert reasons(tmp_path) == {"lark": "graph_failed"}
        # Nothing is asked but what failed; that it fails again is no sign that the graph is gone.
        made(tmp_path, server, settings=half, graph=f"sparql:{graph.url}")
        assert reasons(tmp_path) == {"lark": "graph_failed"}
        failing.clear()
        made(tmp_path, server, settings=half, graph=f"sparql:{graph.url}")
    assert reasons(tmp_path) == {}
    assert len(rows_of(tmp_path, "specific")) == 3
