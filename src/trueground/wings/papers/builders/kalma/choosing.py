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

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueground.errors import InputError
from trueground.models import UnscoredText
from trueground.records import describe, shorten
from trueground.stats import exp, log
from trueground.text import GraphTriple
from trueground.types import Graph
from trueground.wings.papers.builders.base import BatchStage, Rejected
from trueground.wings.papers.builders.client import ModelClient
from trueground.wings.papers.builders.kalma.items import CountedPair, Draft, Fact, LinkedPair, grown
from trueground.wings.papers.builders.kalma.knowledge import name_by_id
from trueground.wings.papers.builders.kalma.wording import say
from trueground.wings.papers.user_files import read_entries

COUNTS_FILE = "counts.json"
_COUNTS = 'as a build writes: {"entries": 20, "counts": {"relation": 3, …}}'


class RelationCounts(NamedTuple):
    """Of 2·`entries` one-hop graphs so many have each relation, in plain spelling."""

    entries: int
    by_relation: Mapping[str, int]

    def encoded(self) -> bytes:
        """As it stands in the file: the same bytes for the same counts."""
        row = {"entries": self.entries, "counts": dict(sorted(self.by_relation.items()))}
        return msgspec.json.format(msgspec.json.encode(row), indent=1) + b"\n"


def read_counts(path: Path) -> RelationCounts:
    """The counts that an earlier build wrote. InputError."""

    def check(value: Any, what: str, most: float, expected: str) -> None:
        number = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most
        if not number:
            raise InputError(
                f"the counts {path}, {what}: found {describe(value)}; expected {expected}"
            )

    row = read_entries(path, _COUNTS)
    entries: Any = row.get("entries")
    counts = row.get("counts")
    check(entries, "field 'entries'", math.inf, _COUNTS)
    if not isinstance(counts, dict):
        found = f"found {describe(counts)}; expected {_COUNTS}"
        raise InputError(f"the counts {path}, field 'counts': {found}")
    bounds = f"a number from 1 to {2 * entries}, two for each of the entries"
    for name, count in counts.items():
        check(count, repr(shorten(name)), 2 * entries, bounds)
    return RelationCounts(
        entries, {GraphTriple.plain_property(name): count for name, count in counts.items()}
    )


def property_names(graph: Graph) -> set[str]:
    """Return the properties of a graph, without its name."""
    return {triple.key.property for triple in GraphTriple.of_graph(graph)} - {"name"}


class RelationCounter:
    """The stage that counts for each relation the graphs that have it, and what it counted.

    `fixed` are the counts of a file: then the triples that are chosen for an item do not depend on
    the other items.
    """

    def __init__(self, fixed: RelationCounts | None = None) -> None:
        self._fixed = fixed
        self.counts = fixed or RelationCounts(0, {})

    def stage(self) -> BatchStage[LinkedPair, CountedPair]:
        """Items → the same with the counts of their own relations. An entity counts each time."""
        doc = "Count the relations" if self._fixed is None else "Take the counts of --counts"
        return BatchStage("count", doc, CountedPair, self._work)

    def _work(self, items: Sequence[LinkedPair]) -> list[CountedPair]:
        own = [[property_names(graph) for graph in item.graphs] for item in items]
        if self._fixed is None:
            total = Counter(name for graphs in own for names in graphs for name in names)
            self.counts = RelationCounts(len(items), total)
        entries, counts = self.counts
        return [
            grown(
                item,
                CountedPair,
                counts={name: counts.get(name, 1) for name in sorted(set().union(*graphs))},
                entries=entries,
            )
            for item, graphs in zip(items, own, strict=True)
        ]


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
    return log(2 * entries / count)


def coherences(perplexities: Sequence[float]) -> list[float]:
    """The softmax of their inverses. One of infinity (or none at all, NaN) counts as 1/∞ = 0."""
    inverses = list(map(_inverse, perplexities))
    top = max(inverses, default=0.0)
    powers = [exp(one - top) for one in inverses]  # no power is beyond 1
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
    perplexities: Sequence[float],
    alpha: float,
    *,
    scaled: bool = False,
) -> list[ScoredCandidate]:
    """The candidates, the best first; of equal scores by property, value and id.

    `scaled`: both terms from 0 to 1.
    """
    fluent = coherences(perplexities)
    if scaled:
        fluent = _stretched(list(map(_inverse, perplexities)))
        specificities = _stretched(specificities)
    found = [
        ScoredCandidate(fact, rare, good, alpha * rare + (1 - alpha) * good)
        for fact, rare, good in zip(candidates, specificities, fluent, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.score, _order(one.fact)))


def _order(fact: Fact) -> tuple[str, str, str]:
    """Facts without other difference go by property, then value, then id."""
    return fact[1], fact[2], fact[0]


def _stretched(values: Sequence[float]) -> list[float]:
    """From 0 for the least to 1 for the most; 0 where all are equal."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    return [(one - least) / (most - least) if most > least else 0.0 for one in values]


def _inverse(perplexity: float) -> float:
    if math.isnan(perplexity):
        return 0.0
    # One of 0 would be a text more than certain; the largest number takes its place.
    return 1 / perplexity if perplexity > 1e-300 else 1e300


@dataclass(frozen=True)
class FactChooser:
    """How the next triple is chosen: of the `most` candidates with the rarest relations."""

    alpha: float
    scaled: bool
    most: int

    async def choose(
        self, draft: Draft, facts: Sequence[Fact], paragraph: str, client: ModelClient
    ) -> Fact | None:
        """The best of the facts that are not said yet; None where there is none.

        `paragraph` is the draft's text without citations. Rejected: unrated.
        """
        said = set(draft.facts)

        def rare(fact: Fact) -> float:
            return specificity(draft.entries, draft.counts[GraphTriple.plain_property(fact[1])])

        left = [fact for fact in facts if fact not in said]
        candidates = sorted(left, key=lambda fact: (-rare(fact), _order(fact)))[: self.most]
        if not candidates or self.alpha == 1.0:
            return candidates[0] if candidates else None
        able = candidates
        if not self.scaled:
            able = near_ties(candidates, list(map(rare, candidates)), self.alpha)
        if len(able) == 1:
            return able[0]
        rated = await self._rate(draft, able, paragraph, client)
        # The softmax is over all candidates; those that cannot win count in it as 1/∞.
        known = {fact: math.inf for fact in candidates if fact not in able} | rated
        kept = [fact for fact in candidates if fact in known]
        fluent = [known[one] for one in kept]
        found = scored(kept, list(map(rare, kept)), fluent, self.alpha, scaled=self.scaled)
        return next(one.fact for one in found if one.fact in rated)

    async def _rate(
        self, draft: Draft, candidates: Sequence[Fact], paragraph: str, client: ModelClient
    ) -> dict[Fact, float]:
        """The perplexities; a candidate that can have none (too long) is left out. Rejected.

        All are asked for whatever becomes of one, so that the next run pays for none again.
        """
        names = name_by_id(draft)
        texts = [f"{paragraph} {say(names[qid], name, value)}" for qid, name, value in candidates]
        found = await asyncio.gather(*map(client.perplexity, texts), return_exceptions=True)
        rated, problems = {}, []
        for fact, one in zip(candidates, found, strict=True):
            if isinstance(one, UnscoredText):
                problems.append(one)
            elif isinstance(one, BaseException):
                raise one
            else:
                rated[fact] = one
        passing = [one for one in problems if one.passing]
        if passing or not rated:
            worst = (passing or problems)[0]
            detail = f"{len(problems)} of {len(candidates)} candidates: {worst}"
            raise Rejected("unrated", detail, transient=worst.passing) from worst
        return rated
