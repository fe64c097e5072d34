"""Calls to one SPARQL endpoint: polite, repeated where that helps, kept in the response cache.

Replies are read as SPARQL 1.1 Query Results JSON, all rows of a query page by page.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from trueground._version import __version__
from trueground.errors import GraphError, TruegroundError, UnreachableError, UsageError
from trueground.net import ResponseCache, shown
from trueground.wings.graphs.base import Row
from trueground.wings.graphs.endpoint_queries import SparqlQuery
from trueground.wings.graphs.sparql import is_text

if TYPE_CHECKING:
    from trueground.net import HttpClient, HttpError, HttpReply

CONTACT_VARIABLE = "TRUEGROUND_CONTACT"
RATE = 120.0  # calls a minute
TIMEOUT = 65.0  # Wikidata ends a query after 60 seconds
ATTEMPTS = 5
_CONNECTIONS = 4  # Wikidata serves at most five at once
_DEADLINE = 600.0
_FORMAT = 1  # of what is kept in the cache
_ACCEPT = "application/sparql-results+json, application/json;q=0.5"
_TAG = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^<>]+>")
# What an engine that gave up says, at times in the middle of a reply with status 200.
_GAVE_UP = re.compile(r"\b\w*(?:Timeout|Interrupted|Cancelled)Exception\b|(?i:query timeout)")
_COMPLAINT = re.compile(r"\b\w*(?:Malformed|Parse|Timeout|Syntax)\w*(?:Exception|Error)\b.*")
_PARTIAL = "S1TAT"  # what Virtuoso says in a header when it stopped early
_SHOWN = 300
_GIVEN_UP = "the endpoint gave up"


class AddressTerm(msgspec.Struct, frozen=True, tag_field="type", tag="uri"):
    """An address."""

    value: str


class TextTerm(msgspec.Struct, frozen=True, tag_field="type", tag="literal"):
    """A text; `language` is "" where it has none."""

    value: str
    tag: str = msgspec.field(default="", name="xml:lang")
    datatype: str = ""

    @property
    def language(self) -> str | None:
        """Its tag in lower case."""
        return self.tag.lower() or None


class TypedTerm(TextTerm, frozen=True, tag="typed-literal"):
    """As old replies write a text with a type."""


class BlankTerm(msgspec.Struct, frozen=True, tag_field="type", tag="bnode"):
    """A blank node."""

    value: str


SparqlTerm = AddressTerm | TextTerm | TypedTerm | BlankTerm
Solution = dict[str, SparqlTerm]


class _SparqlHead(msgspec.Struct):
    vars: list[str] = []


class _SparqlBody(msgspec.Struct):
    bindings: list[Solution]


class SparqlResults(msgspec.Struct):
    """The rows of a SELECT, or the answer of an ASK."""

    head: _SparqlHead
    results: _SparqlBody | None = None
    boolean: bool | None = None

    @property
    def solutions(self) -> list[Solution]:
        """The rows; of an ASK none."""
        return self.results.bindings if self.results is not None else []

    def rows(self) -> list[Row]:
        """As `Queried.query` gives them: the text of each term, None where there is none."""
        if self.boolean is not None:
            return [{"ask": "true" if self.boolean else "false"}]
        return [{name: _text(one.get(name)) for name in self.head.vars} for one in self.solutions]


def _text(term: SparqlTerm | None) -> str | None:
    if term is None:
        return None
    return f"_:{term.value}" if isinstance(term, BlankTerm) else term.value


class SparqlEndpoint:
    """Asks the endpoint at `url`; to be used in one event loop at a time.

    `place` is its address without user and password, and in place of a query string its checksum.
    `rate` is the most calls a minute: unless said RATE, on this machine without a limit, as with
    `inf`. `page` is the most rows asked for at once. A reply that is in the response cache is used
    whatever its age.
    """

    def __init__(
        self,
        url: str,
        *,
        cache: bool,
        rate: float | None,
        timeout: float,
        max_attempts: int,
        page: int,
    ) -> None:
        """Raises UsageError for an address or a header that cannot be."""
        host = _host(url)
        if rate is None:
            rate = float("inf") if host in ("localhost", "::1") or host[:4] == "127." else RATE
        contact = os.environ.get(CONTACT_VARIABLE, "").strip() or "no contact given"
        if not (contact.isascii() and contact.isprintable()):
            raise UsageError(
                f"{CONTACT_VARIABLE} is {contact!a}, which isn't valid in a header; expected "
                "printable ASCII"
            )
        self.url, self.shown = url, shown(url)
        # What follows the ? may be a key, and tells graphs of one endpoint apart.
        self._public = shown(url, keep_query=True)
        sha256 = hashlib.sha256(self._public.encode()).hexdigest()[:12]
        same = self._public == self.shown
        self.place = self.shown if same else f"{self.shown}?sha256={sha256}"
        # As Wikimedia asks for it: the program and whom to write to.
        self._agent = f"trueground/{__version__} ({contact}) aiohttp"
        self._rate = None if rate == float("inf") else rate
        self._timeout, self._attempts, self._page = timeout, max_attempts, page
        self._cached = cache
        self._cache: ResponseCache | None = None
        self._client: HttpClient | None = None
        self.problem: str | None = None  # why replies were no longer kept

    async def ask(self, query: str) -> SparqlResults:
        """What the endpoint says to a SELECT or ASK. Raises GraphError, UnreachableError."""
        from trueground.net import HttpError

        if self._cache is None and self._cached:
            self._cache = ResponseCache.open("graphs")
        key = self._key(query)
        if self._cache is not None and (cached := self._cache.get(key)) is not None:
            try:
                return _decode(cached)
            except (msgspec.DecodeError, RecursionError):
                pass  # it is asked for again
        try:
            body, results = await self._open_client().post(
                self.url, {"query": query}, _read_results, headers={"Accept": _ACCEPT}
            )
        except HttpError as error:
            raise self._failure(error, query) from None
        if self._cache is not None:
            self._cache.put(key, body, model=self.shown)
        return results

    async def rows(self, query: SparqlQuery) -> list[Solution]:
        """All rows of a query, page by page until one is short. GraphError, UnreachableError."""
        found: list[Solution] = []
        last: list[Solution] = []
        odd = ""
        for number in count():
            rows = (await self.ask(query.page(self._page, number))).solutions
            if any(name not in row for row in rows for name in query.gives):
                odd = f"rows without some of {' '.join(f'?{name}' for name in query.gives)}"
            elif number and rows and rows == last:
                odd = "the same page of rows twice, so it ignores OFFSET"
            if odd:
                raise GraphError(
                    f"the SPARQL endpoint {self.shown} returned {odd}; expected results as in "
                    "SPARQL 1.1. Check that it is a SPARQL endpoint, or load its data: trueground "
                    "graph load"
                )
            found += rows
            # One that passes over LIMIT has given all.
            if len(rows) != self._page:
                break
            last = rows
        return found

    async def rows_about(
        self, things: Iterable[str], make: Callable[[list[str]], SparqlQuery], size: int
    ) -> list[Solution]:
        """All rows, in order, of a query that is made for so many of the things at a time."""
        every = list(dict.fromkeys(things))
        parts = [every[at : at + size] for at in range(0, len(every), size)]
        try:
            async with asyncio.TaskGroup() as group:  # the first failure ends the others
                tasks = [group.create_task(self.rows(make(part))) for part in parts]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [row for task in tasks for row in task.result()]

    async def close(self) -> None:
        """Give connections and the cache's file back; asking again opens them anew."""
        client, cache = self._client, self._cache
        self._client = self._cache = None
        try:
            if client is not None:
                await client.close()
        finally:
            if cache is not None:
                cache.close()
                self.problem = cache.problem or self.problem

    def _open_client(self) -> HttpClient:
        if self._client is None:
            from trueground.net import HttpClient, Limiter, Policy

            policy = Policy(
                max_connections=_CONNECTIONS,
                timeout=self._timeout,
                deadline=max(_DEADLINE, self._timeout),
                max_attempts=self._attempts,
            )
            password = urlsplit(self.url).password
            self._client = HttpClient(
                policy,
                headers={"User-Agent": self._agent},
                secrets=(password,) if password else (),
                limiter=Limiter(self._rate),
            )
        return self._client

    def _key(self, query: str) -> str:
        """The query holds all values already; who asks does not count."""
        return hashlib.sha256(msgspec.json.encode([_FORMAT, self._public, query])).hexdigest()

    def _failure(self, error: HttpError, query: str) -> TruegroundError:
        # Some engines begin their complaint with the query.
        words = str(error).replace(query, "…")
        place = f"the SPARQL endpoint {self.shown}"
        if error.is_unreachable:
            return UnreachableError(
                f"can't reach {place}: {words}. Check the address and the network, or use a graph "
                "on this machine (trueground graph load)"
            )
        if error.status in (401, 403, 407):
            return UnreachableError(
                f"{place} denies access: {words}. Check the address, and set {CONTACT_VARIABLE} to "
                "your e-mail address or home page: some endpoints require that"
            )
        if error.status in (429, 502, 503, 504):
            return UnreachableError(f"{place} is unavailable now: {words}. Try again later")
        if error.status == 400:
            return GraphError(f"{place} rejected the query: {words}. Fix the query")
        if error.is_slow or _GIVEN_UP in words:
            return GraphError(
                f"{place} timed out: {words}. Simplify the query, allow more time, or try again "
                "later"
            )
        return GraphError(
            f"{place} returned an unusable reply: {words}; expected SPARQL results in JSON. Check "
            "that the address is a SPARQL endpoint, or try again later"
        )


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or not is_text(url) or parts.scheme not in ("http", "https"):
        raise UsageError(
            f"{shown(url)!r} isn't the address of a SPARQL endpoint; expected one such as "
            "https://query.wikidata.org/sparql"
        )
    return host


