"""Tiles side by side, each computed by one thread alone.

How a library shares a product out among several threads decides the order of its sums, and so its
last bits. Here every tile has one thread, and a machine with more cores computes more tiles at a
time: how many there are changes no number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from importlib.metadata import PackageNotFoundError, version
from threading import Barrier
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """How many tiles at a time: OMP_NUM_THREADS, else the cores that this process may use."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def named(runtime: str, *packages: str) -> str:
    """The library with its major and minor version, such as torch-2.13; found without importing."""
    for package in (runtime, *packages):
        try:
            return "-".join((runtime, ".".join(version(package).split(".")[:2])))
        except PackageNotFoundError:
            continue
    return runtime


class Workers:
    """Threads, as many as `cores`; `begin` is called once in each of them."""

    def __init__(self, begin: Callable[[], None] = lambda: None) -> None:
        number = cores()
        self._pool = ThreadPoolExecutor(number, thread_name_prefix="trueground-tiles")
        # All of them now: what `begin` changes for the process can be put right afterwards.
        barrier = Barrier(number)

        def together() -> None:
            try:
                begin()
            finally:
                barrier.wait()

        starts = [self._pool.submit(together) for _ in range(number)]
        wait(starts)
        for start in starts:
            start.result()

    def map(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """What `work` makes of each item, in their order; the first exception comes out here."""
        return self._pool.map(work, items)

    def close(self) -> None:
        """End the threads, when what they are at is done."""
        self._pool.shutdown(cancel_futures=True)
