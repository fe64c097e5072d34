"""A client that keeps a server busy in every way that needs no token, on loopback only."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from typing import NamedTuple

HOST = b"Host: localhost:%d\r\n"
MALFORMED: tuple[bytes, ...] = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),  # TLS
    b"GET\r\n\r\n",
    b"G\xffT / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/9.9\r\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1 HTTP/1.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\nmore",
    b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 20_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"".join(b"X%d: a\r\n" % n for n in range(500)) + b"\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X\x00Y: a\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"no colon\r\n\r\n",
    b"GET /%00%ff\x00 HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /%00%ff?token=%ff%00&q=%zz HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET http://[ HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: [\xff\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b'Cookie: a="\xff; \x01=;;=\r\n\r\n',
    b"GET / HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nConnection: upgrade\r\n\r\n\xff\xff",
    b"GET / HTTP/1.1\r\n" + HOST + b"Expect: nothing\r\n\r\n",
    b"POST /api/enter HTTP/1.1\r\n" + HOST + b"Origin: http://[\r\n\r\n",
    b"POST /api/enter HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
    b"POST /api/enter HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\nContent-Length: 8\r\n\r\n{}",
    b"POST /api/enter HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /api/enter HTTP/1.1\r\n"
    + HOST
    + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    b"POST /api/enter HTTP/1.1\r\n"
    + HOST
    + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcdefgh\r\n0\r\n\r\n",
    b"POST /api/enter HTTP/1.1\r\n"
    + HOST
    + b"Content-Encoding: gzip\r\nContent-Length: 8\r\n\r\nnot gzip",
    b'POST /api/enter HTTP/1.1\r\n%sContent-Length: 2\r\n\r\n\xff"' % HOST,
)
_BODY = b"POST /api/enter HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n{"
_HALF = b"GET / HTTP/1.1\r\n" + HOST
_WHOLE = _HALF + b"\r\n"


class Plan(NamedTuple):
    """How many connections of each kind are kept open, and how many are opened in all."""

    half: int
    silent: int
    bodies: int
    idle: int
    slow_senders: int
    slow_readers: int
    malformed: int
    total: int


class HostileClient(threading.Thread):
    """Opens connections by the plan, again when the server closes them, until it is stopped."""

    def __init__(self, port: int, plan: Plan) -> None:
        super().__init__(daemon=True)
        self.opened = 0
        self._port, self._plan = port, plan
        self._stopped = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._slow: set[socket.socket] = set()
        self._malformed = 0

    def run(self) -> None:
        plan = self._plan
        missing = deque(
            ["half"] * plan.half
            + ["silent"] * plan.silent
            + ["body"] * plan.bodies
            + ["idle"] * plan.idle
            + ["slow sender"] * plan.slow_senders
            + ["slow reader"] * plan.slow_readers
            + ["malformed"] * plan.malformed
        )
        while not self._stopped.is_set():
            for _ in range(min(len(missing), 100)):
                kind = missing.popleft()
                if self.opened < plan.total:
                    self._open(kind)
            for key, _ in self._selector.select(0.02):
                if self._is_closed(key.fileobj):  # type: ignore[arg-type]
                    missing.append(key.data)
            self._send_slowly()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def stop(self) -> None:
        """Close all connections."""
        self._stopped.set()
        self.join(20)

    def _open(self, kind: str) -> None:
        client = socket.socket()
        self.opened += 1
        try:
            if kind == "slow reader":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(5)
            client.connect(("127.0.0.1", self._port))
            client.setblocking(False)
            client.send(self._first_bytes(kind))
        except OSError:
            client.close()
            return
        if kind == "slow sender":
            self._slow.add(client)
        # A slow reader reads nothing, so that nothing of it can be selected.
        events = selectors.EVENT_WRITE if kind == "slow reader" else selectors.EVENT_READ
        self._selector.register(client, events, kind)

    def _first_bytes(self, kind: str) -> bytes:
        if kind == "malformed":
            self._malformed += 1
            return filled(MALFORMED[self._malformed % len(MALFORMED)], self._port)
        texts = {"half": _HALF, "body": _BODY, "idle": _WHOLE, "slow reader": _WHOLE}
        return filled(texts.get(kind, b""), self._port)

    def _is_closed(self, client: socket.socket) -> bool:
        """Whether the server has closed a connection that can be read; sends on all others."""
        try:
            if client in self._slow or self._selector.get_key(client).data != "slow reader":
                is_open = bool(client.recv(65_536))
            else:
                is_open = bool(client.send(filled(_WHOLE, self._port) * 100))
        except BlockingIOError:
            return False
        except OSError:
            is_open = False
        if not is_open:
            self._selector.unregister(client)
            self._slow.discard(client)
            client.close()
        return not is_open

    def _send_slowly(self) -> None:
        for client in self._slow:
            try:
                client.send(b"G")
            except OSError:
                continue  # the next look at it closes it


def filled(request: bytes, port: int) -> bytes:
    """The request with the server's own Host."""
    return request.replace(b"%d", str(port).encode())


def wait_until(condition: object, seconds: float) -> bool:
    """Whether the condition becomes true in time."""
    give_up = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        if time.monotonic() > give_up:
            return False
        time.sleep(0.05)
    return True
