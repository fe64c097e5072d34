"""Fast tokenization: a batch of texts becomes one flat array of token ids with offsets.

Everything is done on bytes with numpy: one translation of the whole batch, one search for token
boundaries, one interning of all tokens. Two tokens have the same id if and only if their UTF-8
bytes are the same. Compare ids only within one `Tokens`.

This is the fastest path of the package, and its speed is published. Its comprehensions stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trueground.text import Normalizer

Ids = NDArray[np.int64]
Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

# Neither byte occurs in UTF-8. 0xFF ends a text, and 0xFE replaces a control character.
_END = 0xFF
_CONTROL = 0xFE
_PADDING = b"\x20" * 16
_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)
_MARK = np.uint64(0xFF << 56)
_DOUBLE_MARK = np.uint64(0xFFFF << 48)
MAX_LONG_TOKENS = 0xFF_0000  # With more, a pair could look doubly marked.
# Fibonacci hashing by odd multipliers. Each round uses the next one.
_MULTIPLIER = 0x9E37_79B9_7F4A_7C15
_STEP = 0x1656_67B1_9E37_79F8


@dataclass(frozen=True)
class Bags:
    """Ids of several lists in one array: list i is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: Ids
    offsets: Ids

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ids:
        """Number of ids in each list."""
        return np.diff(self.offsets)

    def part(self, start: int, stop: int) -> Bags:
        """Return the lists start…stop-1, as views with the same ids."""
        low, high = self.offsets[start], self.offsets[stop]
        return Bags(self.ids[low:high], self.offsets[start : stop + 1] - low)

    def bigrams(self) -> Bags:
        """Return all pairs of neighbors within each list, with new ids."""
        if not len(self.ids):
            return self
        pairs = self.ids[:-1] << 32 | self.ids[1:]
        # Each non-empty list has one pair less than ids; pairs across two lists are left out.
        inner = np.ones(len(self.ids), np.bool_)
        lasts = self.offsets[1:][self.lengths > 0] - 1
        inner[lasts] = False
        offsets = np.concatenate(([0], np.cumsum(np.maximum(self.lengths - 1, 0))))
        return Bags(intern(pairs[inner[:-1]].view(np.uint64)), offsets)

    def overlap(self, other: Bags, discount: Bags | None = None) -> Overlap:
        """Compare list i with list i of `other`, discounting the ids of list i of `discount`."""
        sides = [self, other] if discount is None else [self, other, discount]
        pairs = len(self)
        width = max((int(t.ids.max()) for t in sides if len(t.ids)), default=0).bit_length() + 2
        # If keys fit into 32 bits, sorting moves half the bytes.
        small = pairs.bit_length() + width < 31
        kind = np.dtype(np.int32 if small else np.int64)
        items = (np.arange(pairs) << width).astype(kind)
        keys = []
        for side, bags in enumerate(sides):
            bag_keys = np.repeat(items, bags.lengths) | bags.ids.astype(kind) << 2
            bag_keys += kind.type(side)  # In place, without another array.
            keys.append(bag_keys)
        key = np.concatenate(keys)
        key.sort()
        # Runs of equal keys. Two more entries at the end, so that the next run always exists.
        first = np.flatnonzero(np.diff(key, prepend=-1))
        counts = np.diff(first, append=len(key))
        runs = np.concatenate((key[first], (-8, -8)))
        own_runs = np.flatnonzero(runs[:-2] & 3 == 0)  # The runs of `self`, side 0.
        base = runs[own_runs]
        count = counts[own_runs]
        counts = np.concatenate((counts, (0, 0)))
        follows = runs[own_runs + 1] == base + 1
        shared = np.where(follows, np.minimum(count, counts[own_runs + 1]), 0)
        item = base >> width

        def total(values: Ids) -> Ids:
            return np.bincount(item, values, pairs).astype(np.int64)

        common = total(shared)
        if discount is None:
            return Overlap(common, self.lengths, other.lengths, common, self.lengths)
        discounted = runs[own_runs + 1 + follows] == base + 2
        left_common = common - total(np.where(discounted, shared, 0))
        left = self.lengths - total(np.where(discounted, count, 0))
        return Overlap(common, self.lengths, other.lengths, left_common, left)

    def overlap_with_each(self, other: Bags, rows: Ids) -> Overlap:
        """Compare list i of `other` with list `rows[i]`, which is counted once for all of them."""
        width = max((int(t.ids.max()) for t in (self, other) if len(t.ids)), default=0).bit_length()
        keys, counts = _count_ids(self, width)
        pair_keys, pair_counts = _count_ids(other, width)
        pairs = pair_keys >> width
        searched = (rows[pairs] << width) + (pair_keys - (pairs << width))
        position = np.searchsorted(keys, searched)
        # One more entry at the end, in case all keys are smaller.
        keys, counts = np.concatenate((keys, (-1,))), np.concatenate((counts, (0,)))
        shared = np.where(keys[position] == searched, np.minimum(counts[position], pair_counts), 0)
        common = np.bincount(pairs, shared, len(other)).astype(np.int64)
        a = self.lengths[rows]
        return Overlap(common, a, other.lengths, common, a)


