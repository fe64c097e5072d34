"""Deadlines and number of connections, and what malformed requests leave in the log."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from aiohttp import web
from msgspec.structs import replace
from tests.view.hostile import MALFORMED, filled, wait_until
from tests.view.in_thread import answering

from trueground.view import connections, server
from trueground.view.connections import Limits, read_bytes

SHORT = 0.3
PATIENT = Limits(60, 60, 60, 60)
BIG = 8 << 20  # bytes, more than all buffers hold


class Serving:
    """A running server with pages for each phase of a connection; `busy` are those of /busy."""

    def __init__(self, port: int, busy: list[asyncio.AbstractEventLoop]) -> None:
        self.port, self.busy = port, busy
        self.released = asyncio.Event()

    def release(self) -> None:
        """Let all requests of /busy be answered."""
        self.busy[0].call_soon_threadsafe(self.released.set)

    def connect(self, data: bytes = b"", **options: int) -> socket.socket:
        """Open a connection and send data, in which %d is the port."""
        client = socket.socket()
        if "receive_buffer" in options:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options["receive_buffer"])
        client.settimeout(10)
        client.connect((server.LOOPBACK, self.port))
        client.sendall(filled(data, self.port))
        return client

    def status(self, data: bytes) -> int:
        """Send a request and return the status of its answer."""
        with self.connect(data) as client:
            return int(client.recv(4096).split()[1])


@contextmanager
def serving(limits: Limits) -> Iterator[Serving]:
    listening, address = server.bind(server.LOOPBACK, 0)
    app = server.new_app(address)
    served = Serving(address.port, [])

    async def short(_: web.Request) -> web.Response:
        return server.JsonResponse({})

    async def body(request: web.Request) -> web.Response:
        return server.JsonResponse({"got": len(await read_bytes(request))})

    async def big(_: web.Request) -> web.Response:
        return web.Response(body=b"a" * BIG)

    async def busy(_: web.Request) -> web.Response:
        served.busy.append(asyncio.get_running_loop())
        await served.released.wait()
        return server.JsonResponse({})

    app.router.add_get("/", short)
    app.router.add_post("/body", body)
    app.router.add_get("/big", big)
    app.router.add_get("/busy", busy)
    with answering(listening, app, limits):
        yield served


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost:%d\r\n\r\n".encode()


def post(length: int, content: bytes) -> bytes:
    head = f"POST /body HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + content


def is_closed(client: socket.socket) -> bool:
    """Whether the server has closed a connection; what it sent is read."""
    client.setblocking(False)
    try:
        while client.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


def seconds_until_closed(client: socket.socket, send: bytes = b"") -> float:
    """How long the server keeps a connection, on which `send` goes out again and again."""
    start = time.monotonic()

    def sends_and_is_closed() -> bool:
        try:
            client.send(send)
        except OSError:
            return True
        return is_closed(client)

    assert wait_until(sends_and_is_closed, 10)
    return time.monotonic() - start


@pytest.mark.parametrize(
    ("limits", "data", "trickle"),
    [
        pytest.param({"header_seconds": SHORT}, b"", b"", id="silent"),
        pytest.param({"header_seconds": SHORT}, get("/")[:-2], b"", id="half a header"),
        pytest.param({"header_seconds": SHORT}, get("/")[:-2] + b"A: ", b"a", id="slow header"),
        pytest.param({"header_seconds": SHORT}, get("/") + b"GET /", b"", id="half a second one"),
        pytest.param({"body_seconds": SHORT}, post(1000, b"{"), b"", id="half a body"),
        pytest.param({"body_seconds": SHORT}, post(10_000, b"{"), b"a", id="slow body"),
        pytest.param({"idle_seconds": SHORT}, get("/"), b"", id="idle"),
    ],
)
def test_connection_past_its_deadline_is_closed(
    limits: dict[str, float], data: bytes, trickle: bytes
) -> None:
    kept = {"idle_seconds": 1.0, "header_seconds": 60.0, "body_seconds": 60.0}
    with (
        serving(Limits(**{**kept, **limits})) as served,
        served.connect(data) as client,
    ):
        assert SHORT / 2 < seconds_until_closed(client, trickle) < 5


def test_client_that_reads_nothing_is_closed() -> None:
    with (
        serving(Limits(60, 60, 60, SHORT)) as served,
        served.connect(get("/big"), receive_buffer=4096) as client,
    ):
        time.sleep(4 * SHORT)
        received = 0
        try:
            while data := client.recv(1 << 20):
                received += len(data)
        except ConnectionError:
            pass
        assert 0 < received < BIG


def test_client_that_reads_slowly_gets_all() -> None:
    with (
        serving(Limits(60, 60, SHORT, 5)) as served,
        served.connect(get("/big"), receive_buffer=1 << 16) as client,
    ):
        received = 0
        while received < BIG:
            data = client.recv(1 << 18)
            assert data
            received += len(data)
            time.sleep(SHORT / 20)


def test_deadlines_leave_a_busy_server_time() -> None:
    with (
        serving(Limits(SHORT, SHORT, 60, SHORT)) as served,
        served.connect(get("/busy")) as client,
    ):
        time.sleep(3 * SHORT)
        served.release()
        assert client.recv(4096).startswith(b"HTTP/1.1 200")


def test_full_server_closes_the_connection_that_waited_longest() -> None:
    limits = replace(PATIENT, max_connections=20)
    with serving(limits) as served, ExitStack() as stack:
        busy = stack.enter_context(served.connect(get("/busy")))
        idle = stack.enter_context(served.connect(get("/")))
        assert idle.recv(4096).startswith(b"HTTP/1.1 200")
        half = [stack.enter_context(served.connect(get("/")[:-2])) for _ in range(18)]
        assert served.status(get("/")) == 200
        assert wait_until(lambda: is_closed(idle), 5)
        assert not any(map(is_closed, half))
        for _ in range(5):
            stack.enter_context(served.connect(get("/")[:-2]))
        assert wait_until(lambda: sum(map(is_closed, half)) >= 4, 5)
        served.release()
        assert busy.recv(4096).startswith(b"HTTP/1.1 200")


def test_full_server_of_busy_connections_lets_new_ones_wait() -> None:
    limits = replace(PATIENT, max_connections=16)
    with serving(limits) as served, ExitStack() as stack:
        busy = [stack.enter_context(served.connect(get("/busy"))) for _ in range(16)]
        assert wait_until(lambda: len(served.busy) == 16, 5)
        late = stack.enter_context(served.connect(get("/")))
        time.sleep(SHORT)
        served.release()
        for client in [*busy, late]:
            assert client.recv(4096).startswith(b"HTTP/1.1 200")


def test_refused_client_is_disconnected() -> None:
    with serving(PATIENT) as served:
        request = get("/").replace(b"localhost:%d", b"evil.example")
        with served.connect(request * 3) as client:
            text = b""
            while data := client.recv(4096):
                text += data
            assert text.count(b"HTTP/1.1 421") == 1


def test_malformed_requests_leave_lines_and_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with serving(Limits(2, 2, 2, 2)) as served, caplog.at_level(logging.DEBUG):
        for request in MALFORMED * 3:
            with served.connect(request.replace(b"/api/enter", b"/body")) as client:
                answer = client.recv(1 << 16)
                assert not answer or 400 <= int(answer.split()[1]) < 500 or b" 200 " in answer
        assert served.status(get("/")) == 200
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in warnings if record.exc_info] == []
    messages = [record.getMessage() for record in warnings]
    assert messages[0] == "WARNING: refused a malformed request"
    assert len(messages) < 6, messages


def test_server_out_of_descriptors_recovers(caplog: pytest.LogCaptureFixture) -> None:
    limits = replace(PATIENT, max_connections=400)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with serving(limits) as served, ExitStack() as stack:
        clients = [stack.enter_context(socket.socket()) for _ in range(30)]
        used = max(client.fileno() for client in clients) + 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 10, hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for client in clients:
            client.connect((server.LOOPBACK, served.port))
        clients[-1].settimeout(10)
        clients[-1].sendall(filled(get("/"), served.port))
        assert clients[-1].recv(4096).startswith(b"HTTP/1.1 200")
    messages = [record.getMessage() for record in caplog.records]
    assert messages.count("WARNING: no file descriptors are left for new connections") == 1
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize(
    ("descriptors", "expected"), [(256, 128), (20, 16), (1_048_576, 512), (-1, 512)]
)
def test_default_max_connections_is_half_of_the_descriptors(
    descriptors: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))
    assert connections.default_max_connections() == expected
