"""The HTTP client against a real server on loopback."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from trueground.files.writing import write_atomically
from trueground.net.failures import (
    BrokenError,
    ConnectError,
    HttpError,
    HttpReply,
    SlowError,
    StatusError,
    TooLargeError,
    UnusableError,
    requested_wait,
)
from trueground.net.http import FileForm, HttpClient, Policy
from trueground.net.pool import Limiter
from trueground.net.redact import Secrets, shown

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
QUICK = Policy(backoff=0.001, timeout=5, deadline=20)
ACCEPT = HttpReply.require_success
SECRET = "a-key-that-nobody-may-see-0123456789"


class Site:
    """A server that answers with the handlers of a list in turn; the last one stays."""

    def __init__(self, *handlers: Handler) -> None:
        self.handlers = handlers
        self.calls = 0
        self.peers: set[Any] = set()
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        handler = self.handlers[min(self.calls, len(self.handlers) - 1)]
        self.calls += 1
        assert request.transport is not None
        self.peers.add(request.transport.get_extra_info("peername"))
        return await handler(request)


@asynccontextmanager
async def serving(*handlers: Handler) -> AsyncIterator[Site]:
    site = Site(*handlers)
    app = web.Application(client_max_size=1 << 28)
    app.router.add_route("*", "/{path:.*}", site.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.url = f"http://127.0.0.1:{runner.addresses[0][1]}/x"
    try:
        yield site
    finally:
        await runner.cleanup()


def says(status: int, body: str = "{}", **headers: str) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        await request.read()
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, text=body, headers=names)

    return handle


async def reset(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def run(
    use: Callable[[HttpClient, Site], Awaitable[Any]],
    *handlers: Handler,
    policy: Policy = QUICK,
    **options: Any,
) -> tuple[Any, Site]:
    """What `use` makes of a client and a site, or the HttpError that it raised."""

    async def main() -> tuple[Any, Site]:
        async with serving(*handlers) as site:
            client = HttpClient(policy, **options)
            try:
                return await use(client, site), site
            except HttpError as error:
                return error, site
            finally:
                await client.close()

    return asyncio.run(main())


async def post(client: HttpClient, site: Site) -> HttpReply:
    return await client.post(site.url, b'{"a": 1}', ACCEPT)


async def download(client: HttpClient, site: Site, path: Path) -> str:
    with write_atomically(path) as out:
        return await client.download(site.url, out)


def body_of(reply: HttpReply) -> bytes:
    return reply.require_success().body


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 507, 529])
def test_retryable_errors_are_retried(status: int) -> None:
    reply, site = run(post, says(status), says(status), says(200, "fine"))
    assert (reply.status, reply.body) == (200, b"fine")
    assert site.calls == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 422, 451])
def test_permanent_errors_are_not_retried(status: int) -> None:
    error, site = run(post, says(status, "so it is"))
    assert isinstance(error, StatusError)
    assert (error.status, error.attempts, site.calls) == (status, 1, 1)
    assert str(error) == f"HTTP {status}: so it is"


def test_attempts_end_and_are_counted() -> None:
    error, site = run(post, says(503, "down"))
    assert (error.status, error.attempts, site.calls) == (503, 6, 6)
    assert str(error) == "HTTP 503: down (6 attempts)"


def test_one_attempt_means_one() -> None:
    error, site = run(post, says(503), policy=Policy(max_attempts=1))
    assert (error.attempts, site.calls) == (1, 1)


def test_a_broken_connection_is_tried_again() -> None:
    reply, site = run(post, reset, reset, says(200))
    assert reply.status == 200
    assert site.calls == 3
    error, _ = run(post, reset)
    assert isinstance(error, BrokenError)
    assert error.attempts == 6


def test_a_cut_body_is_tried_again() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.close()
        return response

    reply, site = run(post, cut, says(200, "whole"))
    assert reply.body == b"whole"
    assert site.calls == 2


async def silent(request: web.Request) -> web.Response:
    await asyncio.sleep(30)
    return web.Response()


async def drip(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(3_000):
        await response.write(b"x")
        await asyncio.sleep(0.01)
    return response


@pytest.mark.parametrize("slow", [silent, drip])
def test_an_attempt_ends_in_time_also_when_bytes_keep_coming(slow: Handler) -> None:
    policy = Policy(backoff=0.001, timeout=0.2, max_attempts=2)
    start = time.monotonic()
    error, site = run(post, slow, policy=policy)
    assert isinstance(error, SlowError)
    assert (error.attempts, site.calls) == (2, 2)
    assert time.monotonic() - start < 3


def test_the_deadline_ends_an_attempt_under_way() -> None:
    async def late(request: web.Request) -> web.Response:
        await asyncio.sleep(0.2)
        return web.Response(status=500, text="first words")

    policy = Policy(backoff=0.001, timeout=10, deadline=0.5)
    start = time.monotonic()
    error, _ = run(post, late, silent, policy=policy)
    assert time.monotonic() - start < 3
    assert isinstance(error, SlowError)
    assert "first words" in error.reason
    assert "deadline" in error.reason


def test_call_without_server_raises_connect_error() -> None:
    async def main() -> HttpError:
        async with serving(says(200)) as site:
            url = site.url
        client = HttpClient(QUICK)
        with pytest.raises(ConnectError) as caught:
            await client.post(url, b"", ACCEPT)
        await client.close()
        return caught.value

    error = asyncio.run(main())
    assert error.attempts == 6
    assert error.reason.startswith("cannot connect to http://127.0.0.1:")


@pytest.mark.parametrize(
    "url", ["http://", "ftp://host/x", "http://[::1", "nonsense", "http://a..b/x"]
)
def test_no_address(url: str) -> None:
    async def main() -> None:
        client = HttpClient(QUICK)
        with pytest.raises(ConnectError, match="address") as caught:
            await client.post(url, b"", ACCEPT)
        assert caught.value.attempts == 1
        await client.close()

    asyncio.run(main())


def test_retry_after_is_waited_for_by_all_calls() -> None:
    async def use(client: HttpClient, site: Site) -> list[float]:
        start = time.monotonic()

        async def call() -> float:
            await client.post(site.url, b"", ACCEPT)
            return time.monotonic() - start

        first = asyncio.create_task(call())
        await asyncio.sleep(0.1)
        return [await first, await call()] if first.done() else await asyncio.gather(first, call())

    moments, site = run(use, says(429, retry_after="1"), says(200))
    assert all(0.99 <= moment < 3 for moment in moments)
    assert site.calls == 3


def test_too_many_requests_hold_all_back_also_without_a_time() -> None:
    async def use(client: HttpClient, site: Site) -> float:
        start = time.monotonic()
        first = asyncio.create_task(client.post(site.url, b"", ACCEPT))
        await asyncio.sleep(0.1)
        await asyncio.gather(first, client.post(site.url, b"", ACCEPT))
        return time.monotonic() - start

    took, site = run(use, says(429), says(200), policy=Policy(backoff=0.5))
    assert took >= 0.49
    assert site.calls == 3


def test_only_too_many_requests_holds_the_others_back() -> None:
    async def use(client: HttpClient, site: Site) -> bool:
        first = asyncio.create_task(client.post(site.url, b"", ACCEPT))
        await asyncio.sleep(0.1)
        await client.post(site.url, b"", ACCEPT)
        before = not first.done()
        await first
        return before

    before, site = run(use, says(503, retry_after="2"), says(200))
    assert before  # the second call did not wait for the first
    assert site.calls == 3


def test_the_longest_of_backoff_and_retry_after_is_slept() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    policy = Policy(backoff=4, max_attempts=5)
    run(post, says(503, retry_after="0.5"), policy=policy, sleep=sleep)
    assert len(slept) == 4
    assert all(0.5 <= s <= 4 * 2**n for n, s in enumerate(slept))
    slept.clear()
    run(post, says(503), policy=policy, sleep=sleep)
    assert all(0 <= s <= 4 * 2**n for n, s in enumerate(slept))


@pytest.mark.parametrize("status", [429, 503])
def test_calls_do_not_wait_without_limits(status: int, tmp_path: Path) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def use(client: HttpClient, site: Site) -> None:
        client.limiter = Limiter(sleep=sleep, clock=lambda: sum(slept))
        await client.post(site.url, b"", ACCEPT)

    run(use, says(status, retry_after="1700"), says(200), policy=Policy(), sleep=sleep)
    assert slept == [300]

    async def fetch(client: HttpClient, site: Site) -> None:  # which has no deadline
        await download(client, site, tmp_path / "file")

    slept.clear()
    error, site = run(
        fetch, says(status, retry_after="864000"), policy=Policy(max_attempts=3), sleep=sleep
    )
    assert isinstance(error, StatusError)
    assert (site.calls, slept) == (3, [300, 300])


@pytest.mark.parametrize("status", [429, 503])
def test_wait_beyond_deadline_ends_call_without_blocking_others(status: int) -> None:
    async def use(client: HttpClient, site: Site) -> HttpError:
        with pytest.raises(StatusError) as caught:
            await client.post(site.url, b"", ACCEPT)
        await client.post(site.url, b"", ACCEPT)
        return caught.value

    error, site = run(use, says(status, retry_after="86400"), says(200))
    assert (error.attempts, site.calls) == (1, 2)
    assert "asks to wait 86400 s" in error.reason
    assert "deadline" in error.reason


def test_how_long_to_wait() -> None:
    now = datetime(2025, 1, 1, 12, tzinfo=UTC)
    later = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert requested_wait({"Retry-After": "3"}, now) == 3
    assert requested_wait({"Retry-After": "0.25"}, now) == 0.25
    assert requested_wait({"Retry-After": "-3"}, now) == 0
    assert requested_wait({"Retry-After": later}, now) == 90
    assert requested_wait({"Retry-After": later.replace("GMT", "-0000")}, now) == 90
    assert requested_wait({"Retry-After": later}, now + timedelta(days=1)) == 0
    assert requested_wait({"retry-after-ms": "1500", "Retry-After": "2"}, now) == 1.5
    assert requested_wait({"Retry-After": "soon"}, now) is None
    assert requested_wait({"Retry-After": "nan"}, now) is None
    assert requested_wait({"Retry-After": "inf"}, now) is None
    assert requested_wait({"Retry-After": "1e300"}, now) == 1e9
    assert requested_wait({"Retry-After": f"Wed, 21 Oct {'9' * 30} 07:28:00 GMT"}, now) is None
    assert requested_wait({}, now) is None


def packed(size: int) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        headers = {"Content-Encoding": "gzip"}
        return web.Response(body=gzip.compress(b"0" * size), headers=headers)

    return handle


@pytest.mark.parametrize("make", [lambda n: says(200, "0" * n), packed])
def test_a_reply_has_a_largest_size_also_unpacked(make: Callable[[int], Handler]) -> None:
    policy = Policy(max_reply_bytes=100_000)
    reply, _ = run(post, make(100_000), policy=policy)
    assert len(reply.body) == 100_000
    error, site = run(post, make(100_001), policy=policy)
    assert isinstance(error, TooLargeError)
    assert site.calls == 1
    assert "larger than 100,000 bytes" in error.reason


def test_an_unusable_reply_is_read_again() -> None:
    def read(reply: HttpReply) -> str:
        if reply.require_success().body != b"good":
            raise UnusableError("not good")
        return "good"

    async def use(client: HttpClient, site: Site) -> str:
        return await client.ask(site.url, b"", read)

    assert run(use, says(200, "bad"), says(200, "good"))[0] == "good"
    error, site = run(use, says(200, "bad"))
    assert (error.reason, error.attempts, site.calls) == ("not good", 6, 6)


def test_a_connection_carries_one_call_and_there_are_never_more_than_allowed() -> None:
    under_way = most = 0

    async def count(request: web.Request) -> web.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.005)
        under_way -= 1
        return web.Response()

    async def use(client: HttpClient, site: Site) -> None:
        await asyncio.gather(*(client.post(site.url, b"", ACCEPT) for _ in range(60)))

    _, site = run(use, count, policy=Policy(max_connections=4))
    assert site.calls == 60
    assert most == 4
    assert len(site.peers) == 60


def test_waiting_for_a_connection_is_not_slowness() -> None:
    async def slow(request: web.Request) -> web.Response:
        await asyncio.sleep(0.2)
        return web.Response()

    async def use(client: HttpClient, site: Site) -> None:
        await asyncio.gather(*(client.post(site.url, b"", ACCEPT) for _ in range(5)))

    _, site = run(use, slow, policy=Policy(max_connections=1, timeout=0.5, deadline=0.6))
    assert site.calls == 5


def test_a_client_serves_one_event_loop_after_another() -> None:
    client = HttpClient(QUICK)

    async def main() -> int:
        async with serving(says(200)) as site:
            try:
                return (await client.post(site.url, b"", ACCEPT)).status
            finally:
                await client.close()

    assert [asyncio.run(main()) for _ in range(3)] == [200, 200, 200]


def test_a_moved_address_is_named_and_not_followed_by_a_post() -> None:
    error, site = run(post, says(301, location="https://u:p@elsewhere/v1?key=1"))
    assert site.calls == 1
    assert "moved to https://elsewhere/v1. Use" in error.reason


def test_headers_of_client_and_call() -> None:
    async def echo(request: web.Request) -> web.Response:
        names = ("Authorization", "Content-Type", "X-Own", "User-Agent")
        return web.json_response({name: request.headers.get(name) for name in names})

    async def use(client: HttpClient, site: Site) -> dict[str, str]:
        import orjson

        reply = await client.post(site.url, b"{}", ACCEPT, headers={"X-Own": "1"})
        return orjson.loads(reply.body)

    seen, _ = run(use, echo, headers={"Authorization": "Bearer x"})
    assert seen["Authorization"] == "Bearer x"
    assert seen["Content-Type"] == "application/json"
    assert seen["X-Own"] == "1"
    assert seen["User-Agent"].startswith("trueground/")


def test_get_json_and_bytes() -> None:
    async def use(client: HttpClient, site: Site) -> tuple[Any, bytes]:
        return await client.get(site.url, HttpReply.json), await client.get(site.url, body_of)

    (value, body), site = run(use, says(200, "{not json"), says(200, '{"a": [1]}'))
    assert (value, body) == ({"a": [1]}, b'{"a": [1]}')
    assert site.calls == 3


def test_download_is_whole_or_absent(tmp_path: Path) -> None:
    data = bytes(range(256)) * 40_000  # beyond the size limit for replies

    async def whole(request: web.Request) -> web.Response:
        return web.Response(body=data)

    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(data))})
        await response.prepare(request)
        await response.write(data[:100_000])
        assert request.transport is not None
        request.transport.abort()
        return response

    path = tmp_path / "data.bin"

    async def use(client: HttpClient, site: Site) -> str:
        return await download(client, site, path)

    policy = Policy(max_reply_bytes=1_000, backoff=0.001)
    digest, site = run(use, cut, says(503), whole, policy=policy)
    assert digest == hashlib.sha256(data).hexdigest()
    assert path.read_bytes() == data
    assert site.calls == 3
    path.unlink()
    for handler in (cut, says(404, "gone")):
        error, _ = run(use, handler, policy=policy)
        assert isinstance(error, HttpError)
        assert list(tmp_path.iterdir()) == []


def test_a_form_is_sent_whole_at_each_attempt(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_bytes(b'{"line": 1}\n' * 50_000)
    seen = []

    async def take(request: web.Request) -> web.Response:
        form = await request.post()
        seen.append((form["purpose"], form["file"].filename, form["file"].file.read()))
        form["file"].file.close()
        return web.Response(status=503 if len(seen) == 1 else 200)

    async def use(client: HttpClient, site: Site) -> HttpReply:
        return await client.post(site.url, FileForm({"purpose": "batch"}, "file", path), ACCEPT)

    reply, _ = run(use, take)
    assert reply.status == 200
    assert seen == [("batch", "batch.jsonl", path.read_bytes())] * 2


def test_fields_are_sent_whole_at_each_attempt_and_read_by_the_caller() -> None:
    fields = {"query": "SELECT ?a { ?a ?b 'é & =\n' }", "empty": ""}
    seen = []

    async def take(request: web.Request) -> web.Response:
        form = await request.post()
        seen.append((request.content_type, request.headers["Accept"], dict(form)))
        return web.Response(status=503 if len(seen) == 1 else 200, text="rows")

    async def use(client: HttpClient, site: Site) -> str:
        headers = {"Accept": "text/rows"}
        return (await client.post(site.url, fields, body_of, headers=headers)).decode()

    assert run(use, take)[0] == "rows"
    assert seen == [("application/x-www-form-urlencoded", "text/rows", fields)] * 2


def test_a_key_is_in_no_failure_no_reply_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = {"headers": {"Authorization": f"Bearer {SECRET}"}, "secrets": (SECRET,)}

    async def echo(request: web.Request) -> web.Response:
        status = 401 if request.path == "/x" else 200
        return web.Response(status=status, text=str(dict(request.headers)))

    async def use_ok(client: HttpClient, site: Site) -> HttpReply:
        return await client.post(f"{site.url}/good", b"", ACCEPT)

    error, _ = run(post, echo, **client)
    reply, _ = run(use_ok, echo, **client)
    assert error.status == 401
    assert b"[hidden]" in reply.body
    texts = [str(error), error.reason, repr(error), repr(error.body), str(reply), caplog.text]
    assert not any(SECRET in text for text in texts)
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_proxies_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> tuple[int, int, list[str]]:
        paths: list[str] = []

        async def relay(request: web.Request) -> web.Response:
            paths.append(str(request.raw_path))
            return web.Response(text="by proxy")

        async with serving(relay) as proxy, serving(says(200)) as site:
            monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/x"))
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            client = HttpClient(QUICK)
            await client.get(site.url, body_of)
            body = await client.get("http://nowhere.invalid/y", body_of)
            await client.close()
            assert body == b"by proxy"
            return proxy.calls, site.calls, paths

    assert asyncio.run(main()) == (1, 1, ["http://nowhere.invalid/y"])


async def ask_through(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, url: str = "http://nowhere.invalid/"
) -> bytes:
    """What comes when a proxy is named; {} in its address is where a relay listens."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    async with serving(says(200, "by proxy")) as relay:
        place = relay.url.removeprefix("http://").removesuffix("/x")
        monkeypatch.setenv(variable, proxy.format(place))
        client = HttpClient(QUICK)
        try:
            return await client.get(url, body_of)
        finally:
            await client.close()


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("proxy", ["{}", "http://{}", "http://me:secret@{}/"])
def test_proxies_as_they_are_commonly_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str
) -> None:
    assert asyncio.run(ask_through(monkeypatch, variable, proxy)) == b"by proxy"


