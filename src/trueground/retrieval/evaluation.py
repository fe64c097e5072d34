"""How well a retriever finds gold passages: recall, success, MRR and nDCG at k, by ir-measures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.errors import MissingExtraError, UsageError
from trueground.retrieval.base import Hit, Retriever
from trueground.stats.bootstrap import Interval, intervals

MEASURES = ("recall", "success", "mrr", "ndcg")
_BLOCK = 1_000  # queries whose hits ir-measures gets at once


@dataclass(frozen=True)
class Mean:
    """The mean over the queries with gold passages; None where there are none."""

    mean: float | None
    ci: Interval | None
    ci_level: float
    n: int
    scored: int


@dataclass(frozen=True)
class Evaluated:
    """A retriever's values: `values[i, j]` is measure `names[j]` of query i.

    NaN where the query has no gold passage. `means` goes by the names, `signature` names the
    retriever.
    """

    signature: str
    names: tuple[str, ...]
    values: NDArray[np.float64]
    means: dict[str, Mean]


def evaluate(
    retriever: Retriever,
    queries: Sequence[str],
    gold: Sequence[Collection[int]],
    ks: Sequence[int],
    *,
    top: int | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> Evaluated:
    """Search for the queries and compare the hits with the gold passages' numbers.

    recall@k: share of the gold passages among the first k hits; success@k: 1 if any is; mrr@k: 1
    over the rank of the first, 0 beyond k; ndcg@k: binary gain, discount log2(rank + 1). Percentile
    bootstrap intervals over the queries. `top` hits are searched for, the largest k unless told.
    UsageError: no query, another number of golds, a k below 1 or above `top`. MissingExtraError.
    """
    top = max(ks, default=0) if top is None else top
    if not queries or len(queries) != len(gold):
        raise UsageError(
            f"evaluating a retriever: {len(queries)} queries, {len(gold)} golds; expected at least "
            "one query, and one set of gold passages for each"
        )
    if not ks or min(ks) < 1 or max(ks) > top:
        raise UsageError(
            f"evaluating a retriever: k={', '.join(map(str, ks)) or 'none'}, top={top}; expected "
            "each k from 1 to top"
        )
    hits = retriever.search(queries, top)
    names, values = measure(hits, gold, ks)
    bounds = intervals(values, resamples=resamples, seed=seed, level=level)
    means = {
        name: _mean(column, interval, level)
        for name, column, interval in zip(names, values.T, bounds, strict=True)
    }
    return Evaluated(retriever.signature, names, values, means)


def measure(
    hits: Sequence[Sequence[Hit]], gold: Sequence[Collection[int]], ks: Sequence[int]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The measures' names, and their values, shape (queries, measures). MissingExtraError."""
    wanted = _wanted(ks)
    names = tuple(wanted)
    column = {made: number for number, made in enumerate(wanted.values())}
    values = np.full((len(hits), len(names)), np.nan)
    values[[bool(one) for one in gold]] = 0.0
    calculate = _calculator(list(column))
    for start in range(0, len(hits), _BLOCK):
        numbers = range(start, min(start + _BLOCK, len(hits)))
        for query, made, value in calculate(numbers, hits, gold):
            values[query, column[made]] = value
    return names, values


def _mean(column: NDArray[np.float64], interval: Interval | None, level: float) -> Mean:
    scored = column[~np.isnan(column)]
    mean = float(scored.mean()) if len(scored) else None
    return Mean(mean, interval, level, len(column), len(scored))


def _wanted(ks: Sequence[int]) -> dict[str, Any]:
    """The measures of ir-measures by our names."""
    try:
        from ir_measures import RR, R, Success, nDCG
    except ImportError:
        raise MissingExtraError("evaluating a retriever", "retrieval") from None
    makers = dict(zip(MEASURES, (R, Success, RR, nDCG), strict=True))
    return {f"{name}@{k}": maker @ k for name, maker in makers.items() for k in sorted(set(ks))}


def _calculator(
    measures: list[Any],
) -> Callable[..., Iterator[tuple[int, Any, float]]]:
    import ir_measures

    def calculate(
        numbers: Sequence[int], hits: Sequence[Sequence[Hit]], gold: Sequence[Collection[int]]
    ) -> Iterator[tuple[int, Any, float]]:
        relevant = [ir_measures.Qrel(str(i), str(doc), 1) for i in numbers for doc in gold[i]]
        # The rank stands for the score: equal scores would be put into another order.
        run = [
            ir_measures.ScoredDoc(str(i), str(hit.index), -float(rank))
            for i in numbers
            if gold[i]
            for rank, hit in enumerate(hits[i])
        ]
        if relevant and run:
            for found in ir_measures.iter_calc(measures, relevant, run):
                yield int(found.query_id), found.measure, found.value

    return calculate
