"""Held-out thresholds and curves: whole clusters, and no peeking."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from trueground.stats import calibration
from trueground.stats.thresholds import best_threshold, folds, held_out, measures_at


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
    found = held_out(scores, truth, parts, partial(best_threshold, objective="f1"))
    assert found.values is not None
    for part in range(5):
        others = parts != part
        expected = best_threshold(scores[others], truth[others], "f1")
        assert found.chosen[part] == expected
        assert (found.values[parts == part] == expected).all()


def test_chance_looks_good_where_it_was_chosen_and_not_elsewhere() -> None:
    """Scores without any relation to the labels: the chosen threshold flatters itself."""
    inside, outside = [], []
    for seed in range(30):
        random = np.random.default_rng(seed)
        scores, truth = random.random(40), np.arange(40) % 2 == 0
        at = best_threshold(scores, truth)
        applied = held_out(scores, truth, folds(40, seed=seed)).values
        assert applied is not None
        inside.append(measures_at(scores, truth, at)["balanced_accuracy"] or 0.0)
        outside.append(measures_at(scores, truth, applied)["balanced_accuracy"] or 0.0)
    assert np.mean(inside) > 0.58
    assert np.mean(outside) < 0.53


def test_no_choice_has_a_reason() -> None:
    scores, truth = np.array([0.1, 0.2, 0.8]), np.array([False, False, True])
    assert held_out(scores, truth, np.zeros(3, np.int64)).reason is not None
    reason = held_out(scores, truth, folds(3)).reason
    assert reason is not None
    assert "0 of 2 labels are positive" in reason


def test_probabilities_come_from_a_curve_of_the_others() -> None:
    scores, truth = drawn(4, 60)
    parts = folds(60)

    def fit(some: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return partial(
            calibration.isotonic_probabilities, knots=calibration.fit_isotonic(some, labels)
        )

    found = held_out(scores, truth, parts, fit).values
    assert found is not None
    for part in range(5):
        inside = parts == part
        knots = calibration.fit_isotonic(scores[~inside], truth[~inside])
        assert (found[inside] == calibration.isotonic_probabilities(scores[inside], knots)).all()
    alone = held_out(scores, truth, np.zeros(60, np.int64), fit)
    assert (alone.values, alone.reason is None) == (None, False)
    three = held_out(scores[:3], np.array([False, False, True]), folds(3), fit)
    assert "0 of 2 labels are positive" in (three.reason or "")
