"""Entities of an endpoint, put together from a few plain queries for many of them at once.

What counts as a name, a class or a value, and in which order they stand, is as in the embedded
graph, so that both give the same subgraphs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from trueground.graph.base import Entity, PropertyValue
from trueground.graph.endpoint import queries
from trueground.graph.endpoint.naming import EntityNames, Texts
from trueground.graph.endpoint.paging import Pages
from trueground.graph.endpoint.results import Solution, SparqlTerm
from trueground.graph.endpoint.values import Detail, value_of
from trueground.graph.onehop import in_order
from trueground.graph.rdf import (
    ALIAS,
    ENTITY,
    LABELS,
    NOT_SHOWN,
    TYPES,
    UNKNOWN,
    WIKIBASE,
    qid_of,
)
from trueground.graph.sparql.terms import is_iri, is_language

_NAMED, _TYPED, _TOLD = 25, 200, 25  # asked about in one query
_REMEMBERED = 200_000  # names and the like, some 50 MB
_WITHOUT_UNIT = ENTITY + "Q199"  # the number 1
_DETAILED = {WIKIBASE + one for one in ("Time", "Quantity")}
_HIDDEN = tuple(one for one in NOT_SHOWN if one.endswith(("/", "#")))
Place = tuple[str, str, str]  # entity, property, text of the value
Found = dict[str, list[tuple[SparqlTerm, Detail]]]  # by the address of the property


class EndpointReader:
    """Reads for readers of one language; names of things and properties are asked for once."""

    def __init__(self, pages: Pages, lang: str, *, wikidata: bool) -> None:
        self._pages, self._lang, self._wikidata = pages, lang, wikidata
        self._names = EntityNames(pages, lang, wikidata=wikidata)
        self._tags: list[str] | None = None

    @property
    def is_full(self) -> bool:
        """Whether it remembers so much that a new one is better."""
        return self._names.size > _REMEMBERED

    async def named(self, texts: Sequence[str]) -> dict[str, list[str]]:
        """For each text the addresses of what has it as label or alias."""
        tags = await self._languages()

        def make(some: list[str]) -> queries.SparqlQuery:
            return queries.named(some, tags, wikidata=self._wikidata)

        found = defaultdict[str, list[str]](list)
        for row in await self._pages.in_parts(texts, make, _NAMED):
            found[row["text"].value].append(row["entity"].value)
        return found

    async def _languages(self) -> list[str]:
        """The language and its forms: SPARQL looks a text up quickly only with its whole tag."""
        if self._tags is None:
            if self._wikidata:
                found = queries.wikidata_forms(self._lang)
            else:
                rows = await self._pages.rows(queries.forms(self._lang))
                found = [row["tag"].value for row in rows if is_language(row["tag"].value)]
            self._tags = [self._lang, *(tag for tag in found if tag.lower() != self._lang.lower())]
        return self._tags

    async def types(self, entities: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Names and ids of the classes of each entity."""
        these = list(dict.fromkeys(entities))

        def make(some: list[str]) -> queries.SparqlQuery:
            return queries.classes(some, wikidata=self._wikidata)

        rows = await self._pages.about(these, make, _TYPED)
        await self._names.learn(_addresses(rows))
        terms = defaultdict[str, list[SparqlTerm]](list)
        for row in rows:
            terms[row["entity"].value].append(row["value"])
        return {one: self._names.classes(terms[one]) for one in these}

    async def entities(self, iris: Sequence[str]) -> dict[str, Entity]:
        """Those that the graph has."""
        wanted = [one for one in dict.fromkeys(iris) if is_iri(one)]

        def make(some: list[str]) -> queries.SparqlQuery:
            return queries.statements(some, wikidata=self._wikidata)

        said = await self._names.texts(wanted, aliases=True, size=_TOLD)
        rows = await self._pages.about(wanted, make, _TOLD)
        found = await self._found(rows)
        silent = [one for one in wanted if one not in found and not said.get(one)]
        await self._names.check_there(silent, _addresses(rows))
        return {
            one: self._entity(one, said.get(one, {}), found.get(one, {}))
            for one in wanted
            if one not in silent or self._names.is_there(one)
        }

    async def _found(self, rows: list[Solution]) -> dict[str, Found]:
        """The statements of each entity, after the names of all in them are learnt."""
        details = await self._details(rows)
        await self._names.learn(_addresses(rows))
        await self._names.learn_properties(rows)
        found = defaultdict[str, Found](lambda: defaultdict(list))
        for row in rows:
            pair = row["value"], details.get(_place(row), Detail())
            found[row["entity"].value][row["direct"].value].append(pair)
        return found

    async def _details(self, rows: list[Solution]) -> dict[Place, Detail]:
        """Of times and quantities of Wikidata; empty where the endpoint has no such statements."""
        these = [row for row in rows if "type" in row and row["type"].value in _DETAILED]
        properties = sorted({row["property"].value for row in these})
        asked = await self._pages.about(
            (row["entity"].value for row in these),
            lambda some: queries.details(some, properties),
            _TOLD,
        )
        await self._names.learn(row["unit"].value for row in asked if "unit" in row)
        found: dict[Place, Detail] = {}
        for row in asked:
            place = _place(row)
            if "precision" in row and row["precision"].value.isdecimal():
                known = found.get(place, Detail()).precision or 0
                found[place] = Detail(max(known, int(row["precision"].value)))
            elif "unit" in row and (unit := row["unit"].value) != _WITHOUT_UNIT:
                found[place] = Detail(unit=self._names.label(unit) or qid_of(unit))
        return found

    def _entity(self, iri: str, said: Texts, found: Found) -> Entity:
        labels = self._names.best(said, LABELS)
        name = labels[0] if labels else qid_of(iri)
        others = {
            text
            for predicates in (LABELS, (ALIAS,))
            for text in self._names.best(said, predicates, last_resort=False)
        }
        return Entity(
            qid=qid_of(iri),
            name=name,
            properties=self._properties(found),
            aliases=tuple(sorted(others - {name})),
            types=self._names.classes(t for one in TYPES for t, _ in found.get(one, ())),
        )

    def _properties(self, found: Found) -> dict[str, tuple[PropertyValue, ...]]:
        """By name; what has two addresses and one name stands together."""
        values = defaultdict[str, set[PropertyValue]](set)
        for predicate, terms in found.items():
            if not predicate.startswith(_HIDDEN) and (some := self._values(terms)):
                values[self._names.property(predicate)].update(some)
        return {name: in_order(values[name]) for name in sorted(values)}

    def _values(self, terms: list[tuple[SparqlTerm, Detail]]) -> list[PropertyValue]:
        """Texts in other languages count only where none serves."""
        values, others = list[PropertyValue](), list[PropertyValue]()
        for term, detail in terms:
            if term.is_address:
                if (value := self._names.value(term.value)) is not None:
                    values.append(value)
            elif term.value.strip():
                fit = self._names.fit(term) is not None
                told = value_of(term, detail, wikidata=self._wikidata)
                (values if fit else others).extend([told] if told else [])
        return values or others


def _addresses(rows: Iterable[Solution]) -> list[str]:
    terms = (row["value"] for row in rows)
    return [term.value for term in terms if term.is_address and UNKNOWN not in term.value]


def _place(row: Solution) -> Place:
    """What a detail belongs to; plain RDF has no properties of Wikibase, nor details."""
    told = row["property"] if "property" in row else row["direct"]
    return row["entity"].value, told.value, row["value"].value.removeprefix("+")