@dataclass(frozen=True)
class Tokens(Bags):
    """Token ids of several texts.

    Attributes:
        data: UTF-8 of all texts after normalization.
        starts: Byte position in `data` where each token starts.
        ends: Byte position in `data` where each token ends.
    """

    data: Bytes
    starts: Ids
    ends: Ids

    def part(self, start: int, stop: int) -> Tokens:
        """Return the texts start…stop-1, as views with the same ids."""
        low, high = self.offsets[start], self.offsets[stop]
        return Tokens(
            self.ids[low:high],
            self.offsets[start : stop + 1] - low,
            self.data,
            self.starts[low:high],
            self.ends[low:high],
        )

    def strings(self) -> list[str]:
        """Return each text in normalized form: its tokens joined by single spaces."""
        if not len(self.ids):
            return [""] * len(self)
        low, high = int(self.starts[0]), int(self.ends[-1])
        cover = np.zeros(high - low + 1, np.int8)
        cover[self.starts - low] = 1
        cover[self.ends - low] -= 1
        data = self.data[low : high + 1].copy()
        data[self.ends - low] = 32
        keep = np.cumsum(cover, dtype=np.int8).view(np.bool_)
        keep[self.ends - low] = True
        joined = data[keep].tobytes()
        cuts = np.concatenate(([0], np.cumsum(self.ends - self.starts + 1)))[self.offsets].tolist()
        bounds = pairwise(cuts)
        if joined.isascii():
            text = joined.decode("ascii")
            return [text[a : max(a, b - 1)] for a, b in bounds]
        return [joined[a : max(a, b - 1)].decode("utf-8", "surrogatepass") for a, b in bounds]


def tokenize(texts: Sequence[str], normalizer: Normalizer) -> Tokens:
    """Return the tokens of all texts under one normalizer, with ids shared among the texts."""
    data = np.frombuffer(_normalized(texts, normalizer) + _PADDING, np.uint8)
    inside = (data != 32) & (data != _END)
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    if inside[0]:
        edges = np.concatenate(([0], edges))
    starts, ends = edges[::2], edges[1::2]
    keys = _token_words(data, starts, ends)
    if normalizer.ascii_drop:
        keep = np.ones(len(keys), np.bool_)
        for dropped in normalizer.ascii_drop:
            keep &= keys != int.from_bytes(dropped, "little")
        starts, ends, keys = starts[keep], ends[keep], keys[keep]
    stops = np.flatnonzero(data == _END)
    offsets = np.concatenate(([0], np.searchsorted(starts, stops)))
    return Tokens(intern(keys), offsets, data, starts, ends)


def _normalized(texts: Sequence[str], normalizer: Normalizer) -> bytes:
    """Return UTF-8 of all normalized texts, each ended by 0xFF; spaces may repeat.

    The byte table handles ASCII without control characters. Other texts are normalized by the
    rule of the normalizer, whose result the table doesn't change.
    """
    rule, table = normalizer.rule, normalizer.ascii_table
    if table is None:
        return _join([rule(text) for text in texts])
    plain = [text if text.isascii() else rule(text) for text in texts]
    done = _join(plain).translate(_flagging(table), normalizer.ascii_delete)
    if _CONTROL not in done:
        return done
    flag = _flagging(table)
    odd = [_CONTROL in text.encode("utf-8", "surrogatepass").translate(flag) for text in texts]
    plain = [rule(t) if o else p for t, p, o in zip(texts, plain, odd, strict=True)]
    return _join(plain).translate(table, normalizer.ascii_delete)


@lru_cache(maxsize=8)
def _flagging(table: bytes) -> bytes:
    """Return the table, but with 0xFE for control characters that aren't white space."""
    odd = [b for b in (*range(32), 127) if not chr(b).isspace()]
    return bytes(_CONTROL if byte in odd else to for byte, to in enumerate(table))


