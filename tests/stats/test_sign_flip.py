"""The sign-flip test: against every pattern by brute force, scipy, and McNemar's test."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.stats import permutation_test

from trueground.stats.paired_tests import MOST_FLIPS, SignFlip, flips_for, mcnemar, sign_flip


def all_patterns(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    signs = np.array(list(itertools.product((-1, 1), repeat=len(values))))
    return float((np.abs(signs @ values) >= abs(values.sum()) - 1e-12).mean())


@pytest.mark.parametrize("n", [1, 2, 5, 10, 14])
def test_few_units_are_counted_in_full(n: int) -> None:
    random = np.random.default_rng(n)
    for ties in (False, True):
        d = random.normal(0.3, 1, n)
        d = np.round(d, 0 if ties else 12)
        (found,) = sign_flip(d[:, None])
        assert found == SignFlip(pytest.approx(all_patterns(d)), 2 ** int((d != 0).sum()), True)


def test_all_patterns_are_those_of_scipy() -> None:
    d = np.random.default_rng(1).normal(0.4, 1, 12)
    theirs = permutation_test(
        (d,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    (found,) = sign_flip(d[:, None])
    assert found is not None
    assert found.p == pytest.approx(theirs.pvalue)


def test_sixteen_units_are_listed_and_seventeen_drawn() -> None:
    d = np.random.default_rng(2).normal(0.3, 1, (17, 1))
    listed, drawn = sign_flip(d[:16])[0], sign_flip(d)[0]
    assert listed is not None
    assert drawn is not None
    assert (listed.exact, listed.patterns) == (True, 65_536)
    assert (drawn.exact, drawn.patterns) == (False, 2_000)
    (more,) = sign_flip(d, flips=200_000)
    assert more is not None
    assert more.exact
    assert more.p == pytest.approx(drawn.p, abs=0.03)


def test_units_that_do_not_differ_play_no_part() -> None:
    d = np.append(np.random.default_rng(3).normal(0.4, 1, 12), np.zeros(500))[:, None]
    assert sign_flip(d) == sign_flip(d[:12])


def test_random_patterns_of_zeros_and_ones_are_mcnemar() -> None:
    difference = np.repeat([1.0, -1.0, 0.0], [25, 11, 400])[:, None]
    (found,) = sign_flip(difference, flips=20_000)
    assert found is not None
    assert found.p == pytest.approx(mcnemar(11, 25), abs=0.006)
    (alike,) = sign_flip(difference[:, [0]], np.arange(436), flips=20_000)
    assert alike == found


def test_a_cluster_is_one_unit() -> None:
    """Ten copies of every difference tell no more than one."""
    difference = np.random.default_rng(0).normal(0.3, 1, (30, 1))
    copies = np.repeat(difference, 10, axis=0)
    clusters = np.repeat(np.arange(30), 10)
    (alone,), (together,) = sign_flip(difference), sign_flip(copies, clusters)
    (ignored,) = sign_flip(copies)
    assert together == alone
    assert alone is not None
    assert ignored is not None
    assert ignored.p < alone.p


def test_differences_that_cancel_within_a_cluster_are_none() -> None:
    """0.1 + 0.2 − 0.3 is 5.6e-17 in floats, and no unit that differs."""
    difference = np.tile([0.1, 0.2, -0.3], 20)[:, None]
    assert sign_flip(difference, np.repeat(np.arange(20), 3)) == [SignFlip(1.0, 1, True)]


def test_edges() -> None:
    nothing = np.full((5, 1), np.nan)
    assert sign_flip(nothing) == [None]
    assert sign_flip(np.zeros((5, 1))) == [SignFlip(1.0, 1, True)]
    assert sign_flip(np.array([[0.7]])) == [SignFlip(1.0, 2, True)]
    assert sign_flip(np.empty((5, 0))) == []
    assert sign_flip(np.full((40, 1), 0.5), flips=100) == [SignFlip(1 / 101, 100, False)]


def test_more_patterns_for_more_tests_within_bounds() -> None:
    def found(tests: int, units: int, resamples: int = 2_000) -> int:
        return flips_for(tests, units, resamples=resamples, alpha=0.05)

    assert (found(1, 100), found(5, 100), found(50, 100)) == (2_000, 2_000, 20_000)
    assert found(10_000, 100) == MOST_FLIPS
    assert found(50, 1_000_000) == 2_000
    assert found(1, 1_000_000, 7_000) == 7_000


def test_many_patterns_of_many_items_take_seconds_and_little_memory() -> None:
    random = np.random.default_rng(0)
    start = time.process_time()
    (found,) = sign_flip(random.normal(0, 1, (20_000, 1)), flips=4_000)
    assert found is not None
    assert found.patterns == 4_000
    assert time.process_time() - start < 5
