"""Connections of a server: how many may be open, and how long each may keep the server waiting.

aiohttp closes idle connections only, and asyncio accepts connections until no descriptor is left.
Here every phase in which the server waits for its client has a deadline, and when the server is
full, the connection that has waited longest is closed in favor of a new one. So a client that
opens many connections without completing requests cannot keep others out.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import cast

import msgspec
from aiohttp import web

from trueground.view.problems import ProblemLog

MAX_CONNECTIONS = 512
MIN_CONNECTIONS = 16
_BACKLOG = 1024  # connections that the system holds until they are accepted
_MAX_STARTING = 16  # connections that are accepted before the others are looked at
_RETRY_SECONDS = 0.1
_NO_DESCRIPTOR = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Limits(msgspec.Struct, frozen=True):
    """Deadlines in seconds, and the number of connections; None derives it from the descriptors.

    `send_seconds` is for a client that reads nothing of a response while the buffers are full.
    """

    header_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 90.0  # longer than proxies keep a connection to their server
    send_seconds: float = 60.0
    max_connections: int | None = None


DEFAULT_LIMITS = Limits()


class Phase(StrEnum):
    """What a connection does. In all phases but HANDLING the server waits for the client."""

    HEADER = "header"
    BODY = "body"
    HANDLING = "handling"
    SENDING = "sending"
    IDLE = "idle"


def default_max_connections() -> int:
    """Return half of this process's descriptors: files, databases and workers need the others."""
    try:
        import resource
    except ImportError:  # Windows
        return MAX_CONNECTIONS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, soft // 2))


class Connections:
    """All open connections of a server."""

    def __init__(self, server: web.Server, limits: Limits, problems: ProblemLog) -> None:
        self.problems = problems
        self.max_connections = limits.max_connections or default_max_connections()
        self.deadlines: Mapping[Phase, float] = {
            Phase.HEADER: limits.header_seconds,
            Phase.BODY: limits.body_seconds,
            Phase.SENDING: limits.send_seconds,
            Phase.IDLE: limits.idle_seconds,
        }
        self._server = server
        self._starting: set[asyncio.Task[None]] = set()
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}  # for their clients; the longest is first
        self._changed = asyncio.Event()

    async def accept_from(self, listening: socket.socket) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        listening.listen(_BACKLOG)
        while True:
            if len(self._starting) >= _MAX_STARTING:  # until those that were closed are freed
                await asyncio.wait(self._starting, return_when=asyncio.FIRST_COMPLETED)
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                if error.errno in _NO_DESCRIPTOR:
                    self.problems.report("no file descriptors are left for new connections")
                    self._close_longest_waiting()
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            await self._make_room()
            connection = Connection(self._server(), self)
            self._open.add(connection)
            task = asyncio.create_task(self._start(connection, accepted))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    def note_phase(self, connection: Connection) -> None:
        """Keep the order of those that wait for their clients up to date."""
        self._waiting.pop(connection, None)
        if connection.phase is not Phase.HANDLING:
            self._waiting[connection] = None
        self._changed.set()

    def discard(self, connection: Connection) -> None:
        """Forget a connection that is closed or about to be."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._changed.set()

    async def _start(self, connection: Connection, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(lambda: connection, accepted)
        except Exception as error:
            accepted.close()
            self.discard(connection)
            if not isinstance(error, OSError):  # else the client has left already
                self.problems.report("accepting a connection failed", error)

    async def _make_room(self) -> None:
        while len(self._open) >= self.max_connections:
            self.problems.report(
                f"all {self.max_connections} connections are in use, so the connection that waited "
                "longest for its client is closed for each new connection"
            )
            if not self._close_longest_waiting():
                self._changed.clear()
                await self._changed.wait()

    def _close_longest_waiting(self) -> bool:
        connection = next(iter(self._waiting), None)
        if connection is None:
            return False
        connection.abort()
        return True


class Connection(asyncio.Protocol):
    """One connection: aiohttp's protocol with a deadline for each phase."""

    def __init__(self, handler: web.RequestHandler, connections: Connections) -> None:
        self.phase = Phase.HEADER
        self._handler = handler
        self._connections = connections
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle | None = None
        self._has_received = False
        self._phase_after_sending: Phase | None = None  # None: the client reads what is sent
        self._is_closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start waiting for the first request."""
        self._transport = cast(asyncio.Transport, transport)
        self._set_phase(Phase.HEADER)
        self._handler.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all deadlines."""
        self._forget()
        self._handler.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass on data. The deadline of a header holds from its first byte."""
        self._has_received = True
        if self.phase is Phase.IDLE:
            self._set_phase(Phase.HEADER)
        self._handler.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass on the end of data."""
        self._handler.eof_received()
        return None

    def pause_writing(self) -> None:
        """Start waiting for the client to read."""
        self._phase_after_sending = self.phase
        self._set_phase(Phase.SENDING)
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        """Return to what the connection did before its client was slow."""
        phase, self._phase_after_sending = self._phase_after_sending, None
        if phase is not None:
            self._set_phase(phase)
        self._handler.resume_writing()

    def enter(self, phase: Phase) -> None:
        """Set the phase, once the client has read what was sent before."""
        if self._phase_after_sending is None:
            self._set_phase(phase)
        else:
            self._phase_after_sending = phase

    def abort(self) -> None:
        """Close the connection at once."""
        self._forget()
        self._transport.abort()

    def _forget(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._connections.discard(self)

    def _set_phase(self, phase: Phase) -> None:
        if self._is_closed:
            return
        self.phase = phase
        self._connections.note_phase(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if phase is not Phase.HANDLING:
            seconds = self._connections.deadlines[phase]
            self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)

    def _expire(self) -> None:
        # Browsers open connections in advance, so silence alone is no problem.
        if self.phase is not Phase.IDLE and self._has_received:
            seconds = self._connections.deadlines[self.phase]
            action = "read its response" if self.phase is Phase.SENDING else "complete its request"
            self._connections.problems.report(
                f"closed a connection whose client did not {action} within {seconds:g} s "
                f"({self.phase})"
            )
        self.abort()


@contextmanager
def handling(request: web.Request) -> Iterator[None]:
    """Suspend the deadlines of a request's connection while the server works on an answer."""
    _enter(request, Phase.HANDLING)
    try:
        yield
    finally:
        _enter(request, Phase.IDLE)


async def read_bytes(request: web.Request) -> bytes:
    """Return the body of a request.

    Raises:
        web.HTTPRequestEntityTooLarge: It is larger than the application allows.
        web.HTTPBadRequest: It is malformed.
        ConnectionError: The client has left, or its time is over.
    """
    _enter(request, Phase.BODY)
    try:
        return await request.read()
    except web.RequestPayloadError:
        raise web.HTTPBadRequest(reason="the body of the request is malformed") from None
    finally:
        _enter(request, Phase.HANDLING)


def _enter(request: web.Request, phase: Phase) -> None:
    transport = request.transport
    protocol = None if transport is None else transport.get_protocol()
    if isinstance(protocol, Connection):
        protocol.enter(phase)
