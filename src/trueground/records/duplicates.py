"""Which ids occur more than once, in 8 bytes a row.

The first pass keeps a 64-bit hash of every id. Only hashes that repeat lead to a second look, at
the ids themselves, so that two ids that merely share a hash are never called the same.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from hashlib import blake2b

import numpy as np


def hash_id(record_id: str) -> bytes:
    """The 8-byte BLAKE2b digest of an id."""
    return blake2b(record_id.encode(), digest_size=8).digest()


class SeenIds:
    """The hashes of all ids of a pass."""

    def __init__(self) -> None:
        self._hashes = array("Q")

    def add(self, record_id: str) -> None:
        """Notes one id."""
        self._hashes.frombytes(hash_id(record_id))

    def repeated(self) -> RepeatedIds | None:
        """The hashes that were noted more than once, or None; forgets all others."""
        hashes = np.frombuffer(self._hashes, dtype=np.uint64)
        hashes.sort()
        twice = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        del hashes
        self._hashes = array("Q")
        return RepeatedIds(array("Q", twice.tobytes())) if twice.size else None


class RepeatedIds:
    """Ids whose hash repeats; `first_place` tells true repeats from mere hash collisions.

    Memory grows with the number of different ids that occur more than once.
    """

    def __init__(self, hashes: array[int]) -> None:
        self._hashes = hashes
        self._places: dict[str, str] = {}

    def first_place(self, record_id: str, place: str) -> str | None:
        """Where this very id stood before; None (and it is noted) where it did not."""
        value = int.from_bytes(hash_id(record_id), sys.byteorder)
        i = bisect_left(self._hashes, value)
        if i == len(self._hashes) or self._hashes[i] != value:
            return None
        first = self._places.setdefault(record_id, place)
        return None if first is place else first
