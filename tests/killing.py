"""Commands that die by kill -9, and what must be left of them then: no process, no open pipe.

`ProcessTree` is a command with all processes that it starts. `Forge` kills commands as they enter a
system call that writes into their folder: one process that has imported all is forked for every
command, so that a death takes no second. strace, which Linux has, does it; `available` says whether
it may be used here.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

CALLS = (
    "write,pwrite64,writev,ftruncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,rmdir,"
    "mkdir,mkdirat,link,linkat,openat,fsync,fdatasync,sync_file_range"
)
_LINE = re.compile(r"(\d+) +(\w+)\((.*)")
MARK = "TRUEGROUND_TEST_TREE"  # a variable that a command hands on to every process it starts
GONE_SECONDS = 5.0  # in which the processes of a killed command must end


def marked_processes(mark: str, but: Sequence[int] = ()) -> list[int]:
    """The living processes whose environment holds the mark; Linux only."""
    entry = f"{MARK}={mark}".encode()
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile, or belongs to another user
            environment = (folder / "environ").read_bytes().split(b"\0")  # empty of a zombie
            if entry in environment and int(folder.name) not in but:
                processes.append(int(folder.name))
    return sorted(processes)


def check_all_end(mark: str, but: Sequence[int] = ()) -> None:
    """Fail unless all processes with the mark end within GONE_SECONDS."""
    deadline = time.monotonic() + GONE_SECONDS
    while left := marked_processes(mark, but):
        if time.monotonic() > deadline:
            raise AssertionError(f"still alive: {[_describe(pid) for pid in left]}")
        time.sleep(0.02)


def _describe(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError as error:
        return f"{pid}: {error}"
    return f"{pid}: {command.decode(errors='replace').strip()}"


class ProcessTree:
    """A command that runs, with all processes that it starts; both output streams are one pipe.

    Leaving the block kills what is left of it.
    """

    def __init__(self, words: Sequence[str], **options: Any) -> None:
        self.mark = uuid.uuid4().hex
        environment = {**(options.pop("env", None) or os.environ), MARK: self.mark}
        # Below nohup everything ignores a hangup; the command must not inherit that.
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        try:
            self.process = subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                **options,
            )
        finally:
            signal.signal(signal.SIGHUP, before)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for pid in marked_processes(self.mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(30)
        assert self.process.stdout
        self.process.stdout.close()

    def children(self) -> list[int]:
        """All its living processes but the first."""
        return marked_processes(self.mark, [self.process.pid])

    def wait_for_children(self, count: int, seconds: float = 60.0) -> None:
        """Return when so many are there."""
        deadline = time.monotonic() + seconds
        while len(self.children()) < count:
            assert time.monotonic() < deadline, "it started no processes"
            assert self.process.poll() is None, self.output()
            time.sleep(0.01)

    def output(self, seconds: float = GONE_SECONDS) -> str:
        """What it has printed until the pipe's end; fails if that is silent for so long."""
        assert self.process.stdout
        pipe, parts = self.process.stdout.fileno(), []
        while True:
            ready, _, _ = select.select([pipe], [], [], seconds)
            assert ready, f"its output pipe is still held by {self.children()}"
            part = os.read(pipe, 65_536)
            if not part:
                return b"".join(parts).decode(errors="replace")
            parts.append(part)

    def end(self, number: signal.Signals = signal.SIGKILL, *, group: bool = False) -> str:
        """Send the signal to the first process, or its group, and check that nothing is left.

        Returns what was printed.
        """
        if group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        return self.check_ended()

    def check_ended(self) -> str:
        """Check that no process is left soon, and return what was printed."""
        check_all_end(self.mark)
        printed = self.output()
        self.process.wait(30)
        return printed


class Point(NamedTuple):
    """The n-th call of this name that one thread makes, from 1."""

    call: str
    n: int


class Forge:
    """Runs commands of `trueground`, each in a fork of one process."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder, self._mark = folder, uuid.uuid4().hex
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.killing"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **env, MARK: self._mark},
        )

    def run(self, words: list[str], strace: list[str] | None = None) -> tuple[int, str]:
        """Exit code (minus the signal's number) and what was printed; perhaps under strace."""
        assert self._process.stdin
        assert self._process.stdout
        said = self._folder / "said.txt"
        order = {"words": words, "said": str(said), "stop": strace is not None}
        print(json.dumps(order), file=self._process.stdin, flush=True)
        pid = int(self._process.stdout.readline())
        if strace is not None:
            tracer = subprocess.Popen(["strace", "-f", "-qq", *strace, "-p", str(pid)])
            try:
                _wait_for(lambda: "TracerPid:\t0\n" not in _status(pid), tracer)
                os.kill(pid, signal.SIGCONT)
                code = int(self._process.stdout.readline())
            finally:
                tracer.kill()
                tracer.wait()
        else:
            code = int(self._process.stdout.readline())
        return code, said.read_text(errors="replace")

    def points(self, words: list[str], out: Path) -> list[Point]:
        """Where the command writes below `out`, each place once and in their order."""
        trace = self._folder / "trace.txt"
        code, said = self.run(words, ["-y", "-s", "4096", "-e", f"trace={CALLS}", "-o", str(trace)])
        assert code == 0, said
        made: Counter[tuple[str, str]] = Counter()
        found: dict[Point, None] = {}
        for line in trace.read_text(errors="replace").splitlines():
            if match := _LINE.match(line):
                thread, call, rest = match.groups()
                made[thread, call] += 1
                if str(out) in rest and (call != "openat" or "O_CREAT" in rest):
                    found[Point(call, made[thread, call])] = None
        return list(found)

    def kill(self, words: list[str], at: Point) -> bool:
        """Run the command and kill it there; whether it came so far. All its processes must end."""
        fault = f"inject={at.call}:signal=KILL:when={at.n}"
        how = ["-e", f"trace={at.call}", "-e", fault, "-o", "/dev/null"]
        code, said = self.run(words, how)
        assert code in (0, -signal.SIGKILL), said
        check_all_end(self._mark, [self._process.pid])
        return code != 0

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)
        assert self._process.stdout
        self._process.stdout.close()


@contextmanager
def forge(folder: Path, **env: str) -> Iterator[Forge]:
    """A Forge whose commands see these variables; `folder` is for its own files."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Forge(folder, env)
    try:
        yield made
    finally:
        made.close()


def available() -> bool:
    """Whether strace is there and may look into other processes."""
    if sys.platform != "linux" or shutil.which("strace") is None:
        return False
    return (
        subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0
    )


def _status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


def _wait_for(done: object, tracer: subprocess.Popen[bytes]) -> None:
    assert callable(done)
    give_up = time.monotonic() + 30
    while not done():
        assert tracer.poll() is None, "strace ended"
        assert time.monotonic() < give_up
        time.sleep(0.002)


def _child(order: dict[str, object]) -> None:
    """In the fork: one command, with its words and its own end."""
    said = os.open(str(order["said"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number in (1, 2):
        os.dup2(said, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if order["stop"]:
        os.kill(os.getpid(), signal.SIGSTOP)
    sys.argv = ["trueground", *order["words"]]  # type: ignore[misc]
    from trueground.cli import main

    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    code = 1
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _serve() -> None:
    import importlib
    import pkgutil

    import trueground

    for module in pkgutil.walk_packages(trueground.__path__, "trueground."):
        try:
            if "__main__" not in module.name and ".examples" not in module.name:
                importlib.import_module(module.name)
        except ImportError:  # of what is not installed
            continue
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _child(order)
        if order["stop"]:
            os.waitpid(pid, os.WUNTRACED)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
