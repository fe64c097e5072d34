"""Files → triples in a store: RDF, Wikidata's dumps, graphs of records, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import GraphError, MissingExtraError, WriteError
from trueground.graph.loading.files import FORMATS, LoadCounts, Loading, format_of, rdf_format
from trueground.graph.loading.graphs import graph_quads
from trueground.graph.loading.plain_rdf import load_lines, rdf_quads
from trueground.graph.loading.tables import table_quads
from trueground.graph.loading.wikidata_json import entity_quads
from trueground.graph.loading.wikidata_rdf import truthy_quads
from trueground.options import Progress, no_progress

if TYPE_CHECKING:
    from pyoxigraph import Quad, Store

__all__ = ["FORMATS", "LoadCounts", "Loading", "load_into"]

READERS: dict[str, Callable[[Path, Loading, LoadCounts, Progress], Iterator[Quad]]] = {
    "rdf": rdf_quads,
    "wikidata-rdf": truthy_quads,
    "wikidata-json": entity_quads,
    "kalma": graph_quads,
    "graphs": graph_quads,
    "csv": table_quads,
}
_BATCH = 200_000  # triples that the store sorts at once: about 200 MB


def load_into(
    store: Store,
    path: Path,
    loading: Loading | None = None,
    progress: Progress = no_progress,
) -> LoadCounts:
    """Read a file into the default graph of a store that can be written.

    Triples are streamed: neither the file nor its triples are ever wholly in memory. `progress` is
    told `("first pass", lines, None)` and `("triples", triples, None)`. GraphError: a file that
    cannot be read, with its place; WriteError: the store cannot be written; MissingExtraError.
    After an error the store holds a part of the file and is best thrown away.
    """
    try:
        import pyoxigraph  # noqa: F401
    except ImportError:
        raise MissingExtraError("the embedded knowledge graph", "graph") from None
    loading = loading or Loading()
    counts = LoadCounts(format_of(path, loading))
    try:
        if counts.format == "rdf" and rdf_format(path) == "N_TRIPLES":
            counts.triples = load_lines(store, path, progress)
        if not counts.triples:  # not made for that: its own parser says more
            quads = READERS[counts.format](path, loading, counts, progress)
            while (first := next(quads, None)) is not None:
                batch = chain((first,), islice(quads, _BATCH - 1))
                store.bulk_extend(_checked(batch, path, counts))
                progress("triples", counts.triples, None)
    except OSError as error:
        raise WriteError(
            f"{path}: the graph's store cannot be written: {error}. See that there is room on the "
            "disk, and load again."
        ) from error
    if not counts.triples:
        raise GraphError(f"{path}: found no triple at all; expected some. Name another file.")
    return counts


def _checked(quads: Iterator[Quad], path: Path, counts: LoadCounts) -> Iterator[Quad]:
    """Those without NUL characters, which no record can hold. GraphError: a user's file has one."""
    from pyoxigraph import Literal

    for quad in quads:
        term = quad.object
        if isinstance(term, Literal) and "\0" in term.value:
            place = f"{path}, {quad.subject} {quad.predicate}"
            if not counts.format.startswith("wikidata-"):
                raise GraphError(
                    f"{place}: found a text with a NUL character; expected text. Fix the file"
                )
            counts.leave("a text with a NUL character", place)
            continue
        counts.triples += 1
        yield quad
