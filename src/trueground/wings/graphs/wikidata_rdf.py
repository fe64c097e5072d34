"""Wikidata's truthy dump: N-Triples of all best-rank statements, read in two passes.

The first pass finds the entities of the wanted classes and what their statements name, the second
one writes. Kept in memory are ids, one bit each. Lines are told apart as bytes, which is fast, and
parsed only where they are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trueground.errors import GraphError
from trueground.options import Progress, do_nothing
from trueground.wings.graphs.loading import LoadCounts, Loading, lines, no_entity, reading
from trueground.wings.graphs.rdf import (
    ALIAS,
    DIRECT,
    DIRECT_CLAIM,
    ENTITY,
    FOR_COMPUTERS,
    LABELS,
    WIKIBASE,
)

if TYPE_CHECKING:
    from pyoxigraph import Quad

_ITEM = b"<" + ENTITY.encode() + b"Q"
_OBJECT = re.compile(re.escape(_ITEM) + rb"(\d{1,18})>")
_PROPERTY = re.compile(
    rb"<(?:%s|%s)P(\d{1,18})>" % (re.escape(ENTITY.encode()), re.escape(DIRECT.encode()))
)
_STATEMENT = b"<" + DIRECT.encode() + b"P"
_INSTANCE = _STATEMENT + b"31>"
_LABEL, _ALIAS, _CLAIM = (f"<{iri}>".encode() for iri in (LABELS[0], ALIAS, DIRECT_CLAIM))
_ONTOLOGY = b"<" + WIKIBASE.encode()
_TYPE = _ONTOLOGY + b"propertyType>"
_UNKNOWN = (b"_:", b"<http://www.wikidata.org/.well-known/genid/")
_BATCH = 2_000
_OFTEN = 1_000_000
_LARGEST = 1 << 31  # 256 MiB; ids beyond, which Wikidata does not have, are kept one by one
# Lower case: the two dumps write them otherwise.
_COMPUTERS = {one.lower() for one in FOR_COMPUTERS}


def is_for_computers(datatype: str) -> bool:
    """Whether values of this datatype are for computers only."""
    return datatype.replace("-", "").lower() in _COMPUTERS


class IdSet:
    """A set of whole numbers from 0. A hundred million ids take 12 MiB."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self._beyond: set[int] = set()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, number: int) -> bool:
        at = number >> 3
        if at < len(self._bits):
            return bool(self._bits[at] >> (number & 7) & 1)
        return number in self._beyond

    def add(self, number: int) -> None:
        """Put a number in."""
        if number in self:
            return
        self._count += 1
        if number >= _LARGEST:
            self._beyond.add(number)
            return
        at = number >> 3
        if at >= len(self._bits):
            self._bits.extend(bytes(max(at + 1, 2 * len(self._bits)) - len(self._bits)))
        self._bits[at] |= 1 << (number & 7)


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


def truthy_quads(
    path: Path, loading: Loading, counts: LoadCounts, progress: Progress
) -> Iterator[Quad]:
    """Statements, labels and aliases of the entities that are wanted; labels of what they name.

    A line that no store can hold (published dumps have some addresses that are no IRIs) is left out
    and counted. GraphError: a damaged file, no entity of these classes.
    """
    dump = _TruthyDump(path, loading, counts)
    if loading.classes or not loading.identifiers:
        dump.choose(progress)
    yield from _parsed(dump.wanted_lines(), str(path), counts)
    counts.entities = len(dump.kept)
    if len(dump.late):
        yield from _parsed(dump.late_labels(), str(path), counts)
    if not counts.entities:
        raise no_entity(
            path,
            loading,
            "lines such as <http://www.wikidata.org/entity/Q42> "
            "<http://www.wikidata.org/prop/direct/P31> <http://www.wikidata.org/entity/Q5> . "
            "Name other classes, or read the file with --format rdf.",
        )


