"""Hybrid and multi-hop retrieval: retrievers that combine other retrievers."""

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
    """Several retrievers, fused by reciprocal rank.

    score(d) = Σ over the lists with d: 1/(k + rank of d), ranks from 1. Each retriever is searched
    for `depth` hits, or for `top` if that is more. So ranks can change if `top` exceeds the depth.
    """

    name = "hybrid"

    def __init__(self, parts: Sequence[Retriever], *, k: float = K, depth: int = DEPTH) -> None:
        """Combine retrievers.

        Args:
            parts: Two or more retrievers.
            k: The constant of the score, 0 or more.
            depth: The number of hits of each retriever, 1 or more.

        Raises:
            UsageError: There are fewer than two retrievers.
        """
        if len(parts) < 2:
            raise UsageError(
                f"the retriever hybrid needs two or more retrievers, found {len(parts)}; write "
                'hybrid:"bm25 + dense:MODEL", with a space on each side of the +'
            )
        inner = " + ".join(part.signature for part in parts)
        self.signature = f"hybrid:rrf,k={k:g},depth={depth},[{inner}]"
        self._parts, self._k, self._depth = parts, k, depth

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """Return at most `top` hits for each query, best first; equal scores in corpus order."""
        if top < 1:
            return [[] for _ in queries]
        lists = [part.search(queries, max(self._depth, top)) for part in self._parts]
        fused = []
        for query_lists in zip(*lists, strict=True):
            scores: dict[int, float] = {}
            for hits in query_lists:
                for rank, hit in enumerate(hits, 1):
                    scores[hit.index] = scores.get(hit.index, 0.0) + 1 / (self._k + rank)
            best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:top]
            fused.append([Hit(index, score) for index, score in best])
        return fused


class _Path(NamedTuple):
    """Passages in the order of their hops, and the sum of the scores of the hops."""

    score: float
    passages: tuple[int, ...]

    def extend(self, hit: Hit) -> _Path:
        return _Path(self.score + hit.score, (*self.passages, hit.index))


class MultiHop:
    """Beam search for chains of passages, with any retriever.

    The first hop searches for the question and keeps `beam` passages. In each further hop, the
    query of a path is the question, a space, and the texts of its passages. The path is extended
    by `beam` passages that it doesn't have yet. Between hops, the best `beam` paths are kept. A
    path without new passages ends, and stays in the list.

    The hits are the passages of the paths: best path first, in the order of the hops, without
    duplicates. A hit has the score of its best path. If there are fewer than `top`, further
    passages of the first hop follow. Their score is limited to that of the last path. So hits with
    equal scores are in the order of hops, not in corpus order. The hits of a query don't depend on
    other queries of the same call.
    """

    name = "multi-hop"

    def __init__(
        self,
        base: Retriever,
        texts: Sequence[str],
        *,
        passage_text: str = "text",
        hops: int = HOPS,
        beam: int = BEAM,
    ) -> None:
        """Search in several hops.

        Args:
            base: The retriever of each hop.
            texts: The texts of the passages, by number.
            passage_text: What `texts` contain of a passage, for the signature.
            hops: The number of hops, 1 or more.
            beam: The number of paths that are kept, 1 or more.
        """
        self.signature = (
            f"multi-hop:hops={hops},beam={beam},passages={passage_text},[{base.signature}]"
        )
        self._base, self._texts = base, texts
        self._hops, self._beam = hops, beam

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """Return at most `top` hits for each query, best first; equal scores in order of hops."""
        if top < 1 or not queries:
            return [[] for _ in queries]
        first_hits = self._base.search(queries, max(self._beam, top))
        paths = [_start_paths(hits[: self._beam]) for hits in first_hits]
        for hop in range(1, self._hops):
            paths = self._extend(queries, paths, hop)
        results = []
        for hits, query_paths in zip(first_hits, map(_ranked, paths), strict=True):
            scores: dict[int, float] = {}
            for path in query_paths:
                for passage in path.passages:
                    scores.setdefault(passage, path.score)
            lowest = query_paths[-1].score if query_paths else 0.0
            for hit in hits:
                scores.setdefault(hit.index, min(hit.score, lowest))
            results.append([Hit(passage, score) for passage, score in scores.items()][:top])
        return results

    def _extend(
        self, queries: Sequence[str], paths: Sequence[Sequence[_Path]], hop: int
    ) -> list[list[_Path]]:
        """Return the paths of each query with one more hop; paths shorter than `hop` have ended."""
        best = [_ranked(query_paths)[: self._beam] for query_paths in paths]
        next_queries = []
        for query, query_paths in zip(queries, best, strict=True):
            *before, question = turns_of(query)
            for path in query_paths:
                if len(path.passages) == hop:
                    texts = (self._texts[passage] for passage in path.passages)
                    next_queries.append(SearchQuery(*before, " ".join((question, *texts))))
        # `top` is the same for all queries because some retrievers return other passages for a
        # larger one.
        hit_lists = iter(self._base.search(next_queries, self._beam + hop) if next_queries else ())
        extended: list[list[_Path]] = []
        for query_paths in best:
            longer: list[_Path] = []
            for path in query_paths:
                hits = next(hit_lists) if len(path.passages) == hop else []
                new = [hit for hit in hits if hit.index not in path.passages][: self._beam]
                if new:
                    longer.extend(path.extend(hit) for hit in new)
                else:
                    longer.append(path)
            extended.append(longer)
        return extended


def _start_paths(hits: Sequence[Hit]) -> list[_Path]:
    return [_Path(hit.score, (hit.index,)) for hit in hits]


def _ranked(paths: Sequence[_Path]) -> list[_Path]:
    """Sort paths best first; equal scores in corpus order."""
    return sorted(paths, key=lambda path: (-path.score, path.passages))
