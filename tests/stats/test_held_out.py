"""Held-out thresholds and curves: whole clusters, and no peeking."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from trueground.stats.calibration import IsotonicCurve
from trueground.stats.thresholds import ScoredLabels, folds


def drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.4
    return random.normal(truth * 1.0, 1.0), truth


def test_folds_keep_clusters_whole_and_are_even() -> None:
    clusters = np.repeat(np.arange(23), 3)
    parts = folds(69, clusters, seed=4)
    assert all(len(set(parts[clusters == c])) == 1 for c in range(23))
    assert sorted(np.bincount(parts) // 3) == [4, 4, 5, 5, 5]
    assert (parts != folds(69, clusters, seed=5)).any()
    assert sorted(folds(3)) == [0, 1, 2]


def test_held_out_chooses_on_the_others_only() -> None:
    scores, truth = drawn(2, 50)
    parts = folds(50)
    found = ScoredLabels(scores, truth).held_out(
        parts, partial(ScoredLabels.best_threshold, objective="f1")
    )
    assert found.values is not None
    for part in range(5):
        others = parts != part
        expected = ScoredLabels(scores[others], truth[others]).best_threshold("f1")
        assert found.chosen[part] == expected
        assert (found.values[parts == part] == expected).all()


def test_chance_looks_good_where_it_was_chosen_and_not_elsewhere() -> None:
    """Scores without any relation to the labels: the chosen threshold flatters itself."""
    inside, outside = [], []
    for seed in range(30):
        random = np.random.default_rng(seed)
        scores, truth = random.random(40), np.arange(40) % 2 == 0
        at = ScoredLabels(scores, truth).best_threshold()
        applied = ScoredLabels(scores, truth).held_out(folds(40, seed=seed)).values
        assert applied is not None
        inside.append(ScoredLabels(scores, truth).measures_at(at)["balanced_accuracy"] or 0.0)
        outside.append(ScoredLabels(scores, truth).measures_at(applied)["balanced_accuracy"] or 0.0)
    assert np.mean(inside) > 0.58
    assert np.mean(outside) < 0.53


def test_no_choice_has_a_reason() -> None:
    scores, truth = np.array([0.1, 0.2, 0.8]), np.array([False, False, True])
    assert ScoredLabels(scores, truth).held_out(np.zeros(3, np.int64)).reason is not None
    reason = ScoredLabels(scores, truth).held_out(folds(3)).reason
    assert reason is not None
    assert "0 of 2 labels are positive" in reason


def test_probabilities_come_from_a_curve_of_the_others() -> None:
    scores, truth = drawn(4, 60)
    parts = folds(60)

    def fit(data: ScoredLabels) -> Callable[[np.ndarray], np.ndarray]:
        return IsotonicCurve.fit(data.scores, data.labels).probabilities

    found = ScoredLabels(scores, truth).held_out(parts, fit).values
    assert found is not None
    for part in range(5):
        inside = parts == part
        curve = IsotonicCurve.fit(scores[~inside], truth[~inside])
        assert (found[inside] == curve.probabilities(scores[inside])).all()
    alone = ScoredLabels(scores, truth).held_out(np.zeros(60, np.int64), fit)
    assert (alone.values, alone.reason is None) == (None, False)
    three = ScoredLabels(scores[:3], np.array([False, False, True])).held_out(folds(3), fit)
    assert "0 of 2 labels are positive" in (three.reason or "")
