"""The server under both applications: who may ask it, what leaves it, and how it starts and ends.

A page in another tab, or a name that was pointed at this machine, must not be able to use it: the
Host of every request must be ours, and a change must come from a page of ours (Origin). What leaves
may run no script but our files and ask nothing of other machines.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from typing import Any, Self
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from trueground.errors import TruegroundError, UsageError
from trueground.view.browser import open_browser, private_page
from trueground.view.connections import DEFAULT_LIMITS, Connections, Limits, handling, read_bytes
from trueground.view.problems import SUMMARY_SECONDS, ProblemLog

LOOPBACK = "127.0.0.1"
MOST_BYTES = 1 << 20  # of a request; a label is a few hundred
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_STATUS = {"UsageError": 400, "InputError": 422}
_REFUSED = (401, 403, 421)
_LINGER_SECONDS = 2.0  # for the rest of a request that is answered already
_SHUTDOWN_SECONDS = 5.0
PROBLEMS = web.AppKey("problems", ProblemLog)


class Address(msgspec.Struct, frozen=True):
    """Where a server is bound, and `url`, by which browsers reach it (of a proxy, say)."""

    host: str
    port: int
    url: str

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def is_https(self) -> bool:
        """Whether browsers reach it encrypted."""
        return self.url.startswith("https:")

    @property
    def cookie_name(self) -> str:
        """The name of the server's cookie: all ports of a host share their cookies."""
        return "__Host-trueground_labels" if self.is_https else f"trueground_{self.port}"

    def set_cookie(
        self, response: web.StreamResponse, secret: str, *, max_age: int | None = None
    ) -> None:
        """Set the server's cookie, which neither scripts nor other sites can use.

        Args:
            response: The response that sets it.
            secret: The value.
            max_age: Seconds until it ends; None is until the browser ends.
        """
        response.set_cookie(
            self.cookie_name,
            secret,
            path="/",
            max_age=max_age,
            httponly=True,
            samesite="Strict",
            secure=self.is_https,
        )

    def allows(self, host: str) -> bool:
        """Whether a request may name this Host."""
        if host.lower() == urlsplit(self.url).netloc.lower():
            return True
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        own = {"localhost"} if self.is_loopback else {"localhost", *own_names()}
        return (is_loopback(name) or name in own) and port in (self.port, None)


def is_loopback(host: str) -> bool:
    """Whether a host name is this machine's own, which no other reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@cache
def own_names() -> frozenset[str]:
    """The names and addresses by which other machines may know this one."""
    name = socket.gethostname().lower()
    found = {name, socket.getfqdn().lower()}
    with contextlib.suppress(OSError):
        found |= {str(one[4][0]) for one in socket.getaddrinfo(name, None)}
    return frozenset(found)


def bind(host: str, port: int, url: str | None = None) -> tuple[socket.socket, Address]:
    """A listening socket and its address; port 0 takes a free one. Raises UsageError."""
    if url is not None and not re.fullmatch(r"https?://[\w.-]+(:\d{1,5})?/?", url):
        raise UsageError(f"--url {url!r}: expected one such as https://labels.example.org")
    if not 0 <= port < 1 << 16:
        raise UsageError(f"port {port}; expected 0 to {(1 << 16) - 1:,}, where 0 is any free one")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(128)  # who reads the address may ask at once
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); choose another port, or "
            "leave it out"
        ) from None
    taken = int(listening.getsockname()[1])
    named = host
    if host in ("0.0.0.0", "::"):
        named = socket.gethostname()
    shown = f"[{named}]" if ":" in named else named
    return listening, Address(host, taken, (url or f"http://{shown}:{taken}").rstrip("/"))


def new_app(address: Address, *middlewares: Any) -> web.Application:
    """Return an application behind the guard; `middlewares` are inside it."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not address.allows(request.headers.get("Host", "")):
            response: web.StreamResponse = JsonResponse.refusal(
                421, "this server does not have that host name"
            )
        elif request.method not in ("GET", "HEAD") and not _is_own(request, address):
            response = JsonResponse.refusal(403, "the request comes from another site")
        else:
            with handling(request):
                response = await _answer(request, handler)
        if response.status in _REFUSED:  # no further requests, each of which costs time
            response.force_close()
        if not response.prepared:
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    app = web.Application(middlewares=[guard, *middlewares], client_max_size=MOST_BYTES)
    app[PROBLEMS] = ProblemLog()
    return app


