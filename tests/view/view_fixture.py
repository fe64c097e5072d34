"""A `trueground view` of some runs, in a process of its own, as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.commands import PROGRAM
from tests.leaks import check_page


class Viewing:
    """The server, and a client with its cookie; `url` ends in /, `link` has the token."""

    def __init__(self, process: subprocess.Popen[str], link: str) -> None:
        self.process, self.link = process, link
        self.url = link[: link.index("/", 8) + 1]
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.opener.open(link, timeout=60).close()

    def page(self, path: str = "") -> str:
        """The link to a page, with the token."""
        return f"{self.url}{path}?{self.link.partition('?')[2]}"

    def get(self, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers of an answer."""
        asked = urllib.request.Request(self.url.rstrip("/") + path, headers=headers)
        try:
            with self.opener.open(asked, timeout=60) as reply:
                return reply.status, reply.read(), dict(reply.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read(), dict(error.headers)

    def json(self, path: str) -> Any:
        """The JSON of an answer; a page in it is searched for leaks."""
        found = json.loads(self.get(path)[1])
        if isinstance(found, dict) and found.get("page"):
            check_page(found["page"])
        return found

    def key(self, label: str) -> str:
        """The key of a run in the list."""
        return next(k for name, k in self.keys().items() if name == label)

    def keys(self) -> dict[str, str]:
        """Label → key of each run that has a page."""
        rows = next(b for b in self.json("/page")["page"]["blocks"] if b["type"] == "table")["rows"]
        cells = [row["cells"][0][0] for row in rows]
        return {c["text"]: c["href"].split("/")[2] for c in cells if isinstance(c, dict)}


@contextmanager
def viewing(*words: object, home: Path) -> Iterator[Viewing]:
    """Start the command on these words, and end it."""
    command = [*PROGRAM, "view", *map(str, words), "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TRUEGROUND_HOME": str(home)},
    ) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        try:
            assert link.startswith("http://127.0.0.1:"), link
            yield Viewing(process, link)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=20)
