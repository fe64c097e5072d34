"""A knowledge graph behind a SPARQL endpoint, read by a few plain queries for many things at once.

What counts as a name, a class or a value, and in which order they stand, is as in the embedded
graph (`onehop`), so that both give the same subgraphs.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from trueground.errors import GraphError, UsageError
from trueground.execution import LoopThread
from trueground.wings.graphs import endpoint_queries as queries
from trueground.wings.graphs.base import Entity, NamedEntity, PropertyValue, Row, id_order
from trueground.wings.graphs.endpoint_client import (
    ATTEMPTS,
    TIMEOUT,
    AddressTerm,
    Solution,
    SparqlEndpoint,
    SparqlTerm,
    TextTerm,
)
from trueground.wings.graphs.joined import query_joined
from trueground.wings.graphs.onehop import EntityReader
from trueground.wings.graphs.rdf import (
    DAY,
    DIRECT,
    ENTITY,
    LABELS,
    MILLENNIUM,
    MONTH,
    OWN_ENTITY,
    UNKNOWN,
    WIKIBASE,
    XSD,
    YEAR,
    entity_iri,
    format_period,
    literal_value,
    names_no_entity,
    qid_of,
    to_historical,
)
from trueground.wings.graphs.sparql import (
    bound,
    check_reading,
    is_iri,
    is_language,
    is_text,
    language,
)

WIKIDATA = "https://query.wikidata.org/sparql"
PAGE = 5_000  # rows
_HOST = "query.wikidata.org"
_NAMED, _TYPED, _TOLD, _THINGS = 25, 200, 25, 200  # asked about in one query
_REMEMBERED = 200_000  # names and the like, some 50 MB
_WITHOUT_UNIT = ENTITY + "Q199"  # the number 1
_DETAILED = {WIKIBASE + one for one in ("Time", "Quantity")}
_PRECISION = re.compile("[0-9]{1,2}")
_DATE_TIME, _STRING = XSD + "dateTime", XSD + "string"
_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
Kind = Literal["wikidata", "rdf"]
T = TypeVar("T")
Said = dict[str, dict[str, list[SparqlTerm]]]  # by thing, then by predicate


class EndpointGraph:
    """Asks a SPARQL 1.1 endpoint; its names cannot be listed, only looked for.

    `name` is its address, without what is secret in it, `signature` that and how it is read.
    `kind` is "wikidata" for endpoints that are filled like Wikidata's, else "rdf"; unless it is
    said, the endpoint is asked once (Wikidata's own is known). Unlike in other graphs a name is
    found only as it is spelled, capitals included. `rate` is the most calls a minute: unless said
    120, and none on this machine. `page` is the most rows asked for at once; an endpoint that gives
    fewer without saying so needs a smaller number. May be used by several threads at once, and
    inside a running event loop.
    """

    is_local = False

    def __init__(
        self,
        url: str = WIKIDATA,
        *,
        lang: str = "en",
        cache: bool = True,
        kind: Kind | None = None,
        rate: float | None = None,
        timeout: float = TIMEOUT,
        max_attempts: int = ATTEMPTS,
        page: int = PAGE,
    ) -> None:
        """Nothing is asked yet. Raises UsageError."""
        if kind not in (None, "wikidata", "rdf"):
            raise UsageError.unknown_name("kind of endpoint", str(kind), ("wikidata", "rdf"))
        self.lang = language(lang)
        self._endpoint = SparqlEndpoint(
            url,
            cache=cache,
            rate=rate,
            timeout=timeout,
            max_attempts=max_attempts,
            page=page,
        )
        self._kind = "wikidata" if kind is None and urlsplit(url).hostname == _HOST else kind
        self.name = "wikidata" if url == WIKIDATA else f"sparql:{self._endpoint.shown}"
        # How it is read, as it was said; "auto" asks the endpoint, and so depends on it alone. What
        # it holds may change, and nobody can sum it up.
        read = f"lang={lang.lower()} kind={self._kind or 'auto'} page={page}"
        self.signature = f"sparql:{self._endpoint.place} live {read}"
        self._reader: EndpointReader | None = None
        self._loop = LoopThread(
            "sparql-endpoint", self._endpoint.close, partial(_closed_error, self._endpoint.shown)
        )

    @property
    def problem(self) -> str | None:
        """Why replies were no longer kept in the response cache; None where they were."""
        return self._endpoint.problem

    def find(self, names: Sequence[str]) -> list[list[NamedEntity]]:
        """For each name the entities that have it as name or alias, spelled just so, by id.

        White space at the ends does not count. Raises GraphError, UnreachableError.
        """
        spellings: list[list[str]] = []  # what is looked for: the name, also as Unicode composes it
        for name in map(str.strip, names):
            both = (name, unicodedata.normalize("NFC", name)) if name and is_text(name) else ()
            spellings.append(list(dict.fromkeys(both)))
        return self._run(self._find(spellings)) if any(spellings) else [[] for _ in names]

    def entities(self, qids: Sequence[str]) -> list[Entity | None]:
        """For each id its one-hop subgraph; None where there is none.

        Raises GraphError, UnreachableError.
        """
        iris = [entity_iri(qid) if is_text(qid) else "" for qid in qids]
        wanted = [one for one in dict.fromkeys(iris) if is_iri(one)]
        found = self._run(self._entities(wanted)) if wanted else {}
        return [found.get(one) for one in iris]

    def query(self, sparql: str, bindings: Mapping[str, str] | None = None) -> Iterator[Row]:
        """Rows of a SELECT or ASK, all that the endpoint gives; it is asked before this returns.

        Raises GraphError, UnreachableError.
        """
        if not is_text(sparql):
            raise GraphError("the query contains a lone surrogate; expected valid text. Fix it")
        check_reading(sparql)
        written, fixed = bound(sparql, bindings or {})
        rows = self._run(self._endpoint.ask(written)).rows()
        return iter([{**row, **fixed} for row in rows])

    def find_joined(self, heads: Sequence[str], tails: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs of ids, one of each side, that an edge joins."""
        return list(query_joined(self, heads, tails))

    def close(self) -> None:
        """Give connections and the cache's file back; asked again, it opens them anew.

        A call that another thread waits for is broken off, with a GraphError.
        """
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    async def _reading(self) -> EndpointReader:
        if self._reader is None or self._reader.size > _REMEMBERED:
            if self._kind is None:
                like = (await self._endpoint.ask(queries.IS_WIKIBASE)).boolean
                self._kind = "wikidata" if like else "rdf"
            self._reader = EndpointReader(
                self._endpoint, self.lang, wikidata=self._kind == "wikidata"
            )
        return self._reader

    async def _entities(self, iris: list[str]) -> dict[str, Entity]:
        return await (await self._reading()).entities(iris)

    async def _find(self, spellings: list[list[str]]) -> list[list[NamedEntity]]:
        reader = await self._reading()
        found = await reader.named([text for some in spellings for text in some])
        # The first spelling that an entity has is the one that is told.
        texts = [
            {one: text for text in reversed(some) for one in found.get(text, ())}
            for some in spellings
        ]
        types = await reader.types(dict.fromkeys(one for some in texts for one in some))
        return [
            [
                NamedEntity(some[one], qid_of(one), types[one])
                for one in sorted(some, key=lambda one: id_order(qid_of(one)))
                if self._is_entity(one)
            ]
            for some in texts
        ]

    def _is_entity(self, iri: str) -> bool:
        """Whether it is no property; of Wikidata, whether it is an item."""
        if self._kind == "wikidata":
            return iri.startswith(ENTITY) and qid_of(iri)[:1] == "Q"
        return not names_no_entity(iri)


class ValueDetail(NamedTuple):
    """What Wikidata says of a value: how far a time is known, the name of a quantity's unit."""

    precision: int | None = None
    unit: str | None = None


class DetailedTerm(TextTerm, frozen=True, tag="detailed"):
    """A text of Wikidata with what is said of it."""

    detail: ValueDetail = ValueDetail()


class EndpointReader(EntityReader):
    """Reads for readers of one language; names of things and properties are asked for once."""

    def __init__(self, endpoint: SparqlEndpoint, lang: str, *, wikidata: bool) -> None:
        super().__init__(lang, AddressTerm, TextTerm, queries.LAST_RESORT if wikidata else None)
        self._endpoint, self._wikidata = endpoint, wikidata
        self._asked = lang  # as it was written
        self._tags: list[str] | None = None
        self._labels: dict[str, str | None] = {}
        self._describing: dict[str, list[str]] = {}  # predicate → entities of Wikibase
        self._described: dict[str, bool] = {}

    @property
    def size(self) -> int:
        """Of how many things and properties something is remembered."""
        return len(self._labels) + len(self._describing) + len(self._described)

    async def named(self, texts: Sequence[str]) -> dict[str, list[str]]:
        """For each text the addresses of what has it as label or alias."""
        if self._tags is None:  # SPARQL looks a text up quickly only with its whole tag
            if self._wikidata:
                tags = queries.wikidata_forms(self._asked)
            else:
                rows = await self._endpoint.rows(queries.forms(self._asked))
                tags = [tag for row in rows if is_language(tag := row["tag"].value)]
            others = (tag for tag in tags if tag.lower() != self._lang)
            self._tags = [self._asked, *others]
        found = defaultdict[str, list[str]](list)
        make = partial(queries.named, tags=self._tags, wikidata=self._wikidata)
        for row in await self._endpoint.rows_about(texts, make, _NAMED):
            found[row["text"].value].append(row["entity"].value)
        return found

    async def types(self, entities: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Names and ids of the classes of each entity."""
        these = list(entities)
        make = partial(queries.classes, wikidata=self._wikidata)
        rows = await self._about(these, make, _TYPED)
        await self._learn(_addresses(rows))
        terms = defaultdict[str, list[SparqlTerm]](list)
        for row in rows:
            terms[row["entity"].value].append(row["value"])
        return {one: self.classes(terms[one]) for one in these}

    async def entities(self, iris: Sequence[str]) -> dict[str, Entity]:
        """Those of valid addresses that the graph has."""
        names = await self._texts(iris, aliases=True, size=_TOLD)
        make = partial(queries.statements, wikidata=self._wikidata)
        rows = await self._about(iris, make, _TOLD)
        details = await self._details(rows)
        await self._learn(_addresses(rows))
        await self._learn_properties(rows)
        said: Said = defaultdict(lambda: defaultdict(list))
        for row in rows:
            value = row["value"]
            if isinstance(value, TextTerm) and (detail := details.get(_place(row))):
                value = DetailedTerm(value.value, value.tag, value.datatype, detail)
            said[row["entity"].value][row["direct"].value].append(value)
        silent = [one for one in iris if one not in said and not names.get(one)]
        await self._check_described(silent, _addresses(rows))
        return {
            one: self.entity(one, said.get(one, {}), names.get(one, {}))
            for one in iris
            if one not in silent or self.is_described(one)
        }

    def label(self, iri: str) -> str | None:
        return self._labels.get(iri)

    def is_described(self, iri: str) -> bool:
        return self._described.get(iri, True)

    def describers(self, predicate: str) -> Iterable[str]:
        own = [ENTITY + predicate[len(DIRECT) :]] if predicate.startswith(DIRECT) else []
        return (*sorted(self._describing.get(predicate, ())), *own, predicate)

    def literal_value(self, term: TextTerm) -> PropertyValue | None:
        detail = term.detail if isinstance(term, DetailedTerm) else ValueDetail()
        datatype = term.datatype or (_LANG_STRING if term.tag else _STRING)
        if self._wikidata and datatype == _DATE_TIME and detail.precision is not None:
            return _time_value(term.value, detail.precision)
        value = literal_value(term.value, datatype)
        if detail.unit and value.kind == "quantity":
            return PropertyValue(f"{value.text} {detail.unit}", "quantity", unit=detail.unit)
        return value

    async def _about(
        self, things: Iterable[str], make: Callable[[list[str]], queries.SparqlQuery], size: int
    ) -> list[Solution]:
        """Rows of a query about addresses; of what only looks like one, nothing is said."""
        return await self._endpoint.rows_about(filter(is_iri, things), make, size)

    async def _texts(self, things: Iterable[str], *, aliases: bool, size: int) -> Said:
        """Labels, and aliases too, of each thing."""

        make = partial(queries.texts, lang=self._asked, aliases=aliases, wikidata=self._wikidata)
        said: Said = defaultdict(lambda: defaultdict(list))
        for row in await self._about(things, make, size):
            said[row["thing"].value][row["says"].value].append(row["text"])
        return said

    async def _learn(self, things: Iterable[str]) -> None:
        """Remember the labels of things, and of which there is none."""
        new = [one for one in dict.fromkeys(things) if one not in self._labels]
        said = await self._texts(new, aliases=False, size=_THINGS)
        for one in new:
            texts = self.texts(said.get(one, {}), LABELS, self._last_resort)
            self._labels[one] = texts[0] if texts else None

    async def _learn_properties(self, rows: list[Solution]) -> None:
        """The same for the properties of statements."""
        predicates = dict.fromkeys(row["direct"].value for row in rows)
        for row in rows:
            if "property" in row:
                self._describing[row["direct"].value] = [row["property"].value]
        new = [one for one in predicates if one not in self._describing]
        found = await self._about(new, queries.property_entities, _THINGS)
        self._describing.update({one: [] for one in new})
        for row in found:
            self._describing.setdefault(row["direct"].value, []).append(row["property"].value)
        await self._learn(one for p in predicates for one in self.describers(p))

    async def _check_described(self, silent: Iterable[str], values: Iterable[str]) -> None:
        """Find out of which things nothing is said; of values only where that may be."""
        own = (ENTITY, OWN_ENTITY)
        nameless = (v for v in values if self.label(v) is None and not v.startswith(own))
        new = [one for one in dict.fromkeys((*silent, *nameless)) if one not in self._described]
        rows = await self._about(new, queries.existing, _THINGS)
        found = {row["thing"].value for row in rows}
        self._described.update({one: one in found for one in new})

    async def _details(self, rows: list[Solution]) -> dict[tuple[str, str, str], ValueDetail]:
        """Of times and quantities of Wikidata; empty where the endpoint has no such statements."""
        these = [row for row in rows if "type" in row and row["type"].value in _DETAILED]
        properties = sorted({row["property"].value for row in these})
        make = partial(queries.details, properties=properties)
        found = await self._about((row["entity"].value for row in these), make, _TOLD)
        await self._learn(row["unit"].value for row in found if "unit" in row)
        details: dict[tuple[str, str, str], ValueDetail] = {}
        for row in found:
            place = _place(row)
            if "precision" in row and _PRECISION.fullmatch(row["precision"].value):
                known = details.get(place, ValueDetail()).precision or 0
                details[place] = ValueDetail(max(known, int(row["precision"].value)))
            elif "unit" in row and (unit := row["unit"].value) != _WITHOUT_UNIT:
                details[place] = ValueDetail(unit=self.label(unit) or qid_of(unit))
        return details


def _time_value(text: str, precision: int) -> PropertyValue | None:
    """A time as far as it is known; None where that is vaguer than a millennium."""
    match = re.match(r"(-?)(\d{1,1000})(?!\d)(-\d\d)?", to_historical(text))
    if match is None or precision >= DAY:
        return literal_value(text, _DATE_TIME)
    sign, digits, month = match.groups("")
    if precision >= YEAR:
        return PropertyValue(f"{sign}{digits}{month if precision == MONTH else ''}", "date")
    if precision < MILLENNIUM:
        return None
    return PropertyValue(format_period(int(digits), precision, before=bool(sign)))


def _addresses(rows: Iterable[Solution]) -> list[str]:
    terms = (row["value"] for row in rows)
    return [one.value for one in terms if isinstance(one, AddressTerm) and UNKNOWN not in one.value]


def _place(row: Solution) -> tuple[str, str, str]:
    """What a detail belongs to: entity, property, text of the value."""
    property_ = row["property"] if "property" in row else row["direct"]
    return row["entity"].value, property_.value, row["value"].value.removeprefix("+")


def _closed_error(endpoint: str) -> GraphError:
    return GraphError(
        f"the SPARQL endpoint {endpoint} was closed before it had answered; close the graph when "
        "all calls have ended"
    )
