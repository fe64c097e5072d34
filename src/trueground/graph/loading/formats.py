"""Which format a file has, by its name and, where that does not say, by how it begins."""

from __future__ import annotations

import re
from pathlib import Path

from trueground.errors import GraphError, UsageError
from trueground.graph.loading.base import FORMATS, Loading
from trueground.graph.loading.streams import PACKINGS, bare_name, reading

RDF_ENDINGS = {  # ending → name of pyoxigraph's RdfFormat
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".ttl": "TURTLE",
    ".turtle": "TURTLE",
    ".trig": "TRIG",
    ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
    ".xml": "RDF_XML",
    ".jsonld": "JSON_LD",
}
_JSON = (".json", ".jsonl", ".ndjson")
_TABLES = (".csv", ".tsv")
_HEAD = 1 << 16
_ITEM = re.compile(rb'\s*\[?\s*\{\s*"type"\s*:\s*"(?:item|property|lexeme)"')
_ENDINGS = f"{', '.join((*RDF_ENDINGS, *_JSON, *_TABLES))}, each also with {', '.join(PACKINGS)}"


def format_of(path: Path, loading: Loading) -> str:
    """One of FORMATS. UsageError: classes for a file that has none; GraphError: cannot tell."""
    found = loading.format or _found(path, loading)
    if loading.classes and not found.startswith("wikidata-"):
        raise UsageError(
            f"{path} is read as {found!r}, where entities cannot be chosen by class; leave the "
            "classes out, or name a Wikidata format: 'wikidata-rdf' or 'wikidata-json'"
        )
    return found


def rdf_format(path: Path) -> str:
    """The name of pyoxigraph's format of an RDF file. GraphError: its name does not tell."""
    ending = _ending(path)
    if ending in RDF_ENDINGS:
        return RDF_ENDINGS[ending]
    if ending in _JSON:
        return "JSON_LD"
    raise GraphError(
        f"{path}: found the ending {ending!r}; expected an RDF file to end in "
        f"{', '.join(RDF_ENDINGS)}. Rename it so that the name says what it holds."
    )


def is_tabbed(path: Path) -> bool:
    """Whether tabs, not commas, stand between the columns."""
    return _ending(path) == ".tsv"


def _found(path: Path, loading: Loading) -> str:
    ending = _ending(path)
    if ending == ".nt" and (loading.classes or "truthy" in path.name):
        return "wikidata-rdf"
    if ending in RDF_ENDINGS:
        return "rdf"
    if ending in _TABLES:
        return "csv"
    with reading(path) as stream:
        return _of_json(path, stream.read(_HEAD))


def _of_json(path: Path, head: bytes) -> str:
    start = head.lstrip()
    if re.match(rb"\[\s*\[", start):
        return "kalma"
    if start[:1] in (b"[", b"{"):
        if _ITEM.match(start):
            return "wikidata-json"
        if re.search(rb'"@(?:context|graph|id)"\s*:', start) and b'"qid"' not in start:
            return "rdf"
        if b'"qid"' not in start and b'"claims"' in start and b'"labels"' in start:
            return "wikidata-json"
        return "graphs"
    if _ending(path) in _JSON:
        return "graphs"  # whose reader tells what is wrong
    raise GraphError(
        f"{path}: cannot tell what it holds; expected a name that ends in {_ENDINGS}. Rename it, "
        f"or name the format: trueground graph load {path} --out DIR --format {'|'.join(FORMATS)}"
    )


def _ending(path: Path) -> str:
    return Path(bare_name(path)).suffix
