"""The calibration error: what chance makes of it, and how often its interval holds the truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trueground.stats.human.estimates import OverSets
from trueground.stats.human.measure import measure
from trueground.stats.thresholds import ScoredLabels

Floats = np.ndarray
# Scores and how likely each is right, given the generator and the number of items.
World = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


def calibrated(random: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    scores = random.random(n)
    return scores, scores


def pushed_out(random: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Calibrated, most scores near 0 or 1."""
    scores = random.beta(0.4, 0.2, n)
    return scores, scores


def too_high(by: float) -> World:
    def world(random: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        scores = random.random(n)
        return scores, np.clip(scores - by, 0, 1)

    return world


def too_sure(random: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """True in the middle, too low below and too high above."""
    scores = random.random(n)
    return scores, 0.25 + scores / 2


def in_clusters(world: World, random: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """(scores, labels, clusters): pairs of items with one score and one label."""
    scores, right = world(random, n // 2)
    labels = (random.random(n // 2) < right).astype(float)
    return np.repeat(scores, 2), np.repeat(labels, 2), np.repeat(np.arange(n // 2), 2)


def truth_of(world: World) -> float:
    """Of so many items that chance has no part."""
    scores, right = world(np.random.default_rng(0), 200_000)
    order = np.argsort(scores)
    gaps = [abs((scores - right)[part].sum()) for part in np.array_split(order, 10)]
    return float(sum(gaps) / len(scores))


def intervals(world: World, n: int, sets: int = 200) -> Floats:
    random = np.random.default_rng(n)
    found = []
    for seed in range(sets):
        scores, right = world(random, n)
        labels = (random.random(n) < right).astype(float)
        one = measure(scores, labels, resamples=100, seed=seed, workers=1)
        ci = one.estimates["calibration_error"].ci
        assert ci is not None
        found.append(ci)
    return np.array(found)


@pytest.mark.long
@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize("world", [calibrated, pushed_out, too_high(0.05), too_high(0.3), too_sure])
def test_the_interval_holds_the_truth(world: World, n: int) -> None:
    """At least as often as it says; it errs on the wide side where gaps are small."""
    truth = truth_of(world) if world not in (calibrated, pushed_out) else 0.0
    found = intervals(world, n)
    held = np.mean((found[:, 0] <= truth + 1e-12) & (truth <= found[:, 1]))
    assert held >= 0.93
    if world in (calibrated, pushed_out):
        assert np.mean(found[:, 0] == 0) >= 0.93


def test_a_large_error_has_a_narrow_interval_that_leaves_zero() -> None:
    found = intervals(too_high(0.3), 1_000, 20)
    assert (found[:, 0] > 0.15).all()
    assert np.mean(found[:, 1] - found[:, 0]) < 0.1


@pytest.mark.long
def test_coverage_where_items_come_in_groups() -> None:
    random = np.random.default_rng(5)
    low = []
    for seed in range(200):
        scores, labels, unit = in_clusters(calibrated, random, 200)
        one = measure(scores, labels, clusters=unit, resamples=100, seed=seed, workers=1)
        ci = one.estimates["calibration_error"].ci
        assert ci is not None
        low.append(ci[0])
    # The draws of labels know nothing of groups: chance is larger than they say.
    assert np.mean(np.array(low) == 0) >= 0.9


@pytest.mark.parametrize(("n", "kind"), [(40, calibrated), (400, pushed_out), (8_000, calibrated)])
def test_calibrated_scores_under_chance(n: int, kind: World) -> None:
    """Labels drawn from the scores, and the error of each draw, as written out."""
    random = np.random.default_rng(3)
    scores, _ = kind(random, n)
    scores = np.asarray(np.round(scores, 2), np.float64)
    found = measure(scores, random.random(n) < scores, resamples=100, workers=1)
    errors = [
        ScoredLabels(scores, random.random(n) < scores).calibration_error() for _ in range(2_000)
    ]
    drawn = np.array(errors, np.float64)
    assert found.chance is not None
    assert found.chance.mean == pytest.approx(np.mean(drawn), rel=0.05)
    assert found.chance.high == pytest.approx(np.quantile(drawn, 0.975), rel=0.07)
    raw = found.raw()["calibration_by_chance"]
    assert raw == {"mean": found.chance.mean, "high": found.chance.high}


def test_the_value_is_what_it_was() -> None:
    random = np.random.default_rng(4)
    for digits in (1, 2, 9):
        scores = np.round(random.random(300), digits)
        labels = random.random(300) < 0.3
        found = measure(scores, labels.astype(float), resamples=50)
        one = found.estimates["calibration_error"]
        assert one.value == pytest.approx(ScoredLabels(scores, labels).calibration_error())
        assert one.value is not None
        assert one.ci is not None
        assert one.ci[0] <= one.value <= one.ci[1]


def test_the_mean_over_calibrated_sets_may_be_0() -> None:
    random = np.random.default_rng(6)
    for world, zero in ((calibrated, True), (too_high(0.3), False)):
        every = OverSets()
        for _ in range(6):
            scores, right = world(random, 150)
            every.add(measure(scores, (random.random(150) < right).astype(float), resamples=300))
        mean = every.means(0.95)["calibration_error"]
        assert mean.value is not None
        assert mean.ci is not None
        assert (mean.ci[0] == 0) is zero
        assert mean.ci[0] <= mean.value <= mean.ci[1]


def test_the_best_balanced_accuracy_has_no_interval() -> None:
    random = np.random.default_rng(7)
    labels = (random.random(80) < 0.5).astype(float)
    found = measure(random.random(80), labels, resamples=100)
    one = found.estimates["balanced_accuracy_best"]
    assert one.value is not None
    assert one.ci is None
    assert "chosen on these labels" in (one.why or "")
    every = OverSets()
    every.add(found)
    assert every.means(0.95)["balanced_accuracy_best"].why == one.why
