"""Worker processes that leave Ctrl-C to their parent from their first moment on.

A terminal sends Ctrl-C to every process of a command. One that is still importing would end with a
traceback of its own. This module imports next to nothing, so that a worker gets here first.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any


class WorkerPool(ProcessPoolExecutor):
    """Spawned processes, each of which calls `start(*given)` before its first piece of work.

    `start` and `given` must be picklable.
    """

    def __init__(self, workers: int, start: Callable[..., None], *given: Any) -> None:
        context = multiprocessing.get_context("spawn")
        # Packed, so that what `start` imports is imported only once Ctrl-C is ignored.
        packed = pickle.dumps((start, given))
        super().__init__(workers, context, initializer=_begin, initargs=(packed,))

    def submit(self, *work: Any, **named: Any) -> Future[Any]:
        """As its base does; a process that is born meanwhile is born deaf to Ctrl-C, and what
        cannot come back as it was raised comes as a WorkerError.
        """
        with _interrupts_held():
            return super().submit(_readably, *work, **named)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C comes after the block, and to no process that begins within it.

    A process inherits the mask of the thread that starts it. Windows has no masks: there Ctrl-C can
    still reach a worker until `_begin` runs.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _readably(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    try:
        return work(*given, **named)
    except BaseException as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            from trueground.errors import WorkerError
            from trueground.net.redact import raised

            raise WorkerError(f"the work of a process failed: {raised(error)}") from error
        raise


def _begin(packed: bytes) -> None:
    """Runs first in every worker."""
    with contextlib.suppress(ValueError):  # not in the main thread: no signals come here
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    start, given = pickle.loads(packed)
    start(*given)
