"""The embedded graph beside rdflib: loading, one-hop subgraphs by label, memory.

    TG_GRAPH_TRIPLES=1000000 TG_GRAPH_LABELS=5000 python bench/run.py graph

People are made up: labels and aliases, twenty properties, entities with labels as values, as in
Wikidata's truthy triples. Each measurement has a process of its own. rdflib holds its graph in
memory; with TG_GRAPH_OURS_ONLY=1 it is left out. "pyoxigraph alone" is what the store underneath
needs by itself: bulk_load of parts on as many threads as we use, then optimize; and the calls of
quads_for_pattern that a one-hop subgraph takes, the label of a value read once.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measuring import own_peak_mb

ROOT = Path(__file__).parent.parent
TRIPLES = int(os.environ.get("TG_GRAPH_TRIPLES", "1000000"))
LABELS = int(os.environ.get("TG_GRAPH_LABELS", "5000"))
OURS_ONLY = bool(os.environ.get("TG_GRAPH_OURS_ONLY"))
_RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_ENTITY = "http://www.wikidata.org/entity/"
_DIRECT = "http://www.wikidata.org/prop/direct/"
_XSD = "http://www.w3.org/2001/XMLSchema#"
# Property → (name, how many different values there are, values for each person).
_PROPERTIES = {
    "P21": ("sex or gender", 3, 1),
    "P27": ("country of citizenship", 200, 1),
    "P19": ("place of birth", 5_000, 1),
    "P20": ("place of death", 5_000, 1),
    "P106": ("occupation", 500, 2),
    "P735": ("given name", 3_000, 1),
    "P734": ("family name", 9_000, 1),
    "P69": ("educated at", 2_000, 1),
    "P102": ("member of political party", 300, 1),
    "P166": ("award received", 1_000, 2),
    "P1412": ("languages spoken, written or signed", 150, 2),
    "P140": ("religion or worldview", 60, 1),
    "P119": ("place of burial", 3_000, 1),
    "P135": ("movement", 100, 1),
    "P509": ("cause of death", 200, 1),
    "P1343": ("described by source", 50, 1),
}
ONE_HOP = f"""
SELECT ?name ?property ?value ?label WHERE {{
  ?entity <{_RDFS_LABEL}> ?name .
  ?entity ?p ?value .
  ?about <http://wikiba.se/ontology#directClaim> ?p .
  ?about <{_RDFS_LABEL}> ?property .
  OPTIONAL {{ ?value <{_RDFS_LABEL}> ?label }}
}}"""


def graph() -> None:
    """Tables of loading and of reading, and whether both give the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = write_triples(folder, TRIPLES, LABELS)
        print(f"\n{written:,} triples of made-up people, {os.cpu_count()} cores\n")
        print("| load | seconds | triples/s | peak MB | beside rdflib | load before |")
        print("|---|---:|---:|---:|---:|---:|")
        loads = {
            "trueground, on disk": _measured("load-ours", folder),
            "pyoxigraph alone, on disk, no index of names": _measured("load-store", folder),
        }
        if not OURS_ONLY:
            loads["rdflib, in memory"] = theirs = _measured("rdflib", folder)
        rdflib = loads.get("rdflib, in memory", {}).get("load")
        for what, got in loads.items():
            beside = f"{rdflib / got['load']:.1f}×" if rdflib else "–"
            print(
                f"| {what} | {got['load']:.1f} | {written / got['load']:,.0f} | {got['peak']:,.0f} "
                f"| {beside} | {got['busy']:.1f} |"
            )
        reads = {
            "trueground, find + entities": _measured("read-ours", folder),
            "pyoxigraph alone, look-ups only": _measured("read-store", folder),
            "trueground, the same SPARQL": _measured("sparql-ours", folder),
        }
        if not OURS_ONLY:
            reads["rdflib, the same SPARQL"] = theirs
        _show_reads(reads)
        if not OURS_ONLY:
            print(f"\n{_compared(folder)}")


