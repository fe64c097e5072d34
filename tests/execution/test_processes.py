"""Child processes: they end with their parent, and Ctrl-C is for the parent alone."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.commands import PROGRAM
from tests.killing import ProcessTree
from tests.marks import mostly_long
from tests.records.record_files import write

import trueground
from trueground.execution.processes import WorkerPool
from trueground.testing import synthetic_records

SRC = Path(trueground.__file__).parent
FACTORY = SRC / "execution" / "processes.py"
# What starts a process, as a module that is imported or a function that is called.
STARTERS = {"subprocess", "multiprocessing", "pty", "joblib", "ProcessPoolExecutor"}
CALLS = {
    *("Popen", "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec"),
    *("subprocess_shell", "ProcessPoolExecutor", "fork", "forkpty", "posix_spawn", "posix_spawnp"),
    *("system", "popen", "startfile", "get_context"),
}
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals to process groups")

# What a worker does first is to import the script that started it; here that takes a while.
SLOW = """
import pathlib, sys, time
from trueground.execution.processes import WorkerPool

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

# A worker whose native code never gives the interpreter lock back, so that no thread of it runs.
HOLDING = """
import pathlib, re
from trueground.execution.processes import WorkerPool

def hold():
    pathlib.Path("holding").touch()
    re.match("(a+)+b", "a" * 60)

if __name__ == "__main__":
    with WorkerPool(1, bool) as pool:
        pool.submit(hold).result()
"""

# A process that writes and waits, and one that starts it.
WAITING = """
import sys, time

def main(words):
    print(*words, flush=True)
    time.sleep(60)
"""
STARTING = """
import sys
from trueground.execution.processes import ChildProcess

process = ChildProcess("waiting", "a word", "\\udcff")
sys.stdout.buffer.write(process.stdout.readline())
sys.stdout.flush()
process.wait()
"""


def test_only_the_factory_starts_processes() -> None:
    wrong = []
    for path in SRC.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path == FACTORY or not any(word in source for word in STARTERS | CALLS):
            continue
        for node in ast.walk(ast.parse(source)):
            names: set[str] = set()
            if isinstance(node, ast.Import):
                names = {alias.name.partition(".")[0] for alias in node.names} & STARTERS
            elif isinstance(node, ast.ImportFrom):
                imported = {(node.module or "").partition(".")[0], *(a.name for a in node.names)}
                names = imported & (STARTERS | CALLS)
            elif isinstance(node, ast.Call):
                function = node.func
                name = getattr(function, "attr", None) or getattr(function, "id", None)
                names = {str(name)} & CALLS
            wrong += [f"{path.relative_to(SRC)}:{node.lineno} {name}" for name in names]  # type: ignore[attr-defined]
    assert wrong == []


@needs_proc
@pytest.mark.parametrize("options", mostly_long(1, [["--workers=2"], ["--shards=4"]]))
@pytest.mark.parametrize(
    ("number", "group"),
    mostly_long(
        1,
        [
            (signal.SIGKILL, False),
            (signal.SIGTERM, False),
            (signal.SIGINT, False),
            (signal.SIGINT, True),
            (signal.SIGHUP, False),
        ],
    ),
)
def test_score_killed_leaves_no_process(
    number: signal.Signals, group: bool, options: list[str], tmp_path: Path
) -> None:
    write(tmp_path / "a.jsonl", *synthetic_records(6_000, 0, 200, 300))
    words = [*PROGRAM, "score", "a.jsonl", "--out=o", "--metrics=f1,support", *options]
    with ProcessTree(words, cwd=tmp_path) as tree:
        tree.wait_for_children(3)  # two workers, and the one that tracks their resources
        printed = tree.end(number, group=group)
    if number == signal.SIGINT:
        assert "Traceback" not in printed


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends it on Linux only")
def test_worker_that_holds_the_interpreter_lock_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "holding.py").write_text(HOLDING)
    with ProcessTree([sys.executable, "holding.py"], cwd=tmp_path) as tree:
        while not (tmp_path / "holding").exists():
            assert tree.process.poll() is None
            time.sleep(0.01)
        tree.end()


@needs_proc
def test_started_module_gets_its_words_and_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "waiting.py").write_text(WAITING)
    (tmp_path / "starting.py").write_text(STARTING)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONIOENCODING": "utf-8:replace"}
    with ProcessTree([sys.executable, "starting.py"], cwd=tmp_path, env=environment) as tree:
        assert tree.process.stdout
        assert tree.process.stdout.readline() == b"a word ?\n"
        (child,) = tree.children()
        assert b"a word" not in Path(f"/proc/{child}/cmdline").read_bytes()
        tree.end()


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


@pytest.mark.long
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
