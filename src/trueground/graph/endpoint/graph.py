"""A knowledge graph behind a SPARQL endpoint."""

from __future__ import annotations

import unicodedata
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

from trueground.errors import GraphError, UsageError, unknown_name
from trueground.graph.base import Entity, NamedEntity, Row, id_order
from trueground.graph.endpoint.asking import ATTEMPTS, TIMEOUT, SparqlEndpoint
from trueground.graph.rdf import ENTITY, entity_iri, names_no_entity, qid_of
from trueground.graph.sparql.binding import bound, check_reading
from trueground.graph.sparql.terms import is_text, language
from trueground.net.loop import LoopClosedError, LoopThread

if TYPE_CHECKING:
    from trueground.graph.endpoint.reading import EndpointReader

WIKIDATA = "https://query.wikidata.org/sparql"
PAGE = 5_000  # rows
_HOST = "query.wikidata.org"
Kind = Literal["wikidata", "rdf"]
T = TypeVar("T")


class EndpointGraph:
    """Asks a SPARQL 1.1 endpoint; its names cannot be listed, only looked for.

    `kind` is "wikidata" for endpoints that are filled like Wikidata's, else "rdf"; unless it is
    said, the endpoint is asked once (Wikidata's own is known). Unlike in other graphs a name is
    found only as it is spelt, capitals included. `rate` is the most calls a minute: unless said
    120, and none on this machine. `page` is the most rows asked for at once; an endpoint that gives
    fewer without saying so needs a smaller number. May be used by several threads at once, and
    inside a running event loop.
    """

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
        user_agent: str | None = None,
    ) -> None:
        """Nothing is asked yet. Raises UsageError."""
        if kind not in (None, "wikidata", "rdf"):
            raise unknown_name("kind of endpoint", str(kind), ("wikidata", "rdf"))
        if page < 1:
            raise UsageError(f"page {page}; expected a number of rows from 1")
        self._lang = language(lang)
        self._endpoint = SparqlEndpoint(
            url,
            cache=cache,
            rate=rate,
            timeout=timeout,
            max_attempts=max_attempts,
            user_agent=user_agent,
        )
        self._page = page
        self._kind = "wikidata" if kind is None and urlsplit(url).hostname == _HOST else kind
        # How it is read, as it was said; "auto" asks the endpoint, and so depends on it alone.
        self._read = f"lang={self._lang.lower()} kind={self._kind or 'auto'} page={page}"
        self._reader: EndpointReader | None = None
        self._worker = LoopThread("sparql-endpoint", self._endpoint.close)

    @property
    def name(self) -> str:
        """Its address, without what is secret in it."""
        return "wikidata" if self._endpoint.url == WIKIDATA else f"sparql:{self._endpoint.shown}"

    @property
    def signature(self) -> str:
        """Its address and how it is read. What it holds may change, and nobody can sum it up."""
        return f"sparql:{self._endpoint.place} live {self._read}"

    @property
    def lang(self) -> str:
        """The language of names."""
        return self._lang

    @property
    def problem(self) -> str | None:
        """Why replies were no longer kept in the response cache; None where they were."""
        return self._endpoint.problem

    def find(self, names: Sequence[str]) -> list[list[NamedEntity]]:
        """For each name the entities that have it as name or alias, spelt just so, by id.

        White space at the ends does not count. Raises GraphError, UnreachableError.
        """
        return self._run(self._find([_spellings(name) for name in names]))

    def entities(self, qids: Sequence[str]) -> list[Entity | None]:
        """For each id its one-hop subgraph; None where there is none.

        Raises GraphError, UnreachableError.
        """
        return self._run(self._entities([_address(qid) for qid in qids]))

    def query(self, sparql: str, bindings: Mapping[str, str] | None = None) -> Iterator[Row]:
        """Rows of a SELECT or ASK, all that the endpoint gives; it is asked before this returns.

        Raises GraphError, UnreachableError.
        """
        if not is_text(sparql):
            raise GraphError("the query is no text: it holds half of a character. Fix it")
        check_reading(sparql)
        written, fixed = bound(sparql, bindings or {})
        rows = self._run(self._endpoint.ask(written)).rows()
        return iter([{**row, **fixed} for row in rows])

    def close(self) -> None:
        """Give connections and the cache's file back; asked again, it opens them anew.

        A call that another thread waits for is broken off, with a GraphError.
        """
        self._worker.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self._worker.run(work)
        except LoopClosedError:
            raise GraphError(
                f"the SPARQL endpoint {self._endpoint.shown} was closed before it had answered; "
                "close the graph when all calls have ended"
            ) from None

    async def _reading(self) -> EndpointReader:
        if self._reader is None or self._reader.is_full:
            from trueground.graph.endpoint.paging import Pages
            from trueground.graph.endpoint.queries import IS_WIKIBASE
            from trueground.graph.endpoint.reading import EndpointReader

            if self._kind is None:
                like = (await self._endpoint.ask(IS_WIKIBASE)).boolean
                self._kind = "wikidata" if like else "rdf"
            pages = Pages(self._endpoint, self._page)
            self._reader = EndpointReader(pages, self._lang, wikidata=self._kind == "wikidata")
        return self._reader

    async def _find(self, spellings: list[list[str]]) -> list[list[NamedEntity]]:
        if not any(spellings):
            return [[] for _ in spellings]
        reader = await self._reading()
        found = await reader.named([text for some in spellings for text in some])
        # The first spelling that an entity has is the one that is told.
        texts = [
            {one: text for text in reversed(some) for one in found.get(text, ())}
            for some in spellings
        ]
        types = await reader.types(one for some in texts for one in some)
        return [
            [
                NamedEntity(some[one], qid_of(one), types[one])
                for one in sorted(some, key=lambda one: id_order(qid_of(one)))
                if self._is_entity(one)
            ]
            for some in texts
        ]

    async def _entities(self, iris: list[str | None]) -> list[Entity | None]:
        wanted = [one for one in iris if one is not None]
        found = await (await self._reading()).entities(wanted) if wanted else {}
        return [None if one is None else found.get(one) for one in iris]

    def _is_entity(self, iri: str) -> bool:
        """Whether it is no property; of Wikidata, whether it is an item."""
        if self._kind == "wikidata":
            return iri.startswith(ENTITY) and qid_of(iri)[:1] == "Q"
        return not names_no_entity(iri)


def _spellings(name: str) -> list[str]:
    """What is looked for: the name, also as Unicode composes it."""
    bare = name.strip()
    if not bare or not is_text(bare):
        return []
    return list(dict.fromkeys((bare, unicodedata.normalize("NFC", bare))))


def _address(qid: str) -> str | None:
    return entity_iri(qid) if is_text(qid) else None
