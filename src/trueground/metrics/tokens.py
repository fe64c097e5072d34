"""Many texts at once → token ids in one flat array with offsets.

Everything is done on bytes with numpy: one translation of the whole batch, one search for token
boundaries, one interning of all tokens. Two tokens have the same id exactly when their UTF-8 bytes
are the same; ids are comparable within one `Tokens` only.
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

# 0xFF never occurs in UTF-8: it ends a text. 0xFE neither: it stands for a control character.
_END = 0xFF
_CONTROL = 0xFE
_PADDING = b"\x20" * 16
_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)
_MARK = np.uint64(0xFF << 56)
_DOUBLE_MARK = np.uint64(0xFFFF << 48)
_LIMIT = 0xFF_0000  # so that a pair never looks doubly marked
# Fibonacci hashing by odd multipliers; each round takes the next one.
_MULTIPLIER = 0x9E37_79B9_7F4A_7C15
_STEP = 0x1656_67B1_9E37_79F8


@dataclass(frozen=True)
class Bags:
    """Ids of several lists in one array: list i holds `ids[offsets[i]:offsets[i + 1]]`."""

    ids: Ids
    offsets: Ids

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ids:
        """Number of ids in each list."""
        return np.diff(self.offsets)

    def part(self, start: int, stop: int) -> Bags:
        """The lists start…stop-1, as views with the same ids."""
        low, high = self.offsets[start], self.offsets[stop]
        return Bags(self.ids[low:high], self.offsets[start : stop + 1] - low)

    def bigrams(self) -> Bags:
        """All pairs of neighbors within each list, with ids of their own."""
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
        small = pairs.bit_length() + width < 31  # half the bytes to sort
        kind = np.dtype(np.int32 if small else np.int64)
        items = (np.arange(pairs) << width).astype(kind)
        keys = [
            (np.repeat(items, t.lengths) | t.ids.astype(kind) << 2) + kind.type(side)
            for side, t in enumerate(sides)
        ]
        key = np.concatenate(keys)
        key.sort()
        # Runs of equal keys, with two spare entries so that "the next run" always exists.
        first = np.flatnonzero(np.diff(key, prepend=-1))
        counts = np.diff(first, append=len(key))
        runs = np.concatenate((key[first], (-8, -8)))
        mine = np.flatnonzero(runs[:-2] & 3 == 0)
        base = runs[mine]
        count = counts[mine]
        counts = np.concatenate((counts, (0, 0)))
        follows = runs[mine + 1] == base + 1
        shared = np.where(follows, np.minimum(count, counts[mine + 1]), 0)
        item = base >> width

        def total(values: Ids) -> Ids:
            return np.bincount(item, values, pairs).astype(np.int64)

        common = total(shared)
        if discount is None:
            return Overlap(common, self.lengths, other.lengths, common, self.lengths)
        discounted = runs[mine + 1 + follows] == base + 2
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
        # A spare entry, so that there is one where all keys are smaller.
        keys, counts = np.concatenate((keys, (-1,))), np.concatenate((counts, (0,)))
        shared = np.where(keys[position] == searched, np.minimum(counts[position], pair_counts), 0)
        common = np.bincount(pairs, shared, len(other)).astype(np.int64)
        a = self.lengths[rows]
        return Overlap(common, a, other.lengths, common, a)


@dataclass(frozen=True)
class Tokens(Bags):
    """Token ids of several texts.

    `starts` and `ends` are byte positions of each token in `data`, for `strings`.
    """

    data: Bytes
    starts: Ids
    ends: Ids

    def part(self, start: int, stop: int) -> Tokens:
        """The texts start…stop-1, as views with the same ids."""
        low, high = self.offsets[start], self.offsets[stop]
        return Tokens(
            self.ids[low:high],
            self.offsets[start : stop + 1] - low,
            self.data,
            self.starts[low:high],
            self.ends[low:high],
        )

    def strings(self) -> list[str]:
        """Each text in normalized form: its tokens joined by single spaces."""
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
    """Tokens of all texts under one normalizer, with ids shared among them."""
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
    """UTF-8 of all texts in normal form but for repeated spaces, each text ended by 0xFF.

    Texts that the byte table cannot do (others than ASCII, or with control characters) go through
    the normalizer's rule; what the rule gives, the table leaves as it is.
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
    """The table, but every control character that is no white space becomes 0xFE."""
    odd = [b for b in (*range(32), 127) if not chr(b).isspace()]
    return bytes(_CONTROL if byte in odd else to for byte, to in enumerate(table))


def _join(texts: Sequence[str]) -> bytes:
    if not texts:
        return b""
    if all(map(str.isascii, texts)):
        # Latin-1 is ASCII here but for the separator: one copy instead of one for each text.
        return ("\xff".join(texts) + "\xff").encode("latin-1")
    end = bytes((_END,))
    return end.join([text.encode("utf-8", "surrogatepass") for text in texts]) + end


# Interning. A token of up to 8 bytes is its own 64-bit word. Longer tokens are numbered, as are
# those that end in NUL, and the number stands under a mark that UTF-8 cannot contain. The words are
# then interned by a hash table whose every step is one numpy operation; words are compared in full,
# so that a hash collision costs time, never correctness.


def _token_words(data: NDArray[np.uint8], starts: Ids, ends: Ids) -> Words:
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


@dataclass(frozen=True)
class Overlap:
    """Counts for each pair (u, k): |tok(u)∩tok(k)|, |tok(u)|, |tok(k)|, each shape (pairs,).

    With a discount text h: `left` is |u'| and `left_common` |u'∩tok(k)|, where u' is tok(u)
    without every token that occurs in tok(h). Without one they equal the plain counts.
    """

    common: Ids
    a: Ids
    b: Ids
    left_common: Ids
    left: Ids


def _count_ids(bags: Bags, width: int) -> tuple[Ids, Ids]:
    """The number of the list and the id below it in `width` bits, ascending; how often each is."""
    small = len(bags).bit_length() + width < 31  # half the bytes to sort
    kind = np.dtype(np.int32 if small else np.int64)
    key = np.repeat((np.arange(len(bags)) << width).astype(kind), bags.lengths)
    key |= bags.ids.astype(kind)
    key.sort()
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return key[first].astype(np.int64), np.diff(first, append=len(key))