@pytest.mark.parametrize(
    ("variable", "proxy", "named"),
    [
        ("http_proxy", "junk://x", "http_proxy has an invalid proxy: junk://x;"),
        ("HTTP_PROXY", "http://", "HTTP_PROXY has an invalid proxy"),
        ("ALL_PROXY", "socks5://me:secret@host:1080", "ALL_PROXY .*: socks5://host:1080;"),
        ("all_proxy", "host:port", "all_proxy .*: http://host:port;"),
    ],
)
def test_proxies_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, named: str
) -> None:
    with pytest.raises(ConnectError, match=f"the variable {named}") as caught:
        asyncio.run(ask_through(monkeypatch, variable, proxy))
    assert caught.value.attempts == 1
    assert "secret" not in str(caught.value)


def test_redirect_to_missing_server_raises_connect_error() -> None:
    async def use(client: HttpClient, site: Site) -> bytes:
        return await client.get(site.url, body_of)

    error, _ = run(use, says(302, location="http://127.0.0.2:1/y"))
    assert error.reason.startswith("cannot connect to 127.0.0.2:1: Connect")


@pytest.mark.parametrize("host", ["a..b", "xn--ß.com", "[::1"])
def test_redirect_to_an_impossible_address_is_a_failed_call(host: str) -> None:
    async def use(client: HttpClient, site: Site) -> bytes:
        return await client.get(site.url, body_of)

    error, site = run(use, says(302, location=f"http://{host}/y"))
    assert isinstance(error, HttpError)
    assert site.calls == 1


