"""Every measure of a score against labels, against scipy, scikit-learn and statsmodels."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy import stats as scipy_stats
from sklearn import metrics as sk
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from trueground.stats.agreement import (
    cohen,
    fleiss_kappa as our_fleiss,
    krippendorff_alpha,
    raw_agreement,
)
from trueground.stats.human.estimates import MEASURES
from trueground.stats.human.measure import Measured, measure
from trueground.stats.thresholds import ScoredLabels

NEAR = {"rel": 1e-9, "abs": 1e-9}


@st.composite
def labeled(draw: st.DrawFn, kinds: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Scores from 0 to 1, most with ties, and labels of at least two kinds."""
    n = draw(st.integers(4, 60))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = random.integers(0, kinds, n) / (kinds - 1)
    digits = draw(st.integers(0, 9))
    scores = np.round(np.clip(0.3 * labels + random.random(n) * 0.7, 0, 1), digits)
    assume(len(np.unique(labels)) > 1)
    assume(len(np.unique(scores)) > 1)
    return scores, labels


def value(found: Any, name: str) -> float:
    one = found.estimates[name].value
    assert one is not None, found.estimates[name]
    return float(one)


@given(labeled())
def test_ranks_are_those_of_scipy_and_scikit_learn(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    found = measure(scores, labels, resamples=0)
    assert value(found, "auroc") == pytest.approx(sk.roc_auc_score(labels, scores), **NEAR)
    expected = scipy_stats.spearmanr(scores, labels).statistic
    assert value(found, "spearman") == pytest.approx(expected, **NEAR)
    expected = scipy_stats.kendalltau(scores, labels).statistic
    assert value(found, "kendall") == pytest.approx(expected, **NEAR)
    expected = scipy_stats.pointbiserialr(labels, scores).statistic
    assert value(found, "point_biserial") == pytest.approx(expected, **NEAR)


@given(labeled())
def test_verdicts_are_those_of_the_libraries(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    said, truth = (scores > 0.5).astype(int), labels.astype(int)
    found = measure(scores, labels, resamples=0)
    table = sk.confusion_matrix(truth, said, labels=[0, 1])
    assert found.confusion == dict(zip(("tn", "fp", "fn", "tp"), table.ravel(), strict=True))
    rates = table / table.sum(axis=1, keepdims=True)
    assert value(found, "false_positive_rate") == pytest.approx(rates[0, 1])
    assert value(found, "false_negative_rate") == pytest.approx(rates[1, 0])
    assert value(found, "raw_agreement") == pytest.approx(sk.accuracy_score(truth, said))
    assert value(found, "balanced_accuracy") == pytest.approx(np.diag(rates).mean())
    kappa = cohens_kappa(table, return_results=False)
    assert value(found, "cohen_kappa") == pytest.approx(kappa, **NEAR)
    assert value(found, "cohen_kappa") == pytest.approx(sk.cohen_kappa_score(truth, said), **NEAR)
    both = np.stack([2 - said - truth, said + truth], axis=1)
    assert value(found, "fleiss_kappa") == pytest.approx(fleiss_kappa(both), **NEAR)
    if len(np.unique(said)) == 2:
        expected = sk.matthews_corrcoef(truth, said)
        assert value(found, "matthews") == pytest.approx(expected, **NEAR)
    else:
        assert found.estimates["matthews"].value is None
        assert "threshold 0.5" in (found.estimates["matthews"].why or "")


@given(labeled(), st.floats(-0.1, 1.1))
def test_agreement_is_that_of_the_two_raters(
    data: tuple[np.ndarray, np.ndarray], threshold: float
) -> None:
    """The verdict and the label, as stats.agreement sees two annotators; it may be undefined."""
    scores, labels = data
    found = measure(scores, labels, threshold=threshold, resamples=0).estimates
    raters = np.stack([(scores > threshold).astype(float), labels], axis=1)
    for name, expected in (
        ("cohen_kappa", cohen(raters)),
        ("fleiss_kappa", our_fleiss(raters)),
        ("krippendorff_alpha", krippendorff_alpha(raters)),
        ("raw_agreement", raw_agreement(raters)),
    ):
        assert found[name].value == (expected if expected is None else pytest.approx(expected))


@given(labeled())
def test_the_best_cut_is_the_best_there_is(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    found = measure(scores, labels, resamples=0)
    low, high, _ = sk.roc_curve(labels, scores, drop_intermediate=False)
    best = value(found, "balanced_accuracy_best")
    assert best == pytest.approx(((high + 1 - low) / 2).max())
    assert found.best_threshold is not None
    there = ScoredLabels(scores, labels > 0.5).measures_at(found.best_threshold)[
        "balanced_accuracy"
    ]
    assert there == pytest.approx(best)
    assert found.confusion_best is not None
    assert sum(found.confusion_best.values()) == len(scores)


@given(labeled())
def test_calibration_and_its_curve(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    found = measure(scores, labels, resamples=0)
    error = value(found, "calibration_error")
    assert error == pytest.approx(ScoredLabels(scores, labels > 0.5).calibration_error(), **NEAR)
    bins = found.reliability
    assert bins is not None
    assert sum(one["n"] for one in bins) == len(scores)
    gaps = [one["n"] * abs(one["mean_score"] - one["share_positive"]) for one in bins]
    assert sum(gaps) / len(scores) == pytest.approx(error, **NEAR)
    assert all(a["high"] < b["low"] for a, b in itertools.pairwise(bins))


def test_calibration_where_the_highest_score_is_common() -> None:
    """The last bins are empty then; the highest score still counts once."""
    random = np.random.default_rng(0)
    for share in (0.05, 0.15, 0.5, 0.95):
        scores = np.where(random.random(51) < share, 1.0, np.round(random.random(51) * 0.9, 1))
        labels = random.random(51) < 0.5
        found = value(measure(scores, labels, resamples=0), "calibration_error")
        assert found == pytest.approx(ScoredLabels(scores, labels).calibration_error(), **NEAR)


@given(labeled())
def test_scores_by_label(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    found = measure(scores, labels, resamples=0)
    for one, label in zip(found.by_label, (0.0, 1.0), strict=True):
        mine = scores[labels == label]
        assert (one.label, one.n) == (label, len(mine))
        assert one.mean.value == pytest.approx(mine.mean())
        assert one.median.value == pytest.approx(np.median(mine))
        if len(mine) > 1:
            assert one.sd.value == pytest.approx(mine.std(ddof=1), abs=1e-7)
        else:
            assert one.sd.value is None
    assert [len(v) for v in found.histogram["counts"].values()] == [20, 20]
    assert sum(map(sum, found.histogram["counts"].values())) == len(scores)


@given(labeled(kinds=5))
def test_ordinal_labels_stay_ordinal(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    found = measure(scores, labels, ordinal=True, resamples=0)
    expected = scipy_stats.spearmanr(scores, labels).statistic
    assert value(found, "spearman") == pytest.approx(expected, **NEAR)
    expected = scipy_stats.kendalltau(scores, labels).statistic
    assert value(found, "kendall") == pytest.approx(expected, **NEAR)
    assert [one.label for one in found.by_grade] == np.unique(labels).tolist()
    grades = np.unique(labels)
    if scores.min() < grades[0] or scores.max() > grades[-1]:
        assert "one scale" in (found.estimates["krippendorff_alpha"].why or "")
        return
    nearest = grades[np.abs(scores[:, None] - grades).argmin(axis=1)]
    raters = np.stack([nearest, labels], axis=1)
    expected_alpha = krippendorff_alpha(raters, "ordinal")
    alpha = found.estimates["krippendorff_alpha"].value
    assert alpha == (expected_alpha if expected_alpha is None else pytest.approx(expected_alpha))


@given(labeled(kinds=40))
def test_many_grades(data: tuple[np.ndarray, np.ndarray]) -> None:
    """More labels than are listed one by one: the ranks stay exact."""
    scores, labels = data
    found = measure(scores, labels, ordinal=True, resamples=0)
    expected = scipy_stats.kendalltau(scores, labels).statistic
    assert value(found, "kendall") == pytest.approx(expected, **NEAR)


def test_partially_and_not_at_all_are_both_zero() -> None:
    """The paper's rule: graded labels become 0/1 unless they are asked for as they are."""
    scores, grades = np.array([0.1, 0.4, 0.6, 0.9]), np.array([0.0, 0.5, 0.5, 1.0])
    binary = measure(scores, grades, resamples=0)
    assert binary.positives == 1
    assert value(binary, "spearman") == pytest.approx(
        scipy_stats.spearmanr(scores, grades > 0.5).statistic
    )
    assert binary.by_grade == []


def test_each_measure_is_there_in_the_order_of_the_specification() -> None:
    found = measure([0.1, 0.9, 0.4, 0.6], [0, 1, 1, 0], resamples=20)
    assert tuple(found.estimates) == MEASURES
    undrawn = {"balanced_accuracy_best", "calibration_error"}
    assert tuple(found.draws) == tuple(name for name in MEASURES if name not in undrawn)
    assert tuple(found.raw()["measures"]) == MEASURES


def test_several_scores_at_once_are_as_one_by_one() -> None:
    random = np.random.default_rng(5)
    labels = (random.random(90) < 0.5).astype(float)
    scores = {name: np.round(random.random(90) * 0.6 + labels * 0.3, 2) for name in "ab"}
    scores["a"][:7] = np.nan
    clusters = random.integers(0, 30, 90)
    together = Measured.measure_all(
        scores, labels, clusters=clusters, resamples=50, probability={"a": True, "b": False}
    )
    for name, probability in (("a", True), ("b", False)):
        alone = measure(
            scores[name], labels, clusters=clusters, resamples=50, probability=probability
        )
        assert together[name] == alone
        for key, draws in alone.draws.items():
            np.testing.assert_array_equal(together[name].draws[key], draws)
    assert together["a"].n == 83
