"""RDF files of any kind, as they are."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from trueground.errors import GraphError
from trueground.graph.loading.base import LoadCounts, Loading
from trueground.graph.loading.formats import rdf_format
from trueground.graph.loading.streams import reading
from trueground.options import Progress

if TYPE_CHECKING:
    from pyoxigraph import Quad

# What the parser takes ever longer for, or dies of, the deeper it gets.
_DEEPEST = _MOST_ATTRIBUTES = 1_000
_LONGEST_TAG = 1 << 20
# An abbreviation of an address, as ontologies have it: it names no other, so it cannot grow.
_SOUND = re.compile(r'[^"&%<]{0,200}')
_JSON = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)|[\[\]{}]', re.DOTALL)


def rdf_quads(
    path: Path, _loading: Loading, _counts: LoadCounts, _progress: Progress
) -> Iterator[Quad]:
    """All triples of the file, streamed; those of named graphs lose their graph's name.

    GraphError names file and line of what is no RDF: nothing is passed over in a file that the
    user wrote.
    """
    from pyoxigraph import Quad, RdfFormat, parse

    name = rdf_format(path)
    kind = getattr(RdfFormat, name)
    with reading(path) as opened:
        seen = {"RDF_XML": _Xml, "JSON_LD": _Json}.get(name)
        stream: Any = seen(opened, path) if seen else opened
        found = parse(stream, kind, base_iri=path.absolute().as_uri(), rename_blank_nodes=True)
        try:
            if kind.supports_datasets:
                yield from (Quad(q.subject, q.predicate, q.object) for q in found)
            else:
                yield from found
        except SyntaxError as error:
            raise _unsound(path, kind.name, error.msg, error.lineno) from error
        except MemoryError as error:
            raise GraphError(
                f"{path}: found a text or an address that is too large to read ({error}); expected "
                "shorter ones, up to some megabytes. Leave it out of the file"
            ) from error


def _unsound(path: Path, kind: str, reason: str, line: int | None) -> GraphError:
    where = f"{path}, line {line}" if line else str(path)
    return GraphError(
        f"{where}: found what is no {kind}: {reason}; expected valid {kind}. Fix the line, or "
        "name the right format."
    )


class _Xml:
    """XML as a parser reads it, at which another looks first: what costs little and becomes much.

    A parser writes out an entity that names others, and a kilobyte of them becomes gigabytes;
    elements in elements, and attributes of one element, take it the square of their number.
    """

    def __init__(self, stream: io.BufferedReader, path: Path) -> None:
        self._stream, self._path = stream, path
        self._depth = self._read = 0
        self._look = expat.ParserCreate()
        self._look.StartElementHandler = self._begin
        self._look.EndElementHandler = self._end
        self._look.EntityDeclHandler = self._entity

    def read(self, size: int = -1) -> bytes:
        """GraphError: no XML; an entity that is no short text, too many elements or attributes."""
        some = self._stream.read(size)
        self._read += len(some)
        try:
            self._look.Parse(some, not some)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise _unsound(self._path, "RDF/XML", reason, error.lineno) from None
        if self._read - self._look.CurrentByteIndex > _LONGEST_TAG:
            raise GraphError(
                f"{self._path}: found a tag or comment of more than {_LONGEST_TAG >> 20} MiB; "
                "expected shorter ones. Save the file as Turtle or N-Triples"
            )
        return some

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        _check_depth(self._depth, self._path)
        if len(attributes) > _MOST_ATTRIBUTES:
            raise GraphError(
                f"{self._path}: found {len(attributes):,} attributes of one element <{name[:60]}>; "
                f"expected at most {_MOST_ATTRIBUTES:,}. Save the file as Turtle or N-Triples"
            )

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _entity(self, name: str, is_parameter: bool, value: str | None, *_where: object) -> None:
        if is_parameter or value is None or not _SOUND.fullmatch(value):
            raise GraphError(
                f"{self._path}: found the entity '<!ENTITY {name[:60]} …'; expected entities "
                "only as short texts that name no others, since those may grow without end. Save "
                "the file as Turtle, or write these entities out"
            )


class _Json:
    """JSON as a parser reads it, which dies of lists in lists: how deep they are is seen before."""

    def __init__(self, stream: io.BufferedReader, path: Path) -> None:
        self._stream, self._path, self._depth = stream, path, 0
        self._before = b""  # the sign that a text is under way, and half of an escaped sign

    def read(self, size: int = -1) -> bytes:
        """GraphError: nested too deeply."""
        some = self._stream.read(size)
        text = self._before + some
        self._before = b""
        for token in _JSON.finditer(text):
            sign = text[token.start()]
            if sign == 34:
                if not token[1]:
                    self._before = b'"' + text[token.end() :]
                    break
            elif sign in b"[{":
                self._depth += 1
                _check_depth(self._depth, self._path)
            else:
                self._depth -= 1
        return some


def _check_depth(depth: int, path: Path) -> None:
    if depth > _DEEPEST:
        raise GraphError(
            f"{path}: found more than {_DEEPEST:,} elements, lists or objects in each other; "
            "expected fewer. Save the file as Turtle or N-Triples"
        )
