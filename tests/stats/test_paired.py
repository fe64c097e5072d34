"""Paired statistics: against values of other programs, against brute force, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trueground.stats.paired_tests import McNemar, Paired, mcnemar

# scipy.stats.binomtest(b, b + c).pvalue and statsmodels' mcnemar(exact=True), which agree.
KNOWN = [
    (0, 1, 1.0),
    (1, 5, 0.21875),
    (5, 5, 1.0),
    (6, 5, 1.0),
    (3, 12, 0.03515625),
    (121, 59, 4.4344492637551645e-06),
    (0, 50, 1.7763568394002505e-15),
    (500, 600, 0.0028195449914364284),
    (999, 1, 1.8683937642434442e-298),
    (49_000, 51_000, 2.5887160383468943e-10),
    (500_000, 502_500, 0.012564397200987768),
    (1_000_000, 1_000_000, 1.0),
]


@pytest.mark.parametrize(("b", "c", "p"), KNOWN)
def test_mcnemar_against_known_values(b: int, c: int, p: float) -> None:
    assert mcnemar(b, c) == pytest.approx(p, rel=1e-7)
    assert mcnemar(c, b) == mcnemar(b, c)


def test_mcnemar_edges() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(10, 5_000) == 0.0  # below the smallest number there is
    with pytest.raises(ValueError, match="-1"):
        mcnemar(-1, 2)


def test_both_ways_of_mcnemar_meet_at_a_thousand() -> None:
    for n in (1_001, 1_203):
        exact = sum(math.comb(n, i) for i in range(451)) / 2 ** (n - 1)
        assert mcnemar(450, n - 450) == pytest.approx(exact, rel=1e-10)


def test_holm_against_statsmodels() -> None:
    raw = [0.01, 0.04, None, 0.03, 0.005, 0.2, 0.04]
    expected = [0.05, 0.12, None, 0.12, 0.03, 0.2, 0.12]
    for found, wanted in zip(Paired.adjust(raw), expected, strict=True):
        assert found == (None if wanted is None else pytest.approx(wanted))
    assert Paired.adjust([]) == []


def test_interval_against_brute_force() -> None:
    """Draw items with repetition, average their differences, take percentiles."""
    random = np.random.default_rng(3)
    a, b = random.random((40, 1)), random.random((40, 1)) + 0.2
    b[5] = np.nan
    (result,) = Paired.compare(a, b, resamples=20_000)
    draws = random.integers(0, 40, (20_000, 40))
    means = np.nanmean((b - a)[:, 0][draws], axis=1)
    assert result.ci == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=0.01)
    assert result.n == 39
    known = ~np.isnan(b)
    assert result.mean_a == pytest.approx(a[known].mean())
    assert result.difference == pytest.approx((b - a)[known].mean())


def test_a_column_does_not_depend_on_the_others() -> None:
    random = np.random.default_rng(4)
    a, b = random.random((300, 3)), random.random((300, 3))
    together = Paired.compare(a, b)
    assert [Paired.compare(a[:, [i]], b[:, [i]])[0].p for i in range(3)] == [r.p for r in together]


def test_counts_and_tests_of_each_kind_of_metric() -> None:
    a = np.array([[1, 0.5], [1, 0.5], [0, 0.5], [0, 0.2], [1, np.nan], [np.nan, 0.1]])
    b = np.array([[0, 0.5], [1, 0.6], [1, 0.4], [1, 0.1], [np.nan, 0.3], [1, np.nan]])
    flags, numbers = Paired.compare(a, b)
    assert (flags.n, flags.higher, flags.lower, flags.tied) == (4, 2, 1, 1)
    assert (flags.test, flags.mcnemar, flags.p) == ("mcnemar", McNemar(1, 2, 1.0), 1.0)
    assert (numbers.n, numbers.higher, numbers.lower, numbers.tied) == (4, 1, 2, 1)
    assert (numbers.test, numbers.patterns, numbers.mcnemar) == ("sign-flip-exact", 8, None)


def test_clusters_turn_to_the_sign_flip_test_and_keep_mcnemar_beside_it() -> None:
    a, b = np.zeros((40, 1)), np.repeat([[1.0], [0.0]], 20, axis=0)
    (result,) = Paired.compare(a, b, np.repeat(np.arange(8), 5))
    assert (result.test, result.patterns) == ("sign-flip-exact", 16)
    assert result.mcnemar == McNemar(0, 20, pytest.approx(2 * 0.5**20))
    assert result.p == 2 / 2**4  # four groups that all point one way


def test_nothing_in_common() -> None:
    (result,) = Paired.compare(np.array([[1.0], [np.nan]]), np.array([[np.nan], [1.0]]))
    assert (result.n, result.difference, result.ci, result.p, result.test) == (0, *[None] * 4)
    assert Paired.compare(np.empty((0, 1)), np.empty((0, 1)))[0].n == 0


def test_under_the_null_the_interval_covers_zero_and_p_is_uniform() -> None:
    random = np.random.default_rng(0)
    skill = random.random((400, 80, 1))
    a, b = ((random.random(skill.shape) * 0.5 + skill * 0.5) ** 2 for _ in range(2))
    results = [Paired.compare(x, y, resamples=400)[0] for x, y in zip(a, b, strict=True)]
    covered = sum(r.ci is not None and r.ci[0] <= 0 <= r.ci[1] for r in results) / len(results)
    assert 0.92 <= covered <= 0.975
    p = np.array([r.p for r in results])
    for level in (0.05, 0.2, 0.5):
        assert (p <= level).mean() == pytest.approx(level, abs=0.05)


def test_pairing_is_narrower_than_two_samples() -> None:
    random = np.random.default_rng(1)
    skill = random.random((200, 1))
    (result,) = Paired.compare(skill, skill + random.normal(0.02, 0.05, skill.shape))
    assert result.ci is not None
    assert 0 < result.ci[0] < 0.02 < result.ci[1] < 0.04


def test_noise_of_the_last_digits_is_no_difference() -> None:
    a = np.array([0.3] * 10 + [0.5] * 10)[:, None]
    b = np.array([0.1 + 0.2] * 10 + [0.5] * 10)[:, None]
    assert (a != b).sum() == 10
    (result,) = Paired.compare(a, b)
    assert (result.higher, result.lower, result.tied) == (0, 0, 20)
    assert (result.difference, result.p, result.ci) == (0.0, 1.0, None)


def test_no_interval_where_all_items_differ_alike() -> None:
    a = np.arange(30)[:, None] / 100
    (shifted,) = Paired.compare(a, a + 0.2)
    assert (shifted.difference, shifted.ci) == (pytest.approx(0.2), None)
    assert shifted.why is not None
    assert "every resample gives the same" in shifted.why
    clusters = np.repeat(np.arange(15), 2)
    (grouped,) = Paired.compare(np.zeros((30, 1)), np.tile([[0.1], [0.3]], (15, 1)), clusters)
    assert (grouped.ci, grouped.why) == (None, shifted.why)
    (one_varies,) = Paired.compare(a, np.append(a[:29] + 0.2, [[0.9]], axis=0))
    assert (one_varies.ci is None, one_varies.why) == (False, None)


def test_many_tests_can_be_found_after_holm() -> None:
    """A difference without doubt among forty metrics, with the resamples of every day."""
    random = np.random.default_rng(0)
    a = random.random((60, 40))
    b = a + random.normal(0, 0.1, (60, 40))
    b[:, 0] = a[:, 0] + np.abs(random.normal(0.2, 0.05, 60))
    alone = Paired.compare(a, b)
    together = Paired.compare(a, b, tests=40)
    assert (alone[0].patterns, together[0].patterns) == (2_000, 16_000)
    assert [
        (Paired.adjust([r.p for r in found])[0] or 0) < 0.05 for found in (alone, together)
    ] == [
        True,
        True,
    ]
    few = Paired.compare(a, b, resamples=200, level=0.999)
    assert few[0].patterns == 20_000
