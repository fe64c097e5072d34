"""Intervals and held-out thresholds: coverage, clusters, and no peeking."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from trueground.stats import isotonic
from trueground.stats.held_out import bootstrap_intervals, folds, held_out, predicted
from trueground.stats.thresholds import auroc, best_threshold, measures_at


def drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.4
    return random.normal(truth * 1.0, 1.0), truth


def test_intervals_hold_the_values_and_narrow_with_more_items() -> None:
    widths = []
    for n in (60, 960):
        scores, truth = drawn(0, n)
        area, (at_half, at_two) = bootstrap_intervals(scores, truth, [0.5, 2.0], resamples=500)
        assert area is not None
        assert at_half is not None
        assert at_two is not None
        assert area[0] < auroc(scores, truth) < area[1]
        value = measures_at(scores, truth, 0.5)["balanced_accuracy"]
        assert value is not None
        assert at_half[0] < value < at_half[1]
        widths.append(area[1] - area[0])
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.35)


def test_each_resample_is_what_repeating_the_items_gives() -> None:
    """The weights of one resample against the items themselves, repeated as often."""
    scores, truth = drawn(3, 30)
    area, (balanced,) = bootstrap_intervals(scores, truth, [0.4], resamples=1, seed=9)
    taken = np.random.Generator(np.random.SFC64(9)).integers(0, 30, 30)
    expected = auroc(scores[taken], truth[taken])
    assert area == pytest.approx((expected, expected))
    value = measures_at(scores[taken], truth[taken], 0.4)["balanced_accuracy"]
    assert balanced == pytest.approx((value, value))


def test_copies_in_one_cluster_are_no_new_evidence() -> None:
    scores, truth = drawn(1, 80)
    alone = bootstrap_intervals(scores, truth, [0.5], resamples=300)
    ids = np.repeat(np.arange(80), 5)
    copies = np.repeat(scores, 5), np.repeat(truth, 5)
    assert bootstrap_intervals(*copies, [0.5], ids, resamples=300) == alone
    area, _ = bootstrap_intervals(*copies, [0.5], resamples=300)
    assert area is not None
    assert alone[0] is not None
    assert area[1] - area[0] < 0.6 * (alone[0][1] - alone[0][0])


def test_one_cluster_of_a_kind_has_no_interval() -> None:
    scores, truth = np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True])
    assert bootstrap_intervals(scores, truth, [0.5], np.array([0, 1, 2, 2])) == (None, [None])


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
    assert found.applied is not None
    for part in range(5):
        others = parts != part
        expected = best_threshold(scores[others], truth[others], "f1")
        assert found.thresholds[part] == expected
        assert (found.applied[parts == part] == expected).all()


def test_chance_looks_good_where_it_was_chosen_and_not_elsewhere() -> None:
    """Scores without any relation to the labels: the chosen threshold flatters itself."""
    inside, outside = [], []
    for seed in range(30):
        random = np.random.default_rng(seed)
        scores, truth = random.random(40), np.arange(40) % 2 == 0
        at = best_threshold(scores, truth)
        applied = held_out(scores, truth, folds(40, seed=seed)).applied
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
        return partial(isotonic.probabilities, knots=isotonic.fit(some, labels))

    found = predicted(scores, truth, parts, fit).probabilities
    assert found is not None
    for part in range(5):
        inside = parts == part
        knots = isotonic.fit(scores[~inside], truth[~inside])
        assert (found[inside] == isotonic.probabilities(scores[inside], knots)).all()
    alone = predicted(scores, truth, np.zeros(60, np.int64), fit)
    assert (alone.probabilities, alone.reason is None) == (None, False)
    three = predicted(scores[:3], np.array([False, False, True]), folds(3), fit)
    assert "0 of 2 labels are positive" in (three.reason or "")
