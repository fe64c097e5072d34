"""What stands in a dataset twice: the same in other letters, or nearly the same."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

# Two questions are nearly the same where they share four fifths of their words, each weighted by
# how rare it is: a pattern that all questions follow does not make them alike.
NEAR = 0.8
# Comparisons for each rare word of a question, so that work grows with the number of questions.
_MOST = 50
_GROUPS, _MEMBERS = 5, 5


def same(keys: Sequence[Hashable], ids: Sequence[str]) -> dict[str, Any]:
    """Items with the same key: groups, items beyond the first of each, examples by their ids.

    What has no key (None) is like nothing else.
    """
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for key, id_ in zip(keys, ids, strict=True):
        if key is not None:
            groups[key].append(id_)
    return _account([group for group in groups.values() if len(group) > 1])


def near(texts: Sequence[str], ids: Sequence[str]) -> dict[str, Any]:
    """Items whose normalised texts are nearly the same, those that are the same left out.

    Text and id of one item each stand for all that are the same. Chains count as one group.
    """
    firsts: dict[str, str] = {}
    for text, id_ in zip(texts, ids, strict=True):
        if text:
            firsts.setdefault(text, id_)
    distinct = sorted(firsts)
    found = _linked(distinct)
    # In the order of the items, so that examples are those met first.
    place = {id_: number for number, id_ in enumerate(ids)}
    groups = [
        sorted((firsts[distinct[k]] for k in group), key=place.__getitem__) for group in found
    ]
    groups.sort(key=lambda group: place[group[0]])
    return {"threshold": NEAR, **_account(groups)}


def _account(groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    return {
        "groups": len(groups),
        "items": sum(len(group) - 1 for group in groups),
        "examples": [list(group[:_MEMBERS]) for group in groups[:_GROUPS]],
    }


def _linked(texts: Sequence[str]) -> list[list[int]]:
    """Groups of texts that are joined by pairs whose likeness is NEAR or more."""
    bags = [frozenset(text.split()) for text in texts]
    found_in = Counter(word for bag in bags for word in bag)
    weight = {word: math.log1p(len(bags) / n) for word, n in found_in.items()}
    # fsum: the same number whatever the order of a set.
    totals = [math.fsum(weight[word] for word in bag) for bag in bags]
    parent = list(range(len(bags)))
    seen: dict[str, list[int]] = defaultdict(list)
    for k, bag in enumerate(bags):
        words = _telling(bag, found_in, weight, totals[k])
        others = {j for word in words for j in seen[word][-_MOST:]}
        for j in sorted(others):
            if _root(parent, j) != _root(parent, k) and _alike(bags, weight, totals, j, k):
                parent[_root(parent, k)] = _root(parent, j)
        for word in words:
            seen[word].append(k)
    groups: dict[int, list[int]] = defaultdict(list)
    for k in range(len(bags)):
        groups[_root(parent, k)].append(k)
    return [group for group in groups.values() if len(group) > 1]


def _telling(
    bag: frozenset[str], found_in: Mapping[str, int], weight: Mapping[str, float], total: float
) -> list[str]:
    """The rarest words, of which any text that is alike has at least one.

    The words left out weigh less than NEAR of the whole, and alone cannot make a text alike.
    """
    ordered = sorted(bag, key=lambda word: (found_in[word], word))
    left, count = total, 0
    while count < len(ordered) and left >= NEAR * total - 1e-9:
        left -= weight[ordered[count]]
        count += 1
    return ordered[:count]


def _alike(
    bags: Sequence[frozenset[str]],
    weight: Mapping[str, float],
    totals: Sequence[float],
    j: int,
    k: int,
) -> bool:
    if min(totals[j], totals[k]) < NEAR * max(totals[j], totals[k]):
        return False
    common = math.fsum(weight[word] for word in bags[j] & bags[k])
    return common >= NEAR * (totals[j] + totals[k] - common)


def _root(parent: list[int], k: int) -> int:
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k
