"""What a number of items can show: against statsmodels, against itself, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from statsmodels.stats.power import NormalIndPower, TTestPower

from trueground.stats.effects import (
    design_effect,
    detectable,
    detectable_discordant,
    items_discordant,
    items_needed,
    plan,
)
from trueground.stats.paired_tests import mcnemar


@given(
    st.integers(30, 20_000),
    st.floats(0.05, 2),
    st.sampled_from([0.01, 0.05, 0.1]),
    st.floats(0.6, 0.95),
)
def test_detectable_against_statsmodels(n: int, sd: float, alpha: float, power: float) -> None:
    found = detectable(n, n, sd, 1.0, alpha, power)
    theirs = TTestPower().power(found / sd, n, alpha)
    assert theirs == pytest.approx(power, abs=0.01)


@given(st.floats(0.02, 0.6), st.sampled_from([0.01, 0.05, 0.1]), st.floats(0.6, 0.95))
def test_items_against_statsmodels(size: float, alpha: float, power: float) -> None:
    found = items_needed(size, 1.0, 1.0, 1.0, alpha, power)
    theirs = TTestPower().solve_power(effect_size=size, alpha=alpha, power=power)
    assert found == pytest.approx(theirs, rel=0.02, abs=1.5)
    plain = NormalIndPower(ddof=0).solve_power(size, alpha=alpha, power=power, ratio=0)
    assert found >= math.floor(plain)  # known variance needs fewer


@given(st.integers(20, 5_000), st.floats(0.1, 1), st.floats(1, 4), st.integers(1, 8))
def test_items_turn_detectable_round(n: int, sd: float, effect: float, per_unit: int) -> None:
    n -= n % per_unit
    found = detectable(n, n // per_unit, sd, effect)
    assert items_needed(found * (1 + 1e-9), per_unit, sd, effect) <= n
    assert items_needed(found * 0.97, per_unit, sd, effect) >= n


@given(st.integers(20, 20_000), st.floats(0.02, 1))
def test_items_turn_detectable_round_for_shares(n: int, discordant: float) -> None:
    found = detectable_discordant(n, discordant)
    assert found is not None
    assert items_discordant(found, discordant) <= n
    assert items_discordant(found * 0.9, discordant) > n


def test_mcnemar_by_hand_and_edges() -> None:
    # Connor 1987: (1.959964·√0.2 + 0.841621·√(0.2 − 0.01))² / 0.01
    expected = (1.959964 * math.sqrt(0.2) + 0.841621 * math.sqrt(0.19)) ** 2 / 0.01
    assert items_discordant(0.1, 0.2) == math.ceil(expected)
    assert items_discordant(0.3, 0.1) == items_discordant(0.3, 0.3)  # all of them one way
    assert detectable_discordant(3, 0.5) is None
    assert items_discordant(1.0, 0.1) == 4


def test_the_power_is_the_one_asked_for() -> None:
    """McNemar's exact test at the planned number of items; it is a little shy."""
    random = np.random.default_rng(1)
    discordant, difference = 0.25, 0.06
    n = items_discordant(difference, discordant)
    shares = [(discordant - difference) / 2, (discordant + difference) / 2, 1 - discordant]
    tables = random.multinomial(n, shares, 2_000)
    found = np.mean([mcnemar(int(b), int(c)) <= 0.05 for b, c, _ in tables])
    assert 0.75 <= found <= 0.82


def test_clusters_by_simulation() -> None:
    """The planned difference is found in 80 % of sets with clusters, by a t test of clusters."""
    random = np.random.default_rng(2)
    groups, size = 60, 5
    clusters = np.repeat(np.arange(groups), size)
    d = random.normal(0, 1, (1_500, groups))[:, clusters] * 0.3
    d += random.normal(0, 0.5, d.shape)
    effects = [design_effect(row, clusters) for row in d]
    expected = 1 + (size - 1) * 0.09 / 0.34
    assert np.mean(effects) == pytest.approx(expected, rel=0.05)
    shift = detectable(300, groups, math.sqrt(0.34), expected)
    means = (d + shift).reshape(1_500, groups, size).mean(axis=2)
    t = means.mean(axis=1) / (means.std(axis=1, ddof=1) / math.sqrt(groups))
    assert (np.abs(t) > 2.001).mean() == pytest.approx(0.8, abs=0.03)


def test_plan_of_means() -> None:
    d = np.random.default_rng(3).normal(0.05, 0.4, 500)
    found = plan(d, wanted=(0.02,))
    assert (found.method, found.n, found.design_effect, found.discordant) == (
        "variance", 500, 1.0, None,
    )  # fmt: skip
    assert found.detectable == detectable(500, 500, found.sd or 0, 1.0)
    asked, seen = found.needed
    assert (asked.difference, asked.observed, asked.groups) == (0.02, False, None)
    assert asked.items == items_needed(0.02, 1.0, found.sd or 0, 1.0)
    assert (seen.difference, seen.observed) == (pytest.approx(abs(d.mean())), True)
    grouped = plan(d, np.repeat(np.arange(100), 5))
    assert grouped.needed[0].groups == math.ceil((grouped.needed[0].items or 0) / 5)


def test_plan_of_zeros_and_ones() -> None:
    d = np.repeat([1.0, -1.0, 0.0], [30, 20, 450])
    found = plan(d, discordant=True, wanted=(0.02, 2.0))
    assert (found.method, found.discordant) == ("discordant", 0.1)
    assert found.detectable == detectable_discordant(500, 0.1)
    assert [one.items for one in found.needed] == [1960, None, 1960]
    assert found.needed[1].why == "two shares differ by 1 at the most"


def test_power_rejects_invalid_plans() -> None:
    for d, words in (
        (np.empty(0), "fewer than two items"),
        (np.array([0.5]), "fewer than two items"),
        (np.full(9, 0.25), "the same for every item"),
    ):
        found = plan(d)
        assert words in (found.why or "")
        assert (found.detectable, found.needed[0].items, found.needed[0].why) == (
            None, None, found.why,
        )  # fmt: skip
    together = np.zeros(4, np.int64)
    assert "two groups" in (plan(np.arange(4.0), together).why or "")
    even = plan(np.array([1.0, -1.0, 1.0, -1.0]), np.array([0, 0, 1, 1]))
    assert "all groups have the same" in (even.why or "")
    few = plan(np.array([1.0, 0.0]), discordant=True)
    assert (few.detectable, few.why) == (
        None,
        "2 items are too few for any difference of two shares",
    )
