"""Which triple comes next: rare relations against fluent paragraphs (Li et al. 2024, A.3).

    score = α · ln(2N / count(relation)) + (1 − α) · softmax over the candidates of 1/perplexity

The softmax is taken of numbers between 0 and 1, so among n candidates two shares differ by no more
than (e − 1) / (e + n − 1): fluency decides between near-ties of the first term and between no
others. So only these need a perplexity (`near_ties`). With `scaled` both terms are stretched over
the candidates to 0 … 1 before they are weighed, and fluency weighs as much as α says.

The paper counts a relation's occurrences "in the dataset with size N". An entry has two entities,
so there are 2N one-hop graphs, and count(relation) is how many of them have the relation: then 2N
over the count is the inverse document frequency, 0 for what every graph has, and never negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from trueground.builders.kalma.items import Fact


class ScoredCandidate(NamedTuple):
    """A candidate with the two terms of its score, both unweighted."""

    fact: Fact
    specificity: float
    coherence: float
    score: float


def specificity(entries: int, count: int) -> float:
    """ln(2N / count), for a relation that `count` of the graphs of N entries have."""
    if entries < 1 or count < 1:
        raise ValueError(f"{entries} entries and a count of {count}; both must be 1 or more")
    return math.log(2 * entries / count)


def coherences(perplexities: Sequence[float]) -> list[float]:
    """The softmax of their inverses. One of infinity (or none at all, NaN) counts as 1/∞ = 0."""
    if not perplexities:
        return []
    inverses = [_inverse(one) for one in perplexities]
    top = max(inverses)
    powers = [math.exp(one - top) for one in inverses]  # no power is beyond 1
    total = math.fsum(powers)
    return [power / total for power in powers]


def near_ties(
    candidates: Sequence[Fact], specificities: Sequence[float], alpha: float
) -> list[Fact]:
    """The candidates that may win by the softmax, whatever the perplexities are."""
    if not candidates:
        return []
    most = (1 - alpha) * (math.e - 1) / (math.e + len(candidates) - 1)
    least = alpha * max(specificities) - most - 1e-12
    pairs = zip(candidates, specificities, strict=True)
    return [fact for fact, rare in pairs if alpha * rare >= least]


def scored(
    candidates: Sequence[Fact],
    specificities: Sequence[float],
    perplexities: Sequence[float] | None,
    alpha: float,
    *,
    scaled: bool = False,
) -> list[ScoredCandidate]:
    """The candidates, the best first; of equal scores by property, value and id.

    `perplexities` may be None where `alpha` is 1. `scaled`: both terms from 0 to 1.
    """
    fluent = [0.0] * len(candidates)
    if perplexities is not None:
        inverses = [_inverse(one) for one in perplexities]
        fluent = _stretched(inverses) if scaled else coherences(perplexities)
    if scaled:
        specificities = _stretched(specificities)
    found = [
        ScoredCandidate(fact, rare, good, alpha * rare + (1 - alpha) * good)
        for fact, rare, good in zip(candidates, specificities, fluent, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.score, order(one.fact)))


def order(fact: Fact) -> tuple[str, str, str]:
    """Facts without other difference go by property, then value, then id."""
    qid, name, value = fact
    return name, value, qid


def _stretched(values: Sequence[float]) -> list[float]:
    """From 0 for the least to 1 for the most; 0 where all are equal."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    return [(one - least) / (most - least) if most > least else 0.0 for one in values]


def _inverse(perplexity: float) -> float:
    if math.isnan(perplexity):
        return 0.0
    # One of 0 would be a text more than certain; the largest number takes its place.
    return 1 / perplexity if perplexity > 1e-300 else 1e300
