"""What a user writes of a knowledge graph → the graph."""

from __future__ import annotations

from pathlib import Path

from trueground.errors import GraphError
from trueground.graph.base import KnowledgeGraph
from trueground.options import Progress, no_progress

WRITTEN = (
    "a folder that `trueground graph load` made; a file of graphs (.json, .jsonl); a file of "
    "triples (.nt, .ttl, .rdf, .csv and others that it reads; also packed); sparql:URL or wikidata"
)


def open_graph(
    written: str | Path,
    *,
    lang: str | None = None,
    cache: bool = True,
    progress: Progress = no_progress,
) -> KnowledgeGraph:
    """The graph that is written so (WRITTEN says how one is).

    Files are read into memory; they are for what fits there. `lang` chooses names where a
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
    return _file(path, lang or "en", progress)


def _file(path: Path, lang: str, progress: Progress) -> KnowledgeGraph:
    """What `graph load` reads; only dumps of Wikidata are too large for memory."""
    from trueground.graph.loading import Loading
    from trueground.graph.loading.files import format_of

    loading = Loading(lang)
    found = format_of(path, loading)
    if found in ("graphs", "kalma"):
        from trueground.graph.json_graph import JsonGraph

        return JsonGraph.read(path)
    if found == "wikidata-json":
        raise GraphError(
            f"{path}: found a dump of Wikidata; expected {WRITTEN}. Dumps are loaded into a folder "
            f"first: trueground graph load {path} --out DIR"
        )
    from trueground.graph.embedded.building import open_file

    return open_file(path, loading, progress)


def _endpoint(text: str, lang: str, cache: bool) -> KnowledgeGraph:
    from trueground.graph.endpoint.graph import WIKIDATA, EndpointGraph

    url = WIKIDATA if text == "wikidata" else text.removeprefix("sparql:")
    return EndpointGraph(url, lang=lang, cache=cache)
