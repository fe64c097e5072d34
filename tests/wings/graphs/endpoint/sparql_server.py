"""A SPARQL endpoint on loopback that serves a pyoxigraph store and misbehaves on demand.

with SparqlServer(store, lambda call: "500" if call == 1 else "ok") as server:
    EndpointGraph(server.url)

`behave` gets the number of the call, from 1, and names one of BEHAVIORS; it may be set anew.
`queries` holds what was
asked, `headers` and `times` (seconds) what came with it and when.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable

from aiohttp import web
from pyoxigraph import QueryResultsFormat, Store
from tests.loopback import LoopbackServer

KIND = "application/sparql-results+json"
PAGE = """<!DOCTYPE html><html><head><title>Oops</title><style>b {color: red}</style></head>
<body><h1>Wikimedia Error</h1><p>Our servers are busy.</p></body></html>"""
TRACE = "SPARQL-QUERY: queryStr={}\njava.util.concurrent.TimeoutException\n\tat java.base/x.y.Z"


def answer(store: Store, query: str) -> bytes:
    """What a well-behaved endpoint sends. SyntaxError."""
    found = store.query(query, use_default_graph_as_union=True)
    body = found.serialize(format=QueryResultsFormat.JSON)  # type: ignore[union-attr, call-arg]
    assert body is not None
    return body


def _plain(status: int, text: str, **headers: str) -> Callable[..., Awaitable[web.Response]]:
    async def handle(_request: web.Request, query: str, _body: bytes) -> web.Response:
        kind = "text/html" if text.startswith("<") else "text/plain"
        return web.Response(
            status=status, text=text.replace("{}", query), content_type=kind, headers=headers
        )

    return handle


def _raw(change: Callable[[bytes], bytes], **headers: str) -> Callable[..., Awaitable[object]]:
    async def handle(_request: web.Request, _query: str, body: bytes) -> web.Response:
        return web.Response(body=change(body), content_type=KIND, headers=headers)

    return handle


async def _hang(_request: web.Request, _query: str, _body: bytes) -> web.Response:
    await asyncio.sleep(30)
    return web.Response()


async def _cut(request: web.Request, _query: str, body: bytes) -> web.StreamResponse:
    """Fewer bytes than announced, then the end of the connection."""
    response = web.StreamResponse(headers={"Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


async def _reset(request: web.Request, _query: str, _body: bytes) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


BEHAVIORS: dict[str, Callable[..., Awaitable[object]]] = {
    "ok": _raw(lambda body: body),
    "401": _plain(401, "no"),
    "403": _plain(403, "Requests must have a user agent with a contact"),
    "404": _plain(404, "no such page"),
    "429": _plain(429, "too many requests"),
    "429-wait": _plain(429, "too many requests", **{"Retry-After": "1"}),
    "429-long": _plain(429, "too many requests", **{"Retry-After": "86400"}),
    "500": _plain(500, "the server had an error"),
    "500-timeout": _plain(500, TRACE),
    "502": _plain(502, PAGE),
    "503": _plain(503, PAGE),
    "301": _plain(301, "", Location="https://example.org/elsewhere"),
    "html": _plain(200, PAGE),
    "hang": _hang,
    "cut": _cut,
    "reset": _reset,
    "cut-json": _raw(lambda body: body[: len(body) // 2]),
    "gave-up": _raw(lambda body: body[: len(body) // 2] + TRACE.encode()),
    "empty": _raw(lambda _body: b""),
    "list": _raw(lambda body: b"[" + body + b"]"),
    "error-inside": _raw(lambda _body: b'{"error": "no such graph"}'),
    "odd-term": _raw(lambda _body: b'{"head":{"vars":["a"]},"results":{"bindings":[{"a":3}]}}'),
    "deep": _raw(lambda body: b'{"x":' + b"[" * 200_000 + b"]" * 200_000 + b"," + body[1:]),
    "other-rows": _raw(
        lambda _body: (
            b'{"head":{"vars":["z"]},"results":{"bindings":[{"z":{"type":"literal","value":"1"}}]}}'
        )
    ),
    "partial": _raw(lambda body: body, **{"X-SQL-State": "S1TAT"}),
}


class SparqlServer(LoopbackServer):
    """The endpoint; `serve` changes what is asked before it is answered."""

    def __init__(
        self,
        store: Store,
        behave: Callable[[int], str] = lambda call: "ok",
        *,
        serve: Callable[[str], str] = lambda query: query,
    ) -> None:
        super().__init__()
        self._store, self.behave, self._serve_query = store, behave, serve
        self.queries: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"{self.base_url}/sparql"

    def app(self) -> web.Application:
        """One address for queries."""
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/sparql", self._handle)
        return app

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        query = str((await request.post())["query"])
        self.queries.append(query)
        self.headers.append(dict(request.headers))
        self.times.append(time.monotonic())
        try:
            body = answer(self._store, self._serve_query(query))
        except SyntaxError as error:
            trace = f"SPARQL-QUERY: queryStr={query}\norg.x.MalformedQueryException: {error}\n at"
            return web.Response(status=400, text=trace)
        response = await BEHAVIORS[self.behave(len(self.queries))](request, query, body)
        assert isinstance(response, web.StreamResponse)
        return response


def without_page(query: str) -> str:
    """As an endpoint reads it that passes over LIMIT and OFFSET."""
    return re.sub(r" LIMIT \d+( OFFSET \d+)?$", "", query)


def without_offset(query: str) -> str:
    """As an endpoint reads it that passes over OFFSET."""
    return re.sub(r" OFFSET \d+$", "", query)
