"""A Hub of models on 127.0.0.1: what the Hub's client asks for, each repository at one commit."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Repositories are folders ORGANIZATION/NAME under `root`, each at one commit."""

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.root = root
        self.asked: list[str] = []


class _Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self.do_HEAD(body=True)

    def do_HEAD(self, body: bool = False) -> None:
        path = self.path.partition("?")[0].strip("/").split("/")
        self.server.asked.append(self.path)
        headers = {"X-Repo-Commit": COMMIT}
        content = b""
        if path[:2] == ["api", "models"] and "tree" in path:
            top = self.server.root / path[2] / path[3]
            listing = [
                {
                    "type": "file",
                    "path": f.relative_to(top).as_posix(),
                    "size": f.stat().st_size,
                    "oid": "0",
                }
                for f in top.rglob("*")
                if f.is_file()
            ]
            content = json.dumps(listing if path[-1] == COMMIT else []).encode()
        elif not (self.server.root.joinpath(*path[:2])).is_dir():
            headers["X-Error-Code"] = "RepoNotFound"
        elif (file := self.server.root.joinpath(*path[:2], *path[4:])).is_file():
            content = file.read_bytes()
            headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
        else:
            headers["X-Error-Code"] = "EntryNotFound"
        self.send_response(404 if "X-Error-Code" in headers else 200)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_args: object) -> None:
        """Tests read `asked` instead."""


@contextmanager
def serving(root: Path) -> Iterator[Hub]:
    """The server at work until the block ends."""
    with Hub(root) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
