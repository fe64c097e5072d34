"""Wikidata's entity dump: a JSON array with one entity on each line, read in two passes.

The first pass finds the entities of the wanted classes, what their statements name and in which
units they measure; the second one writes. Quantities wait on disk until the names of all units are
known. Kept in memory are ids, one bit each, and the names of units.

Times: precision 11 is a day, 10 a month, 9 a year, 8 a decade, 7 a century, 6 a millennium; years
before our era are numbered as historians do (44 BCE is -0044; in RDF it becomes -0043),
and no calendar is converted.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import msgspec

from trueground.errors import GraphError
from trueground.options import Progress, do_nothing
from trueground.records import Problem
from trueground.wings.graphs import quads
from trueground.wings.graphs.loading import LoadCounts, Loading, lines, no_entity, reading
from trueground.wings.graphs.quads import LABEL
from trueground.wings.graphs.rdf import (
    ALIAS,
    DIRECT,
    DIRECT_CLAIM,
    ENTITY,
    MILLENNIUM,
    MONTH,
    YEAR,
    format_period,
)
from trueground.wings.graphs.wikidata_rdf import IdSet, is_for_computers

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode, Quad

_UNITS = [b'"unit":"http', b'"unit": "http']
_INSTANCE_OF = "P31"
_ID = re.compile(rb'\{"type":"(?:item|property)","id":"([QP]\d{1,18})"')
_QID = re.compile(r"[QP][0-9]{1,18}")
_TIME = re.compile(r"([+-])(\d{1,1000})-(\d\d)-(\d\d)T.*")
_AMOUNT = re.compile(r"[+-]?\d+(?:\.\d+)?")
_WKT = "http://www.opengis.net/ont/geosparql#wktLiteral"
_OFTEN = 100_000
T = TypeVar("T")


class Data(msgspec.Struct):
    """A value and its kind."""

    type: str = ""
    value: Any = None


class Snak(msgspec.Struct):
    """What a statement says."""

    snaktype: str = ""
    datatype: str = ""
    datavalue: Data | None = None


class EntityStatement(msgspec.Struct):
    """A statement; qualifiers and references are not read."""

    mainsnak: Snak
    rank: str = "normal"


class LabelText(msgspec.Struct):
    """A text in a language."""

    value: str


class EntityLabels(msgspec.Struct):
    """An entity's id and labels. Old dumps write `[]` for an empty object."""

    id: str
    labels: dict[str, LabelText] | list[Any] = {}

    def name(self, lang: str) -> tuple[str, str | None] | None:
        """The label and its language: in `lang`, else `mul`, else English without a language."""
        if isinstance(self.labels, dict):
            for tag in (lang, "mul", "en"):
                if (found := self.labels.get(tag)) and found.value.strip():
                    return found.value, tag if tag in (lang, "mul") else None
        return None


class DumpEntity(EntityLabels):
    """An entity with its aliases and statements."""

    aliases: dict[str, list[LabelText]] | list[Any] = {}
    claims: dict[str, list[EntityStatement]] | list[Any] = {}

    def best(self) -> Iterator[tuple[str, Snak]]:
        """(property, statement) of best rank: preferred ones, else normal; never deprecated."""
        if isinstance(self.claims, dict):
            for name, claims in self.claims.items():
                preferred = [one.mainsnak for one in claims if one.rank == "preferred"]
                normal = (one.mainsnak for one in claims if one.rank == "normal")
                yield from ((name, snak) for snak in preferred or normal)

    def classes(self) -> Iterator[str]:
        """The ids of the classes that it is a direct instance of."""
        for name, snak in self.best():
            if name == _INSTANCE_OF and snak.datavalue and isinstance(snak.datavalue.value, dict):
                value = snak.datavalue.value
                yield str(value.get("id") or f"Q{value.get('numeric-id')}")


_LABELS, _ENTITY = msgspec.json.Decoder(EntityLabels), msgspec.json.Decoder(DumpEntity)


def _decode(decoder: msgspec.json.Decoder[T], place: str, text: bytes) -> T:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        shown = text[:60].decode(errors="backslashreplace")
        raise GraphError(
            f"{place}: found {shown!r} ({error}); expected one entity of Wikidata as JSON. "
            "Download the dump again, or write one entity on each line."
        ) from error


