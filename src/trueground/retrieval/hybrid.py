"""Hybrid retrieval: several retrievers' lists in one, by reciprocal rank.

Source: Cormack, Clarke and Büttcher 2009, "Reciprocal rank fusion outperforms Condorcet and
individual rank learning methods".
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from trueground.errors import UsageError
from trueground.retrieval.base import Hit, Retriever

K = 60.0
DEPTH = 100


class Hybrid:
    """score(d) = Σ over the lists that hold d: 1/(k + rank of d), ranks from 1.

    Each part is asked for `depth` hits, or for `top` where that is more; so with a `top` beyond
    the depth ranks may differ from those with a smaller one.
    """

    name = "hybrid"

    def __init__(self, parts: Sequence[Retriever], *, k: float = K, depth: int = DEPTH) -> None:
        """UsageError for fewer than two parts, or k or depth out of range."""
        if len(parts) < 2:
            raise UsageError(
                f"the retriever hybrid joins two or more, and was given {len(parts)}; write "
                'hybrid:"bm25 + dense:MODEL", with a blank on each side of the +'
            )
        if not (isfinite(k) and k >= 0 and depth >= 1):
            raise UsageError(
                f"the retriever hybrid: k={k:g}, depth={depth}; expected k of 0 or more and a "
                "depth of 1 or more"
            )
        inner = " + ".join(part.signature for part in parts)
        self.signature = f"hybrid:rrf,k={k:g},depth={depth},[{inner}]"
        self._parts, self._k, self._depth = parts, k, depth

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order."""
        if top < 1:
            return [[] for _ in queries]
        lists = [part.search(queries, max(self._depth, top)) for part in self._parts]
        return [self._joined(found, top) for found in zip(*lists, strict=True)]

    def _joined(self, lists: Sequence[Sequence[Hit]], top: int) -> list[Hit]:
        scores: dict[int, float] = {}
        for hits in lists:
            for rank, hit in enumerate(hits, 1):
                scores[hit.index] = scores.get(hit.index, 0.0) + 1 / (self._k + rank)
        best = sorted(scores.items(), key=lambda found: (-found[1], found[0]))[:top]
        return [Hit(index, score) for index, score in best]