def _is_own(request: web.Request, address: Address) -> bool:
    """Whether a change comes from a page of ours: browsers name the Origin with every one."""
    origin = request.headers.get("Origin")
    if origin is None:
        return request.headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none")
    try:
        netloc = urlsplit(origin).netloc
    except ValueError:
        return False
    return netloc == request.headers.get("Host") or origin.rstrip("/") == address.url


async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return (
            JsonResponse.refusal(error.status, (error.reason or "").lower())
            if error.status >= 400
            else error
        )
    except TruegroundError as error:
        return JsonResponse.refusal(_STATUS.get(type(error).__name__, 500), str(error))
    except ConnectionError:  # the client has left
        raise
    except Exception as error:  # a defect of ours: its traceback is for the terminal only
        route = request.match_info.route.resource
        place = "a request" if route is None else f"{request.method} {route.canonical}"
        request.app[PROBLEMS].report(f"{place} failed with {type(error).__name__}", error)
        return JsonResponse.refusal(500, "the server failed; its terminal shows the error")


class JsonResponse(web.Response):
    """A value as JSON."""

    def __init__(self, value: Any, status: int = 200) -> None:
        super().__init__(
            body=msgspec.json.encode(value), status=status, content_type="application/json"
        )

    @classmethod
    def refusal(cls, status: int, reason: str, **more: Any) -> JsonResponse:
        """Return a refusal in words."""
        return cls({"error": reason, **more}, status)


class WebServer:
    """A listening socket at an address, and the application that answers there.

    Attributes:
        address: Where the server is bound.
        listening: The socket.
        problems: The log of what fails while it runs.
    """

    def __init__(self, listening: socket.socket, address: Address) -> None:
        self.listening = listening
        self.address = address
        self.problems = ProblemLog()

    @classmethod
    def bind(cls, host: str, port: int, url: str | None = None) -> WebServer:
        """Return a server that listens there.

        Args:
            host: The name or address to listen on.
            port: The port; 0 takes a free one.
            url: Where browsers reach it, if that is another address.

        Raises:
            UsageError: The address isn't valid, or is in use.
        """
        return cls(*bind(host, port, url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.listening.close()

    def make_app(self, *middlewares: Any) -> web.Application:
        """Return an application behind the guard; `middlewares` are inside it."""
        app = new_app(self.address, *middlewares)
        app[PROBLEMS] = self.problems
        return app

    async def read_body(self, request: web.Request) -> bytes:
        """Return the body of a request, see `read_bytes`."""
        return await read_bytes(request)

    def run(self, app: web.Application, *, open_url: str | None = None) -> None:
        """Serve until Ctrl-C or SIGTERM, and finish requests that have begun.

        Args:
            app: The application.
            open_url: The page to open in a browser. Its token is kept from other accounts.
        """
        asyncio.run(_run(self.listening, app, open_url))


async def _run(listening: socket.socket, app: web.Application, open_url: str | None) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with serving(listening, app):
        with contextlib.ExitStack() as stack:
            if open_url is not None and not await _open(open_url, stack):
                print(f"no browser was found; open {open_url}", file=sys.stderr)
            await stopped.wait()


async def _open(url: str, stack: contextlib.ExitStack) -> bool:
    """Open a browser with a page that the stack removes, and return whether that succeeded."""
    try:
        return await open_browser(stack.enter_context(private_page(url)))
    except OSError:
        return False


@contextlib.asynccontextmanager
async def serving(
    listening: socket.socket, app: web.Application, limits: Limits | None = None
) -> AsyncIterator[Connections]:
    """Serve an application within the limits until the context ends.

    Args:
        listening: The socket of `bind`. It is closed in the end.
        app: An application of `new_app`.
        limits: Deadlines and number of connections. None: DEFAULT_LIMITS.
    """
    problems = app[PROBLEMS]
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: problems.report(str(context["message"]), context.get("exception"))
    )
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=problems.http_logger(),
        shutdown_timeout=_SHUTDOWN_SECONDS,
        lingering_time=_LINGER_SECONDS,
        auto_decompress=False,  # no page of ours compresses what it sends
    )
    await runner.setup()
    assert runner.server is not None
    connections = Connections(runner.server, limits or DEFAULT_LIMITS, problems)
    tasks = [
        asyncio.create_task(connections.accept_from(listening)),
        asyncio.create_task(_summarize(problems)),
    ]
    try:
        yield connections
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        listening.close()
        await runner.cleanup()
        problems.summarize()


async def _summarize(problems: ProblemLog) -> None:
    while True:
        await asyncio.sleep(SUMMARY_SECONDS)
        problems.summarize()