class OddValue(Exception):  # noqa: N818 - counted, never shown as an exception
    """A value that cannot be used; its text says why."""


def entity_quads(
    path: Path, loading: Loading, counts: LoadCounts, progress: Progress
) -> Iterator[Quad]:
    """Best-rank statements, labels and aliases of the entities that are wanted; labels of the rest.

    GraphError names the line of what is no entity; or no entity of these classes.
    """
    classes = frozenset(loading.classes)
    kept, named = IdSet(), IdSet()
    units: dict[str, str] = {}  # id → name, the id itself until it is known
    # Only lines that mention a class (or, if all are kept, a unit) are decoded in the first pass.
    forms = ('"Q{}"', '"numeric-id":{}', '"numeric-id": {}')
    needles = [form.format(one[1:]).encode() for one in classes for form in forms] or _UNITS
    for place, text in _entity_lines(path, progress):
        if not any(needle in text for needle in needles):
            continue
        found = _decode(_ENTITY, place, text)
        if found.id[:1] != "Q" or not _QID.fullmatch(found.id):
            continue
        if not classes or not classes.isdisjoint(found.classes()):
            kept.add(int(found.id[1:]))
            _note_named(found, named, units)

    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        for place, text in _entity_lines(path):
            match = _ID.match(text)
            qid = match[1].decode() if match else _decode(_LABELS, place, text).id
            if not _QID.fullmatch(qid):
                counts.leave("an entity that is no item or property")
                continue
            is_item, number = qid[0] == "Q", int(qid[1:])
            if qid in units and (name := _decode(_LABELS, place, text).name(loading.lang)):
                units[qid] = name[0]
            if is_item and (not classes or number in kept):
                counts.entities += 1
                found = _decode(_ENTITY, place, text)
                yield from _name_quads(found, qid, loading.lang)
                yield from _statement_quads(found, loading, counts, place, waiting)
            elif not classes or not is_item or number in named:
                yield from _name_quads(_decode(_LABELS, place, text), qid, loading.lang)
        waiting.seek(0)
        for row in waiting:
            qid, property_, amount, unit = json.loads(row)
            value = quads.quantity(amount, units.get(unit, unit))
            yield quads.quad(quads.node(ENTITY + qid), DIRECT + property_, value)
    if not counts.entities:
        raise no_entity(
            path,
            loading,
            "one entity of Wikidata on each line, such as "
            '{"type": "item", "id": "Q42", …}. Name other classes, or another file.',
        )


def _entity_lines(path: Path, progress: Progress = do_nothing) -> Iterator[tuple[str, bytes]]:
    """(place, JSON) of every entity of a dump, or of JSON lines. GraphError: a file that is cut."""
    with reading(path) as stream:
        first, second = stream.readline(64).strip(), stream.readline(64)
    in_array = first.startswith(b"[")
    with reading(path) as stream:
        if in_array and not (first == b"[" and second.startswith(b'{"')):  # laid out otherwise
            for number, text in stream.values(in_array=True):
                place = f"{path}, entry {number}"
                if isinstance(text, Problem):
                    raise GraphError(
                        f"{place}: found {text.found}; expected {text.expected}. Download the "
                        "file again."
                    )
                yield place, text
            return
        closed = not in_array
        for number, line in enumerate(lines(stream, str(path)), 1):
            text = line.strip().removesuffix(b",")
            if in_array and text == b"]":
                closed = True
            elif text and not (in_array and number == 1):
                yield f"{path}, line {number}", text
            if number % _OFTEN == 0:
                progress("first pass", number, None)
    if not closed:
        raise GraphError(
            f"{path} is truncated: found the end of the file before the closing ]; expected a "
            "complete dump. Download the file again."
        )


def _note_named(found: DumpEntity, named: IdSet, units: dict[str, str]) -> None:
    """What the values name, and their units."""
    for _, snak in found.best():
        if (data := snak.datavalue) is None:
            continue
        if (unit := _unit(data)) is not None:
            units[unit] = unit
        try:
            qid = _item(data)
        except OddValue:
            continue
        if qid and qid[0] == "Q":
            named.add(int(qid[1:]))