CREDENTIALS = {
    "Authorization": f"Bearer {SECRET}",
    "Proxy-Authorization": f"Bearer {SECRET}",
    "Cookie": f"session={SECRET}",
    "X-Api-Key": SECRET,
    "api-key": SECRET,
    "apikey": SECRET,
    "Ocp-Apim-Subscription-Key": SECRET,
    "X-Goog-Api-Key": SECRET,
    "X-Auth-Token": SECRET,
    "Private-Token": SECRET,
    "X-Our-Door": SECRET,
}
OPEN = {"Accept": "text/turtle", "Accept-Language": "et", "User-Agent": "tester/1"}


async def follow(
    locations: Callable[[str, str], list[str]], by: str = "get", headers: str = "of the call"
) -> list[tuple[str, dict[str, str]]]:
    """(server, headers) of each request of a call to the server `home`.

    `locations` gives from the addresses of `home` and `away` where each redirect leads.
    """
    seen: list[tuple[str, dict[str, str]]] = []
    waiting: list[str] = []

    def server(name: str) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            seen.append((name, {key.lower(): value for key, value in request.headers.items()}))
            if waiting:
                return web.Response(status=302, headers={"Location": waiting.pop(0)})
            return web.Response(text="here")

        return handle

    async with serving(server("home")) as home, serving(server("away")) as away:
        waiting += locations(home.url, away.url)
        sent = CREDENTIALS | OPEN
        client = HttpClient(QUICK, headers=sent if headers == "of the client" else None)
        call_headers = sent if headers == "of the call" else None
        try:
            if by == "get":
                assert await client.get(home.url, body_of, headers=call_headers) == b"here"
            else:
                await client.download(home.url, io.BytesIO(), headers=call_headers)
        finally:
            await client.close()
    return seen


