"""What a user writes of a knowledge graph → the graph."""

from __future__ import annotations

from pathlib import Path

from trueground.errors import GraphError
from trueground.graph.base import KnowledgeGraph, Progress, no_progress

ENDPOINTS = ("sparql:", "wikidata")
_PACKED = (".gz", ".bz2")
_JSON = (".json", ".jsonl")
_RDF = (".nt", ".ttl", ".nq", ".rdf", ".trig", ".owl")
WRITTEN = (
    "a folder that `trueground graph load` made; a file of graphs (.json, .jsonl); a file of "
    f"triples ({', '.join(_RDF)}; also with {' or '.join(_PACKED)}); sparql:URL or wikidata"
)


def open_graph(
    written: str | Path,
    *,
    lang: str | None = None,
    cache: bool = True,
    progress: Progress = no_progress,
) -> KnowledgeGraph:
    """The graph that is written so (WRITTEN says how one is).

    A file of triples is read into memory; it is for what fits there. `lang` chooses names where a
    graph has them in several languages, default that in which a folder was loaded, else English.
    `cache` keeps what an endpoint answers. GraphError: nothing is there, or it cannot be read;
    MissingExtraError.
    """
    text = str(written)
    if text == "wikidata" or text.startswith("sparql:"):
        return _endpoint(text, lang or "en", cache)
    if not text.strip() or "\0" in text:
        raise GraphError(f"{text!r} names no knowledge graph; expected {WRITTEN}")
    path = Path(written)
    if path.is_dir():
        from trueground.graph.embedded.building import open_folder

        return open_folder(path, lang)
    if not path.exists():
        raise GraphError(
            f"the knowledge graph {text!r}: found no such file or folder; expected {WRITTEN}"
        )
    endings = [one.lower() for one in path.suffixes]
    packed = bool(endings) and endings[-1] in _PACKED
    ending = (endings[-2] if len(endings) > 1 else "") if packed else "".join(endings[-1:])
    if ending in _JSON and not packed:
        from trueground.graph.json_graph import JsonGraph

        return JsonGraph.read(path)
    if ending in _RDF:
        from trueground.graph.embedded.building import open_file

        return open_file(path, lang or "en", progress)
    raise GraphError(
        f"{path}: found the ending {ending + endings[-1] if packed else ending!r}; expected "
        f"{WRITTEN}. Other kinds of files, such as dumps and tables, are loaded into a folder "
        f"first: trueground graph load {path} --out DIR"
    )


def _endpoint(text: str, lang: str, cache: bool) -> KnowledgeGraph:
    from trueground.graph.endpoint.graph import WIKIDATA, EndpointGraph

    url = WIKIDATA if text == "wikidata" else text.removeprefix("sparql:")
    return EndpointGraph(url, lang=lang, cache=cache)
