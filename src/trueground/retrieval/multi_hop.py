"""Multi-hop retrieval: search again with the question and what was found.

Source: Xiong et al. 2021, "Answering complex open-domain questions with multi-hop dense retrieval",
section 2: the query of a hop is the question and the passages found before it, a chain's score is
the sum of its hops' scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trueground.errors import UsageError
from trueground.retrieval.base import Hit, Retriever, SearchQuery, turns_of

HOPS = 2
BEAM = 5


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
        """`texts` are the passages' by number; `shown` names what of a passage they hold."""
        if hops < 1 or beam < 1:
            raise UsageError(
                f"the retriever multi-hop: hops={hops}, beam={beam}; expected 1 or more of both"
            )
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
            paths = self._next(queries, paths, hop)
        return [
            _hits(ranked, hits, top)
            for ranked, hits in zip(map(_ranked, paths), first, strict=True)
        ]

    def _next(
        self, queries: Sequence[str], paths: Sequence[Sequence[_Path]], hop: int
    ) -> list[list[_Path]]:
        """The paths of each query with one more hop; those with fewer than `hop` have ended."""
        kept = [_ranked(some)[: self._beam] for some in paths]
        asked = [
            self._further(query, path)
            for query, some in zip(queries, kept, strict=True)
            for path in some
            if len(path.passages) == hop
        ]
        # As many for every query, whatever the others have found: some retrievers find other
        # passages when they are asked for more.
        found = iter(self._base.search(asked, self._beam + hop) if asked else ())
        return [
            [
                grown
                for path in some
                for grown in (
                    self._grown(path, next(found)) if len(path.passages) == hop else (path,)
                )
            ]
            for some in kept
        ]

    def _further(self, query: str, path: _Path) -> SearchQuery:
        *before, question = turns_of(query)
        found = (self._texts[passage] for passage in path.passages)
        return SearchQuery(*before, " ".join((question, *found)))

    def _grown(self, path: _Path, hits: Sequence[Hit]) -> list[_Path]:
        new = [hit for hit in hits if hit.index not in path.passages][: self._beam]
        return [_Path(path.score + hit.score, (*path.passages, hit.index)) for hit in new] or [path]


def _ranked(paths: Sequence[_Path]) -> list[_Path]:
    """Best first; equal scores in corpus order."""
    return sorted(paths, key=lambda path: (-path.score, path.passages))


def _hits(paths: Sequence[_Path], first: Sequence[Hit], top: int) -> list[Hit]:
    scores: dict[int, float] = {}
    for path in paths:
        for passage in path.passages:
            scores.setdefault(passage, path.score)
    least = paths[-1].score if paths else 0.0
    for hit in first:
        scores.setdefault(hit.index, min(hit.score, least))
    return [Hit(passage, score) for passage, score in scores.items()][:top]
