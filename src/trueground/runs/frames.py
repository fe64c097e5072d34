"""Lines of a compressed records file, read from the middle of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import zstandard

_PACKED, _PIECE = 1 << 16, 1 << 22  # bytes that are in memory


class Piece(NamedTuple):
    """Some lines of a records file, and the frame that they are in: its byte, its first row."""

    frame: tuple[int, int]
    row: int
    lines: list[bytes]


def read_frames(path: Path, at: int, row: int) -> Iterator[Piece]:
    """The lines of a records file from the frame at byte `at` on, whose first line is of `row`.

    What is cut off, since it is being written, is left for later.
    """
    unpack = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    with path.open("rb") as file:
        file.seek(at)
        packed = b""
        while True:
            frame, first, size, plain = unpack.decompressobj(), row, 0, b""
            while not frame.eof:
                packed = packed or file.read(_PACKED)
                if not packed:
                    return
                part, packed = packed[:_PACKED], packed[_PACKED:]
                size += len(part)
                plain += frame.decompress(part)
                if len(plain) > _PIECE or frame.eof:
                    *lines, plain = plain.split(b"\n")
                    yield Piece((at, first), row, lines)
                    row += len(lines)
            packed = frame.unused_data + packed
            at += size - len(frame.unused_data)
