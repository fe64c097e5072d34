"""Correlations against definitions written out by hand, and published examples."""

from __future__ import annotations

import math
import random
from itertools import permutations

import numpy as np
import pytest

from trueground.stats.agreement import Correlation, average_ranks, pearson, spearman


def by_definition(x: list[float], y: list[float]) -> float:
    mx, my = math.fsum(x) / len(x), math.fsum(y) / len(y)
    up = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    down = math.fsum((a - mx) ** 2 for a in x) * math.fsum((b - my) ** 2 for b in y)
    return up / math.sqrt(down)


def ranks_by_counting(values: list[float]) -> list[float]:
    """One more than the smaller ones, and half a place for each other equal one."""
    return [
        1 + sum(other < value for other in values) + (values.count(value) - 1) / 2
        for value in values
    ]


def test_ranks_share_the_mean_of_their_places() -> None:
    assert average_ranks([10, 20, 20, 5]).tolist() == [2, 3.5, 3.5, 1]
    assert average_ranks([7, 7, 7]).tolist() == [2, 2, 2]
    assert average_ranks([]).tolist() == []


@pytest.mark.parametrize("seed", range(20))
def test_random_pairs_with_ties_against_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(3, 30)
    x = [float(rng.randint(0, 9)) for _ in range(n)] + [0.0, 9.0]
    y = [rng.choice([0.1, 0.2, 0.35]) + rng.randint(0, 2) for _ in range(n)] + [0.1, 5.0]
    assert average_ranks(x).tolist() == ranks_by_counting(x)
    assert pearson(x, y) == pytest.approx(by_definition(x, y), abs=1e-12)
    expected = by_definition(ranks_by_counting(x), ranks_by_counting(y))
    assert spearman(x, y) == pytest.approx(expected, abs=1e-12)
    assert pearson(y, x) == pytest.approx(pearson(x, y), abs=1e-12)


def test_without_ties_spearman_is_one_less_six_squared_differences() -> None:
    n = 5
    first = list(range(n))
    for second in permutations(first):
        d2 = sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
        expected = 1 - 6 * d2 / (n * (n * n - 1))
        assert spearman(first, second) == pytest.approx(expected, abs=1e-12)


def test_anscombes_first_two_sets() -> None:
    """Four sets of Anscombe (1973) share the coefficient 0.816."""
    x = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
    one = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]
    two = [9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74]
    assert pearson(x, one) == pytest.approx(0.81642, abs=1e-5)
    assert pearson(x, two) == pytest.approx(0.81624, abs=1e-5)


def test_large_and_small_numbers_neither_overflow_nor_vanish() -> None:
    x = [1.0, 2.0, 4.0]
    for scale in (1e200, 1e-200):
        assert pearson([scale * v for v in x], [1, 2, 4]) == pytest.approx(1.0)


def test_constant_and_few_pairs_have_no_coefficient() -> None:
    assert pearson([1, 1, 1], [1, 2, 3]) is None
    assert pearson([0.1] * 5, [1, 2, 3, 4, 5]) is None
    assert spearman([1, 2], [3, 3]) is None
    few = Correlation.of([1, 2], [3, 4])
    assert (few.value, few.ci, few.n, few.why) == (None, None, 2, "2 of at least 3 pairs")
    flat = Correlation.of([1, 2, 3], [5, 5, 5], ranked=True)
    assert flat.value is None
    assert flat.why == "the second score is the same for all"
    with pytest.raises(ValueError, match="2 and 3 numbers are no pairs"):
        pearson([1, 2], [1, 2, 3])


def test_interval_is_the_percentiles_of_all_resamples_of_few_pairs() -> None:
    """With enough draws the bootstrap nears the enumeration of all 4 ** 4 equally likely ones."""
    x, y = [1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 5.0]
    every = []
    for code in range(4**4):
        rows = [code // 4**k % 4 for k in range(4)]
        a, b = [x[r] for r in rows], [y[r] for r in rows]
        if len(set(a)) > 1 and len(set(b)) > 1:
            every.append(by_definition(a, b))
    found = Correlation.of(x, y, resamples=20_000)
    assert found.ci is not None
    low, high = np.percentile(every, [2.5, 97.5])
    assert found.ci == pytest.approx((low, high), abs=0.02)


def test_interval_holds_the_value_and_repeats_with_the_seed() -> None:
    rng = random.Random(3)
    x = [rng.random() for _ in range(25)]
    y = [a + rng.gauss(0, 0.3) for a in x]
    for ranked in (False, True):
        one, again = (Correlation.of(x, y, ranked=ranked) for _ in range(2))
        other = Correlation.of(x, y, ranked=ranked, seed=1)
        assert one == again
        assert one.ci is not None
        assert one.value is not None
        assert one.ci[0] < one.value < one.ci[1] <= 1
        assert other.ci != one.ci
        assert (one.n, one.ci_level) == (25, 0.95)


def test_noise_of_the_last_bits_is_no_difference() -> None:
    noisy = [sum([0.1] * 3) / 3, 0.1, 0.1, sum([0.1] * 10) / 10]
    assert len(set(noisy)) > 1
    found = Correlation.of(noisy, [1.0, 2.0, 3.0, 4.0])
    assert found.value is None
    assert found.why == "the first score is the same for all"


def test_rank_correlations_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    rng = np.random.default_rng(5)
    for n, values in ((5, 3), (300, 2), (1_000, 7), (4_097, 10_000)):
        x = rng.integers(0, values, n).astype(float)
        y = np.where(rng.random(n) < 0.5, x, rng.integers(0, values, n))
        if len(set(x)) < 2 or len(set(y)) < 2:
            continue
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def test_unequal_samples_are_no_pairs() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        pearson([1, 2], [1])
