"""The graphs of the published KaLMA data, loaded into a store and asked for through an endpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import Store
from tests.wings.graphs.endpoint.sparql_server import SparqlServer

from trueground.wings.graphs.embedded import EmbeddedGraph, index_names
from trueground.wings.graphs.endpoint import EndpointGraph
from trueground.wings.graphs.folder import load_into
from trueground.wings.graphs.loading import Loading

DATA = Path(__file__).parents[5] / "shared" / "data" / "kalma" / "simple_question_graph.json"


@pytest.mark.skipif(not DATA.exists(), reason="the published KaLMA data are not here")
def test_the_same_people_as_embedded() -> None:
    store = Store()
    load_into(store, DATA, Loading(), lambda _phase, _done, _total: None)
    with SparqlServer(store) as server:
        graph = EndpointGraph(server.url, cache=False)
        here = Store()
        here.extend(store)
        index_names(here, "en")
        there = EmbeddedGraph(here, name="here", signature="here")
        people = [one for one in there.names() if "Q5" in one.types or "human" in one.types]
        qids = list(dict.fromkeys(one.qid for one in people))[::7]
        assert len(qids) > 100
        assert graph.entities(qids) == there.entities(qids)
        names = [one.text for one in people][::7]
        assert graph.find(names) == [
            [found for found in some if found.text == name]
            for name, some in zip(names, there.find(names), strict=True)
        ]
        graph.close()