@pytest.mark.parametrize("headers", ["of the call", "of the client"])
@pytest.mark.parametrize("by", ["get", "download"])
def test_redirect_to_another_host_gets_no_credentials(by: str, headers: str) -> None:
    (_, first), (name, second) = asyncio.run(
        follow(lambda _home, away: [away], by=by, headers=headers)
    )
    assert name == "away"
    names = {header.lower() for header in CREDENTIALS}
    assert names <= first.keys()
    assert not names & second.keys()
    assert SECRET not in str(second)
    assert {key.lower(): value for key, value in OPEN.items()}.items() <= second.items()


def test_redirect_within_a_host_keeps_all_headers() -> None:
    (_, first), (name, second) = asyncio.run(follow(lambda home, _away: [f"{home}/further"]))
    assert name == "home"
    assert second == first
    assert {header.lower() for header in CREDENTIALS} <= second.keys()


def test_redirect_back_from_another_host_gets_no_credentials() -> None:
    seen = asyncio.run(follow(lambda home, away: [away, f"{home}/reset-my-password"]))
    assert [name for name, _ in seen] == ["home", "away", "home"]
    assert SECRET not in str(seen[1:])


def test_redirect_to_the_same_host_by_another_name_gets_no_credentials() -> None:
    seen = asyncio.run(follow(lambda home, _away: [home.replace("127.0.0.1", "localhost")]))
    assert [name for name, _ in seen] == ["home", "home"]
    assert SECRET not in str(seen[1:])