def _name_quads(words: EntityLabels, qid: str, lang: str) -> Iterator[Quad]:
    """The label; of a property also its address in statements."""
    subject = quads.node(ENTITY + qid)
    if qid[0] == "P":
        yield quads.quad(subject, DIRECT_CLAIM, quads.node(DIRECT + qid))
    if name := words.name(lang):
        yield quads.quad(subject, LABEL, quads.text(*name))


def _statement_quads(
    found: DumpEntity, loading: Loading, counts: LoadCounts, place: str, waiting: IO[str]
) -> Iterator[Quad]:
    """The aliases in the language and those in all; the statements, but for those that wait."""
    subject = quads.node(ENTITY + found.id)
    if isinstance(found.aliases, dict):
        for tag in dict.fromkeys((loading.lang, "mul")):
            for alias in found.aliases.get(tag, ()):
                if alias.value.strip():
                    yield quads.quad(subject, ALIAS, quads.text(alias.value, tag))
    for name, snak in found.best():
        if snak.snaktype != "value" or snak.datavalue is None:
            counts.leave("a value that nobody knows, or that there is none")
        elif is_for_computers(snak.datatype) and not loading.identifiers:
            counts.leave("a value for computers (external id, address, media file)")
        else:
            try:
                if unit := _unit(snak.datavalue):
                    row = (found.id, name, _amount(snak.datavalue.value), unit)
                    waiting.write(json.dumps(row) + "\n")
                else:
                    yield quads.quad(subject, DIRECT + name, _term(snak.datavalue))
            except OddValue as error:
                counts.leave(str(error), place)
            except ValueError as error:
                counts.leave("a value that no store can hold", place, str(error))


def _item(data: Data) -> str | None:
    """The id of the entity that a value is; None for other values. OddValue: it has no id."""
    value = data.value
    if data.type != "wikibase-entityid":
        return None
    if not isinstance(value, dict):
        raise OddValue("an entity without an id")
    if isinstance(qid := value.get("id"), str) and _QID.fullmatch(qid):
        return qid
    if isinstance(number := value.get("numeric-id"), int) and "id" not in value:
        return f"{'P' if value.get('entity-type') == 'property' else 'Q'}{number}"
    raise OddValue("an entity that is no item or property")


def _unit(data: Data) -> str | None:
    """The id of a quantity's unit; None where there is none."""
    if data.type != "quantity" or not isinstance(data.value, dict):
        return None
    unit = str(data.value.get("unit", "1")).rpartition("/")[2]
    return unit if re.fullmatch(r"Q\d{1,18}", unit) else None


def _amount(value: dict[str, Any]) -> str:
    """A quantity's amount without a plus sign. OddValue: none."""
    found = str(value.get("amount"))
    if not _AMOUNT.fullmatch(found):
        raise OddValue("a quantity without an amount")
    return found.removeprefix("+")


def _term(data: Data) -> NamedNode | Literal:
    """The term of a value, for a quantity without its unit. OddValue: nothing that can be kept."""
    kind, value = data.type, data.value
    if (qid := _item(data)) is not None:
        return quads.node(ENTITY + qid)
    if kind == "string" and isinstance(value, str):
        return quads.text(value)
    if isinstance(value, dict):
        if kind == "time":
            return _time(str(value.get("time")), value.get("precision"))
        if kind == "quantity":
            return quads.quantity(_amount(value))
        if kind == "monolingualtext" and isinstance(written := value.get("text"), str):
            try:
                return quads.text(written, str(value.get("language")))
            except ValueError:  # no language tag
                return quads.text(written)
        if kind == "globecoordinate" and "latitude" in value and "longitude" in value:
            return quads.typed(f"Point({value['longitude']} {value['latitude']})", _WKT)
    raise OddValue(f"a value of the kind {kind!r}")


def _time(written: str, precision: Any) -> Literal:
    match = _TIME.fullmatch(written)
    if match is None or not isinstance(precision, int):
        raise OddValue("a time that is none")
    sign, digits, month, day = match.groups()
    year = int(digits)
    if year == 0 or precision < MILLENNIUM:
        raise OddValue("a time vaguer than a millennium")
    if precision < YEAR:
        return quads.text(format_period(year, precision, before=sign == "-"))
    known = f"{'-' if sign == '-' else ''}{year:04}"
    if precision > YEAR and month != "00":
        known += f"-{month}"
        if precision > MONTH and day != "00":
            known += f"-{day}"
    return quads.date(known) or quads.text(known)