def _decode(body: bytes) -> SparqlResults:
    """Raises msgspec.DecodeError; ValidationError where it is JSON of another shape."""
    found = msgspec.json.decode(body, type=SparqlResults)
    if found.results is None and found.boolean is None:
        raise msgspec.ValidationError('expected "results" or "boolean"')
    return found


def _read_results(reply: HttpReply) -> tuple[bytes, SparqlResults]:
    """The body and what it holds. Raises HttpError, retryable where another attempt may help."""
    from trueground.net import HttpError

    def useless(reason: str) -> HttpError:
        return HttpError(reason, status=reply.status, retryable=False)

    body = reply.utf8()
    words = _complaint(body)
    # Traces of the Java engines end with it.
    ends = body[:20_000] + b"\n" + body[-20_000:]
    gave_up = _GAVE_UP.search(ends.decode("utf-8", "replace")) is not None
    if not 200 <= reply.status < 300:
        # What took too long takes as long again, and an endpoint counts it against the client.
        if reply.status == 500 and gave_up:
            raise useless(f"{_GIVEN_UP}: {words}")
        raise reply.status_error(words)
    if reply.headers.get("X-SQL-State") == _PARTIAL:
        raise useless(f"{_GIVEN_UP} and sent a part of the rows only")
    try:
        return body, _decode(body)
    except msgspec.ValidationError as error:
        raise useless(f"the reply is JSON, and no SPARQL results: {error}") from None
    except RecursionError:
        raise useless("the reply is JSON, nested too deeply to be read") from None
    except msgspec.DecodeError:
        if gave_up:
            raise useless(f"{_GIVEN_UP} midway") from None
        kind = reply.headers.get("Content-Type", "no content type")
        reason = f"HTTP {reply.status}: the reply is not whole JSON ({kind}): {words}"
        raise HttpError(reason, status=reply.status) from None


def _complaint(body: bytes) -> str:
    """What an endpoint complains of, on one line, without its page around it and shortened."""
    from trueground.net import HttpReply

    text = body[:50_000].decode("utf-8", "replace")
    if re.match(r"(?i)\s*(<!doctype|<html|<\?xml)", text):
        text = _TAG.sub(" ", text)
    elif complaint := _COMPLAINT.search(text):  # behind the query and a list of calls
        text = complaint[0]
    return HttpReply.shorten(text.encode(), _SHOWN).rstrip(".")