def _join(texts: Sequence[str]) -> bytes:
    if not texts:
        return b""
    if all(map(str.isascii, texts)):
        # Only the separator isn't ASCII, so Latin-1 encodes all texts in one copy.
        return ("\xff".join(texts) + "\xff").encode("latin-1")
    end = bytes((_END,))
    return end.join([text.encode("utf-8", "surrogatepass") for text in texts]) + end


# Interning. A token of up to 8 bytes is its own 64-bit word. Longer tokens and those that end in
# NUL are numbered; their word is the number and a mark that can't occur in UTF-8. A hash table then
# interns the words, and each of its steps is one numpy operation. Words are compared in full, so a
# hash collision costs time but never correctness.


def _token_words(data: NDArray[np.uint8], starts: Ids, ends: Ids) -> Words:
    """Return one word per token `data[start:end]`; `data` must end with 8 unused bytes."""
    lengths = ends - starts
    # An unaligned view: the eight bytes from each position on.
    eight = np.ndarray((len(data) - 7,), "<u8", buffer=data.data, strides=(1,))
    first: Words = eight[starts] & _MASKS[np.minimum(lengths, 8)]
    longer = np.flatnonzero(lengths > 8)
    if len(longer):
        rest = np.minimum(lengths[longer] - 8, 8)
        second = eight[starts[longer] + 8] & _MASKS[rest]
        seconds = intern(second)
        if seconds.max() >= MAX_LONG_TOKENS:
            raise ValueError(f"{len(longer)} long tokens in one batch; use smaller batches")
        pairs = (seconds << 32 | intern(first[longer])).view(np.uint64)
        first[longer] = pairs | _MARK
    # A NUL at the end would look like the zero bytes that fill up a word.
    longest = np.flatnonzero((lengths > 16) | (data[ends - 1] == 0))
    if len(longest):
        numbers: dict[bytes, int] = {}
        raw = data.tobytes()
        spans = zip(starts[longest].tolist(), ends[longest].tolist(), strict=True)
        numbered = [numbers.setdefault(raw[a:b], len(numbers)) for a, b in spans]
        first[longest] = np.array(numbered, np.uint64) | _DOUBLE_MARK
    return first


def intern(keys: Words) -> Ids:
    """Return one id per word: equal words have equal ids, different words different ids.

    Each round hashes every word without an id to a slot of a new table. A word that finds itself
    in its slot takes the slot as its id; the others are hashed again in the next round. A slot is
    read only after it was written, so tables needn't be cleared, and each round settles at least
    one word. Ids are below `len(keys)` times a small factor.
    """
    bits = max(8, len(keys).bit_length() - 2)
    shift = np.uint64(64 - bits)
    table = np.empty(1 << bits, np.int32)
    waiting_keys = keys
    waiting = np.arange(len(keys), dtype=np.int32)
    ids = waiting.astype(np.int64)
    base, multiplier = 0, _MULTIPLIER
    while len(waiting):
        slots = ((waiting_keys * np.uint64(multiplier)) >> shift).view(np.int64)
        table[slots] = waiting
        settled = keys[table[slots]] == waiting_keys
        if base:
            ids[waiting] = slots + base
        else:
            ids = slots
        waiting = waiting[~settled]
        waiting_keys = keys[waiting]
        base += 1 << bits
        multiplier = (multiplier + _STEP) % (1 << 64)
    return ids


@dataclass(frozen=True)
class Overlap:
    """Token counts of each pair of texts (u, k), each of shape (pairs,).

    `left` and `left_common` don't count tokens of u that occur in a discounted text h. Without h,
    they equal `a` and `common`.

    Attributes:
        common: Number of tokens in both texts, |tok(u) ∩ tok(k)|.
        a: Number of tokens of u.
        b: Number of tokens of k.
        left_common: Number of tokens in both texts after the discount.
        left: Number of tokens of u after the discount.
    """

    common: Ids
    a: Ids
    b: Ids
    left_common: Ids
    left: Ids


def _count_ids(bags: Bags, width: int) -> tuple[Ids, Ids]:
    """Return the keys of all ids, ascending, and how often each occurs.

    A key is the number of the list, followed by the id in `width` bits.
    """
    # If keys fit into 32 bits, sorting moves half the bytes.
    small = len(bags).bit_length() + width < 31
    kind = np.dtype(np.int32 if small else np.int64)
    key = np.repeat((np.arange(len(bags)) << width).astype(kind), bags.lengths)
    key |= bags.ids.astype(kind)
    key.sort()
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return key[first].astype(np.int64), np.diff(first, append=len(key))
