"""RDF files of any kind, as they are."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.errors import GraphError
from trueground.graph.base import Progress
from trueground.graph.loading.base import Counts, Loading
from trueground.graph.loading.formats import rdf_format
from trueground.graph.loading.streams import reading

if TYPE_CHECKING:
    from pyoxigraph import Quad

_ENTITY = b"<!ENTITY"
_LONGEST = 400  # bytes of a declaration
# An abbreviation of an address, as ontologies have it: it names no other, so it cannot grow.
_SOUND = re.compile(rb'<!ENTITY\s+[^\s&%<>"]{1,100}\s+"[^"&%<]{0,200}"\s*>')


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
    with reading(path) as opened:
        stream: Any = _Xml(opened, path) if name == "RDF_XML" else opened
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


class _Xml:
    """XML as a parser reads it, before which its entities are looked at.

    A parser writes out an entity that names others, and a kilobyte of them becomes gigabytes.
    """

    def __init__(self, stream: io.BufferedReader, path: Path) -> None:
        self._stream, self._path = stream, path
        self._before = b""

    def read(self, size: int = -1) -> bytes:
        """GraphError: an entity that is no short text."""
        some = self._stream.read(size)
        text = self._before + some
        at = text.find(_ENTITY)
        while at >= 0:
            whole = _SOUND.match(text, at) or (some and len(text) - at < _LONGEST)
            if not whole:
                raise self._refused(text[at : at + 60])
            at = text.find(_ENTITY, at + 1)
        self._before = text[-_LONGEST:]
        return some

    def _refused(self, found: bytes) -> GraphError:
        return GraphError(
            f"{self._path}: found the entity {found.decode(errors='replace')!r}; expected entities "
            "only as short texts that name no others, since those may grow without end. Save the "
            "file as Turtle, or write these entities out"
        )
