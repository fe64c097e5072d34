"""Rows of tokens, computed in tiles of fixed shape, so that a row's numbers depend on it alone.

Matrix products choose their order of summing by shape: the same row in a batch of another size may
differ in its last bits. So a tile always has the same number of rows, filled up with repetitions,
and a length that each row's own length settles. Rows without padding have tiles of their own:
libraries leave the mask out where nothing is masked, and then sum otherwise.

How a library shares a product out among several threads decides the order of its sums, and so its
last bits. Here every tile has one thread, and a machine with more cores computes more tiles at a
time: how many there are changes no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from threading import Barrier
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Floats
from trueground.execution import cores

Whole = NDArray[np.int64]
T = TypeVar("T")
R = TypeVar("R")
# Tokens of a tile, and the numbers of its rows.
Part = tuple[int, list[int]]
Each = Callable[[Callable[[Part], Floats], Iterable[Part]], Iterator[Floats]]
ROWS = 8
STEP = 16


class TileRow(NamedTuple):
    """One input: token ids and which of two texts each belongs to, shape (tokens,)."""

    ids: NDArray[np.int32]
    types: NDArray[np.int32]


@dataclass(frozen=True)
class TokenTile:
    """The model's input, shape (rows, tokens); `mask` is 1 where no padding is."""

    ids: Whole
    mask: Whole
    types: Whole


@dataclass(frozen=True)
class Shape:
    """`rows` in a tile; lengths are rounded up to multiples of `step`, but not beyond `window`."""

    rows: int
    step: int
    window: int
    padding: int

    def bucket(self, length: int) -> tuple[int, bool]:
        """(tokens of the tile, whether the row fills it): a function of the row's length alone."""
        tokens = min(-(-length // self.step) * self.step, max(self.window, length))
        return tokens, tokens == length


def compute_in_tiles(
    rows: Sequence[TileRow],
    shape: Shape,
    width: int,
    compute: Callable[[TokenTile], Floats],
    each: Each = map,
) -> Floats:
    """Each row's numbers, shape (n, width); `compute` gives (rows of the tile, width).

    `each` does the work for all parts and gives the results in their order.
    """
    out = np.empty((len(rows), width), np.float32)
    buckets: dict[tuple[int, bool], list[int]] = {}
    for number, row in enumerate(rows):
        buckets.setdefault(shape.bucket(len(row.ids)), []).append(number)
    parts = [
        (tokens, numbers[start : start + shape.rows])
        # The longest first: nobody waits at the end for one who has begun a long one late.
        for (tokens, _), numbers in sorted(buckets.items(), reverse=True)
        for start in range(0, len(numbers), shape.rows)
    ]

    def one(tokens_part: Part) -> Floats:
        tokens, part = tokens_part
        filled = [rows[part[place % len(part)]] for place in range(shape.rows)]
        return compute(_lay_out(filled, tokens, shape.padding))[: len(part)]

    for (_, part), numbers in zip(parts, each(one, parts), strict=True):
        out[part] = numbers
    return out


def _lay_out(rows: Sequence[TileRow], tokens: int, padding: int) -> TokenTile:
    ids = np.full((len(rows), tokens), padding, np.int64)
    mask = np.zeros((len(rows), tokens), np.int64)
    types = np.zeros((len(rows), tokens), np.int64)
    for place, row in enumerate(rows):
        length = len(row.ids)
        ids[place, :length] = row.ids
        mask[place, :length] = 1
        types[place, :length] = row.types
    return TokenTile(ids, mask, types)


def library_version(runtime: str, *packages: str) -> str:
    """The library with its major and minor version, such as torch-2.13; without importing it."""
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
        """Results of `work` in the order of the items; the first exception comes out here."""
        return self._pool.map(work, items)

    def close(self) -> None:
        """End the threads, when their tiles are done."""
        self._pool.shutdown(cancel_futures=True)
