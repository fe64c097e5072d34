"""Files into a store, and then the index of their names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trueground.graph.embedded.bulk import load_parts
from trueground.graph.embedded.file import GraphFile
from trueground.graph.embedded.lines import NameLines, load_lines
from trueground.graph.embedded.names import index_names, leave_out
from trueground.options import Progress

if TYPE_CHECKING:
    from pyoxigraph import Store

    from trueground.graph.loading import LoadCounts, Loading


def load_file(
    store: Store, path: Path, loading: Loading, names: NameLines, progress: Progress
) -> LoadCounts:
    """Load one file, in the quickest way that it allows; where that gives no names, say so."""
    from trueground.graph.loading import LoadCounts, load_into
    from trueground.graph.loading.formats import format_of, rdf_format

    if format_of(path, loading) == "rdf" and rdf_format(path) == "N_TRIPLES":
        count = load_lines(store, path, names, progress)
        if count:
            return LoadCounts("rdf", count)
    names.whole = False
    return load_into(store, path, loading, progress)


def index_loaded(store: Store, names: NameLines, state: GraphFile, progress: Progress) -> int:
    """Write the index of names, from the store where the lines do not tell all; how many."""
    load_parts(store, names.index())
    if names.whole:
        count = state.names + names.count - leave_out(store)
        progress("names", count, count)
        return count
    count = index_names(store, state.lang, progress)
    leave_out(store)
    return count
