"""The score of a triple, against values that were worked out by hand."""

from __future__ import annotations

import math
import random

import pytest

from trueground.wings.papers.builders.kalma.choosing import (
    coherences,
    near_ties,
    scored,
    specificity,
)

A, B, C = ("Q1", "child", "Mira"), ("Q1", "gender", "male"), ("Q2", "award", "Lantern")


def test_specificity_is_the_natural_logarithm_of_twice_n_over_the_count() -> None:
    assert specificity(10, 1) == pytest.approx(2.995732273553991)  # ln 20
    assert specificity(10, 5) == pytest.approx(1.3862943611198906)  # ln 4
    assert specificity(10, 20) == 0.0  # every graph has it
    with pytest.raises(ValueError, match="1 or more"):
        specificity(10, 0)


def test_coherence_is_the_softmax_of_inverse_perplexities() -> None:
    # 1/2 and 1/4: e^0.25 = 1.2840254166877414, so 1.2840…/2.2840… and 1/2.2840…
    assert coherences([2.0, 4.0]) == pytest.approx([0.5621765008857981, 0.4378234991142019])
    assert coherences([7.0]) == [1.0]
    assert coherences([]) == []


@pytest.mark.parametrize(
    "perplexities",
    [[1.0, math.inf], [1e-320, 5.0], [1e308, 1e308], [math.nan, 3.0], [0.0, 0.0], [math.inf] * 2],
)
def test_extreme_perplexities_give_shares_of_one(perplexities: list[float]) -> None:
    found = coherences(perplexities)
    assert all(0.0 <= one <= 1.0 for one in found)
    assert sum(found) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("alpha", "best", "scores"),
    [
        # counts 1, 5, 20 of 20 graphs; perplexities 4, 2, 2
        (1.0, A, [2.995732273553991, 1.3862943611198906, 0.0]),
        # e^.25 = 1.28402541668774 and e^.5 = 1.64872127070013: their shares of 4.58146795808800
        (0.0, C, [0.35986748517955, 0.35986748517955, 0.28026502964091]),
        (0.5, A, [1.63799865159745, 0.87308092314972, 0.17993374258977]),
    ],
)
def test_scores_at_the_ends_and_in_the_middle(
    alpha: float, best: tuple[str, str, str], scores: list[float]
) -> None:
    rare = [specificity(10, 1), specificity(10, 5), specificity(10, 20)]
    found = scored([A, B, C], rare, [4.0, 2.0, 2.0], alpha)
    assert [one.score for one in found] == pytest.approx(scores)
    assert found[0].fact == best


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.9])
def test_what_is_no_near_tie_never_wins(alpha: float) -> None:
    rng = random.Random(15)
    fewer = 0
    for _ in range(300):
        facts = [("Q1", f"p {i}", "x") for i in range(rng.randint(1, 30))]
        rare = [specificity(500, rng.randint(1, 1000)) for _ in facts]
        texts = [rng.choice([1.0, 1.5, 40.0, math.inf]) for _ in facts]
        able = near_ties(facts, rare, alpha)
        assert scored(facts, rare, texts, alpha)[0].fact in able
        fewer += len(able) < len(facts)
    assert fewer > 200 or alpha == 0.0
    assert near_ties([], [], alpha) == []


def test_near_ties_are_few_under_the_papers_softmax() -> None:
    # ln 2 apart: with α = 0.01 fluency may decide among 3 candidates, and not among 300.
    rare = [specificity(500, count) for count in (1, 2, 2)]
    assert near_ties([A, B, C], rare, 0.5) == [A]
    assert near_ties([A, B, C], rare, 0.01) == [A, B, C]
    assert near_ties([A, B, C] * 100, rare * 100, 0.01) == [A] * 100


def test_scaled_terms_weigh_as_alpha_says() -> None:
    rare = [specificity(10, 1), specificity(10, 5), specificity(10, 20)]
    texts = [40.0, 20.0, 30.0]  # 1/40, 1/20, 1/30: 0, 1 and a third
    middle = math.log(4) / math.log(20)
    for alpha, best in ((0.9, A), (0.5, B), (0.0, B)):
        found = scored([A, B, C], rare, texts, alpha, scaled=True)
        assert found[0].fact == best
        by_fact = {one.fact: (one.specificity, one.coherence) for one in found}
        assert by_fact[A] == (1.0, 0.0)
        assert by_fact[B] == pytest.approx((middle, 1.0))
        assert by_fact[C] == pytest.approx((0.0, 1 / 3))
    # The paper's softmax leaves the rarest first until α is almost 0.
    assert scored([A, B, C], rare, texts, 0.05)[0].fact == A
    assert scored([A], [2.0], [3.0], 0.5, scaled=True)[0].score == 0.0


def test_equal_scores_go_by_property_then_value_then_id() -> None:
    same = [("Q2", "b", "x"), ("Q1", "b", "x"), ("Q9", "a", "z"), ("Q1", "b", "a")]
    found = [one.fact for one in scored(same, [1.0] * 4, [3.0] * 4, 0.5)]
    assert found == [("Q9", "a", "z"), ("Q1", "b", "a"), ("Q1", "b", "x"), ("Q2", "b", "x")]
    assert [one.fact for one in scored(same[::-1], [1.0] * 4, [3.0] * 4, 0.5)] == found
