"""Worker processes and Ctrl-C, which a terminal sends to all of them at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.marks import mostly_long
from tests.records.record_files import write

from trueground.processes import WorkerPool
from trueground.testing import synthetic_records

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals to process groups")

# What a worker does first is to import the script that started it; here that takes a while.
SLOW = """
import pathlib, sys, time
from trueground.processes import WorkerPool

def start(name):
    pathlib.Path(name).touch()

if __name__ == "__main__":
    pool = WorkerPool(2, start, "started")
    try:
        for waiting in [pool.submit(time.sleep, 0.01) for _ in range(4)]:
            waiting.result()
    except KeyboardInterrupt:
        pool.shutdown(cancel_futures=True)
        sys.exit(130)
else:
    pathlib.Path(f"importing-{time.monotonic_ns()}").touch()
    time.sleep(2)
"""


def begin(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def interrupt_all(process: subprocess.Popen[str]) -> str:
    """Ctrl-C, and what was said on standard error."""
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    return said


def test_a_worker_that_still_imports_is_deaf_to_interrupts(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    process = begin("slow.py", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("importing-*"))) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    assert interrupt_all(process) == ""
    assert (tmp_path / "started").exists()  # it lived on to the end of its imports


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("later_s", mostly_long(1, [0.5, 0.0]))
def test_an_interrupted_command_shows_no_traces_of_its_workers(
    later_s: float, tmp_path: Path
) -> None:
    write(tmp_path / "a.jsonl", *synthetic_records(3_000, 0, 200, 300))
    words = ("-m", "trueground", "score", "a.jsonl", "--out=o", "--metrics=f1,support")
    process = begin(*words, "--workers=2", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not _spawned(process.pid):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(later_s)
    said = interrupt_all(process)
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said


def test_interrupts_are_heard_again_afterwards() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with WorkerPool(1, print) as pool:
        assert pool.submit(len, "abc").result() == 3
        assert signal.SIGINT in pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def _spawned(parent: int) -> bool:
    """Has the process a worker?"""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if int(told[1]) == parent and b"spawn_main" in command:
            return True
    return False
