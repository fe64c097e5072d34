"""Multiset overlap of token lists: the sufficient statistics of the lexical metrics.

All items of a batch are compared in one sort: the key of a token is (item, token id, side), so that
equal tokens of one item stand together and the sides follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueground.text.tokens import Bags, Ids


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


def overlap(u: Bags, k: Bags, h: Bags | None = None) -> Overlap:
    """Compare text i of `u` with text i of `k`, discounting the tokens of text i of `h`."""
    sides = [u, k] if h is None else [u, k, h]
    pairs = len(u)
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
    if h is None:
        return Overlap(common, u.lengths, k.lengths, common, u.lengths)
    discounted = runs[mine + 1 + follows] == base + 2
    left_common = common - total(np.where(discounted, shared, 0))
    left = u.lengths - total(np.where(discounted, count, 0))
    return Overlap(common, u.lengths, k.lengths, left_common, left)
