"""How well a retriever finds gold passages: recall, success, MRR and nDCG at k, by ir-measures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.errors import MissingExtraError, UsageError
from trueground.retrieval.base import Hit, Retriever
from trueground.stats.bootstrap import Interval, intervals

MEASURES = ("recall", "success", "mrr", "ndcg")
# A query's gold passages: for each the numbers of the passages that it is, any of which will do.
Gold = Collection[Collection[int]]
_NAMED = 5  # questions that a note names
_BLOCK = 1_000  # queries whose hits ir-measures gets at once


@dataclass(frozen=True)
class MeasureMean:
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
    means: dict[str, MeasureMean]


@dataclass(frozen=True)
class IndexEvaluation:
    """Retrievers of the index in `path` by how they are written, over `n` questions.

    Of these `unnamed` name no gold passage, and `absent` says which ones name one that the index
    does not hold.
    """

    path: Path
    signature: str
    n: int
    unnamed: int
    absent: list[str]
    results: dict[str, Evaluated]

    def as_dict(self) -> dict[str, Any]:
        """The measures of each retriever, as in a run's summary."""
        counts = {"missing_field": self.unnamed, "not_applicable": len(self.absent)}
        unscored = {status: n for status, n in counts.items() if n}
        retrievers = {
            written: {
                "signature": one.signature,
                "metrics": {
                    name: {**asdict(mean), "unscored": unscored} for name, mean in one.means.items()
                },
            }
            for written, one in self.results.items()
        }
        head = {"index": str(self.path), "signature": self.signature, "n": self.n}
        return {**head, "retrievers": retrievers}


def format_absent(absent: Sequence[str]) -> str:
    """Which questions are not measured, in words."""
    more = f"\n  … and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
    lines = "".join(f"\n  {one}" for one in absent[:_NAMED])
    return (
        f"{len(absent)} of the questions are not measured, since the index does not hold their "
        f"gold passage:{lines}{more}"
    )


def no_gold(index: Path, queries: Path, absent: Sequence[str]) -> str:
    """Why no question can be measured, in words."""
    if not absent:
        return (
            f"{queries} names no gold passages; expected a field 'gold' with ids, or contexts with "
            "gold: true"
        )
    return (
        f"none of the gold passages is in the index {index}; the first is {absent[0]}. Name ids, "
        "titles or texts of its passages"
    )


def evaluate(
    retriever: Retriever,
    queries: Sequence[str],
    gold: Sequence[Gold],
    ks: Sequence[int],
    *,
    top: int | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> Evaluated:
    """Search for the queries and compare the hits with the gold passages' numbers.

    recall@k: share of the gold passages among the first k hits; success@k: 1 if any is; mrr@k: 1
    over the rank of the first, 0 beyond k; ndcg@k: gain 1 for each gold passage where it is first
    found, discount log2(rank + 1). Where a gold passage stands in the corpus several times, one of
    its hits is enough. Percentile bootstrap intervals over the queries. `top` hits are searched
    for, the largest k unless told. UsageError: no query, another number of golds, a k below 1 or
    above `top`. MissingExtraError.
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
    hits: Sequence[Sequence[Hit]], gold: Sequence[Gold], ks: Sequence[int]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The measures' names, and their values, shape (queries, measures). MissingExtraError."""
    ks = sorted(set(ks))
    names = tuple(f"{measure}@{k}" for measure in MEASURES for k in ks)
    values = np.full((len(hits), len(names)), np.nan)
    calculate = _calculator(ks)
    for start in range(0, len(hits), _BLOCK):
        gains: dict[int, list[int]] = {}
        for query in range(start, min(start + _BLOCK, len(hits))):
            if gold[query]:
                gains[query] = found = _gains(hits[query], gold[query])
                values[query] = 0.0
                values[query, : len(ks)] = [sum(found[:k]) / len(gold[query]) for k in ks]
        for query, name, value in calculate(gains, gold):
            values[query, names.index(name)] = value
    return names, values


def _gains(hits: Sequence[Hit], gold: Gold) -> list[int]:
    """For each hit how many gold passages it is that none before it was."""
    left = [set(numbers) for numbers in gold]
    gains = []
    for hit in hits:
        still = [numbers for numbers in left if hit.index not in numbers]
        gains.append(len(left) - len(still))
        left = still
    return gains


def _mean(column: NDArray[np.float64], interval: Interval | None, level: float) -> MeasureMean:
    scored = column[~np.isnan(column)]
    mean = float(scored.mean()) if len(scored) else None
    return MeasureMean(mean, interval, level, len(column), len(scored))


def _calculator(
    ks: Sequence[int],
) -> Callable[[Mapping[int, list[int]], Sequence[Gold]], Iterator[tuple[int, str, float]]]:
    """(query, our name of a measure, value) by ir-measures; recall it cannot count with gains."""
    try:
        import ir_measures
        from ir_measures import RR, Success, nDCG
    except ImportError:
        raise MissingExtraError("evaluating a retriever", "retrieval") from None
    makers = dict(zip(MEASURES[1:], (Success, RR, nDCG), strict=True))
    names = {maker @ k: f"{name}@{k}" for name, maker in makers.items() for k in ks}

    def calculate(
        gains: Mapping[int, list[int]], gold: Sequence[Gold]
    ) -> Iterator[tuple[int, str, float]]:
        relevant, run = [], []
        for query, found in gains.items():
            # A hit goes by its rank, which stands for the score too: equal scores would be put
            # into another order. What was not found goes by numbers below 0.
            worth = {rank: gain for rank, gain in enumerate(found) if gain}
            worth |= {-1 - i: 1 for i in range(len(gold[query]) - sum(found))}
            q = str(query)
            relevant += [ir_measures.Qrel(q, str(doc), gain) for doc, gain in worth.items()]
            run += [ir_measures.ScoredDoc(q, str(r), -float(r)) for r in range(len(found))]
        if relevant and run:
            for made in ir_measures.iter_calc(list(names), relevant, run):
                yield int(made.query_id), names[made.measure], made.value

    return calculate
