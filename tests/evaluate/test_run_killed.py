"""kill -9 at any moment: no completed call again, no answer lost, the same bytes at the end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.chaos import ChaosServer
from tests.commands import PROGRAM, trueground
from tests.evaluate.questions_file import answer, number, write_questions
from tests.marks import mostly_long

N, CONNECTIONS = 500, 8
FINAL = ("items.jsonl", "summary.json", "report.html")


def command(data: Path, server: ChaosServer, out: Path, *more: str) -> list[str]:
    words = ["run", "faitheval/unanswerable", "--model", "m"]
    words += ["--base-url", server.base_url, "--data", str(data), "--out", str(out)]
    return [*words, "--max-connections", str(CONNECTIONS), "--quiet", *more]


def kill_at(process: subprocess.Popen[bytes], server: ChaosServer, calls: int) -> None:
    """Kill it as soon as the endpoint has seen so many calls, or when it has ended by itself."""
    give_up = time.monotonic() + 60
    while process.poll() is None and sum(server.calls.values()) < calls:
        assert time.monotonic() < give_up
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()


def asked(calls: Counter[str]) -> set[int]:
    """The numbers of the questions that came."""
    return {number(text) for text in calls}


def logged(run: Path) -> set[int]:
    """The numbers of the questions whose replies are written in whole."""
    log = run / "responses.jsonl"
    lines = log.read_bytes().splitlines(keepends=True) if log.exists() else []
    return {int(json.loads(line)["id"][1:]) for line in lines if line.endswith(b"\n")}


@pytest.mark.parametrize(
    ("cache", "kills"),
    mostly_long(1, [("--no-cache", 2), ("", 5), ("--no-cache", 30)]),
)
def test_killed_while_asking(tmp_path: Path, cache: str, kills: int) -> None:
    dice = random.Random(11)
    data = write_questions(tmp_path / "q.jsonl", N)
    env = {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home")}
    with ChaosServer(answer=answer, delay=0.01) as server:
        killed = command(data, server, tmp_path / "killed", *([cache] if cache else []))
        known: set[int] = set()
        for calls in sorted(dice.sample(range(1, N), kills)):
            before = Counter(server.calls)
            kill_at(subprocess.Popen([*PROGRAM, *killed], env=env), server, calls)
            assert not asked(server.calls - before) & known  # what was written is not asked again
            known = logged(tmp_path / "killed")
        before = Counter(server.calls)
        assert trueground(*killed, env=env).returncode == 0
        assert not asked(server.calls - before) & known
        repeated = sum(count - 1 for count in server.calls.values())
        lines = (tmp_path / "killed/responses.jsonl").read_text().splitlines()
        whole = command(data, server, tmp_path / "whole", "--no-cache")
        assert trueground(*whole, env=env).returncode == 0
    assert len(server.calls) == N
    # Only calls whose reply had not been written when the process died may come again.
    assert repeated <= kills * CONNECTIONS
    assert len(lines) == N
    for name in FINAL:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("waits", mostly_long(1, [([0.01],), ([0.0, 0.01, 0.03, 0.06, 0.1],)]))
def test_killed_while_scoring(tmp_path: Path, waits: list[float]) -> None:
    """Every call is made; the process dies at several moments between the last call and the end."""
    data = write_questions(tmp_path / "q.jsonl", 200)
    env = {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home")}
    with ChaosServer(answer=answer) as server:
        words = command(data, server, tmp_path / "killed")
        for wait in waits:
            process = subprocess.Popen([*PROGRAM, *words], env=env)
            log = tmp_path / "killed/responses.jsonl"
            while process.poll() is None and not (
                log.exists() and log.read_bytes().count(b"\n") == 200
            ):
                time.sleep(0.001)
            time.sleep(wait)
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert trueground(*words, env=env).returncode == 0
        assert set(server.calls.values()) == {1}
        whole = command(data, server, tmp_path / "whole")
        assert trueground(*whole, env=env).returncode == 0
        assert set(server.calls.values()) == {1}
    for name in FINAL:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
