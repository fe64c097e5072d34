"""What things are called: labels and aliases, names of properties and classes, remembered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from trueground.graph.base import PropertyValue
from trueground.graph.endpoint import queries
from trueground.graph.endpoint.paging import Pages
from trueground.graph.endpoint.results import Solution, SparqlTerm
from trueground.graph.literals import fits
from trueground.graph.onehop import called, called_classes
from trueground.graph.rdf import DIRECT, ENTITY, LABELS, OWN_ENTITY, UNKNOWN, qid_of

_THINGS = 200  # asked about in one query
_LAST = 9  # the rank of a name in a language that nobody asked for
_OURS = (ENTITY, OWN_ENTITY)
Texts = dict[str, list[SparqlTerm]]  # by the address of what says so: a label, an alias


class EntityNames:
    """For readers of one language."""

    def __init__(self, pages: Pages, lang: str, *, wikidata: bool) -> None:
        self._pages, self._lang, self._wikidata = pages, lang, wikidata
        self._labels: dict[str, str | None] = {}
        self._describing: dict[str, list[str]] = {}  # predicate → entities of Wikibase
        self._there: dict[str, bool] = {}

    @property
    def size(self) -> int:
        """Of how many things and properties something is remembered."""
        return len(self._labels) + len(self._describing) + len(self._there)

    def fit(self, term: SparqlTerm) -> int | None:
        """How well a text serves, 0 the best; None if not at all."""
        return fits(term.lang.lower() or None, self._lang.lower())

    def best(
        self, said: Texts, predicates: Sequence[str], *, last_resort: bool = True
    ) -> list[str]:
        """The texts that serve, the best first, and behind them English ones of Wikidata."""
        ranked = []
        for place, predicate in enumerate(predicates):
            for term in said.get(predicate, ()):
                rank = self.fit(term)
                if rank is None and last_resort and self._wikidata:
                    rank = _LAST if term.lang == queries.LAST_RESORT else None
                if rank is not None and term.value.strip():
                    ranked.append((place, rank, term.value))
        return [text for _, _, text in sorted(ranked)]

    def label(self, iri: str) -> str | None:
        """What was learnt."""
        return self._labels.get(iri)

    def is_there(self, iri: str) -> bool:
        """Whether anything is said of it, unless `check_there` found out otherwise."""
        return self._there.get(iri, True)

    def value(self, iri: str) -> PropertyValue | None:
        """An address as the value of a property; None for one that stands for nobody knows what."""
        if UNKNOWN in iri:
            return None
        label = self.label(iri)
        if label is None and not self.is_there(iri):
            return PropertyValue(iri, "other")
        return PropertyValue(label or qid_of(iri), "entity", id=qid_of(iri))

    def property(self, predicate: str) -> str:
        """The name of a property."""
        return called(predicate, map(self.label, (*self._describers(predicate), predicate)))

    def classes(self, terms: Iterable[SparqlTerm]) -> tuple[str, ...]:
        """Names and ids of classes, by id."""
        found = set()
        for term in terms:
            if term.is_address:
                found.add((qid_of(term.value), self.label(term.value) or ""))
            elif self.fit(term) is not None:
                found.add(("", term.value))
        return called_classes(found)

    async def learn(self, things: Iterable[str]) -> None:
        """Remember the labels of things, and of which there is none."""
        new = [one for one in dict.fromkeys(things) if one not in self._labels]
        said = await self.texts(new, aliases=False, size=_THINGS)
        for one in new:
            self._labels[one] = next(iter(self.best(said.get(one, {}), LABELS)), None)

    async def learn_properties(self, rows: list[Solution]) -> None:
        """The same for the properties of statements."""
        predicates = dict.fromkeys(row["direct"].value for row in rows)
        for row in rows:
            if "property" in row:
                self._describing[row["direct"].value] = [row["property"].value]
        new = [one for one in predicates if one not in self._describing]
        asked = await self._pages.about(new, queries.property_entities, _THINGS)
        described = {one: list[str]() for one in new}
        for row in asked:
            described.setdefault(row["direct"].value, []).append(row["property"].value)
        self._describing.update(described)
        await self.learn(one for p in predicates for one in (*self._describers(p), p))

    async def check_there(self, silent: Iterable[str], values: Iterable[str]) -> None:
        """Find out of which things nothing is said; of values only where that may be."""
        nameless = (v for v in values if self.label(v) is None and not v.startswith(_OURS))
        new = [one for one in dict.fromkeys((*silent, *nameless)) if one not in self._there]
        rows = await self._pages.about(new, queries.existing, _THINGS)
        found = {row["thing"].value for row in rows}
        self._there.update({one: one in found for one in new})

    async def texts(self, things: Iterable[str], *, aliases: bool, size: int) -> dict[str, Texts]:
        """Labels, and aliases too, of each thing."""

        def make(some: list[str]) -> queries.SparqlQuery:
            return queries.texts(some, self._lang, aliases=aliases, wikidata=self._wikidata)

        said = defaultdict[str, Texts](lambda: defaultdict(list))
        for row in await self._pages.about(things, make, size):
            said[row["thing"].value][row["says"].value].append(row["text"])
        return said

    def _describers(self, predicate: str) -> list[str]:
        usual = [ENTITY + predicate[len(DIRECT) :]] if predicate.startswith(DIRECT) else []
        return [*sorted(self._describing.get(predicate, ())), *usual]
