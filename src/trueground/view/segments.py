"""An index of words for searching the answers of a run.

A segment covers a range of rows. It has each of their words once, and the rows of each word. A
search looks in the words instead of the texts, so that it reads a few megabytes instead of
hundreds. It finds the same rows as a search of the texts.
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

MAX_SEGMENT_ROWS = 1 << 16  # a row's number in its segment has 16 bits
_MAX_SEEKS = 64  # words whose rows are read separately


class Segment(msgspec.Struct, array_like=True):
    """A segment in its file: the words, their ends, the ends of their rows, and the rows.

    Attributes:
        first_row: The first row of the segment.
        rows: The number of rows.
        at: The offset in the file, in bytes.
        words: The number of words.
        text: The size of the words in bytes.
        places: The number of pairs of a word and a row.
    """

    first_row: int
    rows: int
    at: int
    words: int
    text: int
    places: int


class SegmentWriter:
    """Collects the words of consecutive rows."""

    def __init__(self, first_row: int) -> None:
        self._first_row = first_row
        self._vocabulary: defaultdict[str, int] = defaultdict()
        self._vocabulary.default_factory = self._vocabulary.__len__  # the next number
        self._numbers = array("i")
        self._counts: list[int] = []

    def add(self, text: str) -> None:
        """Add the words of the next row."""
        tokens = set(text.lower().split())
        self._numbers.extend(map(self._vocabulary.__getitem__, tokens))
        self._counts.append(len(tokens))

    def write(self, out: BinaryIO, at: int) -> tuple[Segment, int]:
        """Write the segment at offset `at`, and return it with the offset of its end.

        No rows can be added afterwards.
        """
        self._vocabulary.default_factory = None  # breaks the reference cycle, which frees memory
        numbers = np.frombuffer(self._numbers, np.int32)
        rows = np.repeat(np.arange(len(self._counts), dtype=np.uint16), self._counts)
        rows_by_word = rows[np.argsort(numbers, kind="stable")]
        counts = np.bincount(numbers, minlength=len(self._vocabulary))
        encoded = [word.encode("utf-8", "surrogatepass") for word in self._vocabulary]
        ends = np.cumsum([len(word) + 1 for word in encoded], dtype=np.uint32)
        text = b"\n".join(encoded) + b"\n" if encoded else b""
        row_ends = np.cumsum(counts, dtype=np.uint32)
        size = 0
        for part in (text, ends.tobytes(), row_ends.tobytes(), rows_by_word.tobytes()):
            size += out.write(part)
        segment = Segment(
            first_row=self._first_row,
            rows=len(self._counts),
            at=at,
            words=len(encoded),
            text=len(text),
            places=len(rows_by_word),
        )
        return segment, at + size


def find_rows(path: Path, segments: Iterable[Segment], word: str, count: int) -> NDArray[np.bool_]:
    """Return which rows have a word that contains `word`, shape (count,)."""
    has_word = np.zeros(count, np.bool_)
    needle = word.lower().encode("utf-8", "surrogatepass")
    with path.open("rb", buffering=0) as file:
        for segment in segments:
            file.seek(segment.at)
            text = file.read(segment.text)
            word_numbers = _find_words(text, needle, file.read(4 * segment.words))
            if not len(word_numbers):
                continue
            ends = np.frombuffer(file.read(4 * segment.words), np.uint32)
            rows = _read_rows(file, segment, word_numbers, ends)
            has_word[segment.first_row + rows.astype(np.int64)] = True
    return has_word


def _find_words(text: bytes, needle: bytes, ends: bytes) -> NDArray[np.int64]:
    """Return the numbers of the words that contain the needle, ascending."""
    if len(needle) == 1:
        at = np.flatnonzero(np.frombuffer(text, np.uint8) == needle[0])
    else:
        offsets = []
        offset = text.find(needle)
        while offset >= 0:
            offsets.append(offset)
            offset = text.find(needle, offset + 1)
        at = np.array(offsets, np.int64)
    contains = np.zeros(len(ends) // 4, np.bool_)
    contains[np.searchsorted(np.frombuffer(ends, np.uint32), at, side="right")] = True
    return np.flatnonzero(contains)


def _read_rows(
    file: FileIO, segment: Segment, word_numbers: NDArray[np.int64], ends: NDArray[np.uint32]
) -> NDArray[np.uint16]:
    """Return the rows of these words, counted from the first row of the segment."""
    start = segment.at + segment.text + 8 * segment.words
    starts = np.concatenate([np.zeros(1, np.uint32), ends[:-1]])
    parts = []
    if len(word_numbers) <= _MAX_SEEKS:
        for word in word_numbers.tolist():
            file.seek(start + 2 * int(starts[word]))
            size = 2 * (int(ends[word]) - int(starts[word]))
            parts.append(np.frombuffer(file.read(size), np.uint16))
        return np.concatenate(parts)
    file.seek(start)
    all_rows = np.frombuffer(file.read(2 * segment.places), np.uint16)
    is_selected = np.zeros(segment.words, np.bool_)
    is_selected[word_numbers] = True
    return all_rows[np.repeat(is_selected, np.diff(ends, prepend=np.uint32(0)))]
