"""The guard of the server: who may ask, what leaves."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from aiohttp import web
from tests.view.in_thread import answering

from trueground.errors import InputError, UsageError
from trueground.view import server


@contextmanager
def serving(url: str | None = None) -> Iterator[server.Address]:
    """A server with a page that anybody may read and a change."""
    listening, address = server.bind(server.LOOPBACK, 0, url)
    app = server.new_app(address)

    async def read(_: web.Request) -> web.Response:
        return server.JsonResponse({"read": True})

    async def change(request: web.Request) -> web.Response:
        return server.JsonResponse({"got": len(await request.read())})

    async def fail(_: web.Request) -> web.Response:
        raise InputError("line 3: found x; expected y")

    app.router.add_get("/", read)
    app.router.add_post("/change", change)

    async def break_down(_: web.Request) -> web.Response:
        raise ZeroDivisionError("a secret path")

    app.router.add_get("/fail", fail)
    app.router.add_get("/defect", break_down)
    with answering(listening, app):
        yield address


def ask(
    address: server.Address, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], dict[str, object]]:
    """Status, headers and JSON; headers are named with underscores."""
    connection = http.client.HTTPConnection(server.LOOPBACK, address.port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        told = json.loads(answer.read() or b"{}")
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, told
    finally:
        connection.close()


def test_responses_forbid_foreign_scripts() -> None:
    with serving() as address:
        for path, status in (("/", 200), ("/nothing", 404), ("/fail", 422), ("/defect", 500)):
            found, headers, _ = ask(address, "GET", path)
            assert found == status
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self';" in policy
            assert "unsafe" not in policy
            assert headers["x-frame-options"] == "DENY"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"


def test_server_errors_have_readable_text() -> None:
    with serving() as address:
        assert ask(address, "GET", "/fail")[2] == {"error": "line 3: found x; expected y"}
        assert ask(address, "GET", "/nothing")[2] == {"error": "not found"}
        assert "secret" not in str(ask(address, "GET", "/defect")[2])
        assert ask(address, "PUT", "/change")[0] == 405
        assert ask(address, "POST", "/change", b"x" * (server.MOST_BYTES + 1))[0] == 413


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "", "[", "a b"]
)
def test_a_name_that_is_not_ours_is_refused(host: str) -> None:
    with serving() as address:
        status, _, told = ask(address, "GET", "/", Host=host.format(port=address.port))
        assert status in (400, 421)
        assert "read" not in told


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}"])
def test_names_of_this_machine_are_ours(host: str) -> None:
    with serving() as address:
        assert ask(address, "GET", "/", Host=host.format(port=address.port))[0] == 200


def test_changes_come_from_our_pages_only() -> None:
    with serving() as address:
        own = f"http://127.0.0.1:{address.port}"
        for origin, status in (
            (own, 200),
            ("http://evil.example", 403),
            ("null", 403),
            (f"http://127.0.0.1:{address.port}.evil.example", 403),
            (f"http://127.0.0.1:{address.port + 1}", 403),
        ):
            assert ask(address, "POST", "/change", b"{}", Origin=origin)[0] == status, origin
        assert ask(address, "POST", "/change", b"{}", Sec_Fetch_Site="cross-site")[0] == 403
        assert ask(address, "POST", "/change", b"{}")[0] == 200  # no browser: it has no cookie jar


def test_behind_a_proxy_the_public_name_is_ours() -> None:
    with serving("https://labels.example.org/") as address:
        assert address.url == "https://labels.example.org"
        assert address.is_https
        assert ask(address, "GET", "/", Host="labels.example.org")[0] == 200
        public = "https://labels.example.org"
        assert ask(address, "POST", "/change", Host="127.0.0.1", Origin=public)[0] == 200
        assert ask(address, "GET", "/", Host="other.example.org")[0] == 421


def test_serve_unavailable_address_raises() -> None:
    with socket.socket() as taken:
        taken.bind((server.LOOPBACK, 0))
        taken.listen()
        with pytest.raises(UsageError, match=r"cannot listen on 127\.0\.0\.1:\d+ \(.*in use"):
            server.bind(server.LOOPBACK, taken.getsockname()[1])
    with pytest.raises(UsageError, match=r"cannot listen on nowhere\.invalid:80"):
        server.bind("nowhere.invalid", 80)
    with pytest.raises(UsageError, match=r"port 70000; expected 0 to 65,535"):
        server.bind(server.LOOPBACK, 70_000)
    for url in ("labels.example.org", "ftp://x", "https://", "https://x/labels"):
        with pytest.raises(UsageError, match="expected one such as https://"):
            server.bind(server.LOOPBACK, 0, url)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert server.is_loopback(host) is loopback
