"""Counting is done in processes of their own: nobody waits for it, and it ends with the server."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.marks import mostly_long
from tests.wings.labeling.web.labeling import make_project, serving, write_records
from tests.wings.labeling.web.test_serve import enter, started

from trueground.errors import InputError
from trueground.wings.labeling.web.counting import CountingRoom


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else can open the project meanwhile: what counts waits for that."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def children(process: int) -> list[int]:
    """The processes that a process has started, whatever thread of it."""
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(number) for file in found for number in file.read_text().split()]


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def has_open(process: int, path: Path) -> bool:
    try:
        return any(one.resolve() == path for one in Path(f"/proc/{process}/fd").iterdir())
    except FileNotFoundError:  # closed between the two
        return False


def is_gone(process: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return True


def test_counting_does_not_block_requests(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = threading.Event()

    def wait(_room: CountingRoom, name: str) -> Any:
        counted.wait(60)
        return {"counted": name}

    monkeypatch.setattr(CountingRoom, "count", wait)
    with serving(make_project(place, tmp_path)) as served, ThreadPoolExecutor(3) as threads:
        ann = served.invite("Ann")
        asked = [
            threads.submit(served.lead.ask, method, f"/api/lead/{name}")
            for method, name in (("GET", "agreement"), ("GET", "judge"), ("POST", "calibrate"))
        ]
        time.sleep(0.2)
        assert len(ann.label_all(lambda _: "not")) == 6
        for page in ("overview", "disputes", "export?what=answers", "backup"):
            assert served.lead.ask("GET", f"/api/lead/{page}").status == 200
        assert not any(one.done() for one in asked)
        counted.set()
        assert [one.result().json["counted"] for one in asked] == [
            "agreement",
            "judge",
            "calibrate",
        ]


def test_counting_error_is_reported(place: str, tmp_path: Path) -> None:
    with make_project(place, tmp_path).database as database:
        room = CountingRoom(database)
        with pytest.raises(InputError, match="no labels yet"):
            room.count("calibrate")
        assert room.count("agreement")["title"] == "Agreement"
        room.close()
        with pytest.raises(InputError, match="ends"):
            room.count("agreement")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
@pytest.mark.parametrize("how", mostly_long(1, [signal.SIGKILL, signal.SIGINT]))
def test_counting_ends_with_the_server(how: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    records = write_records(tmp_path / "records.jsonl")
    with started(path, "--from-run", records) as (process, address, token):
        lead = enter(address, token)
        assert lead.get("/api/lead/agreement")["title"] == "Agreement"
        assert children(process.pid) == []
        with locked(path), ThreadPoolExecutor(1) as threads:
            asked = threads.submit(ask_quietly, lead)
            wait_for(lambda: children(process.pid))
            (child,) = children(process.pid)
            wait_for(lambda: has_open(child, path))
            assert not asked.done()
            os.kill(process.pid, how)
            process.wait(20)
            wait_for(lambda: is_gone(child))


def ask_quietly(lead: Any) -> Any:
    try:
        return lead.ask("POST", "/api/lead/calibrate", {})
    except OSError:
        return None
