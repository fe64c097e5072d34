"""The weights of a block of resamples, and arrays that are used again from block to block.

Fresh arrays of this size come from the system page by page, which costs more than the arithmetic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.stats.human.types import Floats, Ints

Counts = NDArray[np.int32]


class Weights(NamedTuple):
    """How often each unit was drawn, shape (resamples, units); sums of whole numbers are faster."""

    counts: Counts
    floats: Floats

    @classmethod
    def of(cls, counts: NDArray[Any]) -> Weights:
        """Both forms."""
        return cls(counts.astype(np.int32), counts.astype(np.float64))

    @classmethod
    def once(cls, units: int) -> Weights:
        """The sample itself, shape (1, units)."""
        return cls.of(np.ones((1, units)))

    def __len__(self) -> int:
        return len(self.counts)


class Scratch:
    """Room for intermediate arrays of one thread, by name."""

    def __init__(self) -> None:
        self._room: dict[tuple[str, type], NDArray[Any]] = {}

    def room(self, name: str, rows: int, size: int, dtype: type = np.float64) -> NDArray[Any]:
        """An array (rows, size) of no set content; the next call with this name overwrites it."""
        flat = self._room.get((name, dtype))
        if flat is None or flat.size < rows * size:
            flat = self._room[name, dtype] = np.empty(rows * size, dtype)
        return flat[: rows * size].reshape(rows, size)

    def take(self, name: str, values: NDArray[Any], index: Ints) -> NDArray[Any]:
        """values[:, index], shape (rows, len(index)), in the room of this name."""
        out = self.room(name, len(values), len(index), values.dtype.type)
        return np.take(values, index, axis=1, out=out, mode="clip") if len(index) else out

    def summed_up(self, name: str, counts: Counts) -> Counts:
        """The sums of none, of the first, of the first two … of a row, shape (rows, size + 1)."""
        out = self.room(name, len(counts), counts.shape[1] + 1, np.int32)
        out[:, 0] = 0
        np.cumsum(counts, axis=1, out=out[:, 1:])
        return out

    def floats(self, name: str, values: NDArray[Any]) -> Floats:
        """The values as floating-point numbers, in the room of this name."""
        found = self.room(name, *values.shape)
        found[...] = values
        return found


def dots(a: NDArray[Any], b: NDArray[Any]) -> Floats:
    """The scalar product of each row of `a` with that of `b`, shape (rows,)."""
    return np.asarray(np.einsum("ij,ij->i", a, b), np.float64)
