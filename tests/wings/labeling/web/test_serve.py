"""The command as it is typed, and what is left of a server that is killed."""

from __future__ import annotations

import random
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sql
from bench.labeling import label_all
from tests.commands import PROGRAM, trueground
from tests.postgres import find_binaries, postgres
from tests.wings.labeling.web.labeling import Browser, write_records

from trueground.view.server import LOOPBACK, Address
from trueground.wings.labeling.web.database import LabelDatabase
from trueground.wings.labeling.web.schema import labels, work

LEAD = re.compile(r"^lead {3}(http://127\.0\.0\.1:(\d+))/#token=(\S+)$", re.MULTILINE)


@contextmanager
def started(*words: object) -> Iterator[tuple[subprocess.Popen[str], Address, str]]:
    """The process of `annotate serve`, its address, and the lead's token."""
    process = subprocess.Popen(
        [*PROGRAM, "annotate", "serve", *map(str, words)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        said = ""
        while (found := LEAD.search(said)) is None:
            line = process.stdout.readline()
            assert line, said
            said += line
        yield process, Address(LOOPBACK, int(found[2]), found[1]), found[3]
    finally:
        process.kill()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def enter(address: Address, token: str) -> Browser:
    browser = Browser(address)
    browser.enter(token)
    return browser


def invite(lead: Browser, name: str) -> str:
    link: str = lead.post("/api/lead/people", {"name": name})["link"]
    return link.partition("#token=")[2]


def test_serve_runs_until_interrupted(place: str, tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl")
    words = (place, "--from-run", records, "--title", "Bridges")
    with started(*words) as (process, address, token):
        lead = enter(address, token)
        assert lead.get("/api/me")["project"]["title"] == "Bridges"
        ann = invite(lead, "Ann")
        assert len(enter(address, ann).label_all(lambda _: "not")) == 6
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    before = address
    with started(place) as (process, address, newer):  # the project has its tasks, and its place
        assert address == before
        assert Browser(address).ask("POST", "/api/enter", {"token": token}).status == 401
        lead = enter(address, newer)
        assert lead.get("/api/lead/overview")["tasks"]["started"] == 6
        assert enter(address, ann).get("/api/me")["progress"]["done"] == 6
        assert process.stdout is not None
        assert process.stdout.readline() == f"links to {address.url} stay valid\n"
        process.terminate()
        assert process.wait(10) == 0


@pytest.mark.long
def test_a_project_keeps_its_address(place: str, tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl")
    with started(place, "--from-run", records) as (_, address, token):
        invite(enter(address, token), "Ann")
    with socket.create_server((LOOPBACK, address.port)):
        done = trueground("annotate", "serve", place)
        assert done.returncode == 2
        assert "used this port at its last start" in done.stderr
        with socket.create_server((LOOPBACK, 0)) as free:
            port = free.getsockname()[1]
        with started(place, "--port", port) as (process, moved, _):
            assert moved.port == port
            assert process.stdout is not None
            told = process.stdout.readline()
            assert told.startswith(f"links to {address.url} do not work any more; ")
    with started(place) as (_, again, _):
        assert again == moved


def test_port_0_takes_a_free_port_and_keeps_it(place: str, tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl")
    with started(place, "--from-run", records, "--port", "0") as (_, first, token):
        assert first.port
        assert enter(first, token).get("/api/me")["role"] == "lead"
    with started(place) as (_, again, _):
        assert again == first


def test_serve_invalid_options_create_no_files(tmp_path: Path) -> None:
    project = tmp_path / "labels.db"
    records = write_records(tmp_path / "records.jsonl")
    for words, told in (
        ((project, "--sample", "3"), "--sample selects answers of a run"),
        ((project, "--from-run", records, "--kind", "suport"), "Did you mean 'support'"),
        ((project, "--from-run", tmp_path / "none"), "none"),
        ((project, "--from-run", records, "--url", "labels.example"), "--url 'labels.example'"),
        (("labels.db", tmp_path / "none.jsonl"), "none.jsonl"),
        ((project,), "the project has no tasks"),
    ):
        done = trueground("annotate", "serve", *words, cwd=tmp_path)
        assert done.returncode == 2, done
        assert told in done.stderr, done
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
    assert not project.exists()


class Client(threading.Thread):
    """Labels without a pause; `acknowledged` are task and key of each save that was."""

    def __init__(self, address: Address, token: str, number: int) -> None:
        super().__init__(daemon=True)
        self._address, self._token, self._number = address, token, number
        self.acknowledged: list[tuple[int, str]] = []
        self.trouble: list[Any] = []

    def run(self) -> None:
        try:
            browser = enter(self._address, self._token)
            for count in range(10_000):
                task = browser.post("/api/next")["task"]
                if task is None:
                    return
                key = f"try-{self._number:03}-{count:06}"
                reply = browser.save(task["task"], "not", key=key)
                assert reply.status == 200, reply
                self.acknowledged.append((task["task"], key))
        except OSError:  # the server is gone
            return
        except Exception as error:
            if "RemoteDisconnected" not in repr(error) and "Incomplete" not in repr(error):
                self.trouble.append(error)


def kill_often(place: str, folder: Path, times: int) -> None:
    """Kill the server at random moments while two people label; look for every label."""
    records = write_records(folder / "records.jsonl", 3000)
    moments = random.Random(21)
    acknowledged: set[tuple[int, str]] = set()
    tokens: list[str] = []
    for number in range(times):
        words = () if tokens else ("--from-run", records)
        with started(place, *words) as (process, address, token):
            if not tokens:
                lead = enter(address, token)
                tokens = [invite(lead, "Ann"), invite(lead, "Ben")]
            clients = [Client(address, one, 2 * number + at) for at, one in enumerate(tokens)]
            for client in clients:
                client.start()
            give_up = time.monotonic() + 20
            while sum(len(client.acknowledged) for client in clients) < 4:
                assert time.monotonic() < give_up, [client.trouble for client in clients]
                time.sleep(0.01)
            time.sleep(moments.uniform(0, 0.4))
            process.kill()
            process.wait(10)
            for client in clients:
                client.join(10)
                assert not client.trouble, client.trouble
                acknowledged |= set(client.acknowledged)
    with LabelDatabase(place) as database, database.read() as connection:
        found = connection.execute(sql.select(labels.c.task, labels.c.key)).all()
        newest = connection.execute(
            sql.select(sql.func.count()).where(work.c.label.is_not(None))
        ).scalar()
        if database.path is not None:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    stored = {(task, key) for task, key in found}
    assert len(acknowledged) >= 4 * times
    assert acknowledged <= stored
    assert len(stored) == len(found) == newest  # no label twice, none half there
    assert len(stored - acknowledged) <= 2 * times  # those that were on their way


def test_acknowledged_labels_survive_kill(place: str, tmp_path: Path) -> None:
    kill_often(place, tmp_path, 2)


@pytest.mark.long
def test_acknowledged_labels_survive_twenty_kills(place: str, tmp_path: Path) -> None:
    kill_often(place, tmp_path, 20)


# Beside other tests. The bar is 100 ms with nothing else running: bench/labeling.py measures it.
BUSY_MS = 500


@pytest.mark.long
def test_twenty_people_at_once(tmp_path: Path) -> None:
    """20 clients with 200 tasks each, without a pause, on SQLite that waits for the disk."""
    load = label_all(tmp_path, 20, 200)
    assert load.labels == len(load.saves) == 4000
    assert np.percentile(load.saves, 95) < BUSY_MS, np.percentile(load.saves, [50, 95, 100])


@pytest.mark.long
@pytest.mark.skipif(find_binaries() is None, reason="PostgreSQL is not installed")
def test_twenty_people_at_once_in_postgresql(tmp_path: Path) -> None:
    with postgres(safe=True) as server:
        load = label_all(tmp_path, 20, 200, server.new_database())
    assert load.labels == len(load.saves) == 4000
    assert np.percentile(load.saves, 95) < BUSY_MS, np.percentile(load.saves, [50, 95, 100])


@pytest.mark.long
def test_a_large_project_is_as_quick(tmp_path: Path) -> None:
    """20 clients with 50 tasks each of 100,000, one of them with 40,000 labels of their own."""
    load = label_all(tmp_path, 20, 50, size=100_000)
    assert len(load.saves) == 1000
    assert np.percentile(load.saves, 95) < BUSY_MS, np.percentile(load.saves, [50, 95, 100])
