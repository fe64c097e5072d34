"""N-Triples as lines: fast to tell apart, parsed only where they are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trueground.errors import GraphError
from trueground.graph.loading.base import LoadCounts
from trueground.graph.loading.streams import lines, reading
from trueground.graph.rdf import DIRECT, ENTITY
from trueground.options import Progress, no_progress

if TYPE_CHECKING:
    from pyoxigraph import Quad

_ITEM = b"<" + ENTITY.encode() + b"Q"
_OBJECT = re.compile(re.escape(_ITEM) + rb"(\d{1,18})>")
_PROPERTY = re.compile(
    rb"<(?:%s|%s)P(\d{1,18})>" % (re.escape(ENTITY.encode()), re.escape(DIRECT.encode()))
)
_BATCH = 2_000
_OFTEN = 1_000_000


class TripleLine(NamedTuple):
    """A triple as it is written; `object` goes on to the end of the line."""

    number: int
    subject: bytes
    predicate: bytes
    object: bytes

    @property
    def tag(self) -> bytes:
        """The language of the text in lower case; whatever stands there where it is none."""
        return self.object[self.object.rfind(b'"@') + 2 :].rstrip(b" \t\r\n.").lower()

    def without_tag(self) -> TripleLine:
        """The same text in no language."""
        return self._replace(object=self.object[: self.object.rfind(b'"@') + 1] + b" .\n")


def triple_lines(
    path: Path,
    predicates: tuple[bytes, ...],
    progress: Progress = no_progress,
    phase: str = "lines",
) -> Iterator[TripleLine]:
    """The triples of a file whose predicate begins so. GraphError: a line that has not three parts.

    `progress` is told `(phase, lines, None)`.
    """
    name = str(path)
    with reading(path) as stream:
        for number, line in enumerate(lines(stream, name), 1):
            if line[-1:] != b"\n":
                line = _whole(name, number, line)
            parts = line.split(None, 2)
            if len(parts) == 3:
                if parts[1].startswith(predicates) and line[:1] != b"#":
                    yield TripleLine(number, *parts)
            elif parts and not parts[0].startswith(b"#"):
                raise _no_triple(name, number, line)
            if number % _OFTEN == 0:
                progress(phase, number, None)


def item(subject: bytes) -> int:
    """The number of a Wikidata item; -1 for what is none."""
    digits = subject[len(_ITEM) : -1]
    fits = subject.startswith(_ITEM) and digits.isdigit() and len(digits) <= 18
    return int(digits) if fits else -1


def named_item(value: bytes) -> int:
    """The number of the item that a triple's object is; -1 for what is none."""
    match = _OBJECT.match(value)
    return int(match[1]) if match else -1


def property_of(iri: bytes) -> int | None:
    """The number of a property, of its entity as well as of its direct address."""
    match = _PROPERTY.fullmatch(iri)
    return int(match[1]) if match else None


def parsed(kept: Iterable[TripleLine], name: str, counts: LoadCounts) -> Iterator[Quad]:
    """The lines as quads; one that is no valid triple is left out and counted."""
    from pyoxigraph import RdfFormat, parse

    def quads(some: list[TripleLine]) -> list[Quad]:
        text = b"".join(b" ".join(line[1:]) for line in some)
        return list(parse(text, RdfFormat.N_TRIPLES))

    lines_left = iter(kept)
    while batch := list(islice(lines_left, _BATCH)):
        try:
            yield from quads(batch)
        except (SyntaxError, MemoryError):  # the parser's own: a text of more than 16 MiB
            for line in batch:
                try:
                    yield from quads([line])
                except (SyntaxError, MemoryError) as error:
                    why = error.msg if isinstance(error, SyntaxError) else "too large"
                    counts.leave("no valid triple", f"{name}, line {line.number}", why)


def _whole(name: str, number: int, line: bytes) -> bytes:
    """A last line without an end, with one. GraphError: it is cut off."""
    if line.strip() and not line.startswith(b"#") and not line.rstrip().endswith(b"."):
        raise _no_triple(name, number, line)
    return line + b"\n"


def _no_triple(name: str, number: int, line: bytes) -> GraphError:
    shown = line[:80].decode(errors="backslashreplace").strip()
    return GraphError(
        f"{name}, line {number}: found {shown!r}; expected a triple and a full stop, as in "
        "N-Triples. The file may be cut off or hold another format: name it with --format."
    )
