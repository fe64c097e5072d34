"""Tiles: their shape follows from the row alone, and every row comes back in its place."""

from __future__ import annotations

import random

import numpy as np
import pytest

from trueground.encoders.base import Floats
from trueground.encoders.tiles import Shape, TileRow, TokenTile, compute_in_tiles

CPU = Shape(rows=8, step=16, window=128, padding=9)


def row(length: int, start: int = 0) -> TileRow:
    ids = np.arange(start, start + length, dtype=np.int32)
    return TileRow(ids, ids % 2)


def sums(tile: TokenTile) -> Floats:
    """(sum of ids, tokens, sum of types): what only the row itself should settle."""
    kept = tile.ids * tile.mask
    return np.stack(
        [kept.sum(axis=1), tile.mask.sum(axis=1), tile.types.sum(axis=1)], axis=1
    ).astype(np.float32)


def test_every_row_comes_back_in_its_place() -> None:
    lengths = [random.Random(0).randint(1, 128) for _ in range(100)]
    rows = [row(length, start) for start, length in enumerate(lengths)]
    shapes = set[tuple[int, ...]]()

    def compute(tile: TokenTile) -> Floats:
        shapes.add(tile.ids.shape)
        assert (tile.ids[tile.mask == 0] == 9).all()
        return sums(tile)

    found = compute_in_tiles(rows, CPU, 3, compute)
    assert found.tolist() == [[float(r.ids.sum()), len(r.ids), float(r.types.sum())] for r in rows]
    assert {rows for rows, _ in shapes} == {8}
    assert all(tokens % 16 == 0 for _, tokens in shapes)


def test_rows_without_padding_are_never_beside_rows_with_it() -> None:
    rows = [row(length) for length in (16, 15, 16, 3, 128, 127, 128)]

    def compute(tile: TokenTile) -> Floats:
        assert len(set(tile.mask.all(axis=1).tolist())) == 1
        return sums(tile)

    assert compute_in_tiles(rows, CPU, 3, compute)[:, 1].tolist() == [len(r.ids) for r in rows]


@pytest.mark.parametrize(
    ("length", "expected"),
    [(1, (16, False)), (16, (16, True)), (17, (32, False)), (99, (100, False))],
)
def test_no_tile_is_longer_than_the_window(length: int, expected: tuple[int, bool]) -> None:
    assert Shape(8, 16, 100, 0).bucket(length) == expected


def test_a_row_alone_has_its_own_length() -> None:
    alone = Shape(1, 1, 128, 0)
    shapes: list[tuple[int, ...]] = []

    def compute(tile: TokenTile) -> Floats:
        shapes.append(tile.ids.shape)
        return sums(tile)

    compute_in_tiles([row(5), row(3), row(5)], alone, 3, compute)
    assert shapes == [(1, 5), (1, 5), (1, 3)]


def test_no_rows() -> None:
    assert compute_in_tiles([], CPU, 3, sums).shape == (0, 3)
