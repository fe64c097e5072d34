"""The token of a server's first link, and the cookie that it sets."""

from __future__ import annotations

import http.client
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from aiohttp import web
from tests.view.in_thread import answering

from trueground.view import server
from trueground.view.access import LinkAccess, is_same_secret
from trueground.view.browser import private_page

PAGES = ("/", "/data", "/assets/viewer.js", "/nothing", "/data?token=", "/?token=wrong")


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: str


class Serving(NamedTuple):
    address: server.Address
    access: LinkAccess

    def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        """Ask for a path; headers are named with underscores."""
        connection = http.client.HTTPConnection(server.LOOPBACK, self.address.port, timeout=10)
        try:
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=names)
            reply = connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read().decode())
        finally:
            connection.close()

    def open_link(self, path: str = "/", **headers: str) -> Reply:
        """Open the link to a page."""
        link = self.access.link(path)
        return self.get(link[len(self.address.url) :], **headers)


@contextmanager
def running() -> Iterator[Serving]:
    listening, address = server.bind(server.LOOPBACK, 0)
    access = LinkAccess(address)
    app = server.new_app(address, access.check)

    async def read(_: web.Request) -> web.Response:
        return server.JsonResponse({"read": True})

    for path in ("/", "/data", "/run/{key}/"):
        app.router.add_get(path, read)
    with answering(listening, app):
        yield Serving(address, access)


@pytest.fixture(scope="module")
def served() -> Iterator[Serving]:
    with running() as found:
        yield found


def cookie_of(reply: Reply) -> str:
    return reply.headers["Set-Cookie"].partition(";")[0]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
def test_request_without_cookie_is_refused(served: Serving, path: str, method: str) -> None:
    name = f"trueground_{served.address.port}"
    for cookie in ("", f"{name}=", f"{name}=guess", f"{name}=\xff", "trueground=1"):
        reply = served.get(path, method, Cookie=cookie)
        assert reply.status == 403
        assert "Set-Cookie" not in reply.headers
        assert '"read"' not in reply.body


def test_refusal_says_where_the_link_is(served: Serving) -> None:
    page = served.get("/run/abc/", Accept="text/html,*/*")
    assert page.status == 403
    assert page.headers["Content-Type"].startswith("text/html")
    assert "link with a token that trueground printed in its terminal" in page.body
    assert "http-equiv" not in page.body
    data = served.get("/data", Accept="application/json")
    assert data.headers["Content-Type"].startswith("application/json")
    assert "link with a token" in data.body


def test_link_sets_the_cookie_and_leads_to_its_page(served: Serving) -> None:
    reply = served.open_link("/run/abc/")
    assert reply.status == 303
    assert reply.headers["Location"] == f"{served.address.url}/run/abc/"
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["Cache-Control"] == "no-store"
    attributes = {part.strip() for part in reply.headers["Set-Cookie"].split(";")[1:]}
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= attributes
    token = served.access.link().partition("token=")[2]
    assert len(token) >= 43
    assert token not in str(reply.headers)
    assert served.get("/run/abc/", Cookie=cookie_of(reply)).body == '{"read":true}'


def test_link_opened_again_leads_to_its_page(served: Serving) -> None:
    cookie = cookie_of(served.open_link())
    for path in ("/data?sort=f1&token=old", "/data?token=&sort=f1"):
        again = served.get(path, Cookie=cookie)
        assert again.status == 303
        assert again.headers["Location"] == f"{served.address.url}/data?sort=f1"


def test_link_leads_to_no_other_host(served: Serving) -> None:
    for path in ("//evil.example/", "/\\evil.example/", "//evil.example:80//"):
        reply = served.open_link(path)
        parts = urlsplit(reply.headers["Location"])
        assert parts.netloc == urlsplit(served.address.url).netloc


def test_cookie_of_another_server_is_refused(served: Serving) -> None:
    with running() as other:
        cookie = cookie_of(other.open_link())
        assert cookie.partition("=")[0] != cookie_of(served.open_link()).partition("=")[0]
        assert served.get("/", Cookie=cookie).status == 403
        port = f"trueground_{served.address.port}"
        assert served.get("/", Cookie=f"{port}={cookie.partition('=')[2]}").status == 403
        link = other.access.link()[len(other.address.url) :]
        assert served.get(link).status == 403


def test_page_that_another_site_leads_to_is_loaded_again(served: Serving) -> None:
    headers = {"Accept": "text/html", "Sec_Fetch_Site": "cross-site"}
    reply = served.get('/run/a"><b>/?x=1&y=2', **headers)
    assert reply.status == 403
    assert '<meta http-equiv="refresh" content="0; url=http://127.0.0.1:' in reply.body
    assert "<b>" not in reply.body
    headers["Sec_Fetch_Site"] = "same-origin"
    assert "http-equiv" not in served.get("/", **headers).body


def test_private_page_is_for_this_account_only() -> None:
    url = 'http://127.0.0.1:1/?token=a&b="<'
    with private_page(url) as page_url:
        path = Path(unquote(urlsplit(page_url).path))
        assert 'url=http://127.0.0.1:1/?token=a&amp;b=&quot;&lt;"' in path.read_text("utf-8")
        if os.name == "posix":
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.parent.exists()


@pytest.mark.parametrize(("given", "expected"), [("ab", True), ("a", False), ("\xff\udc80", False)])
def test_secrets_of_any_text_are_compared(given: str, expected: bool) -> None:
    assert is_same_secret(given, "ab") is expected
