"""The logistic fit against a brute-force search, and calibration errors by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from trueground.errors import InputError
from trueground.stats.calibration import LogisticCurve
from trueground.stats.thresholds import ScoredLabels


def test_the_fit_is_the_minimum_that_a_search_finds() -> None:
    random = np.random.default_rng(5)
    scores = random.normal(40, 12, 400)
    truth = random.random(400) < 1 / (1 + np.exp(-(scores - 43) / 6))
    n, k = len(truth), int(truth.sum())
    targets = np.where(truth, (k + 1) / (k + 2), 1 / (n - k + 2))

    def loss(weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        logits = weights[0] * (scores - 40) + weights[1]
        return float((np.logaddexp(0, logits) - targets * logits).sum())

    best, reach = np.zeros(2), np.array([1.0, 4.0])
    while reach.max() > 1e-7:
        around = [best + reach * (i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        nearest = min(around, key=loss)
        reach = reach if (nearest != best).any() else reach / 2
        best = nearest
    slope, intercept = LogisticCurve.fit(scores, truth)
    assert slope == pytest.approx(best[0], rel=1e-4)
    assert intercept == pytest.approx(best[1] - 40 * best[0], rel=1e-4)


def test_separable_scores_have_a_finite_slope() -> None:
    scores = np.array([0.0, 0.1, 0.9, 1.0] * 5)
    slope, intercept = LogisticCurve.fit(scores, scores > 0.5)
    assert 0 < slope < 100
    p = LogisticCurve(slope, intercept).probabilities(scores)
    # The targets are 11/12 and 1/12; two weights fit them nearly, and their mean exactly.
    assert p[scores > 0.5].mean() == pytest.approx(11 / 12, abs=0.01)
    assert p[scores < 0.5].mean() == pytest.approx(1 / 12, abs=0.01)
    assert p.mean() == pytest.approx(0.5)


def test_the_same_curve_in_other_units() -> None:
    random = np.random.default_rng(1)
    scores = random.random(100)
    truth = random.random(100) < scores
    slope, intercept = LogisticCurve.fit(scores, truth)
    other, shifted = LogisticCurve.fit(1e6 * scores - 3e5, truth)
    assert other * 1e6 == pytest.approx(slope)
    assert shifted - 3e5 * other == pytest.approx(intercept)


def test_scores_that_go_against_the_labels_have_a_negative_slope() -> None:
    assert (
        LogisticCurve.fit(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, False]))[0]
        < 0
    )


def test_equal_scores_give_the_share_of_positives() -> None:
    truth = np.array([True, False, False, False])
    slope, intercept = LogisticCurve.fit(np.full(4, 7.0), truth)
    assert slope == 0
    assert 1 / (1 + math.exp(-intercept)) == pytest.approx((2 / 3 + 3 * 0.2) / 4)


def test_labels_of_one_kind_have_no_curve() -> None:
    with pytest.raises(InputError, match="0 of 2 labels are positive"):
        LogisticCurve.fit(np.array([1.0, 2.0]), np.array([False, False]))


def test_probabilities_far_out_do_not_overflow() -> None:
    found = LogisticCurve(1.0, 0.0).probabilities(np.array([-1e6, 0.0, 1e6]))
    assert found.tolist() == [0.0, 0.5, 1.0]


def test_calibration_error_by_hand() -> None:
    p = np.array([0.1, 0.2, 0.7, 0.9])
    truth = np.array([False, True, True, True])
    assert ScoredLabels(p, truth).calibration_error(bins=1) == pytest.approx(abs(1.9 - 3) / 4)
    assert ScoredLabels(p, truth).calibration_error(bins=2) == pytest.approx((0.7 + 0.4) / 4)
    assert ScoredLabels(p, p > 0.5).calibration_error(bins=4) == pytest.approx(
        (0.1 + 0.2 + 0.3 + 0.1) / 4
    )
    assert ScoredLabels(np.array([]), np.array([], np.bool_)).calibration_error() is None


def test_equal_probabilities_stay_in_one_bin_whatever_their_order() -> None:
    p = np.repeat([0.0, 0.3, 1.0], [50, 30, 20])
    truth = np.arange(100) % 3 == 0
    by_value = sum(abs(p[p == v].sum() - truth[p == v].sum()) for v in (0.0, 0.3, 1.0)) / 100
    assert ScoredLabels(p, truth).calibration_error() == pytest.approx(by_value)
    order = np.random.default_rng(0).permutation(100)
    assert ScoredLabels(p[order], truth[order]).calibration_error() == pytest.approx(by_value)


@pytest.mark.parametrize("ties", [False, True])
def test_the_calibration_error_is_the_mean_gap_of_the_reliability_bins(ties: bool) -> None:
    random = np.random.default_rng(3)
    p = random.integers(0, 7, 200) / 7 if ties else random.random(200)
    truth = random.random(200) < p**2
    bins = ScoredLabels(p, truth).reliability()
    assert sum(b["n"] for b in bins) == 200
    assert len(bins) <= 10
    gaps = [b["n"] * abs(b["mean_probability"] - b["share_positive"]) for b in bins]
    assert sum(gaps) / 200 == pytest.approx(ScoredLabels(p, truth).calibration_error())
    assert all(b["low"] - 1e-12 <= b["mean_probability"] <= b["high"] + 1e-12 for b in bins)
    assert all(a["high"] < b["low"] for a, b in pairwise(bins))
    assert ScoredLabels(np.array([]), np.array([], np.bool_)).reliability() == []


def test_brier_by_hand() -> None:
    assert ScoredLabels(
        np.array([1.0, 0.5, 0.0]), np.array([True, True, True])
    ).brier() == pytest.approx(1.25 / 3)
    assert ScoredLabels(np.array([]), np.array([], np.bool_)).brier() is None
