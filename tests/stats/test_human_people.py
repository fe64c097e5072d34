"""Ceilings, preferences, differences of two scores, the mean over sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats
from sklearn import metrics as sk

from trueground.errors import UsageError
from trueground.stats.human.estimates import SAME, mean_of_sets
from trueground.stats.human.measure import Measured, measure
from trueground.stats.human.people import CEILING, Ceiling, preferences


def annotated(n: int, right: list[float], seed: int = 0) -> np.ndarray:
    """0/1 labels of annotators that are right as often as told."""
    random = np.random.default_rng(seed)
    truth = (random.random(n) < 0.5).astype(float)
    return np.stack([np.where(random.random(n) < p, truth, 1 - truth) for p in right], axis=1)


def test_one_annotator_against_the_majority_of_the_rest() -> None:
    labels = annotated(200, [0.9, 0.8, 0.85, 0.7])
    found = Ceiling.of_labels(labels, resamples=100)
    assert len(found.annotators) == 4
    for k, (mine, tied) in enumerate(zip(found.annotators, found.counts, strict=True)):
        votes = np.delete(labels, k, axis=1).sum(axis=1)
        assert tied == {"tied": 0}
        expected = sk.cohen_kappa_score(labels[:, k], votes > 1.5)
        assert mine["cohen_kappa"].value == pytest.approx(expected)
        area = sk.roc_auc_score(votes > 1.5, labels[:, k])
        assert mine["auroc"].value == pytest.approx(area)
        assert mine["auroc"].ci is not None
    values = [mine["raw_agreement"].value for mine in found.annotators]
    mean = found.mean["raw_agreement"]
    assert mean.value == pytest.approx(np.mean([v for v in values if v is not None]))
    assert mean.ci is not None
    assert mean.n == 800
    assert tuple(found.mean) == CEILING


def test_split_rests_are_left_out_and_missing_labels_are_not_counted() -> None:
    labels = annotated(50, [0.9, 0.8, 0.85])
    labels[:10, 2] = np.nan
    found = Ceiling.of_labels(labels, resamples=50)
    split = (labels[10:, 1] != labels[10:, 2]).sum()
    assert found.counts[0]["tied"] == split
    assert found.annotators[0]["auroc"].n == 50 - split
    assert found.annotators[2]["auroc"].n == 40 - (labels[10:, 0] != labels[10:, 1]).sum()


def test_one_annotator_has_no_ceiling() -> None:
    found = Ceiling.of_labels(np.array([[0.0], [1.0]]))
    assert found.mean["auroc"].value is None
    assert "annotator" in (found.mean["auroc"].why or "")


def test_graded_labels_against_the_mean_of_the_rest() -> None:
    random = np.random.default_rng(3)
    truth = random.integers(0, 5, 120)
    labels = np.clip(truth[:, None] + random.integers(-1, 2, (120, 3)), 0, 4).astype(float)
    found = Ceiling.of_labels(labels, ordinal=True, positive_above=2.5, resamples=40)
    rest = labels[:, 1:].mean(axis=1)
    expected = scipy_stats.spearmanr(labels[:, 0], rest).statistic
    assert found.annotators[0]["spearman"].value == pytest.approx(expected)


def test_preferences_count_ties_as_requested() -> None:
    metric = np.array([0.2, -0.1, 0.0, 0.3, -0.4, 0.0, np.nan])
    people = np.array([1.0, 1.0, 1.0, -1.0, -2.0, 0.0, 1.0])
    found = preferences(metric, people, resamples=50)
    assert (found.n, found.ties, found.metric_ties) == (6, 1, 2)
    sign, accuracy = found.estimates["sign_agreement"], found.estimates["accuracy"]
    assert (sign.value, sign.n) == (pytest.approx(2.5 / 5), 5)
    assert (accuracy.value, accuracy.n) == (pytest.approx(2 / 4), 4)
    kept = ~np.isnan(metric)
    for name, theirs in (("spearman", scipy_stats.spearmanr), ("kendall", scipy_stats.kendalltau)):
        expected = theirs(metric[kept], people[kept]).statistic
        assert found.estimates[name].value == pytest.approx(expected)
        assert found.estimates[name].n == 6


def test_preferences_of_ties_only() -> None:
    found = preferences([0.1, 0.2], [0.0, 0.0])
    assert found.estimates["sign_agreement"].why == "all of the 2 pairs are ties"
    assert found.estimates["spearman"].why == "all of the 2 preferences are the same"


def two_scores(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = (random.random(n) < 0.5).astype(float)
    good = labels + random.normal(size=n)
    return labels, good, good + 0.3 * random.normal(size=n)


def test_a_difference_is_paired() -> None:
    labels, good, worse = two_scores()
    found = Measured.measure_all(
        {"good": good, "worse": worse}, labels, probability=False, resamples=500
    )
    apart = found["good"].minus(found["worse"]).estimates["auroc"]
    areas = [sk.roc_auc_score(labels, x) for x in (good, worse)]
    assert apart.value == pytest.approx(areas[0] - areas[1])
    assert apart.ci is not None
    alone = found["good"].estimates["auroc"].ci
    assert alone is not None
    assert apart.ci[1] - apart.ci[0] < 0.7 * (alone[1] - alone[0])
    same = found["good"].minus(found["good"], "spearman").estimates["spearman"]
    assert (same.value, same.ci, same.why) == (0.0, None, SAME)
    with pytest.raises(UsageError, match="no measure"):
        found["good"].minus(found["worse"], "beauty")
    other = measure(good, labels, probability=False, resamples=20)
    with pytest.raises(UsageError, match="20 resamples"):
        found["good"].minus(other)


def test_the_mean_over_sets() -> None:
    sets = []
    for seed in range(4):
        labels, good, _ = two_scores(200, seed)
        sets.append(measure(good, labels, probability=False, resamples=800))
    lonely = measure([0.1, 0.2], [1, 1], resamples=800)
    found = mean_of_sets([*sets, lonely])
    area = found["auroc"]
    values = [one.estimates["auroc"].value for one in sets]
    assert area.value == pytest.approx(np.mean([v for v in values if v is not None]))
    assert area.n == 4
    assert area.ci is not None
    widths = [one.estimates["auroc"].ci for one in sets]
    mean_width = np.mean([ci[1] - ci[0] for ci in widths if ci is not None])
    # Independent sets: the mean of four is known twice as well as one.
    assert area.ci[1] - area.ci[0] == pytest.approx(mean_width / 2, rel=0.15)
    assert found["calibration_error"].n == 1
    assert mean_of_sets([])["auroc"].value is None
    with pytest.raises(UsageError, match="numbers of resamples"):
        mean_of_sets([lonely, measure([0.1], [1], resamples=10)])
