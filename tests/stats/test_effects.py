"""Sizes of effects: against scipy, statsmodels and plain bootstraps."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest, rankdata, ttest_rel
from statsmodels.stats.proportion import proportion_effectsize

from trueground.stats.bootstrap import resampled_counts, resampled_means
from trueground.stats.effects import MOST_SIZES, Effect, Effects, effects_of
from trueground.stats.rates import clopper_pearson

Array = np.ndarray[Any, np.dtype[np.float64]]
SCORES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=60)


def effects(
    a: Array, b: Array, clusters: Any = None, *, binary: bool = False, **settings: Any
) -> Effects:
    """Of one metric."""
    (found,) = effects_of(a[:, None], b[:, None], clusters, binary=[binary], **settings)
    return found


def biserial(d: Array) -> float:
    """By the definition, ranks from scipy."""
    d = d[np.abs(d) > 1e-9]
    ranks = rankdata(np.round(np.abs(d), 9))
    return float((np.sign(d) * ranks).sum() / ranks.sum())


@given(SCORES)
def test_values(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, np.float64).T / 5
    found = effects(a, b, resamples=20)
    d = b - a
    if np.ptp(np.round(d, 9)) > 0:
        expected = ttest_rel(b, a).statistic / math.sqrt(len(a))  # d_z is t over √n
        assert found.cohen_dz.value == pytest.approx(expected, rel=1e-6, abs=1e-9)
    else:
        assert found.cohen_dz.value is None
        assert found.cohen_dz.why == "the difference is the same for every item"
    if (a == b).all():
        assert found.rank_biserial == Effect(None, None, "no item differs")
    else:
        assert found.rank_biserial.value == pytest.approx(biserial(d))
    higher = sum(y > x for x, y in pairs) + sum(y == x for x, y in pairs) / 2
    assert found.superiority.value == pytest.approx(higher / len(pairs))
    assert (found.cohen_h, found.odds_ratio) == (None, None)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=60))
def test_binary_values(pairs: list[tuple[bool, bool]]) -> None:
    a, b = np.array(pairs, np.float64).T
    found = effects(a, b, binary=True, resamples=20)
    assert found.cohen_h is not None
    assert found.odds_ratio is not None
    expected = proportion_effectsize(b.mean(), a.mean())
    assert found.cohen_h.value == pytest.approx(expected, abs=1e-9)
    lower, higher = int((a > b).sum()), int((b > a).sum())
    if not lower + higher:
        assert found.odds_ratio == Effect(None, None, "no item differs")
        return
    assert found.odds_ratio.value == (higher / lower if lower else None)
    assert found.odds_ratio.ci is not None
    theirs = binomtest(higher, lower + higher).proportion_ci(0.95, "exact")
    low, high = found.odds_ratio.ci
    assert low == pytest.approx(theirs.low / (1 - theirs.low))
    assert high == (None if theirs.high == 1 else pytest.approx(theirs.high / (1 - theirs.high)))


@given(st.integers(1, 300), st.data())
def test_clopper_pearson_is_scipys(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    theirs = binomtest(k, n).proportion_ci(0.9, "exact")
    assert clopper_pearson(k, n, 0.9) == pytest.approx((theirs.low, theirs.high))


def test_intervals_against_brute_force() -> None:
    random = np.random.default_rng(0)
    a = random.integers(0, 6, 120) / 5
    b = np.clip(a + random.integers(-1, 3, 120) / 5, 0, 1)
    found = effects(a, b, resamples=10_000)
    draws = random.integers(0, 120, (4_000, 120))
    rows = (b - a)[draws]
    for effect, drawn in (
        (found.cohen_dz, rows.mean(axis=1) / rows.std(axis=1, ddof=1)),
        (found.rank_biserial, [biserial(row) for row in rows]),
        (found.superiority, ((rows > 1e-9).mean(axis=1) - (rows < -1e-9).mean(axis=1) + 1) / 2),
    ):
        assert effect.ci == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.02)


def test_intervals_with_clusters_against_brute_force() -> None:
    random = np.random.default_rng(1)
    clusters = np.repeat(np.arange(30), 4)
    skill = random.normal(0.3, 1, 30)[clusters] > 0
    a = (random.random(120) < 0.4).astype(np.float64)
    b = np.where(random.random(120) < 0.7, skill, a).astype(np.float64)
    found = effects(a, b, clusters, binary=True, resamples=10_000)
    picked = random.integers(0, 30, (4_000, 30))
    rows = (4 * picked[:, :, None] + np.arange(4)).reshape(4_000, 120)
    h = [proportion_effectsize(b[r].mean(), a[r].mean()) for r in rows]
    assert found.cohen_h is not None
    assert found.odds_ratio is not None
    assert found.cohen_h.ci == pytest.approx(np.percentile(h, [2.5, 97.5]), abs=0.03)
    ranks = [biserial((b - a)[r]) for r in rows]
    assert found.rank_biserial.ci == pytest.approx(np.percentile(ranks, [2.5, 97.5]), abs=0.03)
    alone = effects(a, b, binary=True)
    assert alone.odds_ratio is not None
    assert alone.odds_ratio.value == found.odds_ratio.value


@pytest.mark.long
def test_the_interval_covers_the_truth() -> None:
    """d_z of 0.3, rank-biserial by its definition for normal differences, in 400 sets of 150."""
    random = np.random.default_rng(4)
    d = random.normal(0.3, 1, (400, 150))
    many = random.normal(0.3, 1, 200_000)
    truth = {"cohen_dz": 0.3, "rank_biserial": biserial(many), "superiority": (many > 0).mean()}
    found = [effects(np.zeros(150), row, resamples=400) for row in d]
    for name, true in truth.items():
        ends = [getattr(one, name).ci for one in found]
        covered = np.mean([low <= true <= high for low, high in ends])
        assert 0.92 <= covered <= 0.975, name


def test_the_odds_ratio_of_groups_is_that_of_as_many_items_as_vary_by_themselves() -> None:
    """Copies tell no more."""
    one_way, other = np.zeros(40), np.repeat([1.0, 0.0], [28, 12])
    alone = effects(one_way + (1 - other), other, binary=True).odds_ratio
    copies = [np.repeat(values, 5) for values in (one_way + (1 - other), other)]
    found = effects(*copies, np.repeat(np.arange(40), 5), binary=True).odds_ratio
    assert alone is not None
    assert alone.ci is not None
    assert found is not None
    assert found.ci == pytest.approx(alone.ci, rel=0.1)


@pytest.mark.long
def test_the_odds_ratio_of_groups_holds_the_truth() -> None:
    """A ratio of 2, where groups lean one way each."""
    random = np.random.default_rng(5)
    clusters = np.repeat(np.arange(40), 5)
    held = []
    for _ in range(400):
        lean = random.beta(2 * 2 / 3, 2 / 3, 40)[clusters]  # mean 2/3
        b = (random.random(200) < lean).astype(np.float64)
        odds = effects(1 - b, b, clusters, binary=True, resamples=2).odds_ratio
        assert odds is not None
        assert odds.ci is not None
        held.append(odds.ci[0] <= 2 and (odds.ci[1] is None or odds.ci[1] >= 2))
    assert 0.93 <= np.mean(held) <= 0.99


@pytest.mark.parametrize("groups", [4, 12])
def test_the_odds_ratio_where_all_go_one_way_has_a_lower_bound(groups: int) -> None:
    zeros, ones = np.zeros(groups * 3), np.ones(groups * 3)
    clusters = np.repeat(np.arange(groups), 3)
    exact = binomtest(groups, groups).proportion_ci(0.95, "exact").low
    up = effects(zeros, ones, clusters, binary=True).odds_ratio
    assert up is not None
    assert (up.value, up.ci) == (None, (pytest.approx(exact / (1 - exact)), None))
    assert up.why is not None
    assert "no upper bound" in up.why
    down = effects(ones, zeros, clusters, binary=True).odds_ratio
    assert down is not None
    assert (down.value, down.ci) == (0.0, (0.0, pytest.approx((1 - exact) / exact)))
    one = effects(zeros, ones, np.zeros(groups * 3, np.int64), binary=True).odds_ratio
    assert one is not None
    assert (one.value, one.ci) == (None, None)
    assert one.why is not None
    assert one.why.endswith("all items that differ are in one group")


def test_no_interval_of_no_width() -> None:
    """Four changes that all go up: every resample says 1, and nobody knows the fifth."""
    a, b = np.zeros(20), np.repeat([0.5, 0.0], [4, 16])
    found = effects(a, b)
    assert (found.rank_biserial.value, found.rank_biserial.ci) == (1.0, None)
    assert found.rank_biserial.why is not None
    assert "every resample gives the same" in found.rank_biserial.why
    assert found.superiority.ci is not None
    all_up = effects(np.zeros(20), np.ones(20), binary=True)
    for effect in (all_up.superiority, all_up.cohen_h):
        assert effect is not None
        assert (effect.ci, effect.why) == (None, found.rank_biserial.why)


def test_one_item_and_none() -> None:
    one = effects(np.array([0.0]), np.array([1.0]), binary=True)
    assert one.cohen_dz.why == "fewer than two items"
    assert (one.rank_biserial.value, one.rank_biserial.ci, one.superiority.ci) == (1.0, None, None)
    assert one.odds_ratio is not None
    assert (one.odds_ratio.value, one.odds_ratio.why is None) == (None, False)
    none = effects(np.empty(0), np.empty(0), binary=True)
    assert none.cohen_dz == none.odds_ratio == Effect(None, None, "no item is scored in both")


def test_counts_are_of_the_draws_of_the_means() -> None:
    random = np.random.default_rng(3)
    rows = random.integers(-1, 4, 3_000)
    clusters = random.integers(0, 700, 3_000)
    for groups in (None, clusters):
        counts = resampled_counts(rows[:, None], 4, groups, resamples=50, seed=9)
        table = np.stack([rows == 0, rows == 3], axis=1).astype(np.float64)
        means = resampled_means(table, groups, resamples=50, seed=9)
        assert counts[0] / counts[3] == pytest.approx(means[0] / means[1], rel=1e-5)


def test_a_column_does_not_depend_on_the_others() -> None:
    random = np.random.default_rng(8)
    a, b = (random.integers(0, 4, (60, 20)) / 3 for _ in range(2))
    a[:, 3], b[:, 3] = a[:, 3] > 0.5, b[:, 3] > 0.5
    b[:, 5] = a[:, 5]
    binary = [i == 3 for i in range(20)]
    clusters = np.repeat(np.arange(20), 3)
    together = effects_of(a, b, clusters, binary=binary, resamples=200)
    for i, found in enumerate(together):
        alone = effects(a[:, i], b[:, i], clusters, binary=binary[i], resamples=200)
        assert str(found)[:60] == str(alone)[:60]
        assert found.superiority.ci == pytest.approx(alone.superiority.ci)
        if found.rank_biserial.ci:
            assert found.rank_biserial.ci == pytest.approx(alone.rank_biserial.ci)


def test_many_items_with_many_sizes_take_a_moment() -> None:
    random = np.random.default_rng(6)
    a, b = random.random((2, 20_000))
    start = time.process_time()
    found = effects(a, b)
    assert time.process_time() - start < 10
    assert found.rank_biserial.value == pytest.approx(biserial(b - a))
    assert found.rank_biserial.ci is not None
    low, high = found.rank_biserial.ci
    assert low is not None
    assert high is not None
    # The interval of the mean of signed ranks: ± 1.96 · √(4 / 3n) where nothing differs.
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(4 / (3 * 20_000)), rel=0.1)
    assert len(np.unique(np.abs(b - a))) > MOST_SIZES
