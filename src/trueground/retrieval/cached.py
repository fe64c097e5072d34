"""Results of searches that were made once: kept on disk across runs, query by query.

What is kept is found by the passages' hash, the retriever's signature and the query. A result for a
larger `top` serves a smaller one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from trueground.errors import ProtocolError
from trueground.net.cache import ResponseCache
from trueground.options import Progress, no_progress
from trueground.retrieval.base import Hit, Retriever, turns_of

# Part of every key: a change of what is kept must not meet older entries.
_VERSION = "1"
# Queries that are asked at once: what is finished is kept if the next batch fails.
_BATCH = 4_096
_HIT = np.dtype([("index", "<i8"), ("score", "<f8")])
_TOP = np.dtype("<i8")


class CachedRetriever:
    """A retriever that searches for a query once; `cache` None keeps nothing on disk.

    Queries are asked in batches, equal ones once. The scores come back exactly. If the file fails
    midway, the work goes on without it and `cache.problem` says why.
    """

    def __init__(
        self,
        inner: Retriever,
        passages: str,
        cache: ResponseCache | None,
        *,
        label: str = "",
        progress: Progress = no_progress,
    ) -> None:
        """`passages` is their hash; `label` is what `trueground cache stats` calls the retriever.

        `progress` gets "search", the queries done and their number, of each call that searches.
        """
        self.name, self.signature = inner.name, inner.signature
        self._inner, self._cache = inner, cache
        self._label, self._progress = label or inner.name, progress
        self._nested: bool = getattr(inner, "nested", True)
        self._start = hashlib.sha256(f"{_VERSION}\0{passages}\0{inner.signature}\0".encode())

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order.

        ProtocolError where the retriever gives another number of lists than there are queries.
        """
        if top < 1:
            return [[] for _ in queries]
        wanted = {turns_of(query): query for query in reversed(queries)}
        found: dict[tuple[str, ...], list[Hit]] = {}
        for turns in wanted:
            if (hits := self._get(turns, top)) is not None:
                found[turns] = hits
        missing = [turns for turns in dict.fromkeys(map(turns_of, queries)) if turns not in found]
        # Batches of one size: some retrievers use all cores for large ones only.
        batches = -(-len(missing) // _BATCH)
        size = -(-len(missing) // batches) if batches else 1
        for start in range(0, len(missing), size):
            self._progress("search", start, len(missing))
            batch = missing[start : start + size]
            lists = self._inner.search([wanted[turns] for turns in batch], top)
            if len(lists) != len(batch):
                raise ProtocolError(
                    f"the retriever {self.name!r} gave {len(lists)} lists of hits for {len(batch)} "
                    "queries; expected one for each: fix the package that it comes from"
                )
            for turns, hits in zip(batch, lists, strict=True):
                found[turns] = hits
                self._put(turns, top, hits)
        if missing:
            self._progress("search", len(missing), len(missing))
        return [found[turns_of(query)] for query in queries]

    def _key(self, turns: Sequence[str], top: int) -> str:
        digest = self._start.copy()
        # Where a smaller top gives other hits, each top has results of its own.
        digest.update(b"all\0" if self._nested else b"%d\0" % top)
        digest.update("\0".join(turns).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _get(self, turns: Sequence[str], top: int) -> list[Hit] | None:
        """The hits; None where none are kept, or too few, or what is no such entry."""
        value = None if self._cache is None else self._cache.get(self._key(turns, top))
        size = _TOP.itemsize
        if value is None or len(value) < size or (len(value) - size) % _HIT.itemsize:
            return None
        hits = np.frombuffer(value, _HIT, offset=size)
        asked = int(np.frombuffer(value, _TOP, 1)[0])
        # A search that found fewer than it might have has found all that there is.
        if top > asked and len(hits) >= asked:
            return None
        pairs = zip(hits["index"].tolist(), hits["score"].tolist(), strict=True)
        return [Hit(index, score) for index, score in pairs][:top]

    def _put(self, turns: Sequence[str], top: int, hits: Sequence[Hit]) -> None:
        if self._cache is not None:
            value = np.int64(top).astype(_TOP).tobytes() + np.array(hits, _HIT).tobytes()
            self._cache.put(self._key(turns, top), value, model=self._label)
