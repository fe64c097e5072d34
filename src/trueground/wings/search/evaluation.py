"""How well a retriever finds gold passages: recall, success, MRR and nDCG at k."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.stats import Bootstrap, log, mean, total
from trueground.wings.search.base import Hit, Retriever

MEASURES = ("recall", "success", "mrr", "ndcg")
# A query's gold passages: for each the numbers of the passages that it is, any of which will do.
Gold = Collection[Collection[int]]
_NAMED = 5  # questions that a note names


@dataclass(frozen=True)
class MeasureMean:
    """The mean over the queries with gold passages; None where there are none."""

    mean: float | None
    ci: tuple[float, float] | None
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
    above `top`.
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
    names, values = measure(retriever.search(queries, top), gold, ks)
    bounds = Bootstrap(resamples, seed, level).intervals(values)
    means = {}
    for name, column, interval in zip(names, values.T, bounds, strict=True):
        scored = column[~np.isnan(column)]
        average = mean(scored) if len(scored) else None
        means[name] = MeasureMean(average, interval, level, len(column), len(scored))
    return Evaluated(retriever.signature, names, values, means)


def measure(
    hits: Sequence[Sequence[Hit]], gold: Sequence[Gold], ks: Sequence[int]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The measures' names, and their values, shape (queries, measures)."""
    ks = sorted(set(ks))
    names = tuple(f"{measure}@{k}" for measure in MEASURES for k in ks)
    return names, np.array([_measure(*one, ks) for one in zip(hits, gold, strict=True)])


def _measure(hits: Sequence[Hit], gold: Gold, ks: Sequence[int]) -> list[float]:
    """Each of MEASURES at each k, as trec_eval defines them; NaN without gold passages."""
    if not gold:
        return [np.nan] * (len(MEASURES) * len(ks))
    left = [set(numbers) for numbers in gold]
    gains = np.zeros(len(hits))  # how many gold passages each hit is that none before it was
    for rank, hit in enumerate(hits):
        still = [numbers for numbers in left if hit.index not in numbers]
        gains[rank] = len(left) - len(still)
        left = still
    # The best order would have those that are found together first; what was not found counts 1.
    ideal = np.sort(np.concatenate([gains[gains > 0], np.ones(len(left))]))[::-1]
    first = int(np.argmax(gains > 0)) + 1 if gains.any() else max(ks) + 1
    found = np.cumsum(gains)

    def dcg(worth: NDArray[np.float64], k: int) -> float:
        best = worth[:k]
        discounts = [log(rank + 1.0, 2) for rank in range(1, len(best) + 1)]
        return total(best / np.array(discounts))

    return [
        *(float(found[:k][-1]) / len(gold) if len(found) else 0.0 for k in ks),
        *(float(first <= k) for k in ks),
        *(1 / first if first <= k else 0.0 for k in ks),
        *(dcg(gains, k) / dcg(ideal, k) for k in ks),
    ]