class _TruthyDump:
    """The passes; `kept` are entities that are written, `named` those whose names are."""

    def __init__(self, path: Path, loading: Loading, counts: LoadCounts) -> None:
        self._path, self._counts = path, counts
        self._classes = {int(one[1:]) for one in loading.classes}
        self._identifiers = loading.identifiers
        self._tags = (loading.lang.encode(), b"mul", b"en")
        self._named, self._unwanted = IdSet(), IdSet()
        self.kept, self.late = IdSet(), IdSet()

    def choose(self, progress: Progress) -> None:
        """The first pass: entities of the classes, what they name, properties for computers."""
        wanted = (_TYPE, _STATEMENT) if self._classes else (_TYPE,)
        for subject, group in self._groups(wanted, progress):
            number, belongs, objects = _item(subject), False, list[int]()
            for line in group:
                if line.predicate == _TYPE:
                    kind = line.object.removeprefix(_ONTOLOGY).partition(b">")[0]
                    unwanted = is_for_computers(kind.decode(errors="replace"))
                    if unwanted and not self._identifiers and (p := _property(subject)) is not None:
                        self._unwanted.add(p)
                elif number >= 0 and (match := _OBJECT.match(line.object)):
                    objects.append(int(match[1]))
                    belongs |= line.predicate == _INSTANCE and objects[-1] in self._classes
            if belongs:
                self.kept.add(number)
            if number >= 0 and number in self.kept:
                for one in objects:
                    self._named.add(one)

    def wanted_lines(self) -> Iterator[TripleLine]:
        """The second pass."""
        for subject, group in self._groups((_STATEMENT, _LABEL, _ALIAS, _CLAIM)):
            number = _item(subject)
            kept = number >= 0 and (not self._classes or number in self.kept)
            named = kept or (
                number in self._named if number >= 0 else _property(subject) is not None
            )
            labels = list[TripleLine]()
            for line in group:
                if line.predicate.startswith(_STATEMENT):
                    if kept and self._says(line):
                        self.kept.add(number)
                        yield line
                elif line.predicate == _LABEL:
                    if named:
                        labels.append(line)
                elif line.predicate == _CLAIM or (kept and line.tag in self._tags[:2]):
                    yield line
            yield from self._best(labels)

    def late_labels(self) -> Iterator[TripleLine]:
        """Labels that the passes missed, because the lines of an entity do not stand together."""
        for subject, group in self._groups((_LABEL,)):
            if (number := _item(subject)) >= 0 and number in self.late:
                yield from self._best(group)

    def _groups(
        self, predicates: tuple[bytes, ...], progress: Progress = do_nothing
    ) -> Iterator[tuple[bytes, Iterator[TripleLine]]]:
        lines = _triple_lines(self._path, predicates, progress)
        return groupby(lines, attrgetter("subject"))

    def _says(self, line: TripleLine) -> bool:
        """Whether a statement is kept; what it names and no pass knew of is noted."""
        if line.object.startswith(_UNKNOWN):
            self._counts.leave("a value that nobody knows")
            return False
        number = _property(line.predicate)
        if number is None or number in self._unwanted:
            self._counts.leave("a value for computers (external id, address, media file)")
            return False
        if self._classes and (match := _OBJECT.match(line.object)):
            value = int(match[1])
            if value not in self._named and value not in self.kept:
                self.late.add(value)
        return True

    def _best(self, lines: Iterable[TripleLine]) -> Iterator[TripleLine]:
        """The label in the language, else `mul`, else English and written without a language."""
        labels: dict[bytes, TripleLine] = {}
        for line in lines:
            labels.setdefault(line.tag, line)
        best = next((tag for tag in self._tags if tag in labels), None)
        if best in self._tags[:2]:
            yield labels[best]
        elif best is not None:
            text = labels[best].object
            yield labels[best]._replace(object=text[: text.rfind(b'"@') + 1] + b" .\n")


def _triple_lines(
    path: Path, predicates: tuple[bytes, ...], progress: Progress
) -> Iterator[TripleLine]:
    """The triples whose predicate begins so. GraphError: a line that has not three parts."""
    with reading(path) as stream:
        for number, line in enumerate(lines(stream, str(path)), 1):
            parts = line.split(None, 2)
            whole = line[-1:] == b"\n" or line.rstrip().endswith(b".")  # else a last one, cut off
            if len(parts) == 3 and whole:
                if parts[1].startswith(predicates) and line[:1] != b"#":
                    parts[2] += b"" if line[-1:] == b"\n" else b"\n"
                    yield TripleLine(number, *parts)
            elif parts and not parts[0].startswith(b"#"):
                shown = line[:80].decode(errors="backslashreplace").strip()
                raise GraphError(
                    f"{path}, line {number}: found {shown!r}; expected a triple and a full stop, "
                    "as in N-Triples. The file may be truncated, or have another format: set "
                    "it with --format."
                )
            if number % _OFTEN == 0:
                progress("first pass", number, None)


def _item(subject: bytes) -> int:
    """The number of a Wikidata item; -1 for what is none."""
    digits = subject[len(_ITEM) : -1]
    fits = subject.startswith(_ITEM) and digits.isdigit() and len(digits) <= 18
    return int(digits) if fits else -1


def _property(iri: bytes) -> int | None:
    """The number of a property, of its entity as well as of its direct address."""
    match = _PROPERTY.fullmatch(iri)
    return int(match[1]) if match else None


def _parsed(wanted: Iterable[TripleLine], name: str, counts: LoadCounts) -> Iterator[Quad]:
    """The lines as quads; one that is no valid triple is left out and counted."""
    from pyoxigraph import RdfFormat, parse

    def quads(some: list[TripleLine]) -> list[Quad]:
        text = b"".join(b" ".join(line[1:]) for line in some)
        return list(parse(text, RdfFormat.N_TRIPLES))

    lines_left = iter(wanted)
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
