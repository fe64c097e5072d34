"""Child processes. Each one ends when its parent ends, however the parent dies.

Nothing else in the package starts a process. Every child holds the read end of a pipe, and only its
parent holds the write end. When the parent is gone, even by kill -9, the operating system closes
the write end, and the child exits.

Worker processes leave Ctrl-C to their parent from their first moment: a terminal sends it to every
process of a command, and a worker that is still importing would end with a traceback. So this
module imports little, because each child imports it first.

`python -P -m trueground.execution.processes MODULE` is the command of a `ChildProcess`. Only what
another library starts, such as a Ray cluster, is outside this design: see `library_processes`.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from importlib import import_module
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

STDIN = 0
MAX_LINE_BYTES = 1 << 28  # of a child's output that is read line by line
_REAPER = "reaper"  # in place of a module
_REAPER_SECONDS = 3.0  # for which it looks for processes that are left, at most
_QUIET_ROUNDS = 3  # in which it finds none before it ends
_TREE_VARIABLE = "TRUEGROUND_PROCESS_TREE"
_reapers: list[subprocess.Popen[bytes]] = []


class WorkerPool(ProcessPoolExecutor):
    """Spawned processes that each call `start(*args)` before their first task.

    `start` and `args` must be picklable. A `with` block that ends by an exception kills the
    processes, because nobody waits for their results any more.
    """

    def __init__(self, workers: int, start: Callable[..., object], *args: Any) -> None:
        context = multiprocessing.get_context("spawn")
        # Pickled here, so that a worker imports what `start` needs once it ignores Ctrl-C.
        packed = pickle.dumps((start, args))
        super().__init__(workers, context, initializer=_begin_worker, initargs=(packed,))

    def submit(self, *work: Any, **options: Any) -> Future[Any]:
        """Submit a task as the base class does.

        A process that starts meanwhile ignores Ctrl-C. An exception that cannot be pickled arrives
        as a WorkerError.
        """
        with _interrupts_held():
            return super().submit(_run_picklably, *work, **options)

    def kill(self) -> None:
        """Kill all processes at once; tasks that run are lost."""
        for process in list((self._processes or {}).values()):
            process.kill()

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> bool | None:
        """Wait for all tasks; after an exception, such as that of Ctrl-C, kill the processes."""
        if kind is not None:
            self.kill()
        self.shutdown(wait=True, cancel_futures=kind is not None)
        return None


class ChildProcess(subprocess.Popen[bytes]):
    """A process that calls `main(words)` of a module.

    Its standard output is a pipe. It ends when its standard input is closed, so keep that open.
    Ctrl-C at a terminal does not reach it.
    """

    def __init__(self, module: str, *words: str) -> None:
        """Start the process.

        Args:
            module: The module's full name.
            words: The arguments. They do not appear in lists of processes.
        """
        super().__init__(
            _command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its output will be empty
            self.stdin.write(_pack(words))
            self.stdin.flush()

    @staticmethod
    async def start_async(module: str, *words: str) -> asyncio.subprocess.Process:
        """Start such a process from an event loop; its standard error is a pipe, too."""
        import asyncio

        process = await asyncio.create_subprocess_exec(
            *_command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            limit=MAX_LINE_BYTES,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(_pack(words))
        return process


@contextlib.contextmanager
def library_processes(*, end_with_us: bool) -> Iterator[None]:
    """Let another library start processes in the block; a Ctrl-C meanwhile is raised after it.

    Args:
        end_with_us: Kill what it starts once this process ends.
    """
    ending = _ending_with_us() if end_with_us else contextlib.nullcontext()
    with ending, _interrupts_deferred():
        yield


@contextlib.contextmanager
def _ending_with_us() -> Iterator[None]:
    """Kill what another library starts in the block, and its descendants, once this process ends.

    They inherit an environment variable, and a process that waits for the end of this one looks for
    it. That takes /proc; on systems without it nothing is done.
    """
    if sys.platform != "linux":
        yield
        return
    name, value = _TREE_VARIABLE, uuid.uuid4().hex
    reaper = subprocess.Popen(
        _command(_REAPER),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert reaper.stdin is not None
    reaper.stdin.write(_pack([name, value]))
    reaper.stdin.flush()
    _reapers.append(reaper)  # its pipe is open as long as this process lives
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


def _command(module: str) -> list[str]:
    return [sys.executable, "-P", "-m", __name__, module]


def _pack(words: Sequence[str]) -> bytes:
    return json.dumps(words).encode() + b"\n"


@contextlib.contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Raise KeyboardInterrupt after the block for a Ctrl-C within it.

    For calls into libraries that a Ctrl-C in their midst would leave half started. Outside the main
    thread, which alone gets interrupts, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if noted:
            raise KeyboardInterrupt


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Deliver Ctrl-C after the block, and to no process that starts within it.

    A process inherits the signal mask of the thread that starts it.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# What follows runs in the children.


def _begin_worker(packed: bytes) -> None:
    """Run first in every worker."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    _end_on_close(parent.sentinel, lambda: wait([parent.sentinel]))
    with contextlib.suppress(ValueError):  # not in the main thread: no signals come here
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    start, args = pickle.loads(packed)
    start(*args)


def _run_picklably(work: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return work(*args, **options)
    except BaseException as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            from trueground.errors import WorkerError
            from trueground.net import raised

            raise WorkerError(f"the work of a process failed: {raised(error)}") from error
        raise


def _end_on_close(pipe: int, wait_for_close: Callable[[], object]) -> None:
    """Exit as soon as the write end of the pipe is closed; nothing more may be written to it.

    A thread waits for that. On Linux the kernel kills the process besides, because a thread cannot
    run while native code holds the interpreter lock.
    """
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)

    def end() -> None:
        wait_for_close()
        os._exit(1)

    threading.Thread(target=end, name="end with parent", daemon=True).start()


def _reap(name: str, value: str) -> None:
    """Wait for the parent's end, then kill all processes with this environment variable."""
    os.read(STDIN, 1)
    entry = f"{name}={value}".encode()
    deadline, quiet_rounds = time.monotonic() + _REAPER_SECONDS, 0
    while quiet_rounds < _QUIET_ROUNDS and time.monotonic() < deadline:
        quiet_rounds += 1
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended, or belongs to another user
                if entry in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)
                    quiet_rounds = 0
        time.sleep(0.1)


def main(module: str) -> None:
    """Call `main` of a module with the words that the parent wrote to standard input."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):  # the parent has ended
        os._exit(1)
    if module == _REAPER:
        _reap(*json.loads(line))
        return
    _end_on_close(STDIN, lambda: os.read(STDIN, 1))
    import_module(module).main(json.loads(line))


if __name__ == "__main__":
    main(sys.argv[1])
