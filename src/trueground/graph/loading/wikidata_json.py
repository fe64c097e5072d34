"""Wikidata's entity dump: a JSON array with one entity on each line, read in two passes.

The first pass finds the entities of the wanted classes, what their statements name and in which
units they measure; the second one writes. Quantities wait on disk until the names of all units are
known. Kept in memory are ids, one bit each, and the names of units.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from trueground.errors import GraphError
from trueground.graph.loading import terms, wikidata_terms
from trueground.graph.loading.base import LoadCounts, Loading
from trueground.graph.loading.entities import (
    DumpEntity,
    EntityLabels,
    EntityStatement,
    entity_lines,
    needles,
)
from trueground.graph.loading.ids import IdSet
from trueground.graph.loading.wikidata_terms import Odd
from trueground.graph.rdf import ALIAS, DIRECT, DIRECT_CLAIM, ENTITY
from trueground.options import Progress, no_progress

if TYPE_CHECKING:
    from pyoxigraph import Quad

_UNITS = (b'"unit":"http', b'"unit": "http')


class _JsonPasses:
    """What the first pass finds for the second."""

    def __init__(self, loading: Loading) -> None:
        self.loading = loading
        self.classes = frozenset(loading.classes)
        self.kept, self.named = IdSet(), IdSet()
        self.units: dict[str, str] = {}  # id → name, the id itself until it is known

    def is_kept(self, qid: str) -> bool:
        """Whether the entity's statements are wanted."""
        return qid[0] == "Q" and (not self.classes or int(qid[1:]) in self.kept)

    def is_named(self, qid: str) -> bool:
        """Whether its name is wanted."""
        return not self.classes or qid[0] == "P" or int(qid[1:]) in self.named


def entity_quads(
    path: Path, loading: Loading, counts: LoadCounts, progress: Progress
) -> Iterator[Quad]:
    """Best-rank statements, labels and aliases of the entities that are wanted; labels of the rest.

    GraphError names the line of what is no entity; or no entity of these classes.
    """
    plan = _JsonPasses(loading)
    _choose(path, plan, progress)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        for line in entity_lines(path):
            qid = line.qid()
            if qid is None:
                counts.leave("an entity that is no item or property")
                continue
            if qid in plan.units and (name := line.words().name(loading.lang)):
                plan.units[qid] = name[0]
            if plan.is_kept(qid):
                counts.entities += 1
                yield from _of_item(line.item(), plan, counts, line.place, waiting)
            elif plan.is_named(qid):
                yield from _of_name(line.words(), qid, loading.lang)
        waiting.seek(0)
        yield from _with_units(waiting, plan.units)
    if not counts.entities:
        wanted = f"no entity of {', '.join(loading.classes)}" if loading.classes else "no entity"
        raise GraphError(
            f"{path}: found {wanted}; expected one entity of Wikidata on each line, such as "
            '{"type": "item", "id": "Q42", …}. Name other classes, or another file.'
        )


def _choose(path: Path, plan: _JsonPasses, progress: Progress = no_progress) -> None:
    """The first pass. Only lines that mention a class (or, if all are kept, a unit) are decoded."""
    wanted = needles(plan.loading.classes) or _UNITS
    for line in entity_lines(path, progress, "first pass"):
        if not any(needle in line.text for needle in wanted):
            continue
        found = line.item()
        if not found.id.startswith("Q") or not found.id[1:].isdigit():
            continue
        if plan.classes and plan.classes.isdisjoint(found.classes()):
            continue
        plan.kept.add(int(found.id[1:]))
        for _, claim in found.best():
            try:
                _note(claim, plan)
            except Odd:
                continue


def _note(claim: EntityStatement, plan: _JsonPasses) -> None:
    """What the value names, and its unit."""
    if (data := claim.mainsnak.datavalue) is None:
        return
    if (unit := wikidata_terms.unit_of(data.type, data.value)) is not None:
        plan.units[unit] = unit
    if (qid := wikidata_terms.item_of(data.type, data.value)) and qid[0] == "Q":
        plan.named.add(int(qid[1:]))


def _of_item(
    found: DumpEntity, plan: _JsonPasses, counts: LoadCounts, place: str, waiting: IO[str]
) -> Iterator[Quad]:
    from pyoxigraph import Quad

    subject = terms.entity(found.id)
    yield from _of_name(found, found.id, plan.loading.lang)
    for alias in found.other_names(plan.loading.lang):
        yield Quad(subject, terms.node(ALIAS), terms.text(*alias))
    for name, claim in found.best():
        snak = claim.mainsnak
        if snak.snaktype != "value" or snak.datavalue is None:
            counts.leave("a value that nobody knows, or that there is none")
            continue
        if wikidata_terms.for_computers(snak.datatype) and not plan.loading.identifiers:
            counts.leave("a value for computers (external id, address, media file)")
            continue
        kind, value = snak.datavalue.type, snak.datavalue.value
        try:
            if unit := wikidata_terms.unit_of(kind, value):
                _wait(waiting, found.id, name, wikidata_terms.amount(value), unit)
            else:
                yield Quad(subject, terms.node(DIRECT + name), wikidata_terms.term(kind, value))
        except Odd as error:
            counts.leave(str(error), place)
        except ValueError as error:
            counts.leave("a value that no store can hold", place, str(error))


def _of_name(words: EntityLabels, qid: str, lang: str) -> Iterator[Quad]:
    """The label; of a property also its address in statements."""
    from pyoxigraph import Quad

    subject = terms.entity(qid)
    if qid[0] == "P":
        yield Quad(subject, terms.node(DIRECT_CLAIM), terms.node(DIRECT + qid))
    if name := words.name(lang):
        yield Quad(subject, terms.node(terms.LABEL), terms.text(*name))


def _wait(waiting: IO[str], *what: str) -> None:
    waiting.write(json.dumps(what) + "\n")


def _with_units(waiting: IO[str], units: dict[str, str]) -> Iterator[Quad]:
    """The quantities that waited for the names of their units."""
    from pyoxigraph import Quad

    for line in waiting:
        qid, name, amount, unit = _row(line)
        yield Quad(
            terms.node(ENTITY + qid),
            terms.node(DIRECT + name),
            terms.quantity(amount, units.get(unit, unit)),
        )


def _row(line: str) -> list[Any]:
    row: list[Any] = json.loads(line)
    return row
