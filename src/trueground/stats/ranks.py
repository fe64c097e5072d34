"""Ranks of the same things under two scores, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RankDifference:
    """One row: `difference` is `rank_a` − `rank_b`, so that a positive number is a rise in b.

    The ranks and the difference are None for a name that lacks one of the two scores.
    """

    name: str
    score_a: float | None
    score_b: float | None
    rank_a: int | None
    rank_b: int | None
    difference: int | None


def rank_differences(
    scores_a: Mapping[str, float], scores_b: Mapping[str, float]
) -> list[RankDifference]:
    """Rank under a, rank under b, and their difference, as in FaithEval's Tables 6 to 8.

    Higher scores rank better, from 1. Equal scores share the better rank and the ranks after them
    are left free (1, 2, 2, 4). Only names that have both scores are ranked, so that a difference
    never comes from a name that is absent on one side. Rows stand in the order of rank a, equal
    ones by name; names with one score follow, by name.
    """
    both = scores_a.keys() & scores_b.keys()
    ranks_a, ranks_b = _ranks(scores_a, both), _ranks(scores_b, both)
    ranked = [
        RankDifference(
            name,
            scores_a[name],
            scores_b[name],
            ranks_a[name],
            ranks_b[name],
            ranks_a[name] - ranks_b[name],
        )
        for name in sorted(both, key=lambda name: (ranks_a[name], name))
    ]
    rest = [
        RankDifference(name, scores_a.get(name), scores_b.get(name), None, None, None)
        for name in sorted((scores_a.keys() | scores_b.keys()) - both)
    ]
    return ranked + rest


def _ranks(scores: Mapping[str, float], names: set[str]) -> dict[str, int]:
    ranks: dict[float, int] = {}
    for place, name in enumerate(sorted(names, key=lambda name: -scores[name]), start=1):
        ranks.setdefault(scores[name], place)
    return {name: ranks[scores[name]] for name in names}
