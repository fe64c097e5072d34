"""A build that is killed in every stage ends in the same bytes, and pays nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.builders.contexts.world import (
    OLD,
    Reply,
    World,
    choice_record,
    record,
    verdict,
    write_records,
)
from tests.builders.scripted_server import last_text, scripted

STAGES = (
    ("big", "Make up"),
    ("big", "Remove everything"),
    ("small", "Decide"),
    ("other", "Decide"),
)
ODD: dict[tuple[str, ...], Reply] = {
    ("Bb", "unanswerable"): "prose",
    ("Cc", "judge-inconsistent"): verdict(OLD, False, ""),
}


class Killer:
    """Answers as the world does; kills the process that asks when a stage is under way."""

    def __init__(self) -> None:
        self.world = World(ODD)
        self.process: subprocess.Popen[bytes] | None = None
        self.left = list(STAGES)
        self.seen = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        if self.process is not None and self.left:
            model, words = self.left[0]
            self.seen += body["model"] == model and words in last_text(body)
            if self.seen == 2:  # one reply has come, and is kept
                os.kill(self.process.pid, signal.SIGKILL)
                self.seen = 0
                self.left.pop(0)
        return self.world(body)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_killed_in_every_stage(tmp_path: Path) -> None:
    rows = [*map(record, ("Aa", "Bb", "Cc", "Dd")), choice_record("Lamp"), choice_record("Oil")]
    source = write_records(tmp_path / "s.jsonl", rows)
    killer = Killer()
    with scripted(killer) as server:
        begin = _beginner(source, server.url)
        killed = 0
        for _ in range(len(STAGES) + 1):
            killer.process = begin(tmp_path / "killed", tmp_path / "home")
            killed += killer.process.wait(60) == -signal.SIGKILL
        assert killed == len(STAGES)
        assert killer.process is not None
        assert killer.process.returncode == 0
        asked = Counter(last_text(body) + body["model"] for body in server.calls)
        assert sum(asked.values()) <= len(asked) + 1 + len(STAGES)  # 1: asked to reply once more
        whole = begin(tmp_path / "whole", tmp_path / "other-home")
        assert whole.wait(60) == 0
    assert _files(tmp_path / "killed") == _files(tmp_path / "whole")


def _beginner(source: Path, url: str) -> Any:
    words = [sys.executable, "-m", "trueground", "build", "contexts", str(source), "--quiet"]
    words += ["--model", "big", "--judge-model", "small", "--second-judge-model", "other"]
    words += ["--base-url", url, "--max-connections", "1", "--language", "any"]

    def begin(out: Path, home: Path) -> subprocess.Popen[bytes]:
        env = {**os.environ, "OPENAI_API_KEY": "key", "TRUEGROUND_HOME": str(home)}
        return subprocess.Popen([*words, "--out", str(out)], env=env)

    return begin


def _files(folder: Path) -> dict[str, bytes]:
    """All that must be the same: not the manifest's times, nor the order of arrival."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "manifest.json" and file.parent.name != "work"
    }
