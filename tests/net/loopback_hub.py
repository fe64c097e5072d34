"""A Hub of dataset repositories on 127.0.0.1: the API, `resolve`, and a CDN on another port."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

TOKEN = "hf_loopbacktoken0123456789"


@dataclass
class Repo:
    """Files at one commit; `main` points to it. Gated: only with the token."""

    sha: str
    files: dict[str, bytes]
    gated: bool = False
    says_checksums: bool = True


@dataclass
class Seen:
    """One request: which server, method and path without query, and what matters of its headers."""

    server: str
    path: str
    authorization: str | None
    range: str | None


@dataclass
class LoopbackHub:
    """What the servers serve, what they were asked, and which failures come next.

    `breaks`: after how many bytes each of the next bodies of the CDN breaks off. `statuses`: with
    which status the next requests to the Hub fail. `deaf`: the CDN takes no notice of `Range`.
    """

    repos: dict[str, Repo] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    breaks: deque[int] = field(default_factory=deque)
    statuses: deque[int] = field(default_factory=deque)
    deaf: bool = False
    hub_url: str = ""
    cdn_url: str = ""

    def of(self, server: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.server == server]


@contextmanager
def loopback_hub() -> Iterator[LoopbackHub]:
    """Two real servers, until the block ends."""
    hub = LoopbackHub()
    with _served(hub, _Hub) as hub.hub_url, _served(hub, _Cdn) as hub.cdn_url:
        yield hub


@contextmanager
def _served(hub: LoopbackHub, handler: type[_Handler]) -> Iterator[str]:
    bound = type(handler.__name__, (handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: LoopbackHub
    server_name = ""
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        # A client that has what it wants, or has had enough, may leave without a farewell.
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        headers = self.headers
        seen = Seen(self.server_name, path, headers["Authorization"], headers["Range"])
        self.hub.seen.append(seen)
        self.answer(path)

    def answer(self, path: str) -> None:
        raise AssertionError

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Silence."""


class _Hub(_Handler):
    server_name = "hub"

    def answer(self, path: str) -> None:
        hub = self.hub
        if hub.statuses:
            self.send(hub.statuses.popleft(), b"not now")
            return
        listed = re.fullmatch(r"/api/datasets/(.+)/revision/([^/]+)", path)
        asked = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        match = listed or asked
        repo = hub.repos.get(match[1]) if match else None
        if match is None or repo is None or match[2] not in ("main", repo.sha):
            self.send(404, b'{"error": "Repository not found"}')
        elif repo.gated and self.headers["Authorization"] != f"Bearer {TOKEN}":
            words = f"no access with {self.headers['Authorization']}"
            self.send(403, words.encode())
        elif listed:
            self.send(200, json.dumps(self._listing(repo)).encode())
        elif match[3] not in repo.files:
            self.send(404, b"Entry not found")
        else:
            place = f"{hub.cdn_url}/{match[1]}/{quote(match[3])}?Signature=secretsignature"
            self.send(302, b"", {"Location": place})

    def _listing(self, repo: Repo) -> dict[str, object]:
        blobs = "blobs" in parse_qs(urlsplit(self.path).query)
        siblings: list[dict[str, object]] = []
        for path, content in repo.files.items():
            entry: dict[str, object] = {"rfilename": path}
            if blobs and repo.says_checksums:
                digest = hashlib.sha256(content).hexdigest()
                entry |= {"size": len(content), "lfs": {"sha256": digest, "size": len(content)}}
            siblings.append(entry)
        return {"id": "x", "sha": repo.sha, "siblings": siblings, "gated": repo.gated}


class _Cdn(_Handler):
    server_name = "cdn"

    def answer(self, path: str) -> None:
        owner, name, file = path.removeprefix("/").split("/", 2)
        content = self.hub.repos[f"{owner}/{name}"].files[file]
        etag = f'"{hashlib.md5(content).hexdigest()}"'
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        start = int(wanted[1]) if wanted and not self.hub.deaf else 0
        if self.headers["If-Range"] not in (None, etag):
            start = 0
        if start >= len(content) > 0:
            self.send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return
        body = content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.hub.breaks:
            self.wfile.write(body[: self.hub.breaks.popleft()])
            self.close_connection = True
            return
        self.wfile.write(body)
