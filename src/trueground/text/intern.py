"""Byte strings → small integers, many at once, exactly.

A token of up to 8 bytes is its own 64-bit word. Longer tokens are numbered, as are those that end
in NUL, and the number stands under a mark that UTF-8 cannot contain. The words are then interned by
a hash table whose every step is one numpy operation; words are compared in full, so that a hash
collision costs time, never correctness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Words = NDArray[np.uint64]

_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)
_MARK = np.uint64(0xFF << 56)
_DOUBLE_MARK = np.uint64(0xFFFF << 48)
_LIMIT = 0xFF_0000  # so that a pair never looks doubly marked
# Fibonacci hashing by odd multipliers; each round takes the next one.
_MULTIPLIER = 0x9E37_79B9_7F4A_7C15
_STEP = 0x1656_67B1_9E37_79F8


def words(data: NDArray[np.uint8], starts: Ids, ends: Ids) -> Words:
    """One word for each token `data[start:end]`; `data` ends with at least 8 spare bytes."""
    lengths = ends - starts
    # An unaligned view: the eight bytes from each position on.
    eight = np.ndarray((len(data) - 7,), "<u8", buffer=data.data, strides=(1,))
    first: Words = eight[starts] & _MASKS[np.minimum(lengths, 8)]
    longer = np.flatnonzero(lengths > 8)
    if len(longer):
        rest = np.minimum(lengths[longer] - 8, 8)
        second = eight[starts[longer] + 8] & _MASKS[rest]
        seconds = intern(second)
        if seconds.max() >= _LIMIT:
            raise ValueError(f"{len(longer)} long tokens in one batch; use smaller batches")
        pairs = (seconds << 32 | intern(first[longer])).view(np.uint64)
        first[longer] = pairs | _MARK
    # A NUL at the end would not show among the zero bytes that fill up a word.
    longest = np.flatnonzero((lengths > 16) | (data[ends - 1] == 0))
    if len(longest):
        numbers: dict[bytes, int] = {}
        raw = data.tobytes()
        spans = zip(starts[longest].tolist(), ends[longest].tolist(), strict=True)
        numbered = [numbers.setdefault(raw[a:b], len(numbers)) for a, b in spans]
        first[longest] = np.array(numbered, np.uint64) | _DOUBLE_MARK
    return first


def intern(keys: Words) -> Ids:
    """One id for each word: equal words have equal ids, different words different ones.

    Each round gives every still unnamed word a slot of a fresh table; a word that finds itself
    there takes the slot as its id, the others go on to the next round. A slot is read only after
    it was written, so no table needs clearing, and each round settles at least one word. Ids are
    below `len(keys)` times a few.
    """
    bits = max(8, len(keys).bit_length() - 2)
    shift = np.uint64(64 - bits)
    table = np.empty(1 << bits, np.int32)
    mine = keys
    waiting = np.arange(len(keys), dtype=np.int32)
    ids = waiting.astype(np.int64)
    base, multiplier = 0, _MULTIPLIER
    while len(waiting):
        slots = ((mine * np.uint64(multiplier)) >> shift).view(np.int64)
        table[slots] = waiting
        settled = keys[table[slots]] == mine
        if base:
            ids[waiting] = slots + base
        else:
            ids = slots
        waiting = waiting[~settled]
        mine = keys[waiting]
        base += 1 << bits
        multiplier = (multiplier + _STEP) % (1 << 64)
    return ids
