"""Isotonic regression against scikit-learn and by hand; what keeps it from being sure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trueground.errors import InputError
from trueground.stats.calibration import IsotonicCurve

ROWS = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=80)


@given(ROWS)
def test_blocks_are_scikit_learns_and_smoothed(rows: list[tuple[int, bool]]) -> None:
    """One record more at the overall share for each block of scikit-learn's, pooled again."""
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    scores, truth = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows])
    if truth.all() or not truth.any():
        return
    theirs = isotonic.IsotonicRegression().fit(scores, truth).predict(scores)
    value, block, n = np.unique(theirs.round(9), return_inverse=True, return_counts=True)
    smoothed = (value * n + truth.mean()) / (n + 1)
    again = isotonic.IsotonicRegression().fit(value, smoothed, sample_weight=n).predict(value)
    assert IsotonicCurve.fit(scores, truth).probabilities(scores) == pytest.approx(
        again[block], abs=1e-7
    )


def test_blocks_by_hand() -> None:
    scores = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    truth = np.array([0, 0, 1, 0, 1, 1], bool)
    # Blocks 0 0 | 1 0 | 1 1, and one record more at 1/2 for each.
    low, high = 0.5 / 3, 2.5 / 3
    expected = [[1, low], [2, low], [3, 0.5], [4, 0.5], [5, high], [6, high]]
    assert IsotonicCurve.fit(scores, truth).knots == pytest.approx(np.array(expected))
    between = IsotonicCurve.fit(scores, truth).probabilities(np.array([-9.0, 2.5, 4.25, 9.0]))
    assert between == pytest.approx([low, (low + 0.5) / 2, 0.5 + (high - 0.5) / 4, high])


def test_a_small_block_that_would_overtake_is_pooled_again() -> None:
    # 19 of 20 at 1, and a single positive at 2: (1 + s) / 2 would lie below.
    scores = np.array([0.0] * 20 + [1.0] * 20 + [2.0])
    truth = np.array([False] * 20 + [False] + [True] * 19 + [True])
    knots = IsotonicCurve.fit(scores, truth).knots
    assert knots[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert knots[1, 1] == knots[2, 1] < 1
    assert (np.diff(knots[:, 1]) >= 0).all()


@given(ROWS)
def test_it_rises_and_is_never_sure(rows: list[tuple[int, bool]]) -> None:
    scores, truth = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows])
    if truth.all() or not truth.any():
        with pytest.raises(InputError, match="expected some of both kinds"):
            IsotonicCurve.fit(scores, truth)
        return
    knots = IsotonicCurve.fit(scores, truth).knots
    assert (np.diff(knots[:, 0]) > 0).all()
    assert (np.diff(knots[:, 1]) >= 0).all()
    assert 0 < knots[0, 1] <= knots[-1, 1] < 1
    order = np.random.default_rng(0).permutation(len(rows))
    assert IsotonicCurve.fit(scores[order], truth[order]).knots == pytest.approx(knots)


def test_scores_that_go_against_the_labels_have_a_level_curve() -> None:
    knots = IsotonicCurve.fit(
        np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, False])
    ).knots
    assert knots.tolist() == [[1.0, 0.5], [4.0, 0.5]]
    assert IsotonicCurve.fit(
        np.full(4, 7.0), np.array([True, False, False, False])
    ).knots.tolist() == [[7.0, 0.25]]


def test_twenty_thousand_scores_are_no_matter() -> None:
    random = np.random.default_rng(0)
    scores = random.random(20_000)
    knots = IsotonicCurve.fit(scores, random.random(20_000) < scores**2).knots
    asked = np.linspace(0.05, 0.95, 10)
    assert IsotonicCurve(knots).probabilities(asked) == pytest.approx(asked**2, abs=0.06)
