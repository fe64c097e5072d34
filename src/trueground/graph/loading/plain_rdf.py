"""RDF files of any kind, as they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import GraphError
from trueground.graph.base import Progress
from trueground.graph.loading.base import Counts, Loading
from trueground.graph.loading.formats import rdf_format
from trueground.graph.loading.streams import reading

if TYPE_CHECKING:
    from pyoxigraph import Quad


def rdf_quads(
    path: Path, _loading: Loading, _counts: Counts, _progress: Progress
) -> Iterator[Quad]:
    """All triples of the file, streamed; those of named graphs lose their graph's name.

    GraphError names file and line of what is no RDF: nothing is passed over in a file that the
    user wrote.
    """
    from pyoxigraph import Quad, RdfFormat, parse

    name = rdf_format(path)
    kind = getattr(RdfFormat, name)
    with reading(path) as stream:
        found = parse(stream, kind, base_iri=path.absolute().as_uri(), rename_blank_nodes=True)
        try:
            if kind.supports_datasets:
                yield from (Quad(q.subject, q.predicate, q.object) for q in found)
            else:
                yield from found
        except SyntaxError as error:
            where = f"{path}, line {error.lineno}" if error.lineno else str(path)
            raise GraphError(
                f"{where}: found what is no {kind.name}: {error.msg}; expected valid {kind.name}. "
                "Mend the line, or name the right format."
            ) from error