def _show_reads(reads: dict[str, dict[str, float]]) -> None:
    print(f"\nOne-hop subgraph by label, {LABELS:,} labels\n")
    print(
        "| read | first pass, ms each | beside rdflib | again, ms each | beside rdflib "
        "| open, ms | peak MB | load before |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    slow = reads.get("rdflib, the same SPARQL")
    for what, got in reads.items():
        passes = [
            f"{got[one] * 1e3:.3f} | {slow[one] / got[one]:.1f}×"
            if slow
            else f"{got[one] * 1e3:.3f} | –"
            for one in ("each", "again")
        ]
        print(
            f"| {what} | {' | '.join(passes)} | {got['open'] * 1e3:.0f} | {got['peak']:,.0f} "
            f"| {got['busy']:.1f} |"
        )


def _compared(folder: Path) -> str:
    found = [json.loads((folder / f"{role}.json").read_text()) for role in _ANSWERS]
    same = [sum(a == b for a, b in zip(found[2], one, strict=True)) for one in found[:2]]
    facts = sum(len(one) for one in found[2])
    return (
        f"{facts:,} facts from rdflib; the same as find + entities for {same[0]:,} of "
        f"{len(found[2]):,} labels, as our SPARQL for {same[1]:,}"
    )


_ANSWERS = ("read-ours", "sparql-ours", "rdflib")


def _measured(role: str, folder: Path) -> dict[str, float]:
    """What a process says that does this, with its own peak of memory (MB)."""
    busy = os.getloadavg()[0]
    words = [sys.executable, "-m", "bench.graph", role, str(folder)]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}")
    said: dict[str, float] = json.loads(done.stdout)
    return {**said, "busy": busy}


def write_triples(folder: Path, triples: int, labels: int) -> int:
    """The files people.nt and labels.txt; how many triples there are."""
    rng = random.Random(1)
    count = 0
    names: list[str] = []
    with (folder / "people.nt").open("w") as file:
        for line in _ontology():
            file.write(line)
            count += 1
        number = 0
        while count < triples:
            name, lines = _person(number, rng)
            file.writelines(lines)
            count += len(lines)
            names.append(name)
            number += 1
    asked = rng.sample(names, min(labels, len(names)))
    (folder / "labels.txt").write_text("".join(f"{name}\n" for name in asked))
    return count


def _ontology() -> Iterator[str]:
    """Properties and values with their labels."""
    for place, (pid, (name, values, _)) in enumerate(_PROPERTIES.items()):
        yield f"<{_ENTITY}{pid}> <http://wikiba.se/ontology#directClaim> <{_DIRECT}{pid}> .\n"
        yield _label(pid, name)
        for value in range(values):
            yield _label(f"Q{place + 1}{value:05}", f"{_word(value)} {name.split()[0]}")
    dates = {"P569": "date of birth", "P570": "date of death", "P2048": "height"}
    for pid, name in {"P31": "instance of", **dates}.items():
        yield f"<{_ENTITY}{pid}> <http://wikiba.se/ontology#directClaim> <{_DIRECT}{pid}> .\n"
        yield _label(pid, name)
    yield _label("Q5", "human")


def _person(number: int, rng: random.Random) -> tuple[str, list[str]]:
    qid = f"Q{10_000_000 + number}"
    subject = f"<{_ENTITY}{qid}>"
    name = f"{_word(rng.randrange(3_000))} {_word(rng.randrange(9_000))} {_word(number)}"
    lines = [_label(qid, name.title())]
    if number % 2:
        alias = f'"{name.split()[0].title()} the {number}th"@en'
        lines.append(f"{subject} <http://www.w3.org/2004/02/skos/core#altLabel> {alias} .\n")
    lines.append(f"{subject} <{_DIRECT}P31> <{_ENTITY}Q5> .\n")
    for place, (pid, (_, values, each)) in enumerate(_PROPERTIES.items()):
        some = {rng.randrange(values) for _ in range(each)}
        lines += [f"{subject} <{_DIRECT}{pid}> <{_ENTITY}Q{place + 1}{v:05}> .\n" for v in some]
    born = rng.randrange(1500, 1950)
    for pid, year in (("P569", born), ("P570", born + rng.randrange(20, 90))):
        date = f"{year}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        lines.append(f'{subject} <{_DIRECT}{pid}> "{date}"^^<{_XSD}date> .\n')
    height = f'"1.{rng.randrange(50, 99)} metre"^^<urn:trueground:quantity>'
    lines.append(f"{subject} <{_DIRECT}P2048> {height} .\n")
    return name.title(), lines


def _label(qid: str, name: str) -> str:
    return f'<{_ENTITY}{qid}> <{_RDFS_LABEL}> "{name}"@en .\n'


def _word(number: int) -> str:
    """A made-up word of its own for each number."""
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
    word, number = "", number + len(syllables)
    while number:
        number, rest = divmod(number, len(syllables))
        word += syllables[rest]
    return word


# Lists in lists would keep the garbage collector busy.
Facts = list[tuple[str, str]]


def _load_ours(folder: Path) -> dict[str, float]:
    from trueground.wings.graphs.folder import build_graph
    from trueground.wings.graphs.loading import Loading

    start = time.perf_counter()
    build_graph([folder / "people.nt"], folder / "graph", Loading())
    return {"load": time.perf_counter() - start}


