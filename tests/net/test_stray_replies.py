"""Endpoints that send more than they were asked for: no reply may go to another call.

A socket that speaks HTTP by hand: no server library would send what nobody asked for.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from trueground.models.base import ChatRequest, Message, Reply
from trueground.models.openai import OpenAIModel
from trueground.models.options import ModelOptions
from trueground.types import Status

Send = Callable[[socket.socket, bytes, int], None]


def http(content: str, id_: str = "1", *headers: str) -> bytes:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = json.dumps({"id": id_, "choices": [choice]})
    head = ["HTTP/1.1 200 OK", "Content-Type: application/json", *headers]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", body]).encode()


STRAY = http("that of somebody else")


class Endpoint:
    """Keeps every connection open and sends as `send` says: (socket, good reply, which call)."""

    def __init__(self, send: Send) -> None:
        self.calls = 0
        self.names: list[str] = []
        self._send = send
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as came:
            try:
                while came.readline():
                    headers = {}
                    while (line := came.readline().decode().strip()) != "":
                        name, _, value = line.partition(": ")
                        headers[name.lower()] = value
                    body = json.loads(came.read(int(headers["content-length"])))
                    with self._lock:
                        self.calls += 1
                        number = self.calls
                        self.names.append(headers["x-request-id"])
                    text = body["messages"][-1]["content"]
                    self._send(connection, http(f"answer to {text}"), number)
            except (OSError, ValueError):
                pass

    def close(self) -> None:
        # A thread that waits in accept() is not woken by close() alone.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def endpoint(send: Send) -> Iterator[Endpoint]:
    made = Endpoint(send)
    try:
        yield made
    finally:
        made.close()


def asked(base_url: str, n: int, at_once: int, pause: float = 0) -> list[Reply]:
    async def main() -> list[Reply]:
        options = ModelOptions(base_url=base_url, max_connections=at_once, timeout=10)
        model = OpenAIModel("m", options)
        model.client = model.endpoint.client(options, backoff=0.001)
        found: list[Any] = [None] * n
        numbers = iter(range(n))

        async def work() -> None:
            for i in numbers:
                found[i] = await model.generate(ChatRequest((Message("user", f"q{i}"),)))
                await asyncio.sleep(pause)

        await asyncio.gather(*(work() for _ in range(at_once)))
        await model.close()
        return found

    return asyncio.run(main())


def later(seconds: float) -> Send:
    def send(connection: socket.socket, good: bytes, number: int) -> None:
        connection.sendall(good)
        if number % 5 == 2:
            time.sleep(seconds)
            connection.sendall(STRAY)

    return send


def together(*parts: bytes | None) -> Send:
    """These in one piece, the good reply where None stands, at every fifth call."""

    def send(connection: socket.socket, good: bytes, number: int) -> None:
        odd = b"".join(good if part is None else part for part in parts)
        connection.sendall(odd if number % 5 == 2 else good)

    return send


def in_pieces(connection: socket.socket, good: bytes, number: int) -> None:
    """The reply's head, and what is left of it with a whole further one."""
    connection.sendall(good[:-20])
    time.sleep(0.01)
    connection.sendall(good[-20:] + (STRAY if number % 5 == 2 else b""))


SENDS: dict[str, Send] = {
    "behind it": together(None, STRAY),
    "before it": together(STRAY, None),
    "two behind it": together(None, STRAY, STRAY),
    "an empty one before it": together(b"HTTP/1.1 204 No Content\r\n\r\n", None),
    "junk behind it": together(None, b"junk"),
    "with its end": in_pieces,
    "at once": later(0),
    "soon": later(0.003),
    "later": later(0.03),
}


@pytest.mark.parametrize(("at_once", "pause"), [(1, 0), (4, 0), (4, 0.02)])
@pytest.mark.parametrize("moment", SENDS)
def test_no_reply_goes_to_another_call(moment: str, at_once: int, pause: float) -> None:
    with endpoint(SENDS[moment]) as server:
        found = asked(server.base_url, 12, at_once, pause)
    for i, reply in enumerate(found):
        assert reply.status is Status.ERROR or reply.text == f"answer to q{i}"
    assert sum(reply.status is None for reply in found) >= 9
    assert sum(reply.calls for reply in found) == server.calls


def test_where_it_is_always_so_nothing_is_believed() -> None:
    def always(connection: socket.socket, good: bytes, _number: int) -> None:
        connection.sendall(good + STRAY)

    with endpoint(always) as server:
        (reply,) = asked(server.base_url, 1, 1)
    assert reply.status is Status.ERROR
    assert "received several replies to one call" in (reply.error or "")
    assert reply.calls == server.calls == 2


def test_notes_on_the_way_are_no_replies() -> None:
    notes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    with endpoint(lambda s, good, _: s.sendall(notes + good)) as server:
        (reply,) = asked(server.base_url, 1, 1)
    assert (reply.text, reply.calls) == ("answer to q0", 1)


@pytest.mark.parametrize("place", ["header", "id"])
def test_a_reply_that_bears_another_calls_name_is_refused(place: str) -> None:
    server: Endpoint

    def named(connection: socket.socket, _good: bytes, number: int) -> None:
        own, wrong = server.names[number - 1], f"{server.names[number - 1][:-1]}0"
        name = wrong if number in (2, 4, 5) else own
        if place == "header":
            connection.sendall(http(f"reply {number}", "1", f"X-Request-Id: {name}"))
        else:
            connection.sendall(http(f"reply {number}", f"chatcmpl-{name}"))

    with endpoint(named) as server:
        found = asked(server.base_url, 3, 1)
    assert [reply.text for reply in found] == ["reply 1", "reply 3", ""]
    assert [reply.calls for reply in found] == [1, 2, 2]
    assert "that to another call" in (found[2].error or "")
