"""A cache that breaks while an endpoint is asked is told, and all questions are asked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("pyoxigraph")

from tests.wings.graphs.endpoint.invented import store_of
from tests.wings.graphs.endpoint.sparql_server import SparqlServer
from tests.wings.papers.kalma_files import data_folder

from trueground.benchmarks.base import Sources, get_benchmark
from trueground.net.cache import ResponseCache


def test_replies_that_are_no_longer_kept_are_told(tmp_path: Path) -> None:

    def behave(_call: int) -> str:
        with closing(sqlite3.connect(ResponseCache.path_of("graphs"))) as cache:
            cache.execute("DROP TABLE IF EXISTS reply")
        return "ok"

    told: list[str] = []
    data = data_folder(tmp_path / "clone")
    sources = Sources(data, note=told.append)
    people = store_of('wd:Q101 rdfs:label "Orla Venn"@en ; ex:trade "botanist" .')
    with SparqlServer(people, behave) as server:
        options = {
            "knowledge": "gold",
            "graph": f"sparql:{server.url}",
            "minimum": str(data / "minimum.json"),
        }
        task = get_benchmark("kalma").prepare("specific", options, sources)
        shown = [question.record.knowledge for question in task.questions()]
    assert [one["qid"] for some in shown for one in some or ()]
    assert sum("continues without caching" in one for one in told) == 1
