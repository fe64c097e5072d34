"""Wilcoxon's signed-rank test: against scipy, against all patterns of signs, by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.stats import rankdata, wilcoxon

from trueground.stats.paired_tests import MOST_EXACT, signed_rank

TIED = st.lists(st.integers(-4, 4), min_size=1, max_size=13)
DISTINCT = st.lists(st.integers(1, 10**6), min_size=1, max_size=50, unique=True)


@given(DISTINCT, st.randoms(use_true_random=False))
def test_exact_without_ties_is_scipys(sizes: list[int], random: object) -> None:
    choice = random.choice  # type: ignore[attr-defined]
    d = np.array([size * choice((-1, 1)) / 10**6 for size in sizes])
    found, theirs = signed_rank(d), wilcoxon(d, method="exact")
    assert (found.method, found.n, found.zeros) == ("exact", len(d), 0)
    assert min(found.plus, found.minus) == theirs.statistic
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.long
@given(TIED.filter(lambda d: any(d)))
def test_exact_with_ties_is_scipys_permutation(d: list[int]) -> None:
    """Up to 13 items scipy counts every pattern too."""
    found, theirs = signed_rank(np.array(d) / 10), wilcoxon(np.array(d, float))
    assert found.method == "exact"
    assert found.zeros == d.count(0)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)


@given(st.lists(st.integers(-8, 8), min_size=130, max_size=300))
def test_normal_with_ties_and_zeros_is_scipys_default(d: list[int]) -> None:
    assume(len(d) - d.count(0) > MOST_EXACT)
    theirs = wilcoxon(np.array(d, float), method="asymptotic")
    found = signed_rank(np.array(d) / 100)
    assert found.method == "normal"
    assert min(found.plus, found.minus) == theirs.statistic
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_digits_of_noise_are_ties() -> None:
    d = np.array([0.3 - 0.2, -(0.2 - 0.1), 0.1 + 0.2 - 0.3])
    found = signed_rank(d)
    assert (found.plus, found.minus, found.zeros, found.p) == (1.5, 1.5, 1, 1.0)


def test_nothing_differs() -> None:
    for d in (np.zeros(5), np.empty(0)):
        found = signed_rank(d)
        assert (found.n, found.zeros, found.p, found.method) == (0, len(d), 1.0, "exact")


def test_clusters_change_sign_together() -> None:
    """Against every pattern of signs of the clusters."""
    random = np.random.default_rng(2)
    d = random.integers(-5, 9, 40) / 10
    clusters = random.integers(0, 9, 40)
    found = signed_rank(d, clusters)
    known = d != 0
    signed = np.sign(d[known]) * rankdata(np.abs(d[known]))
    names, codes = np.unique(clusters[known], return_inverse=True)
    sums = np.bincount(codes, weights=signed)
    signs = np.array(list(itertools.product((-1, 1), repeat=len(names))))
    expected = (np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9).mean()
    assert (found.units, found.method) == (len(names), "exact")
    assert found.p == pytest.approx(expected, rel=1e-9)


def test_each_item_a_cluster_is_no_cluster() -> None:
    for n in (12, 400):
        d = np.random.default_rng(n).integers(-3, 5, n) / 4
        alone = signed_rank(d)
        single = signed_rank(d, np.arange(n)[::-1])
        assert (alone.p, alone.method) == (pytest.approx(single.p), single.method)


def test_few_large_clusters_are_exact() -> None:
    random = np.random.default_rng(5)
    d = random.normal(0.1, 1, 5_000)
    found = signed_rank(d, np.repeat(np.arange(5), 1_000))
    assert (found.method, found.units) == ("exact", 5)
    assert found.p >= 2 / 2**5


def test_p_is_uniform_where_nothing_differs_and_clusters_count() -> None:
    random = np.random.default_rng(7)
    clusters = np.repeat(np.arange(60), 5)
    shared = random.normal(0, 1, (600, 60))
    p = np.array([
        signed_rank(row[clusters] + random.normal(0, 0.5, 300), clusters).p for row in shared
    ])  # fmt: skip
    ignored = np.array([signed_rank(row[clusters]).p for row in shared])
    for level in (0.05, 0.2, 0.5):
        assert (p <= level).mean() == pytest.approx(level, abs=0.04)
    assert (ignored <= 0.05).mean() > 0.25  # what items taken as independent would have said
