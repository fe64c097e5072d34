"""Small files in every format, made up, and what a store then says."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zstandard
from pyoxigraph import Store

from trueground.wings.graphs.base import Entity
from trueground.wings.graphs.embedded import EmbeddedGraph, index_names
from trueground.wings.graphs.folder import load_into
from trueground.wings.graphs.loading import LoadCounts, Loading

ENTITY = "http://www.wikidata.org/entity/"
DIRECT = "http://www.wikidata.org/prop/direct/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
ONTOLOGY = "http://wikiba.se/ontology#"


def write(path: Path, text: str | bytes) -> Path:
    """A file, packed as its name says."""
    data = text.encode() if isinstance(text, str) else text
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}
    path.write_bytes(pack.get(path.suffix, bytes)(data))
    return path


def load(path: Path, **loading: Any) -> tuple[Store, LoadCounts]:
    """A store in memory that holds the file."""
    store = Store()
    return store, load_into(store, path, Loading(**loading))


def embedded(path: Path, lang: str = "en", **loading: Any) -> EmbeddedGraph:
    """The graph of a file."""
    store, _ = load(path, lang=lang, **loading)
    index_names(store, lang)
    return EmbeddedGraph(store, name=str(path), signature="test", lang=lang)


def shown(entity: Entity | None) -> dict[str, Any]:
    """The graph of an entity, several values in the order of their letters."""
    assert entity is not None
    return {k: sorted(v) if isinstance(v, list) else v for k, v in entity.graph().items()}


def triples(store: Store) -> set[tuple[str, str, str]]:
    """All triples, in the short forms `Q1`, `P1`, `label`; texts and datatypes as in RDF."""
    return {(short(str(q.subject)), short(str(q.predicate)), short(str(q.object))) for q in store}


def short(term: str) -> str:
    """An address as people write it."""
    names = {LABEL: "label", ALIAS: "alias", ONTOLOGY + "directClaim": "claim"}
    bare = term[1:-1] if term.startswith("<") else term
    if bare in names:
        return names[bare]
    return (
        bare.replace(ENTITY, "")
        .replace(DIRECT, "")
        .replace("http://www.w3.org/2001/XMLSchema#", "xsd:")
    )


def nt(subject: str, predicate: str, value: str) -> str:
    """A line of N-Triples; ids are Wikidata's, `label` and `alias` the usual predicates."""
    names = {"label": LABEL, "alias": ALIAS}
    address = names.get(predicate, DIRECT + predicate if predicate[0] == "P" else predicate)
    ids = value[0] in "QP" and value[1:].isdigit()
    return f"<{ENTITY}{subject}> <{address}> {f'<{ENTITY}{value}>' if ids else value} .\n"


def claim(name: str, kind: str, value: Any, *, rank: str = "normal", datatype: str = "") -> Any:
    """A statement of Wikidata's JSON; `somevalue` and `novalue` are kinds too."""
    snak: dict[str, Any] = {"snaktype": "value", "property": name, "datatype": datatype or kind}
    if kind in ("somevalue", "novalue"):
        snak["snaktype"] = kind
    else:
        snak["datavalue"] = {"type": kind, "value": value}
    return {"mainsnak": snak, "type": "statement", "rank": rank}


def of_item(name: str, qid: str, **more: Any) -> Any:
    """A statement whose value is an item."""
    value = {"entity-type": "item", "numeric-id": int(qid[1:]), "id": qid}
    return claim(name, "wikibase-entityid", value, datatype="wikibase-item", **more)


def of_time(name: str, time: str, precision: int, **more: Any) -> Any:
    """A statement whose value is a time."""
    calendar = ENTITY + "Q1985727"
    value = {"time": time, "precision": precision, "calendarmodel": calendar}
    return claim(name, "time", value, **more)


def item(
    qid: str,
    labels: dict[str, str],
    claims: Iterable[Any] = (),
    aliases: dict[str, list[str]] | None = None,
) -> dict[str, Any]:
    """An entity of Wikidata's JSON."""
    found: dict[str, list[Any]] = {}
    for one in claims:
        found.setdefault(one["mainsnak"]["property"], []).append(one)
    return {
        "type": "property" if qid[0] == "P" else "item",
        "id": qid,
        "labels": {tag: {"language": tag, "value": text} for tag, text in labels.items()},
        "descriptions": {"en": {"language": "en", "value": "made up"}},
        "aliases": {
            tag: [{"language": tag, "value": text} for text in texts]
            for tag, texts in (aliases or {}).items()
        },
        "claims": found or [],
        "sitelinks": {},
    }


def dump(items: Iterable[dict[str, Any]]) -> str:
    """A dump: an array, an entity on each line."""
    lines = [json.dumps(one, separators=(",", ":")) for one in items]
    return "[\n" + ",\n".join(lines) + "\n]\n"