def _read_ours(folder: Path) -> dict[str, float]:
    from trueground.wings.graphs.operations import open_graph

    start = time.perf_counter()
    opened = open_graph(folder / "graph")

    def read(name: str) -> Facts:
        """Every entity of that name, as the query finds them."""
        qids = [one.qid for one in opened.find([name])[0]]
        return [
            (p, v.text)
            for entity in opened.entities(qids)
            if entity is not None
            for p, values in entity.properties.items()
            for v in values
        ]

    return _read(folder, "read-ours", read, time.perf_counter() - start)


def _load_store(folder: Path) -> dict[str, float]:
    """The store's own loader and nothing else."""
    from concurrent.futures import ThreadPoolExecutor

    from pyoxigraph import RdfFormat, Store

    start = time.perf_counter()
    store = Store(str(folder / "floor"))
    threads = max(2, min(8, os.cpu_count() or 1))
    with ThreadPoolExecutor(threads) as pool, (folder / "people.nt").open("rb") as file:
        under_way = []
        while part := file.read(48_000_000 // threads):
            part += file.readline()
            under_way.append(pool.submit(store.bulk_load, part, RdfFormat.N_TRIPLES))
        for one in under_way:
            one.result()
    store.optimize()
    return {"load": time.perf_counter() - start}


def _read_store(folder: Path) -> dict[str, float]:
    """The look-ups of a one-hop subgraph by label, and nothing made of what they give."""
    from pyoxigraph import DefaultGraph, Literal, NamedNode

    from trueground.wings.graphs.embedded import read_store
    from trueground.wings.graphs.folder import read_graph_file

    start = time.perf_counter()
    store = read_store(folder / "graph" / str(read_graph_file(folder / "graph").store))
    label, here = NamedNode(_RDFS_LABEL), DefaultGraph()
    seen = set()

    def read(name: str) -> Facts:
        for named in store.quads_for_pattern(None, label, Literal(name, language="en"), here):
            for quad in store.quads_for_pattern(named.subject, None, None, here):
                value = quad.object
                if isinstance(value, NamedNode) and value not in seen:
                    seen.add(value)
                    list(store.quads_for_pattern(value, label, None, here))
        return []

    return _read(folder, "read-store", read, time.perf_counter() - start)


def _sparql_ours(folder: Path) -> dict[str, float]:
    """The store behind a graph on disk, asked the query that rdflib is asked."""
    from pyoxigraph import Literal, Variable

    from trueground.wings.graphs.embedded import read_store
    from trueground.wings.graphs.folder import read_graph_file

    start = time.perf_counter()
    store = read_store(folder / "graph" / str(read_graph_file(folder / "graph").store))

    def read(name: str) -> Facts:
        bound = {Variable("name"): Literal(name, language="en")}
        rows = store.query(ONE_HOP, substitutions=bound)
        return [(p.value, (label or value).value) for _, p, value, label in rows]

    return _read(folder, "sparql-ours", read, time.perf_counter() - start)


def _rdflib(folder: Path) -> dict[str, float]:
    import rdflib
    from rdflib.plugins.sparql import prepareQuery

    start = time.perf_counter()
    loaded = rdflib.Graph()
    loaded.parse(folder / "people.nt", format="nt")
    load = time.perf_counter() - start
    prepared = prepareQuery(ONE_HOP)

    def read(name: str) -> Facts:
        rows = loaded.query(prepared, initBindings={"name": rdflib.Literal(name, lang="en")})
        return [(str(p), str(label or value)) for _, p, value, label in rows]

    return {**_read(folder, "rdflib", read, 0.0), "load": load}


def _read(folder: Path, role: str, read, opened: float) -> dict[str, float]:  # type: ignore[no-untyped-def]
    """Two runs: the first meets a store that this process has not read yet."""
    names = (folder / "labels.txt").read_text().splitlines()
    taken = []
    found: list[Facts] = []
    for _ in range(2):
        start = time.perf_counter()
        found = [read(name) for name in names]
        taken.append((time.perf_counter() - start) / len(names))
    (folder / f"{role}.json").write_text(json.dumps([sorted(facts) for facts in found]))
    return {"each": taken[0], "again": taken[1], "open": opened}


def main() -> None:
    roles = {
        "load-ours": _load_ours,
        "load-store": _load_store,
        "read-ours": _read_ours,
        "read-store": _read_store,
        "sparql-ours": _sparql_ours,
        "rdflib": _rdflib,
    }
    said = roles[sys.argv[1]](Path(sys.argv[2]))
    said["peak"] = own_peak_mb()
    print(json.dumps(said))


if __name__ == "__main__":
    main()
