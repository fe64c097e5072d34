"""An index of words: which answers of a run have some words in them.

A segment covers some rows: its words, each once, and the rows that each stands in. A query's word
is looked for in the words, not in the texts, so that a search reads a few megabytes where the
texts have hundreds; it finds what a search of the texts would find.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 1 << 16  # of a segment; a row's place in it has 16 bits
_FEW = 64  # words whose rows are taken one by one


class Segment(msgspec.Struct, array_like=True):
    """Where a segment lies in its file: words, their ends and those of their rows, the rows."""

    first_row: int
    rows: int
    at: int
    words: int
    text: int  # bytes of the words
    places: int


class SegmentWriter:
    """Collects the words of rows that follow one another."""

    def __init__(self, first_row: int) -> None:
        self._first_row = first_row
        self._known: defaultdict[str, int] = defaultdict()
        self._known.default_factory = self._known.__len__  # the next number
        self._numbers = array("i")
        self._counts: list[int] = []

    def add(self, text: str) -> None:
        """The words of the next row."""
        words = set(text.lower().split())
        self._numbers.extend(map(self._known.__getitem__, words))
        self._counts.append(len(words))

    def write(self, out: BinaryIO, at: int) -> tuple[Segment, int]:
        """Write the segment, of which the file has `at` bytes before; and the bytes behind it.

        Nothing can be added after that.
        """
        self._known.default_factory = None  # which would keep it in memory
        numbers = np.frombuffer(self._numbers, np.int32)
        rows = np.repeat(np.arange(len(self._counts), dtype=np.uint16), self._counts)
        places = rows[np.argsort(numbers, kind="stable")]
        counts = np.bincount(numbers, minlength=len(self._known))
        words = [word.encode("utf-8", "surrogatepass") for word in self._known]
        ends = np.cumsum([len(word) + 1 for word in words], dtype=np.uint32)
        text = b"\n".join(words) + b"\n" if words else b""
        parts = (text, ends.tobytes(), np.cumsum(counts, dtype=np.uint32).tobytes())
        size = 0
        for part in (*parts, places.tobytes()):
            size += out.write(part)
        found = Segment(self._first_row, len(self._counts), at, len(words), len(text), len(places))
        return found, at + size


def find_rows(path: Path, segments: Iterable[Segment], word: str, count: int) -> NDArray[np.bool_]:
    """Which of `count` rows have a word with these letters in it."""
    found = np.zeros(count, np.bool_)
    needle = word.lower().encode("utf-8", "surrogatepass")
    with path.open("rb", buffering=0) as file:
        for segment in segments:
            file.seek(segment.at)
            text = file.read(segment.text)
            which = _words_with(text, needle, file.read(4 * segment.words))
            if not len(which):
                continue
            ends = np.frombuffer(file.read(4 * segment.words), np.uint32)
            rows = _rows_of(file, segment, which, ends)
            found[segment.first_row + rows.astype(np.int64)] = True
    return found


def _words_with(text: bytes, needle: bytes, ends: bytes) -> NDArray[np.int64]:
    """The numbers of the words that have the letters in them, ascending."""
    if len(needle) == 1:
        at = np.flatnonzero(np.frombuffer(text, np.uint8) == needle[0])
    else:
        places = []
        place = text.find(needle)
        while place >= 0:
            places.append(place)
            place = text.find(needle, place + 1)
        at = np.array(places, np.int64)
    found = np.zeros(len(ends) // 4, np.bool_)
    found[np.searchsorted(np.frombuffer(ends, np.uint32), at, side="right")] = True
    return np.flatnonzero(found)


def _rows_of(
    file: FileIO, segment: Segment, which: NDArray[np.int64], ends: NDArray[np.uint32]
) -> NDArray[np.uint16]:
    """The rows in which any of these words stands, counted within the segment."""
    places = segment.at + segment.text + 8 * segment.words
    starts = np.concatenate([np.zeros(1, np.uint32), ends[:-1]])
    parts = []
    if len(which) <= _FEW:
        for word in which.tolist():
            file.seek(places + 2 * int(starts[word]))
            size = 2 * (int(ends[word]) - int(starts[word]))
            parts.append(np.frombuffer(file.read(size), np.uint16))
        return np.concatenate(parts)
    file.seek(places)
    every = np.frombuffer(file.read(2 * segment.places), np.uint16)
    wanted = np.zeros(segment.words, np.bool_)
    wanted[which] = True
    return every[np.repeat(wanted, np.diff(ends, prepend=np.uint32(0)))]
