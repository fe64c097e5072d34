"""Where shards are worked on: processes of this machine, or a Ray cluster.

Both run one function on many arguments, in any order, `workers` at once: `run` calls `done(number,
result)` for each task that succeeds, and returns the errors of the others. A task whose process is
lost, or that fails as nothing of ours does, is tried three times in all. With `weights` it loads a
model: where a cluster has GPUs, each task gets one.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from typing import Any

from trueground.errors import MissingExtraError, TruegroundError, UsageError, WorkerError
from trueground.execution import WorkerPool, library_processes

ATTEMPTS = 3
_KNOCK_S = 10.0  # to reach the head of a cluster
Tasks = Mapping[int, tuple[Any, ...]]
Done = Callable[[int, Any], None]


def make_engine(name: str, workers: int | None) -> Engine:
    """`local`, `ray` or `ray:ADDRESS`. UsageError: another name. MissingExtraError: no Ray."""
    kind, _, address = name.partition(":")
    if kind == "local" and not address:
        return LocalEngine(workers or max(1, os.cpu_count() or 1))
    if kind == "ray":
        return RayEngine(address or None, workers)
    raise UsageError(f"--engine {name}: expected local, ray, or ray:ADDRESS such as ray:auto")


class _Attempts:
    """Which tasks are still to do, and what became of those that failed."""

    def __init__(self, tasks: Tasks) -> None:
        self.waiting = list(tasks)
        self.failed: dict[int, TruegroundError] = {}
        self._tried: dict[int, int] = {}

    def fail(self, number: int, error: BaseException) -> None:
        """Let the task wait again, or give it up."""
        tried = self._tried[number] = self._tried.get(number, 0) + 1
        final = isinstance(error, TruegroundError) and not isinstance(error, WorkerError)
        if not final and tried < ATTEMPTS:
            self.waiting.append(number)
            return
        if not isinstance(error, TruegroundError):
            error = WorkerError(f"{type(error).__name__}: {error}")
        self.failed[number] = error


class LocalEngine:
    """Processes of this machine; one alone is this process itself."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(
        self, work: Callable[..., Any], tasks: Tasks, done: Done, weights: bool = False
    ) -> dict[int, TruegroundError]:
        attempts = _Attempts(tasks)
        if min(self.workers, len(tasks)) == 1:
            while attempts.waiting:
                number = attempts.waiting.pop(0)
                try:
                    result = work(*tasks[number])
                except Exception as error:
                    attempts.fail(number, error)
                else:
                    done(number, result)
            return attempts.failed
        # A pool for each process: where one is lost, the others know nothing of it.
        pools: list[WorkerPool] = []
        try:
            self._in_processes(work, tasks, attempts, done, pools)
        except BaseException:
            for pool in pools:
                pool.kill()  # a shard takes minutes, and is written whole or not at all
            raise
        finally:
            for pool in pools:
                pool.shutdown(wait=True, cancel_futures=True)
        return attempts.failed

    def _in_processes(
        self,
        work: Callable[..., Any],
        tasks: Tasks,
        attempts: _Attempts,
        done: Done,
        pools: list[WorkerPool],
    ) -> None:
        free: list[WorkerPool] = []
        under_way: dict[Future[Any], tuple[int, WorkerPool]] = {}
        while attempts.waiting or under_way:
            while attempts.waiting and len(under_way) < self.workers:
                if not free:
                    pools.append(pool := WorkerPool(1, bool))
                    free.append(pool)
                number, pool = attempts.waiting.pop(0), free.pop()
                under_way[pool.submit(work, *tasks[number])] = number, pool
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                number, pool = under_way.pop(future)
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    lost = "its process was lost, perhaps for want of memory"
                    attempts.fail(number, WorkerError(lost))
                    continue
                free.append(pool)
                if error is not None:
                    attempts.fail(number, error)
                else:
                    done(number, future.result())


def _knock(address: str | None) -> None:
    """OSError where nobody listens at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and "://" not in host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S).close()


class RayEngine:
    """Tasks of Ray Core. `workers` are at most so many at once; None: what the cluster has."""

    def __init__(self, address: str | None, workers: int | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise MissingExtraError("--engine ray", "ray") from None
        self._ray = ray
        if not ray.is_initialized():
            own: dict[str, Any] = {} if address else {"num_cpus": workers}
            try:
                _knock(address)
                with library_processes(end_with_us=not address):
                    ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **own)
            except Exception as error:  # Ray raises many kinds
                reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
                told = f"--engine ray: a cluster of its own could not be started: {reason}"
                if address is not None:
                    told = (
                        f"--engine ray:{address}: no Ray cluster is reached there ({reason}); "
                        "start one with `ray start --head` and give its HOST:PORT, or leave the "
                        "address out for one of its own"
                    )
                raise WorkerError(told) from error
        self._has = dict(ray.cluster_resources())
        self.workers = workers or max(1, int(self._has.get("CPU", 1)))

    def run(
        self, work: Callable[..., Any], tasks: Tasks, done: Done, weights: bool = False
    ) -> dict[int, TruegroundError]:
        ray, attempts = self._ray, _Attempts(tasks)
        task = ray.remote(work).options(
            max_retries=0, num_cpus=1, num_gpus=int(weights and bool(self._has.get("GPU")))
        )
        under_way: dict[Any, int] = {}
        while attempts.waiting or under_way:
            while attempts.waiting and len(under_way) < self.workers:
                number = attempts.waiting.pop(0)
                under_way[task.remote(*tasks[number])] = number
            for future in ray.wait(list(under_way))[0]:
                number = under_way.pop(future)
                try:
                    result = ray.get(future)
                except ray.exceptions.RayTaskError as error:
                    attempts.fail(number, error.cause or error)
                except ray.exceptions.RayError as error:
                    lost = f"its worker was lost ({type(error).__name__})"
                    attempts.fail(number, WorkerError(lost))
                else:
                    done(number, result)
        return attempts.failed


Engine = LocalEngine | RayEngine
