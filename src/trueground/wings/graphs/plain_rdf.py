"""RDF files of any kind, as they are; large ones of N-Triples in parts beside each other."""

from __future__ import annotations

import io
import os
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from trueground.errors import GraphError
from trueground.options import Progress
from trueground.wings.graphs.loading import LONGEST_LINE, rdf_format, reading

if TYPE_CHECKING:
    from pyoxigraph import Quad, Store

_THREADS = max(2, min(8, os.cpu_count() or 1))
# Bytes that are loaded at once by all threads: a small part needs little memory while it is sorted,
# and of many small files the store makes few large ones, which takes as long as loading did.
_BYTES = 48_000_000
_IRI = rb"<(?:https?://[a-z0-9.-]+/|urn:[a-z0-9-]+:)[A-Za-z0-9/_.~-]*+(?:#[A-Za-z0-9_-]*+)?>"
# Lines whose addresses and languages need no look to see that they are sound.
_SOUND = re.compile(
    rb'(?:%b %b (?:%b|"[^"\\\n\r]*+"(?:@[a-z]{2,3}|\^\^%b)?+) \.\n)*+' % ((_IRI,) * 4)
)
# Where a term begins, or may do so; in texts `_:` is nothing but text.
_BLANK_NODE = re.compile(rb"(?:\A|[>(\r\n])[ \t]*_:")
_NUL = (b"\0", b"\\u0000", b"\\U00000000")
# What the parser takes ever longer for, or dies of, the deeper it gets.
_DEEPEST = _MOST_ATTRIBUTES = 1_000
_LONGEST_TAG = 1 << 20
# An abbreviation of an address, as ontologies have it: it names no other, so it cannot grow.
_SHORT_ENTITY = re.compile(r'[^"&%<]{0,200}')


def load_lines(store: Store, path: Path, progress: Progress) -> int:
    """Load a file of N-Triples by several threads; how many triples it has.

    0, perhaps after some were loaded, where it is not made for that: it has comments, or blank
    nodes, which belong to the whole file, or something that is no triple. GraphError: it cannot be
    read; OSError: the store cannot be written.
    """
    from pyoxigraph import RdfFormat

    def load(part: bytes) -> None:
        # The store's own check of addresses takes a quarter of the time.
        sound = _SOUND.fullmatch(part) is not None
        store.bulk_load(part, RdfFormat.N_TRIPLES, lenient=sound)

    count = 0
    running: deque[Future[None]] = deque()
    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            # The file is open in the generator only, so that what the store cannot write is not
            # taken for a fault of the file.
            for part in _parts(path):
                count += part.count(b"\n")
                running.append(pool.submit(load, part))
                if len(running) > _THREADS:
                    running.popleft().result()
                progress("triples", count, None)
            while running:
                running.popleft().result()
    except SyntaxError:
        return 0
    finally:
        # A failed one refers to this frame by its traceback, and the frame to the store.
        running.clear()
    return count


def _parts(path: Path) -> Iterator[bytes]:
    """Parts of N-Triples that are whole by themselves; SyntaxError where a part is not."""
    with reading(path) as stream:
        while part := stream.read(_BYTES // _THREADS):
            part += b"" if part.endswith(b"\n") else stream.readline(LONGEST_LINE)
            part += b"" if part.endswith(b"\n") else b"\n"
            triples = part.startswith(b"<") + part.count(b"\n<")
            blank = b"_:" in part and _BLANK_NODE.search(part)
            if blank or triples != part.count(b"\n") or any(nul in part for nul in _NUL):
                raise SyntaxError("not a triple on each line")
            yield part


def rdf_quads(path: Path) -> Iterator[Quad]:
    """All triples of the file, streamed; those of named graphs lose their graph's name.

    GraphError names file and line of what is no RDF: nothing is passed over in a file that the
    user wrote.
    """
    from pyoxigraph import Quad, RdfFormat, parse

    name = rdf_format(path)
    kind = getattr(RdfFormat, name)
    with reading(path) as opened:
        stream: Any = _XmlGuard(opened, path) if name == "RDF_XML" else opened
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
        f"{where}: found invalid {kind}: {reason}; expected valid {kind}. Fix the line, or "
        "name the right format."
    )


class _XmlGuard:
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
        if self._depth > _DEEPEST:
            raise GraphError(
                f"{self._path}: found more than {_DEEPEST:,} nested elements; expected "
                "fewer. Save the file as Turtle or N-Triples"
            )
        if len(attributes) > _MOST_ATTRIBUTES:
            raise GraphError(
                f"{self._path}: found {len(attributes):,} attributes of one element <{name[:60]}>; "
                f"expected at most {_MOST_ATTRIBUTES:,}. Save the file as Turtle or N-Triples"
            )

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _entity(self, name: str, is_parameter: bool, value: str | None, *_where: object) -> None:
        if is_parameter or value is None or not _SHORT_ENTITY.fullmatch(value):
            raise GraphError(
                f"{self._path}: found the entity '<!ENTITY {name[:60]} …'; expected "
                "entities that are short texts without other entities, because nested ones can "
                "grow without limit. Save the file as Turtle, or expand these entities"
            )
