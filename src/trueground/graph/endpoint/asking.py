"""Calls to one SPARQL endpoint: polite, repeated where that helps, kept in the response cache."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from trueground._version import __version__
from trueground.errors import GraphError, TruegroundError, UnreachableError, UsageError
from trueground.graph.sparql.terms import is_text
from trueground.net.cache import ResponseCache, graphs_path
from trueground.net.redact import shown, without_user

if TYPE_CHECKING:
    from trueground.graph.endpoint.results import SparqlResults
    from trueground.net.failures import HttpError
    from trueground.net.http import HttpClient

CONTACT_VARIABLE = "TRUEGROUND_CONTACT"
RATE = 120.0  # calls a minute
TIMEOUT = 65.0  # Wikidata ends a query after 60 seconds
ATTEMPTS = 5
_CONNECTIONS = 4  # Wikidata serves at most five at once
_DEADLINE = 600.0
_FORMAT = 1  # of what is kept in the cache
_CLOSED_DOORS = (401, 403, 407)
_AWAY = (429, 502, 503, 504)


class SparqlEndpoint:
    """Asks the endpoint at `url`; to be used in one event loop at a time.

    `place` is its address without user and password, and in place of a query string its checksum.
    `rate` is the most calls a minute: unless said RATE, on this machine without a limit, as with
    `inf`. A reply that is in the response cache is used whatever its age.
    """

    def __init__(
        self,
        url: str,
        *,
        cache: bool,
        rate: float | None,
        timeout: float,
        max_attempts: int,
        user_agent: str | None,
    ) -> None:
        """Raises UsageError for an address or a header that cannot be."""
        host = _host(url)
        if rate is None:
            rate = float("inf") if host in ("localhost", "::1") or host[:4] == "127." else RATE
        if not rate > 0:
            raise UsageError(f"rate {rate:g} lets no call out; give calls a minute, above 0")
        if not timeout > 0 or max_attempts < 1:
            raise UsageError(
                f"timeout {timeout:g} and {max_attempts} attempts; expected seconds above 0 and at "
                "least one attempt"
            )
        self.url, self.shown = url, shown(url)
        # What follows the ? may be a key, and tells graphs of one endpoint apart.
        place = without_user(url)
        same = place == self.shown
        self.place = self.shown if same else f"{self.shown}?sha256={_short_sha256(place)}"
        self._agent = _checked(user_agent) if user_agent else _usual_agent()
        self._rate = None if rate == float("inf") else rate
        self._timeout, self._attempts = timeout, max_attempts
        self._cached = cache
        self._cache: ResponseCache | None = None
        self._client: HttpClient | None = None
        self.problem: str | None = None  # why replies were no longer kept

    async def ask(self, query: str) -> SparqlResults:
        """What the endpoint says to a SELECT or ASK. Raises GraphError, UnreachableError."""
        from trueground.graph.endpoint.results import ACCEPT, read_results
        from trueground.net.failures import HttpError

        cache, key = self._open_cache(), self._key(query)
        if cache is not None and (kept := _recall(cache, key)) is not None:
            return kept
        try:
            body, results = await self._open_client().post(
                self.url, {"query": query}, read_results, headers={"Accept": ACCEPT}
            )
        except HttpError as error:
            raise self._failure(error, query) from None
        if cache is not None:
            cache.put(key, body, model=self.shown)
        return results

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
            from trueground.net.http import HttpClient, Policy
            from trueground.net.limits import Limiter

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

    def _open_cache(self) -> ResponseCache | None:
        if self._cache is None and self._cached:
            self._cache = ResponseCache(graphs_path())
        return self._cache

    def _key(self, query: str) -> str:
        """The query holds all values already; who asks does not count."""
        place = without_user(self.url)
        return hashlib.sha256(msgspec.json.encode([_FORMAT, place, query])).hexdigest()

    def _failure(self, error: HttpError, query: str) -> TruegroundError:
        from trueground.graph.endpoint.results import GAVE_UP
        from trueground.net.failures import ConnectError, SlowError

        # Some engines begin their complaint with the query.
        words = str(error).replace(query, "…")
        place = f"the SPARQL endpoint {self.shown}"
        if isinstance(error, ConnectError):
            return UnreachableError(
                f"{place} cannot be reached: {words}. Look at the address and the network; a graph "
                "on this machine (trueground graph load) needs neither"
            )
        if error.status in _CLOSED_DOORS:
            return UnreachableError(
                f"{place} lets nobody in: {words}. Look at the address, and set "
                f"{CONTACT_VARIABLE} to an e-mail address or a page about you: some ask for that"
            )
        if error.status in _AWAY:
            return UnreachableError(f"{place} answers nobody now: {words}. Try again later")
        if error.status == 400:
            return GraphError(f"{place} does not understand the query: {words}. Fix the query")
        if isinstance(error, SlowError) or GAVE_UP in words:
            return GraphError(
                f"{place} did not finish: {words}. Ask for less at once, allow more time, or try "
                "again later"
            )
        return GraphError(
            f"{place} gave no answer that can be used: {words}; expected SPARQL results in JSON. "
            "Look whether the address is that of a SPARQL endpoint, or try again later"
        )


def _recall(cache: ResponseCache, key: str) -> SparqlResults | None:
    from trueground.graph.endpoint.results import decode

    body = cache.get(key)
    if body is None:
        return None
    try:
        return decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or not is_text(url) or parts.scheme not in ("http", "https"):
        raise UsageError(
            f"{shown(url)!r} is no address of a SPARQL endpoint; expected one such as "
            "https://query.wikidata.org/sparql"
        )
    return host


def _short_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _usual_agent() -> str:
    """As Wikimedia asks for it: the program, its version and whom to write to."""
    contact = os.environ.get(CONTACT_VARIABLE, "").strip() or "no contact given"
    return _checked(f"trueground/{__version__} ({contact}) aiohttp")


def _checked(agent: str) -> str:
    if agent.isascii() and agent.isprintable():
        return agent
    raise UsageError(
        f"the User-Agent {agent!a} holds what no header may; expected printable ASCII. Fix it, or "
        f"the variable {CONTACT_VARIABLE}"
    )