def test_odd_headers_of_a_reply_are_no_crash() -> None:
    """Digits that are none, numbers of thousands of digits, bytes that are no text."""
    odd = ["bytes ²-5/²", "bytes 0-5/" + "9" * 5_000, "\udcff", "²"]

    async def use(client: HttpClient, site: Site) -> list[Any]:
        results: list[Any] = []
        for _ in odd:
            try:
                results.append(await client.download(site.url, io.BytesIO(), resume=True))
            except HttpError as error:
                results.append(error)
        return results

    for status in (206, 416):
        handlers = [raw_reply(status, value) for value in odd]
        found, _ = run(use, *handlers, policy=Policy(max_attempts=1))
        assert len(found) == len(odd)


def raw_reply(status: int, value: str) -> Handler:
    """A reply with odd values in all headers that are read, which no library would write."""

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        text = value.encode("utf-8", "surrogateescape")
        head = b"".join(b"%s: %s\r\n" % (name, text) for name in (b"Content-Range", b"ETag"))
        line = b"HTTP/1.1 %d X\r\nContent-Length: 2\r\n" % status
        request.transport.write(line + head + b"\r\n{}")  # type: ignore[attr-defined]
        request.transport.close()
        return web.Response()

    return handle


def test_reply_with_an_unreadable_request_id_is_taken() -> None:
    async def use(client: HttpClient, site: Site) -> bytes:
        return await client.ask(site.url, b"{}", body_of)

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Request-Id: \xff\r\n\r\n{}"
        request.transport.write(head)  # type: ignore[attr-defined]
        request.transport.close()
        return web.Response()

    body, _ = run(use, answer)
    assert body == b"{}"


