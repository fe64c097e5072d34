"""Reciprocal rank fusion, computed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from trueground.errors import UsageError
from trueground.wings.search.base import Hit
from trueground.wings.search.compound import Hybrid


class Ranked:
    """Gives the same passages for each query, and notes how deep it was asked."""

    name = "ranked"

    def __init__(self, *passages: int) -> None:
        self.signature = f"ranked:{passages}"
        self.passages = passages
        self.asked: list[int] = []

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        self.asked.append(top)
        hits = [Hit(passage, 100.0 - rank) for rank, passage in enumerate(self.passages)]
        return [hits[:top] for _ in queries]


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    made = Hybrid([Ranked(7, 3, 5), Ranked(3, 9)], k=60)
    [hits] = made.search(["q"], 10)
    assert [hit.index for hit in hits] == [3, 7, 9, 5]
    assert [hit.score for hit in hits] == pytest.approx(
        [1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63], abs=1e-15
    )


def test_equal_scores_stand_in_corpus_order() -> None:
    made = Hybrid([Ranked(8, 1), Ranked(1, 8), Ranked(), Ranked(4)], k=0)
    [hits] = made.search(["q"], 3)
    assert hits == [Hit(1, 1.5), Hit(8, 1.5), Hit(4, 1.0)]


def test_lists_are_asked_as_deep_as_said_or_needed() -> None:
    parts = [Ranked(*range(9)), Ranked(*range(8, -1, -1))]
    made = Hybrid(parts, depth=2)
    assert [hit.index for hit in made.search(["q"], 2)[0]] == [0, 8]
    assert len(made.search(["q"], 9)[0]) == 9
    assert parts[0].asked == parts[1].asked == [2, 9]
    assert made.search(["q", "r"], 0) == [[], []]
    assert made.search([], 3) == []


def test_the_signature_names_all_that_counts() -> None:
    made = Hybrid([Ranked(1), Ranked(2)], k=10, depth=5)
    assert made.signature == "hybrid:rrf,k=10,depth=5,[ranked:(1,) + ranked:(2,)]"


def test_what_cannot_be_meant() -> None:
    with pytest.raises(UsageError, match="needs two or more retrievers, found 1"):
        Hybrid([Ranked(1)])
