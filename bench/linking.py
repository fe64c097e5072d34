"""Linking all questions at once beside one SPARQL query per recognized name, on one store.

    TG_KALMA=FOLDER python bench/run.py linking

The folder holds the published question files of KaLMA; without one, questions and people of the
same number and size are made up. Our side counts everything: listing the names, building the
automaton, looking through the questions, reading subgraphs, re-ranking. The other side is given
the names for nothing, and does not re-rank. The first of its rows asks what the linker answers:
names in any case, labels and aliases, and the names of values and properties, without which nobody
can re-rank. The others ask for less.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from trueground.wings.graphs.embedded import EmbeddedGraph, index_names
from trueground.wings.graphs.linking import LinkedQuestion, Linker
from trueground.wings.graphs.rdf import ALIAS, LABELS, entity_iri, property_iri
from trueground.wings.graphs.recognizers import Dictionary

KALMA = Path(os.environ.get("TG_KALMA", Path(__file__).parents[2] / "shared" / "data" / "kalma"))
FILES = ("complex_question_graph.json", "simple_question_graph.json")
LABEL = f"<{LABELS[0]}>"
NAMED = f"""OPTIONAL {{ ?v {LABEL} ?vl FILTER(LANG(?vl) = "en") }}
OPTIONAL {{ ?q <http://wikiba.se/ontology#directClaim> ?p ; {LABEL} ?pl FILTER(LANG(?pl) = "en") }}
"""
SAME = f"""SELECT ?name ?e ?p ?v ?pl ?vl WHERE {{ ?e {LABEL}|<{ALIAS}> ?label
FILTER(LCASE(STR(?label)) = LCASE(STR(?name))) ?e ?p ?v {NAMED} }}"""
EXACT = f"SELECT ?name ?e ?p ?v WHERE {{ ?e {LABEL} ?name . ?e ?p ?v }}"
ALIASES = f"SELECT ?name ?e ?p ?v WHERE {{ ?e {LABEL}|<{ALIAS}> ?name . ?e ?p ?v }}"
READABLE = f"""SELECT ?name ?e ?p ?v ?pl ?vl WHERE {{ ?e {LABEL}|<{ALIAS}> ?name . ?e ?p ?v
{NAMED} }}"""
Pairs = list[tuple[str, list[dict[str, Any]]]]


def linking() -> None:
    """The table, and the ratio to each kind of query."""
    pairs, where = _published() if KALMA.is_dir() else (_invented(), "invented")
    questions = [question for question, _ in pairs]
    graph, store = _store({g["qid"]: g for _, graphs in pairs for g in graphs})
    ours = _best(3, lambda: _linked(graph, questions))
    mentions = Dictionary(graph).mentions(questions)
    names = [one.names[0] for own in mentions for one in own]
    found = sum(len(one.found) for one in _linked(graph, questions))
    print(
        f"\n{len(questions):,} questions ({where}), {len(names):,} names in them, {found:,} linked;"
    )
    print(
        f"{len(set(names)):,} different names; a store in memory; load {os.getloadavg()[0]:.1f}\n"
    )
    print("| what | seconds | ours takes |")
    print("|---|---:|---:|")
    print(f"| linking and re-ranking, everything included | {ours:.3f} | |")
    for what, work in _parts(graph, questions):
        print(f"| of it: {what} | {_best(3, work):.3f} | |")
    for what, sparql, times in (
        ("what the linker answers, in process", SAME, 1),  # minutes
        ("label exactly, in process", EXACT, 3),
        ("label or alias exactly, in process", ALIASES, 3),
        ("the same, with names of values", READABLE, 3),
    ):
        _row(f"one query per name: {what}", _best(times, partial(_ask, store, sparql, names)), ours)
    with _Served(store) as port:
        taken = _best(2, lambda: _ask_http(port, EXACT, names))
    _row("one query per name: label exactly, over HTTP on loopback", taken, ours)


def _linked(graph: EmbeddedGraph, questions: list[str]) -> list[LinkedQuestion]:
    return Linker(graph).link(questions)


def _parts(
    graph: EmbeddedGraph, questions: list[str]
) -> Iterator[tuple[str, Callable[[], object]]]:
    dictionary = Dictionary(graph)
    known = [one.known or () for own in dictionary.mentions(questions) for one in own]
    qids = list(dict.fromkeys(named.qid for some in known for named in some))
    yield "listing the names, building the automaton", lambda: Dictionary(graph)
    yield "looking through the questions", lambda: dictionary.mentions(questions)
    yield f"reading {len(qids):,} subgraphs from the store", lambda: graph.entities(qids)


def _row(what: str, seconds: float, ours: float) -> None:
    print(f"| {what} | {seconds:.3f} | {ours / seconds:.3f} of it |")


def _best(times: int, work: Callable[[], object]) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def _published() -> tuple[Pairs, str]:
    pairs = [pair for name in FILES for pair in json.loads((KALMA / name).read_text("utf-8"))]
    return pairs, "published"


def _invented() -> Pairs:
    """As many people, questions and properties as in the published files."""
    rng = random.Random(0)
    parts = [
        "".join(rng.choices("abdeiklmnorstuv", k=rng.randint(3, 8))).title() for _ in range(400)
    ]
    words = [f"word{i}" for i in range(3_000)]
    people = []
    for number in range(1_076):
        facts = {f"property {p}": rng.choice(words) for p in rng.sample(range(117), 28)}
        people.append({"qid": f"Q{number + 1}", "name": " ".join(rng.sample(parts, 2)), **facts})
    pairs: Pairs = []
    for _ in range(2_170):
        about = rng.sample(people, rng.choice((1, 1, 1, 2)))
        told = " and ".join(str(one["name"]) for one in about)
        text = f"Who was {told}, and how did {' '.join(rng.sample(words, 12))} shape their work?"
        pairs.append((text, about))
    return pairs


def _store(graphs: dict[str, dict[str, Any]]) -> tuple[EmbeddedGraph, Any]:
    from pyoxigraph import Literal, NamedNode, Quad, Store

    def quads() -> Iterator[Any]:
        for qid, graph in graphs.items():
            node = NamedNode(entity_iri(qid))
            yield Quad(node, NamedNode(LABELS[0]), Literal(graph["name"], language="en"))
            for name, value in graph.items():
                for one in value if isinstance(value, list) else [value]:
                    if one and name not in ("qid", "name"):
                        yield Quad(node, NamedNode(property_iri(name)), Literal(one))

    store = Store()
    store.bulk_extend(quads())
    index_names(store, "en")
    return EmbeddedGraph(store, name="bench", signature="bench"), store


def _ask(store: Any, sparql: str, names: Sequence[str]) -> int:
    from pyoxigraph import Literal, Variable

    rows = 0
    for name in names:
        bound = {Variable("name"): Literal(name, language="en")}
        for solution in store.query(sparql, substitutions=bound):
            rows += len((solution["p"].value, solution["v"].value)) > 0
    return rows


def _ask_http(port: int, sparql: str, names: Sequence[str]) -> int:
    """As the reference code asks an endpoint: one request after another, one connection."""
    connection = HTTPConnection("127.0.0.1", port)
    rows = 0
    for name in names:
        body = json.dumps({"query": sparql, "name": name})
        connection.request("POST", "/", body)
        rows += len(json.loads(connection.getresponse().read())["results"]["bindings"])
    connection.close()
    return rows


class _Served:
    """The store behind HTTP in a process of its own."""

    def __init__(self, store: Any) -> None:
        self._server = HTTPServer(("127.0.0.1", 0), _handler(store))
        fork = multiprocessing.get_context("fork")
        self._process = fork.Process(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> int:
        self._process.start()
        return self._server.server_address[1]

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()
        self._server.server_close()


def _handler(store: Any) -> type[BaseHTTPRequestHandler]:
    from pyoxigraph import Literal, QueryResultsFormat, Variable

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet for head and body
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bound = {Variable("name"): Literal(asked["name"], language="en")}
            found = store.query(asked["query"], substitutions=bound)
            body = found.serialize(format=QueryResultsFormat.JSON)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
