"""A server with 256 descriptors under a client that wants it down, as processes of their own."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.marks import mostly_long
from tests.reports.report_fixture import sample_run
from tests.view.hostile import HostileClient, Plan, wait_until
from tests.wings.labeling.web.labeling import Browser, write_records

from trueground.view.server import LOOPBACK, Address

DESCRIPTORS = 256
ANSWER_SECONDS = 2.0
LOG_BYTES = 1_000_000
HAS_PROC = Path("/proc/self/fd").is_dir()
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no RLIMIT_NOFILE")

# The command as it is, but with few descriptors, and in the quick suite with short deadlines.
START = """
import resource, sys
from trueground.cli import main
from trueground.view import connections, server
resource.setrlimit(resource.RLIMIT_NOFILE, (%d, %d))
if %r:
    server.DEFAULT_LIMITS = connections.Limits(1, 1, 1, 1)
sys.argv[0] = "trueground"
main()
"""


class Server(NamedTuple):
    """A running server; `path` and `cookie` are what a user of it asks for."""

    process: subprocess.Popen[str]
    log: Path
    port: int
    path: str
    cookie: str

    def ask(self) -> float:
        """Ask as a user does, and return the seconds until the answer was there."""
        start = time.monotonic()
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=20)
        try:
            connection.request("GET", self.path, headers={"Cookie": self.cookie})
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            assert reply.read()
        finally:
            connection.close()
        return time.monotonic() - start

    def descriptors(self) -> int:
        """How many descriptors it has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@contextmanager
def started(folder: Path, *words: object, quick: bool) -> Iterator[tuple[Server, str]]:
    """The process of a command, and the link that it printed."""
    start = START % (DESCRIPTORS, DESCRIPTORS, quick)
    log = folder / "log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, "-c", start, *map(str, words)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            text = ""
            while (link := re.search(r"http://\S+token=\S+", text)) is None:
                line = process.stdout.readline()
                assert line, log.read_text()
                text += line
            yield Server(process, log, urlsplit(link[0]).port or 0, "", ""), link[0]
        finally:
            process.kill()


@contextmanager
def view(folder: Path, *, quick: bool) -> Iterator[Server]:
    """`trueground view` of a run, and its list as what a user asks for."""
    sample_run(folder / "runs" / "one", 20)
    words = ("view", folder / "runs", "--port", "0", "--no-browser")
    with started(folder, *words, quick=quick) as (server, link):
        connection = http.client.HTTPConnection(LOOPBACK, server.port, timeout=20)
        connection.request("GET", link[link.index("/", 8) :])
        reply = connection.getresponse()
        cookie = reply.headers["Set-Cookie"].partition(";")[0]
        connection.close()
        yield server._replace(path="/page", cookie=cookie)


@contextmanager
def annotate_serve(folder: Path, *, quick: bool) -> Iterator[Server]:
    """`trueground annotate serve`, and the lead's progress as what a user asks for."""
    records = write_records(folder / "records.jsonl")
    words = ("annotate", "serve", folder / "labels.db", "--from-run", records, "--port", "0")
    with started(folder, *words, quick=quick) as (server, link):
        lead = Browser(Address(LOOPBACK, server.port, f"http://{LOOPBACK}:{server.port}"))
        lead.enter(link.partition("#token=")[2])
        yield server._replace(path="/api/me", cookie=lead.cookie)


SERVERS = {"view": view, "annotate serve": annotate_serve}


def attack(server: Server, plan: Plan, seconds: float, pause: float) -> None:
    """Attack a server while a user asks it again and again; then look at what is left."""
    server.ask()
    descriptors = server.descriptors() if HAS_PROC else 0
    client = HostileClient(server.port, plan)
    client.start()
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        times.append(server.ask())
        time.sleep(pause)
    assert client.opened >= sum(plan[:-1])
    client.stop()
    assert max(times) < ANSWER_SECONDS
    if HAS_PROC:
        assert wait_until(lambda: server.descriptors() <= descriptors, 5)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(20) == 0
    log = server.log.read_text()
    assert len(log) < LOG_BYTES
    assert "Traceback" not in log
    assert "WARNING: all 128 connections are in use" in log
    assert log.count("\n") < 20


@pytest.mark.parametrize("name", mostly_long(1, SERVERS))
def test_server_under_attack_answers_its_user(name: str, tmp_path: Path) -> None:
    plan = Plan(400, 20, 20, 20, 10, 10, 56, total=2_000)
    with SERVERS[name](tmp_path, quick=True) as server:
        attack(server, plan, 1.5, 0.25)


@pytest.mark.long
@pytest.mark.parametrize("name", SERVERS)
def test_server_under_long_attack_answers_its_user(name: str, tmp_path: Path) -> None:
    plan = Plan(1_200, 100, 100, 100, 50, 50, 280, total=20_000)
    with SERVERS[name](tmp_path, quick=False) as server:
        attack(server, plan, 40, 1)
