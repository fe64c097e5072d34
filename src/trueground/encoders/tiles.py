"""Rows of tokens computed in tiles of fixed shape, so that a row's numbers depend on it alone.

Matrix products choose their order of summing by shape: the same row in a batch of another size may
differ in its last bits. So a tile always has the same number of rows, filled up with repetitions,
and a length that each row's own length settles. Rows without padding have tiles of their own:
libraries leave the mask out where nothing is masked, and then sum otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Floats

Whole = NDArray[np.int64]
ROWS = 8
STEP = 16


class Row(NamedTuple):
    """One input: token ids and which of two texts each belongs to, shape (tokens,)."""

    ids: NDArray[np.int32]
    types: NDArray[np.int32]


@dataclass(frozen=True)
class Tile:
    """What the model is given, shape (rows, tokens); `mask` is 1 where no padding is."""

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


def in_tiles(
    rows: Sequence[Row], shape: Shape, width: int, compute: Callable[[Tile], Floats]
) -> Floats:
    """Each row's numbers, shape (n, width); `compute` gives (rows of the tile, width)."""
    out = np.empty((len(rows), width), np.float32)
    buckets: dict[tuple[int, bool], list[int]] = {}
    for number, row in enumerate(rows):
        buckets.setdefault(shape.bucket(len(row.ids)), []).append(number)
    for (tokens, _), numbers in sorted(buckets.items()):
        for start in range(0, len(numbers), shape.rows):
            part = numbers[start : start + shape.rows]
            filled = [part[place % len(part)] for place in range(shape.rows)]
            tile = _laid_out([rows[number] for number in filled], tokens, shape.padding)
            out[part] = compute(tile)[: len(part)]
    return out


def _laid_out(rows: Sequence[Row], tokens: int, padding: int) -> Tile:
    ids = np.full((len(rows), tokens), padding, np.int64)
    mask = np.zeros((len(rows), tokens), np.int64)
    types = np.zeros((len(rows), tokens), np.int64)
    for place, row in enumerate(rows):
        length = len(row.ids)
        ids[place, :length] = row.ids
        mask[place, :length] = 1
        types[place, :length] = row.types
    return Tile(ids, mask, types)
