"""Hybrid and multi-hop: retrievers that are put together from others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trueground.errors import UsageError
from trueground.wings.search.base import Hit, Retriever, SearchQuery, turns_of

K = 60.0
DEPTH = 100
HOPS = 2
BEAM = 5


class Hybrid:
    """score(d) = Σ over the lists that hold d: 1/(k + rank of d), ranks from 1.

    Each part is asked for `depth` hits, or for `top` where that is more; so with a `top` beyond
    the depth ranks may differ from those with a smaller one.
    """

    name = "hybrid"

    def __init__(self, parts: Sequence[Retriever], *, k: float = K, depth: int = DEPTH) -> None:
        """`k` of 0 or more, `depth` of 1 or more. UsageError for fewer than two parts."""
        if len(parts) < 2:
            raise UsageError(
                f"the retriever hybrid joins two or more, and was given {len(parts)}; write "
                'hybrid:"bm25 + dense:MODEL", with a blank on each side of the +'
            )
        inner = " + ".join(part.signature for part in parts)
        self.signature = f"hybrid:rrf,k={k:g},depth={depth},[{inner}]"
        self._parts, self._k, self._depth = parts, k, depth

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order."""
        if top < 1:
            return [[] for _ in queries]
        lists = [part.search(queries, max(self._depth, top)) for part in self._parts]
        joined = []
        for found in zip(*lists, strict=True):
            scores: dict[int, float] = {}
            for hits in found:
                for rank, hit in enumerate(hits, 1):
                    scores[hit.index] = scores.get(hit.index, 0.0) + 1 / (self._k + rank)
            best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:top]
            joined.append([Hit(index, score) for index, score in best])
        return joined


class _Path(NamedTuple):
    """Passages in the order of their hops. `score` is the sum of the hops'."""

    score: float
    passages: tuple[int, ...]


class MultiHop:
    """Chains of `hops` passages, found by beam search with any retriever.

    The first hop searches for the question and keeps `beam` passages. Each further hop searches,
    for every path, for the question, one space, and the texts of the path's passages, and goes on
    with `beam` passages that the path does not hold yet; between hops the best `beam` paths are
    kept. A path from which nothing more is found ends there, and keeps its place.

    Hits are the passages of the paths, best path first and in the order of the hops, each once and
    with the score of the best path that holds it. If that is fewer than `top`, further passages of
    the first hop follow with their own score, or that of the last path where it is less. So hits
    with equal scores stand in the order of their hops, not in corpus order. What a query finds does
    not depend on the others that are asked with it.
    """

    name = "multi-hop"

    def __init__(
        self,
        base: Retriever,
        texts: Sequence[str],
        *,
        shown: str = "text",
        hops: int = HOPS,
        beam: int = BEAM,
    ) -> None:
        """`texts` are the passages' by number; `shown` names what of a passage they hold.

        `hops` and `beam` are 1 or more.
        """
        self.signature = f"multi-hop:hops={hops},beam={beam},passages={shown},[{base.signature}]"
        self._base, self._texts = base, texts
        self._hops, self._beam = hops, beam

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in the order of the hops.

        All queries of a hop are asked at once.
        """
        if top < 1 or not queries:
            return [[] for _ in queries]
        first = self._base.search(queries, max(self._beam, top))
        paths = [[_Path(hit.score, (hit.index,)) for hit in hits[: self._beam]] for hits in first]
        for hop in range(1, self._hops):
            paths = self._extend(queries, paths, hop)
        found = []
        for hits, some in zip(first, map(_ranked, paths), strict=True):
            scores: dict[int, float] = {}
            for path in some:
                for passage in path.passages:
                    scores.setdefault(passage, path.score)
            least = some[-1].score if some else 0.0
            for hit in hits:
                scores.setdefault(hit.index, min(hit.score, least))
            found.append([Hit(passage, score) for passage, score in scores.items()][:top])
        return found

    def _extend(
        self, queries: Sequence[str], paths: Sequence[Sequence[_Path]], hop: int
    ) -> list[list[_Path]]:
        """The paths of each query with one more hop; those with fewer than `hop` have ended."""
        best = [_ranked(some)[: self._beam] for some in paths]
        further = []
        for query, some in zip(queries, best, strict=True):
            *before, question = turns_of(query)
            for path in some:
                if len(path.passages) == hop:
                    texts = (self._texts[passage] for passage in path.passages)
                    further.append(SearchQuery(*before, " ".join((question, *texts))))
        # As many for every query, whatever the others have found: some retrievers find other
        # passages when they are asked for more.
        found = iter(self._base.search(further, self._beam + hop) if further else ())
        extended: list[list[_Path]] = []
        for some in best:
            extended.append([])
            for path in some:
                hits = next(found) if len(path.passages) == hop else []
                new = [hit for hit in hits if hit.index not in path.passages][: self._beam]
                extended[-1] += [
                    _Path(path.score + hit.score, (*path.passages, hit.index)) for hit in new
                ] or [path]
        return extended


def _ranked(paths: Sequence[_Path]) -> list[_Path]:
    """Best first; equal scores in corpus order."""
    return sorted(paths, key=lambda path: (-path.score, path.passages))