def test_missing_proxy_raises_connect_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectError, match=r"cannot connect to the proxy 127\.0\.0\.1:1: Connect"):
        asyncio.run(ask_through(monkeypatch, "http_proxy", "http://me:secret@127.0.0.1:1"))


async def raw(answer: bytes) -> tuple[HttpError, int]:
    """How a call fails to which these bytes come back, and how often it was made."""
    calls = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    client = HttpClient(Policy(backoff=0.001, max_attempts=2))
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(HttpError) as caught:
        await client.post(f"http://127.0.0.1:{port}/x", b"", ACCEPT)
    await client.close()
    server.close()
    await server.wait_closed()
    return caught.value, calls


@pytest.mark.parametrize(
    ("head", "words", "calls"),
    [
        (b"hello", "isn't valid HTTP: Bad status line: Expected HTTP/", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br", "install `Brotli`", 1),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 9_000, "isn't valid HTTP: Got more than 8190 bytes", 1),
        (b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 40_000, "Too many headers received", 1),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip", "Can not decode content-encoding: gzip", 2),
        (b"HTTP/1.1 404 No\r\nContent-Type: \xe9", "HTTP 404: abcd", 1),
        (b"HTTP/1.1 301 No\r\nLocation: http://x/\xe9", "moved to http://x/?. Use", 1),
    ],
)
def test_the_cause_is_named(head: bytes, words: str, calls: int) -> None:
    error, made = asyncio.run(raw(head.strip() + b"\r\nContent-Length: 4\r\n\r\nabcd"))
    assert words in error.reason
    assert "\n" not in error.reason
    error.reason.encode()
    assert made == calls


def test_json_in_another_charset() -> None:
    async def latin(request: web.Request) -> web.Response:
        kind = "application/json; charset=iso-8859-1"
        return web.Response(body='["é"]'.encode("latin-1"), headers={"Content-Type": kind})

    async def use(client: HttpClient, site: Site) -> Any:
        return await client.get(site.url, HttpReply.json)

    assert run(use, latin)[0] == ["é"]
    assert run(use, says(200, '\ufeff["é"]'))[0] == ["é"]


def test_shown_has_no_credentials() -> None:
    assert shown("https://u:p@host:8/v1?key=1#f") == "https://host:8/v1"
    assert Secrets(("abc-defg",)).scrub("key abc-defg!") == "key [hidden]!"
    for word in ("x", "secrets", "EMPTY", "ollama", "lm-studio", "sk-no-key-required"):
        assert Secrets((word,)).scrub(f"say {word}") == f"say {word}"
    for text in (
        "Incorrect API key provided: sk-proj-abcdefghijkl.",
        "{'Authorization': 'Bearer abcdefghijkl'}",
        "wrong key abcdefghijkl****wxyz",
        "got bearer abcdefghijklmnopqrst",
        "X-API-Key=abcdefghijkl",
    ):
        assert "abcdefghijkl" not in Secrets().scrub(text), text
    kept = "Basic authentication failed for **this** model; use a Bearer token"
    assert Secrets().scrub(kept) == kept
