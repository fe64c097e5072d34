"""A claim laid beside one sentence: which of their words are the same, in the same order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from trueground.judges.lexical.agreement import agrees
from trueground.judges.lexical.tokens import Token


class Gap(msgspec.Struct):
    """What stands between two pairs: `mine` in the claim and `theirs` in the sentence.

    `opens` and `closes` say whether the gap lies before the first or behind the last pair; `after`
    is the word of the claim behind the gap.
    """

    mine: list[Token]
    theirs: list[Token]
    opens: bool
    closes: bool
    after: Token | None


class Alignment(msgspec.Struct):
    """Words of a claim and of a sentence without punctuation marks, and the places of the pairs.

    `pairs` ascend in both; `said` is how many content words of the claim are in a pair, and `gaps`
    are all that hold something in one of the two.
    """

    mine: list[Token]
    theirs: list[Token]
    pairs: list[tuple[int, int]]
    said: int
    gaps: list[Gap]


def _gaps(mine: list[Token], theirs: list[Token], pairs: list[tuple[int, int]]) -> Iterator[Gap]:
    ends = [(-1, -1), *pairs, (len(mine), len(theirs))]
    for (i, j), (k, m) in pairwise(ends):
        if k - i > 1 or m - j > 1:
            after = mine[k] if k < len(mine) else None
            yield Gap(mine[i + 1 : k], theirs[j + 1 : m], i < 0, after is None, after)


def align(claim: Sequence[Token], sentence: Sequence[Token]) -> Alignment:
    """Pair the words that both have once, as many as keep their order, then their neighbours.

    Names and words without content come last: a name that has changed places must not put a verb
    aside.
    """
    mine = [t for t in claim if t.word.role != "mark"]
    theirs = [t for t in sentence if t.word.role != "mark"]
    one, other = [_name(t) for t in mine], [_name(t) for t in theirs]
    for i, token in enumerate(mine):
        if token.value is None:
            continue
        one[i] = f"#{i}"
        for j, there in enumerate(theirs):
            if there.value is not None and agrees(token.value, there.value):
                other[j] = one[i]
    once = _once(one, other)
    plain = [mine[i].content and not mine[i].word.capital for i, _ in once]
    pairs = _longest([pair for pair, first in zip(once, plain, strict=True) if first])
    for pair, first in zip(once, plain, strict=True):
        at = bisect_left(pairs, pair)
        before, behind = pairs[at - 1 : at] if at else [], pairs[at : at + 1]
        if (
            not first
            and all(p[1] < pair[1] for p in before)
            and all(p[1] > pair[1] for p in behind)
        ):
            pairs.insert(at, pair)
    pairs = _grown(pairs, one, other)
    said = sum([mine[i].content for i, _ in pairs])
    return Alignment(mine, theirs, pairs, said, list(_gaps(mine, theirs, pairs)))


def _name(token: Token) -> str:
    """What must be equal; the values of a sentence are none of the claim's before they agree."""
    return token.key or ("#" if token.value is not None else token.spelling.lower())


def _once(one: list[str], other: list[str]) -> list[tuple[int, int]]:
    """Places of what stands once in each."""
    first: dict[str, int] = {}
    for j, name in enumerate(other):
        first[name] = -1 if name in first else j
    mine: dict[str, int] = {}
    for i, name in enumerate(one):
        mine[name] = -1 if name in mine else i
    return [(i, first[n]) for n, i in mine.items() if i >= 0 and first.get(n, -1) >= 0]


def _longest(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part that ascends in both (the pairs ascend in the first)."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for at, (_, j) in enumerate(pairs):
        place = bisect_left(ends, j)
        before.append(last[place - 1] if place else -1)
        if place == len(ends):
            ends.append(j)
            last.append(at)
        else:
            ends[place], last[place] = j, at
    found: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _grown(pairs: list[tuple[int, int]], one: list[str], other: list[str]) -> list[tuple[int, int]]:
    """The pairs, with equal neighbours before and behind each."""
    found: list[tuple[int, int]] = []
    low = (-1, -1)
    first = pairs[0] if pairs else (0, 0)
    while low[0] + 1 < first[0] and low[1] + 1 < first[1] and one[low[0] + 1] == other[low[1] + 1]:
        low = (low[0] + 1, low[1] + 1)
        found.append(low)
    for place, (i, j) in enumerate(pairs):
        limit = pairs[place + 1] if place + 1 < len(pairs) else (len(one), len(other))
        back: list[tuple[int, int]] = []
        k, m = i - 1, j - 1
        while k > low[0] and m > low[1] and one[k] == other[m]:
            back.append((k, m))
            k, m = k - 1, m - 1
        found += [*back[::-1], (i, j)]
        k, m = i + 1, j + 1
        while k < limit[0] and m < limit[1] and one[k] == other[m]:
            found.append((k, m))
            k, m = k + 1, m + 1
        low = found[-1]
    return found
