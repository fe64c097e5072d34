"""Wikidata's truthy dump: N-Triples of all best-rank statements, read in two passes.

The first pass finds the entities of the wanted classes and what their statements name, the second
one writes. Kept in memory are ids, one bit each.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import GraphError
from trueground.graph.loading.base import LoadCounts, Loading
from trueground.graph.loading.ids import IdSet
from trueground.graph.loading.lines import TripleLine, item, parsed, property_of, triple_lines
from trueground.graph.loading.lines import named_item as named
from trueground.graph.loading.terms import LABEL
from trueground.graph.loading.wikidata_terms import for_computers
from trueground.graph.rdf import ALIAS, DIRECT, DIRECT_CLAIM, WIKIBASE
from trueground.options import Progress

if TYPE_CHECKING:
    from pyoxigraph import Quad

_STATEMENT = b"<" + DIRECT.encode() + b"P"
_INSTANCE = _STATEMENT + b"31>"
_LABEL, _ALIAS = (f"<{iri}>".encode() for iri in (LABEL, ALIAS))
_CLAIM = f"<{DIRECT_CLAIM}>".encode()
_ONTOLOGY = b"<" + WIKIBASE.encode()
_TYPE = _ONTOLOGY + b"propertyType>"
_UNKNOWN = (b"_:", b"<http://www.wikidata.org/.well-known/genid/")


class _RdfPasses:
    """What the passes are to keep."""

    def __init__(self, loading: Loading) -> None:
        self.classes = {int(one[1:]) for one in loading.classes}
        self.all = not loading.classes
        self.identifiers = loading.identifiers
        self.kept, self.named, self.late = IdSet(), IdSet(), IdSet()
        self.unwanted = IdSet()  # properties

    def finish(self, subject: int, belongs: bool, objects: list[int]) -> None:
        """The end of an entity in the first pass."""
        if subject < 0:
            return
        if belongs:
            self.kept.add(subject)
        if subject in self.kept:
            self.named.update(objects)

    def wants(self, predicate: bytes) -> bool:
        """Whether the statements of a property are kept."""
        number = property_of(predicate)
        return number is not None and number not in self.unwanted


def truthy_quads(
    path: Path, loading: Loading, counts: LoadCounts, progress: Progress
) -> Iterator[Quad]:
    """Statements, labels and aliases of the entities that are wanted; labels of what they name.

    A line that no store can hold (published dumps have some addresses that are no IRIs) is left out
    and counted. GraphError: a damaged file, no entity of these classes.
    """
    plan = _RdfPasses(loading)
    if loading.classes or not loading.identifiers:
        _choose(path, plan, progress)
    yield from parsed(_kept_lines(path, plan, loading.lang, counts), str(path), counts)
    counts.entities = len(plan.kept)
    if len(plan.late):
        yield from parsed(_late_lines(path, plan, loading.lang), str(path), counts)
    if not counts.entities:
        wanted = f"no entity of {', '.join(loading.classes)}" if loading.classes else "no entity"
        raise GraphError(
            f"{path}: found {wanted}; expected lines such as <http://www.wikidata.org/entity/Q42> "
            "<http://www.wikidata.org/prop/direct/P31> <http://www.wikidata.org/entity/Q5> . "
            "Name other classes, or read the file with --format rdf."
        )


def _choose(path: Path, plan: _RdfPasses, progress: Progress) -> None:
    """The first pass: entities of the classes, what they name, properties for computers."""
    subject, number, belongs, objects = b"", -1, False, list[int]()
    wanted = (_TYPE,) if plan.all else (_TYPE, _STATEMENT)
    for line in triple_lines(path, wanted, progress, "first pass"):
        if line.predicate == _TYPE:
            _note_type(plan, line)
            continue
        if line.subject != subject:
            plan.finish(number, belongs, objects)
            subject, number = line.subject, item(line.subject)
            belongs, objects = False, []
        if number < 0 or (value := named(line.object)) < 0:
            continue
        objects.append(value)
        belongs = belongs or (line.predicate == _INSTANCE and value in plan.classes)
    plan.finish(number, belongs, objects)


def _note_type(plan: _RdfPasses, line: TripleLine) -> None:
    kind = line.object.removeprefix(_ONTOLOGY).partition(b">")[0].decode(errors="replace")
    number = property_of(line.subject)
    if number is not None and for_computers(kind) and not plan.identifiers:
        plan.unwanted.add(number)


def _kept_lines(
    path: Path, plan: _RdfPasses, lang: str, counts: LoadCounts
) -> Iterator[TripleLine]:
    """The second pass."""
    names = _SubjectLabels(lang)
    for line in triple_lines(path, (_STATEMENT, _LABEL, _ALIAS, _CLAIM)):
        if line.subject != names.subject:
            yield from names.flush()
            names.begin(line.subject)
            number = item(line.subject)
            is_property = number < 0 and property_of(line.subject) is not None
            kept = number >= 0 and (plan.all or number in plan.kept)
        if line.predicate.startswith(_STATEMENT):
            if kept and _says(line, plan, counts):
                plan.kept.add(number)
                yield line
        elif line.predicate == _LABEL:
            if kept or is_property or (number >= 0 and number in plan.named):
                names.label(line)
        elif line.predicate == _ALIAS:
            if kept and names.fits(line):
                yield line
        elif line.predicate == _CLAIM:
            yield line
    yield from names.flush()


def _says(line: TripleLine, plan: _RdfPasses, counts: LoadCounts) -> bool:
    """Whether a statement is kept; what it names and no pass knew of is noted."""
    if line.object.startswith(_UNKNOWN):
        counts.leave("a value that nobody knows")
        return False
    if not plan.wants(line.predicate):
        counts.leave("a value for computers (external id, address, media file)")
        return False
    value = named(line.object)
    if value >= 0 and not plan.all and value not in plan.named and value not in plan.kept:
        plan.late.add(value)
    return True


def _late_lines(path: Path, plan: _RdfPasses, lang: str) -> Iterator[TripleLine]:
    """Labels that the passes missed, because the lines of an entity do not stand together."""
    names = _SubjectLabels(lang)
    for line in triple_lines(path, (_LABEL,)):
        if line.subject != names.subject:
            yield from names.flush()
            names.begin(line.subject)
        if (number := item(line.subject)) >= 0 and number in plan.late:
            names.label(line)
    yield from names.flush()


class _SubjectLabels:
    """The labels of one subject: the one in the language, else `mul`, else English."""

    def __init__(self, lang: str) -> None:
        self._tags = (lang.encode(), b"mul", b"en")
        self.subject = b""
        self._found: dict[bytes, TripleLine] = {}

    def begin(self, subject: bytes) -> None:
        """Go on to the next subject."""
        self.subject = subject
        self._found = {}

    def label(self, line: TripleLine) -> None:
        """Note a label."""
        if (tag := line.tag) in self._tags:
            self._found.setdefault(tag, line)

    def fits(self, line: TripleLine) -> bool:
        """Whether an alias is in the language, or in all."""
        return line.tag in self._tags[:2]

    def flush(self) -> Iterator[TripleLine]:
        """The best label; one that only English has is written without a language."""
        best = next((tag for tag in self._tags if tag in self._found), None)
        if best is not None:
            line = self._found[best]
            yield line if best in self._tags[:2] else line.without_tag()
