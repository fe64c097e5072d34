"""Chains of passages: found, scored and ordered as computed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from trueground.wings.search.base import Hit, SearchQuery, turns_of
from trueground.wings.search.bm25 import BM25
from trueground.wings.search.compound import MultiHop

TEXTS = [
    "Anna Ruck led the Brenta expedition.",
    "The Brenta expedition set out from Korvik.",
    "Korvik lies on the island of Ulm.",
    "Bees make honey.",
    "Honey is sweet.",
]


class Table:
    """Gives the hits that a table holds for a query; notes each call."""

    name = "table"
    signature = "table"

    def __init__(self, hits: dict[str, list[tuple[int, float]]]) -> None:
        self.hits = hits
        self.calls: list[tuple[list[str], int]] = []

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        self.calls.append((list(queries), top))
        return [[Hit(*hit) for hit in self.hits.get(query, [])[:top]] for query in queries]


def test_paths_are_ranked_by_the_sum_of_their_hops() -> None:
    base = Table(
        {
            "q": [(0, 3.0), (1, 2.0), (2, 1.0)],
            "q a": [(0, 9.0), (3, 1.5), (4, 1.0)],
            "q b": [(4, 3.0), (3, 2.0), (0, 0.5)],
        }
    )
    made = MultiHop(base, ["a", "b", "c", "d", "e"], beam=2)
    # Paths: b→e 5.0, a→d 4.5, a→e 4.0, b→d 4.0. Passage a is not visited twice.
    assert made.search(["q"], 4) == [[Hit(1, 5.0), Hit(4, 5.0), Hit(0, 4.5), Hit(3, 4.5)]]
    assert base.calls == [(["q"], 4), (["q a", "q b"], 3)]


def test_the_turns_of_a_conversation_stay_apart() -> None:
    base = Table({"p q": [(0, 1.0)]})
    MultiHop(base, ["a"]).search([SearchQuery("p", "q", id="7")], 1)
    asked = [query for queries, _ in base.calls for query in queries]
    assert [turns_of(query) for query in asked] == [("p", "q"), ("p", "q a")]


def test_what_the_paths_do_not_hold_follows_from_the_first_hop() -> None:
    base = Table(
        {"q": [(0, 3.0), (1, 2.0), (2, -1.0)], "q a": [(3, -5.0)]},
    )
    made = MultiHop(base, ["a", "b", "c", "d"], beam=1)
    assert made.search(["q"], 9) == [[Hit(0, -2.0), Hit(3, -2.0), Hit(1, -2.0), Hit(2, -2.0)]]
    assert made.search(["q"], 3)[0] == made.search(["q"], 9)[0][:3]


def test_a_third_hop_goes_on_from_the_best_paths() -> None:
    base = Table(
        {
            "q": [(0, 1.0), (1, 0.9)],
            "q a": [(2, 1.0)],
            "q b": [(2, 0.2), (3, 3.0)],
            "q b d": [(0, 1.0), (1, 7.0)],
            "q a c": [(1, 1.0)],
        }
    )
    made = MultiHop(base, ["a", "b", "c", "d"], hops=3, beam=2)
    [hits] = made.search(["q"], 4)
    assert base.calls[-1] == (["q b d", "q a c"], 4)
    assert [(hit.index, round(hit.score, 9)) for hit in hits] == [
        (1, 4.9),
        (3, 4.9),
        (0, 4.9),
        (2, 3.0),
    ]


def test_a_path_from_which_nothing_is_found_ends() -> None:
    base = Table({"q": [(0, 1.0)], "none": []})
    made = MultiHop(base, ["a"], beam=3)
    assert made.search(["q", "none"], 5) == [[Hit(0, 1.0)], []]
    assert made.search([], 5) == []
    assert made.search(["q"], 0) == [[]]


class Deeper(Table):
    """Finds more when it is asked for more, as approximate search does."""

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        return [
            [hit for hit in hits if hit.index < 9 or top >= 4]
            for hits in super().search(queries, top)
        ]


def test_what_a_query_finds_does_not_depend_on_the_others() -> None:
    base = Deeper(
        {
            "q": [(0, 1.0)],
            "q a": [(9, 1.0)],
            "p": [(1, 1.0)],
            "p b": [(2, 1.0)],
            "p b c": [(3, 1.0)],
        }
    )
    made = MultiHop(base, list("abcdefghij"), hops=3, beam=2)
    together = made.search(["q", "p"], 3)
    assert together == [made.search(["q"], 3)[0], made.search(["p"], 3)[0]]
    assert [hit.index for hit in together[1]] == [1, 2, 3]
    # The path that ended in the second hop is not searched on.
    assert base.calls[2] == (["p b c"], 4)


def test_the_second_hop_finds_what_the_question_does_not_name() -> None:
    pytest.importorskip("bm25s", reason="the retrieval extra is not installed")
    question = "From where did the expedition of Anna Ruck set out?"
    single = BM25(TEXTS)
    island = "Which island holds the town that Anna Ruck left?"
    made = MultiHop(single, TEXTS, hops=3, beam=2)
    assert {hit.index for hit in made.search([question], 2)[0]} == {0, 1}
    assert {hit.index for hit in made.search([island], 3)[0]} == {0, 1, 2}
    alone, together = made.search([island], 3), made.search([question, island], 3)
    assert together[1] == alone[0]


def test_the_signature_names_all_that_counts() -> None:
    assert MultiHop(Table({}), []).signature == "multi-hop:hops=2,beam=5,passages=text,[table]"
