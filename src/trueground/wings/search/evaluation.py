"""Evaluation of retrievers with gold passages: recall, success, MRR and nDCG at k."""

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
# The gold passages of a query. Each is the numbers of its passages; one of them is enough.
Gold = Collection[Collection[int]]
_MAX_LISTED_QUESTIONS = 5


@dataclass(frozen=True)
class MeasureMean:
    """The mean of a measure over the queries with gold passages, None if there are none."""

    mean: float | None
    ci: tuple[float, float] | None
    ci_level: float
    n: int
    scored: int


@dataclass(frozen=True)
class Evaluated:
    """The measures of a retriever.

    Attributes:
        signature: The signature of the retriever.
        names: The names of the measures.
        values: Shape (queries, measures); NaN if a query has no gold passages.
        means: The mean of each measure, by name.
    """

    signature: str
    names: tuple[str, ...]
    values: NDArray[np.float64]
    means: dict[str, MeasureMean]


@dataclass(frozen=True)
class IndexEvaluation:
    """The evaluation of the retrievers of an index.

    Attributes:
        path: The folder of the index.
        signature: The signature of the index.
        n: The number of questions.
        unnamed: The number of questions without gold passages.
        absent: A text about each question with a gold passage that isn't in the index.
        results: The measures of each retriever, by its spec.
    """

    path: Path
    signature: str
    n: int
    unnamed: int
    absent: list[str]
    results: dict[str, Evaluated]

    def as_dict(self) -> dict[str, Any]:
        """Return the measures of each retriever, in the format of a run's summary."""
        counts = {"missing_field": self.unnamed, "not_applicable": len(self.absent)}
        unscored = {status: n for status, n in counts.items() if n}
        retrievers = {}
        for spec_text, evaluated in self.results.items():
            metrics = {}
            for name, measure_mean in evaluated.means.items():
                metrics[name] = {**asdict(measure_mean), "unscored": unscored}
            retrievers[spec_text] = {"signature": evaluated.signature, "metrics": metrics}
        head = {"index": str(self.path), "signature": self.signature, "n": self.n}
        return {**head, "retrievers": retrievers}


def format_absent(absent: Sequence[str]) -> str:
    """Return a warning about the questions that aren't measured."""
    lines = [
        f"{len(absent)} of the questions are not measured because their gold passages are not in "
        "the index:"
    ]
    lines += [f"  {text}" for text in absent[:_MAX_LISTED_QUESTIONS]]
    if len(absent) > _MAX_LISTED_QUESTIONS:
        lines.append(f"  … and {len(absent) - _MAX_LISTED_QUESTIONS} more")
    return "\n".join(lines)


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
    """Search for queries, and compare the hits with the numbers of gold passages.

    - recall@k: the share of the gold passages among the first k hits.
    - success@k: 1 if a gold passage is among them.
    - mrr@k: 1 over the rank of the first gold passage, 0 beyond k.
    - ndcg@k: gain 1 for the first hit of each gold passage, discount log2(rank + 1).

    If the corpus has a gold passage several times, one of its hits is enough.

    Args:
        retriever: The retriever.
        queries: The queries.
        gold: The gold passages of each query.
        ks: The numbers of hits to measure at.
        top: The number of hits per query. Default: the largest k.
        resamples: The number of resamples of the percentile bootstrap over queries.
        seed: Its seed.
        level: The confidence level of the intervals.

    Raises:
        UsageError: There is no query, `gold` has another length, or a k isn't from 1 to `top`.
    """
    top = max(ks, default=0) if top is None else top
    if not queries or len(queries) != len(gold):
        raise UsageError(
            f"evaluating a retriever: found {len(queries)} queries and {len(gold)} sets of gold "
            "passages; expected at least one query, and one set per query"
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
    """Return the names of the measures, and their values with shape (queries, measures)."""
    ks = sorted(set(ks))
    names: list[str] = []
    for name in MEASURES:
        names += [f"{name}@{k}" for k in ks]
    rows = [_measure(*pair, ks) for pair in zip(hits, gold, strict=True)]
    return tuple(names), np.array(rows)


def _measure(hits: Sequence[Hit], gold: Gold, ks: Sequence[int]) -> list[float]:
    """Return each of MEASURES at each k, as in trec_eval; NaN without gold passages."""
    if not gold:
        return [np.nan] * (len(MEASURES) * len(ks))
    missing = [set(numbers) for numbers in gold]
    gains = np.zeros(len(hits))  # The number of gold passages that each hit is the first to match.
    for rank, hit in enumerate(hits):
        still_missing = [numbers for numbers in missing if hit.index not in numbers]
        gains[rank] = len(missing) - len(still_missing)
        missing = still_missing
    # In the ideal order, hits that match several gold passages come first. Gold passages that
    # weren't found count as one hit each.
    ideal = np.sort(np.concatenate([gains[gains > 0], np.ones(len(missing))]))[::-1]
    first = int(np.argmax(gains > 0)) + 1 if gains.any() else max(ks) + 1
    n_found = np.cumsum(gains)
    return [
        *(float(n_found[:k][-1]) / len(gold) if len(n_found) else 0.0 for k in ks),
        *(float(first <= k) for k in ks),
        *(1 / first if first <= k else 0.0 for k in ks),
        *(_dcg(gains, k) / _dcg(ideal, k) for k in ks),
    ]


def _dcg(gains: NDArray[np.float64], k: int) -> float:
    """Return the discounted cumulative gain of the first k hits."""
    first_gains = gains[:k]
    discounts = [log(rank + 1.0, 2) for rank in range(1, len(first_gains) + 1)]
    return total(first_gains / np.array(discounts))
