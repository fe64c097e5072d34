"""A graph behind an endpoint says what the embedded graph says of the same triples."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from tests.wings.graphs.endpoint.invented import FULL, PLAIN, TRUTHY, store_of
from tests.wings.graphs.endpoint.sparql_server import SparqlServer

from trueground._version import __version__
from trueground.errors import GraphError, UsageError
from trueground.execution.loop import LoopThread
from trueground.net.cache import ResponseCache
from trueground.net.cache_contents import CacheStats
from trueground.wings.graphs import endpoint as endpoint_graph
from trueground.wings.graphs.base import KnowledgeGraph, Listed, NamedEntity, PropertyValue, Queried
from trueground.wings.graphs.embedded import EmbeddedGraph, index_names
from trueground.wings.graphs.endpoint import WIKIDATA, EndpointGraph
from trueground.wings.graphs.endpoint_queries import wikidata_forms
from trueground.wings.graphs.rdf import entity_iri

IDS = ["Q900001", "Q900002", "Q10", "Q900003", "Q5", "Q404", "Q900022"]
NAMES = ["Ada Quill", " Ada Quill ", "The Inkwell", "Bo Quill", "Ada Feder", "instance of"]
NAMES += ["Colorful Bo", "Bont Bo", "Bo au Québec"]  # in a region's form of a language
ODD = 'O\'Brien "x" \\ }\n?s'


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRUEGROUND_CONTACT", raising=False)


@pytest.fixture
def truthy() -> Iterator[SparqlServer]:
    with SparqlServer(store_of(TRUTHY)) as server:
        yield server


@pytest.fixture
def full() -> Iterator[SparqlServer]:
    with SparqlServer(store_of(TRUTHY, FULL)) as server:
        yield server


def embedded(*parts: str, lang: str = "en") -> EmbeddedGraph:
    store = store_of(*parts)
    index_names(store, lang)
    return EmbeddedGraph(store, name="here", signature="here", lang=lang)


def test_it_is_a_graph_that_answers_sparql_and_cannot_list(truthy: SparqlServer) -> None:
    graph = EndpointGraph(truthy.url)
    assert isinstance(graph, KnowledgeGraph)
    assert isinstance(graph, Queried)
    assert not isinstance(graph, Listed)
    graph.close()
    assert not truthy.queries


@pytest.mark.parametrize(("kind", "lang"), [("wikidata", "en"), ("rdf", "en"), ("rdf", "de")])
@pytest.mark.parametrize("page", [1, 3, 5_000])
def test_the_same_as_embedded(truthy: SparqlServer, kind: str, lang: str, page: int) -> None:
    graph = EndpointGraph(truthy.url, kind=kind, lang=lang, page=page)  # type: ignore[arg-type]
    there = embedded(TRUTHY, lang=lang)
    assert graph.find([*NAMES, ODD, "", "nobody"]) == there.find([*NAMES, ODD, "", "nobody"])
    assert graph.entities(IDS) == there.entities(IDS)
    graph.close()


@pytest.mark.parametrize("lang", ["en", "de", "en-GB", "nl-BE"])
def test_plain_rdf_as_embedded(lang: str) -> None:
    ids = [f"http://example.org/{one}" for one in ("ada", "inkford", "nameless", "none", "Poet")]
    names = ["Ada Quill", "Ada Feder", "Ada Q.", "Inkford", "poet", "lives in"]
    there = embedded(PLAIN, lang=lang)
    with SparqlServer(store_of(PLAIN)) as server:
        graph = EndpointGraph(server.url, lang=lang)
        assert graph.entities(ids) == there.entities(ids)
        assert graph.find(names) == there.find(names)
        graph.close()


def test_names_in_a_regions_form_of_the_language(full: SparqlServer) -> None:
    for kind, calls in (("wikidata", 0), ("rdf", 1)):
        graph = EndpointGraph(full.url, kind=kind, cache=False)  # type: ignore[arg-type]
        before = len(full.queries)
        for _ in range(2):
            (found,) = graph.find(["Colorful Bo"])
            assert [one.qid for one in found] == ["Q900002"]
        asked = full.queries[before:]
        assert sum("LANG(?text) AS ?tag" in query for query in asked) == calls
        graph.close()
    assert wikidata_forms("EN") == ["en-ca", "en-gb", "en-us"]
    assert wikidata_forms("eo") == []


@pytest.mark.parametrize("kind", ["wikidata", "rdf"])
def test_years_before_our_era_as_embedded(full: SparqlServer, kind: str) -> None:
    graph = EndpointGraph(full.url, kind=kind)  # type: ignore[arg-type]
    there = embedded(TRUTHY, FULL)
    for (one,) in (graph.entities(["Q900002"]), there.entities(["Q900002"])):
        assert one is not None
        assert one.properties["date of birth"] == (PropertyValue("-0044-03-15", "date"),)
    graph.close()
    ours = embedded(
        "ex:a ex:born '-0043-03-15'^^xsd:date, '0000'^^xsd:gYear, '-0100-02'^^xsd:gYearMonth ."
    )
    (one,) = ours.entities(["http://example.org/a"])
    with SparqlServer(ours._store) as server:
        graph = EndpointGraph(server.url)
        assert graph.entities(["http://example.org/a"]) == [one]
        graph.close()
    assert one is not None
    assert one.graph()["born"] == ["-0001", "-0044-03-15", "-0101-02"]


def test_times_and_quantities_as_far_as_they_are_known(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url, kind="wikidata")
    ada, bo, odd = (one for one in graph.entities(["Q900001", "Q900002", "Q900003"]) if one)
    assert ada.properties["date of birth"] == (PropertyValue("1871-11", "date"),)
    assert ada.properties["height"] == (
        PropertyValue("1.85 metre", "quantity", unit="metre"),
        PropertyValue("3", "quantity"),
    )
    assert "catalog id" not in ada.properties
    assert [one.text for one in ada.properties["occupation"]] == ["poet", "printer"]
    assert ada.types == ("human", "Q5")
    assert ada.aliases == ("A. Quill", "The Inkwell")
    assert bo.properties["date of birth"] == (PropertyValue("-0044-03-15", "date"),)
    assert odd.properties["date of birth"] == (PropertyValue("1801-01-01", "date"),)
    assert odd.name == ODD
    assert ada.graph()["height"] == ["1.85 metre", "3"]
    graph.close()


def test_find_is_by_exact_spelling(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url, kind="wikidata")
    assert graph.find(["Ada Quill", "ada quill", " Bo Quill\n"]) == [
        [
            NamedEntity("Ada Quill", "Q10", ("lighthouse", "Q900032")),
            NamedEntity("Ada Quill", "Q900001", ("human", "Q5")),
            NamedEntity("Ada Quill", "Q900002", ("human", "Q5", "band", "Q900031")),
        ],
        [],
        [NamedEntity("Bo Quill", "Q900002", ("human", "Q5", "band", "Q900031"))],
    ]
    assert graph.find([]) == []
    assert graph.entities([]) == []
    graph.close()


def test_wikidata_calls_in_english_what_has_no_other_name(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url, kind="wikidata", lang="de")
    (ada,) = graph.entities(["Q900001"])
    assert ada is not None
    assert ada.name == "Ada Feder"
    assert ada.aliases == ()
    assert ada.properties["place of birth"] == (
        PropertyValue("Tintenfurt", "entity", id="Q900021"),
    )
    graph.close()


def test_a_mirror_of_wikidata_is_known_by_what_it_holds(full: SparqlServer) -> None:
    mirror, told = EndpointGraph(full.url, cache=False), EndpointGraph(full.url, kind="wikidata")
    assert mirror.entities(IDS) == told.entities(IDS)
    assert mirror.find(NAMES) == told.find(NAMES)
    assert [query[:3] for query in full.queries].count("ASK") == 1
    mirror.close()
    told.close()
    with SparqlServer(store_of(PLAIN)) as server:
        other = EndpointGraph(server.url)
        assert other.find(["Ada Feder", ""]) == [[], []]
        assert [query[:3] for query in server.queries].count("ASK") == 1
        other.close()


NASTY = [ODD, '" } ?s ?p ?o #', "\\u0022 . ?s ?p ?o", "> . } ?s", "a\0b", "\ud800", "", "\n"]


@pytest.mark.parametrize("kind", ["wikidata", "rdf"])
def test_names_and_ids_never_change_a_query(full: SparqlServer, kind: str) -> None:
    graph = EndpointGraph(full.url, kind=kind)  # type: ignore[arg-type]
    assert [[one.qid for one in found] for found in graph.find(NASTY)] == [
        ["Q900003"],
        *([[]] * (len(NASTY) - 1)),
    ]
    ids = [*NASTY, "http://a> } #", "http://example.org/\x01", "Q900003"]
    assert [one and one.name for one in graph.entities(ids)] == [*[None] * (len(ids) - 1), ODD]
    graph.close()


def test_pages_are_read_until_one_is_short(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url, kind="wikidata", page=4, cache=False)
    whole = EndpointGraph(full.url, kind="wikidata", cache=False)
    assert graph.entities(IDS) == whole.entities(IDS)
    assert any("LIMIT 4 OFFSET 4" in query for query in full.queries)
    graph.close()
    whole.close()


def test_many_are_asked_for_in_few_calls(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url, kind="wikidata", cache=False)
    many = [f"Q{number}" for number in range(900_000, 900_060)]
    assert [one.qid for one in graph.entities(many) if one] == [
        "Q900001", "Q900002", "Q900003", "Q900011", "Q900012", "Q900021", "Q900022", "Q900031",
        "Q900032",
    ]  # fmt: skip
    assert len(full.queries) <= 12
    asked = len(full.queries)
    graph.entities(["Q900001"])
    assert len(full.queries) == asked + 3  # statements, names, details: other names are remembered
    graph.close()


def test_a_query_and_what_is_bound_in_it(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url)
    query = "SELECT ?e ?l WHERE { ?e ?p ?l FILTER(STR(?l) = ?n) } ORDER BY ?e"
    rows = list(
        graph.query(query, {"n": "Ada Quill", "p": "<http://www.w3.org/2000/01/rdf-schema#label>"})
    )
    assert rows == [
        {"e": entity_iri("Q10"), "l": "Ada Quill"},
        {"e": entity_iri("Q900001"), "l": "Ada Quill"},
    ]
    assert list(graph.query("ASK { ?e ?p ?n }", {"n": "nobody"})) == [{"ask": "false"}]
    assert list(
        graph.query("SELECT * WHERE { VALUES ?a { 1 UNDEF } FILTER(?n = ?n) }", {"n": "v"})
    ) == [
        {"a": "1", "n": "v"},
        {"a": None, "n": "v"},
    ]
    (row,) = graph.query("SELECT (BNODE() AS ?b) {}")
    assert (row["b"] or "").startswith("_:")
    graph.close()


def test_queries_that_are_not_sent(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url)
    for bad in ("DROP ALL", "CONSTRUCT WHERE { ?s ?p ?o }", "", "SELECT '\ud800' {}"):
        with pytest.raises(GraphError):
            graph.query(bad)
    assert not full.queries
    graph.close()


def test_replies_are_kept_and_asked_for_once(full: SparqlServer) -> None:
    for _ in range(2):
        graph = EndpointGraph(full.url, kind="wikidata")
        first = graph.find(NAMES), graph.entities(IDS), list(graph.query("ASK { ?s ?p 'é' }"))
        graph.close()
        asked = len(full.queries)
    assert asked == len(set(full.queries))
    shares = CacheStats.count(ResponseCache.path_of("graphs")).models
    assert [(one.model, one.entries) for one in shares] == [(full.url, asked)]
    graph = EndpointGraph(full.url, kind="wikidata", cache=False)
    assert first == (graph.find(NAMES), graph.entities(IDS), list(graph.query("ASK { ?s ?p 'é' }")))
    graph.close()
    assert len(full.queries) == 2 * asked
    assert CacheStats.count(ResponseCache.path_of("graphs")).entries == asked


def test_nothing_is_kept_without_cache(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url, cache=False)
    graph.find(["Ada Quill"])
    graph.close()
    assert not ResponseCache.path_of("graphs").exists()


def test_who_asks_is_told(full: SparqlServer, monkeypatch: pytest.MonkeyPatch) -> None:
    EndpointGraph(full.url, cache=False).find(["a"])
    assert full.headers[0]["User-Agent"] == f"trueground/{__version__} (no contact given) aiohttp"
    assert full.headers[0]["Accept"].startswith("application/sparql-results+json")
    monkeypatch.setenv("TRUEGROUND_CONTACT", "mailto:me@example.org")
    EndpointGraph(full.url, cache=False).find(["a"])
    assert "(mailto:me@example.org)" in full.headers[-1]["User-Agent"]
    monkeypatch.setenv("TRUEGROUND_CONTACT", "a\r\nHost: b")
    with pytest.raises(UsageError, match="TRUEGROUND_CONTACT"):
        EndpointGraph(full.url)


def test_calls_keep_their_distance(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url, cache=False, rate=300)  # five at once, then 4.9 a second
    for number in range(8):
        graph.query(f"ASK {{ ?s ?p {number} }}")
    graph.close()
    assert full.times[-1] - full.times[0] >= 0.4


def test_inside_a_running_event_loop(full: SparqlServer) -> None:
    async def ask() -> list[str]:
        graph = EndpointGraph(full.url)
        try:
            return [one.qid for one in graph.find(["Ada Quill"])[0]]
        finally:
            graph.close()

    assert asyncio.run(ask()) == ["Q10", "Q900001", "Q900002"]


def test_from_several_threads(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url, kind="wikidata")
    wanted = graph.entities(IDS)
    graph.close()
    graph = EndpointGraph(full.url, kind="wikidata", cache=False)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(graph.entities(IDS))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 6
    graph.close()


def test_closed_it_opens_anew(full: SparqlServer) -> None:
    graph = EndpointGraph(full.url)
    before = threading.active_count()
    first = graph.find(["Bo Quill"])
    graph.close()
    graph.close()
    assert threading.active_count() == before
    assert graph.find(["Bo Quill"]) == first
    graph.close()


def test_what_is_remembered_does_not_grow_for_ever(
    full: SparqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_graph, "_REMEMBERED", 5)
    graph = EndpointGraph(full.url, kind="wikidata", cache=False)
    first = graph.entities(IDS)
    asked = len(full.queries)
    assert graph.entities(IDS) == first
    assert len(full.queries) == 2 * asked
    graph.close()


def ended(thread: threading.Thread) -> bool:
    thread.join(5)
    return not thread.is_alive()


def loops() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name == "sparql-endpoint"}


def test_one_that_nobody_closes_ends_when_nobody_has_it(full: SparqlServer) -> None:
    before = loops()
    graph = EndpointGraph(full.url)
    assert graph.find(["Bo Quill"])[0]
    (thread,) = loops() - before
    seen = weakref.ref(graph._endpoint)
    del graph
    gc.collect()
    assert ended(thread)
    assert seen() is None


def test_one_that_is_dropped_in_its_own_thread_ends_too() -> None:
    closed = threading.Event()

    async def end() -> None:
        closed.set()

    held = [LoopThread("own", end)]

    async def later() -> None:
        asyncio.get_running_loop().call_later(0.05, held.clear)

    held[0].run(later())
    assert closed.wait(5)


def test_what_it_is_called() -> None:
    wikidata = EndpointGraph()
    assert wikidata.name == "wikidata"
    assert wikidata.signature == f"sparql:{WIKIDATA} live lang=en kind=wikidata page=5000"
    other = EndpointGraph("https://me:secret@example.org/sparql?key=hush")
    assert other.name == "sparql:https://example.org/sparql"
    assert "secret" not in other.signature
    assert "hush" not in other.signature


def test_a_signature_tells_apart_what_may_answer_otherwise() -> None:
    base = "https://example.org/sparql"
    graphs = [
        EndpointGraph(base),
        EndpointGraph(f"{base}?default-graph-uri=urn:a"),
        EndpointGraph(f"{base}?default-graph-uri=urn:b"),
        EndpointGraph(base, lang="de"),
        EndpointGraph(base, kind="rdf"),
        EndpointGraph(base, kind="wikidata"),
        EndpointGraph(base, page=10),
    ]
    assert len({one.signature for one in graphs}) == len(graphs)
    again = EndpointGraph("https://you:hush@example.org/sparql?default-graph-uri=urn:a")
    assert again.signature == graphs[1].signature  # who asks does not count, nor on which day


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"url": "ftp://example.org"}, "isn't the address of a SPARQL endpoint"),
        ({"url": "example.org/sparql"}, "isn't the address of a SPARQL endpoint"),
        ({"url": "http://a/\udc80"}, "isn't the address of a SPARQL endpoint"),
        ({"url": "http://[::1"}, "isn't the address of a SPARQL endpoint"),
        ({"lang": "e n"}, "is no language"),
        ({"kind": "virtuoso"}, "unknown kind of endpoint 'virtuoso'"),
    ],
)
def test_options_that_cannot_be_meant(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        EndpointGraph(**options)  # type: ignore[arg-type]
