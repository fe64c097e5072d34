"""Whatever an endpoint does ends in the right result or in an error that says what to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tests.wings.graphs.endpoint.invented import FULL, TRUTHY, store_of
from tests.wings.graphs.endpoint.sparql_server import SparqlServer, without_offset, without_page

from trueground.errors import GraphError, TruegroundError, UnreachableError
from trueground.net.cache import ResponseCache
from trueground.net.cache_contents import CacheStats
from trueground.wings.graphs.endpoint import EndpointGraph

STORE = store_of(TRUTHY, FULL)


Served = Callable[..., tuple[SparqlServer, EndpointGraph]]


@pytest.fixture
def served() -> Iterator[Served]:
    """A server that behaves in these ways, the last one for good, and a graph that asks it."""
    entered: list[tuple[SparqlServer, EndpointGraph]] = []

    def start(
        *ways: str, max_attempts: int = 2, **options: object
    ) -> tuple[SparqlServer, EndpointGraph]:
        server = SparqlServer(STORE, lambda call: ways[min(call, len(ways)) - 1]).__enter__()
        options = {"kind": "wikidata", "max_attempts": max_attempts, **options}
        graph = EndpointGraph(server.url, **options)  # type: ignore[arg-type]
        entered.append((server, graph))
        return server, graph

    yield start
    for server, graph in entered:
        graph.close()
        server.__exit__()


@pytest.mark.parametrize(
    "once", ["429", "429-wait", "500", "502", "503", "cut", "reset", "cut-json", "html", "empty"]
)
def test_what_passes_is_tried_again(served: Served, once: str) -> None:
    server, graph = served(once, "ok")
    assert [one.qid for one in graph.find(["Bo Quill"])[0]] == ["Q900002"]
    assert server.queries[0] == server.queries[1]
    if once == "429-wait":
        assert server.times[1] - server.times[0] >= 0.9


@pytest.mark.parametrize(
    ("way", "kind", "words", "calls"),
    [
        ("401", UnreachableError, "denies access.*TRUEGROUND_CONTACT", 1),
        ("403", UnreachableError, "user agent with a contact.*TRUEGROUND_CONTACT", 1),
        ("404", GraphError, "HTTP 404: no such page.*address", 1),
        ("301", GraphError, "has moved to https://example.org/elsewhere", 1),
        ("429", UnreachableError, r"is unavailable now: HTTP 429.*2 attempts.*later", 2),
        ("429-long", UnreachableError, "asks to wait 86400 s", 1),
        ("500", GraphError, "HTTP 500: the server had an error.*later", 2),
        ("500-timeout", GraphError, "timed out.*gave up: TimeoutException", 1),
        ("502", UnreachableError, "HTTP 502: Oops Wikimedia Error Our servers are busy", 2),
        ("503", UnreachableError, "HTTP 503: Oops", 2),
        ("html", GraphError, r"not whole JSON \(text/html.*\): Oops Wiki.*expected SPARQL", 2),
        ("cut", GraphError, "connection broke|cannot be read", 2),
        ("reset", GraphError, "connection broke|cannot be read", 2),
        ("cut-json", GraphError, "not whole JSON", 2),
        ("empty", GraphError, "not whole JSON", 2),
        ("gave-up", GraphError, "timed out.*gave up midway.*Simplify", 1),
        ("partial", GraphError, "timed out.*a part of the rows only", 1),
        ("deep", GraphError, "JSON, nested too deeply", 1),
        ("list", GraphError, "no SPARQL results", 1),
        ("error-inside", GraphError, "no SPARQL results", 1),
        ("odd-term", GraphError, "no SPARQL results", 1),
        ("other-rows", GraphError, r"rows without some of \?text \?entity", 1),
    ],
)
def test_what_stays_is_said(
    served: Served, way: str, kind: type[TruegroundError], words: str, calls: int
) -> None:
    server, graph = served(way)
    with pytest.raises(kind, match=words) as caught:
        graph.find(["Bo Quill"])
    assert f"the SPARQL endpoint {server.url}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 900
    assert len(server.queries) == calls
    graph.close()
    if way != "other-rows":
        assert not CacheStats.count(ResponseCache.path_of("graphs")).entries  # no failure is kept


def test_a_hanging_server_is_left(served: Served) -> None:
    _, graph = served("hang", "ok", timeout=0.3)
    assert graph.find(["Bo Quill"])[0]
    _, graph = served("hang", timeout=0.3, max_attempts=1)
    began = time.monotonic()
    with pytest.raises(GraphError, match=r"timed out: no complete reply within 0\.3 s"):
        graph.entities(["Q900001"])
    assert time.monotonic() - began < 5


def test_closed_while_it_asks(served: Served) -> None:
    server, graph = served("ok")
    wanted = graph.find(["Bo Quill"])
    told: list[BaseException] = []
    server.behave = lambda _call: "hang"
    server.queries.clear()

    def ask(qid: str) -> None:
        try:
            graph.entities([qid, *(f"Q{number}" for number in range(60))])
        except BaseException as error:
            told.append(error)

    qids = ("Q900001", "Q900002")
    threads = [threading.Thread(target=ask, args=(qid,)) for qid in qids]
    for thread in threads:
        thread.start()
    give_up = time.monotonic() + 30
    while not all(any(qid in query for query in server.queries) for qid in qids):
        assert time.monotonic() < give_up
        time.sleep(0.01)
    graph.close()
    for thread in threads:
        thread.join(30)
    server.behave = lambda _call: "ok"
    assert [type(one) for one in told] == [GraphError, GraphError]
    assert all("was closed before it had answered" in str(one) for one in told)
    assert all(one.__suppress_context__ for one in told)
    assert graph.find(["Bo Quill"]) == wanted


def test_one_failure_among_several_calls_ends_all(served: Served) -> None:
    _, graph = served("ok", "404")
    with pytest.raises(GraphError, match="HTTP 404"):
        graph.entities([f"Q{number}" for number in range(900_000, 900_100)])


def test_a_syntax_error_is_told_without_the_query(served: Served) -> None:
    server, graph = served("ok", max_attempts=5)
    with pytest.raises(GraphError, match=r"rejected the query: HTTP 400: .*Fix") as caught:
        graph.query("SELECT ?averylongname WHERE { nonsense }")
    assert "averylongname" not in str(caught.value)
    assert "MalformedQueryException" in str(caught.value)
    assert len(server.queries) == 1


def test_nobody_there() -> None:
    graph = EndpointGraph("http://127.0.0.1:9/sparql", max_attempts=1)
    with pytest.raises(UnreachableError, match=r"can't reach .*: cannot connect.*graph load"):
        graph.find(["Bo Quill"])
    graph.close()


def test_a_password_is_sent_and_never_told(served: Served) -> None:
    server, _ = served("403")
    url = server.url.replace("http://", "http://me:sesame-open@")
    graph = EndpointGraph(url)
    with pytest.raises(UnreachableError) as caught:
        graph.find(["Bo Quill"])
    assert server.headers[-1]["Authorization"].startswith("Basic ")
    assert "sesame" not in str(caught.value)
    graph.close()


def test_endpoints_that_pass_over_pages() -> None:
    with SparqlServer(STORE, serve=without_page) as server:
        graph = EndpointGraph(server.url, kind="wikidata", page=2)
        assert [one.qid for one in graph.find(["Ada Quill"])[0]] == ["Q10", "Q900001", "Q900002"]
        graph.close()
    with SparqlServer(STORE, serve=without_offset) as server:
        graph = EndpointGraph(server.url, kind="wikidata", page=2)
        with pytest.raises(GraphError, match="the same page of rows twice"):
            graph.find(["Ada Quill"])
        graph.close()


def test_a_reply_in_the_cache_that_cannot_be_read_is_asked_for_again(served: Served) -> None:
    server, graph = served("ok")
    wanted = list(graph.query("ASK {}"))
    graph.close()
    with ResponseCache.open("graphs") as cache:
        cache.put(graph._endpoint._key("ASK {}"), b"<html>", model="x")
    assert list(graph.query("ASK {}")) == wanted == [{"ask": "true"}]
    assert len(server.queries) == 2
