"""Thresholds against brute force over every cut, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trueground.errors import InputError, UsageError
from trueground.stats.thresholds import (
    ScoredLabels,
)


def labels(text: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([c == "1" for c in text], np.bool_)


def some(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Scores with ties, labels of both kinds that go with them a little."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, 12, n) / 4
    found = random.random(n) < 0.2 + scores / 5
    found[:2] = True, False
    return scores, found


def by_hand(scores: list[float], truth: list[bool], threshold: float) -> dict[str, float | None]:
    pairs = [(s > threshold, t) for s, t in zip(scores, truth, strict=True)]
    tp, fp = pairs.count((True, True)), pairs.count((True, False))
    fn, tn = pairs.count((False, True)), pairs.count((False, False))
    below = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return {
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "specificity": tn / (tn + fp),
        "accuracy": (tp + tn) / len(pairs),
        "balanced_accuracy": (tp / (tp + fn) + tn / (tn + fp)) / 2,
        "matthews": (tp * tn - fp * fn) / below if below else None,
        "kappa": kappa_by_hand(tp, fp, fn, tn),
        "share_positive": (tp + fp) / len(pairs),
    }


def kappa_by_hand(tp: int, fp: int, fn: int, tn: int) -> float | None:
    n = tp + fp + fn + tn
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2
    return ((tp + tn) / n - chance) / (1 - chance) if chance < 1 else None


@pytest.mark.parametrize("seed", range(5))
def test_auroc_counts_pairs_and_ties_as_half(seed: int) -> None:
    scores, truth = some(seed)
    pairs = [(a > b) + (a == b) / 2 for a in scores[truth] for b in scores[~truth]]
    assert ScoredLabels(scores, truth).auroc() == pytest.approx(sum(pairs) / len(pairs))


def test_auroc_by_hand() -> None:
    assert ScoredLabels(np.array([0.1, 0.4, 0.35, 0.8]), labels("0011")).auroc() == 0.75
    assert ScoredLabels(np.array([1.0, 1.0, 1.0]), labels("010")).auroc() == 0.5
    assert ScoredLabels(np.array([3.0, 2.0, 1.0]), labels("011")).auroc() == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_every_cut_is_what_counting_gives(seed: int) -> None:
    scores, truth = some(seed)
    cuts = ScoredLabels(scores, truth).curve()
    assert len(cuts.thresholds) == len(set(scores.tolist())) + 1
    assert (np.diff(cuts.thresholds) > 0).all()
    found = cuts.measures()
    assert set(found) == set(ScoredLabels.MEASURES)
    for i, threshold in enumerate(cuts.thresholds):
        expected = by_hand(scores.tolist(), truth.tolist(), threshold)
        assert ScoredLabels(scores, truth).measures_at(float(threshold)) == pytest.approx(expected)
        for name, value in expected.items():
            if value is None:
                assert np.isnan(found[name][i])
            else:
                assert found[name][i] == pytest.approx(value)
    assert (found["share_positive"][0], found["share_positive"][-1]) == (1, 0)


@pytest.mark.parametrize("objective", ScoredLabels.OBJECTIVES)
@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_is_better_than_the_best(objective: str, seed: int) -> None:
    scores, truth = some(seed)
    measure = "matthews" if objective == "correlation" else objective
    best = ScoredLabels(scores, truth).measures_at(
        ScoredLabels(scores, truth).best_threshold(objective)
    )[measure]
    tried = (by_hand(scores.tolist(), truth.tolist(), t)[measure] for t in np.arange(-1, 4, 0.05))
    assert best == pytest.approx(max(value for value in tried if value is not None))


def test_correlation_is_pearsons_between_verdict_and_label() -> None:
    scores, truth = some(3)
    threshold = ScoredLabels(scores, truth).best_threshold("correlation")
    pearson = np.corrcoef(scores > threshold, truth)[0, 1]
    assert ScoredLabels(scores, truth).measures_at(threshold)["matthews"] == pytest.approx(pearson)
    assert threshold == ScoredLabels(scores, truth).best_threshold("matthews")


def test_the_threshold_is_midway_between_neighbors() -> None:
    assert ScoredLabels(
        np.array([0.1, 0.2, 0.6, 0.9]), labels("0011")
    ).best_threshold() == pytest.approx(0.4)


def test_equally_good_cuts_side_by_side_are_one_plateau() -> None:
    # Between 1 and 2, and between 2 and 5 (a positive and a negative at 2 cancel), all are alike.
    scores = np.array([0.0, 1.0, 2.0, 2.0, 5.0, 6.0])
    truth = labels("001011")
    values = [
        ScoredLabels(scores, truth).measures_at(t)["balanced_accuracy"]
        for t in (1.0, 1.9, 2.0, 4.9)
    ]
    assert values[0] == pytest.approx(5 / 6)
    assert values == pytest.approx([5 / 6] * 4)
    assert ScoredLabels(scores, truth).best_threshold() == pytest.approx(3.0)


def test_of_several_plateaus_the_widest_is_taken_of_equals_the_lowest() -> None:
    truth = labels("01" * 2)
    narrow_first = np.array([0.0, 1.0, 2.0, 9.0])
    assert ScoredLabels(narrow_first, truth).best_threshold() == pytest.approx(5.5)
    equal = np.array([0.0, 1.0, 2.0, 3.0])
    assert ScoredLabels(equal, truth).best_threshold() == pytest.approx(0.5)


def test_the_best_may_be_to_call_everything_positive() -> None:
    scores, truth = np.array([1.0, 2.0, 3.0, 4.0]), labels("1110")
    threshold = ScoredLabels(scores, truth).best_threshold("accuracy")
    assert threshold < 1
    assert ScoredLabels(scores, truth).measures_at(threshold)["share_positive"] == 1


def test_threshold_separates_neighboring_floats() -> None:
    low = 0.5
    high = float(np.nextafter(low, 1))
    threshold = ScoredLabels(np.array([low, high]), labels("01")).best_threshold()
    assert low <= threshold < high
    assert ScoredLabels(np.array([low, high]), labels("01")).measures_at(threshold)["accuracy"] == 1


@pytest.mark.parametrize(
    ("scores", "truth", "told"),
    [
        ([0.1, 0.2], "11", "2 of 2 labels are positive"),
        ([0.1, 0.2], "00", "0 of 2 labels are positive"),
        ([], "", "0 of 0 labels are positive"),
        ([0.1, float("nan")], "01", "1 of 2 scores are not finite"),
        ([0.1], "01", "expected one for each"),
        ([0.3, 0.3], "01", "all 2 scores are 0.3"),
    ],
)
def test_best_threshold_of_unsuitable_data_raises(
    scores: list[float], truth: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        ScoredLabels(np.array(scores), labels(truth)).best_threshold()


def test_measures_of_one_kind_are_none_where_undefined() -> None:
    found = ScoredLabels(np.array([0.2, 0.8]), labels("11")).measures_at(0.5)
    assert (found["recall"], found["specificity"], found["balanced_accuracy"]) == (0.5, None, None)


def test_unknown_objective() -> None:
    with pytest.raises(UsageError, match=r"balanced_accuracy, correlation, f1, kappa, matthews"):
        ScoredLabels(np.array([0.1, 0.2]), labels("01")).best_threshold("auc")


@pytest.mark.parametrize("seed", range(5))
def test_every_measure_is_that_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    scores, truth = some(seed)
    verdict = scores > 1.3
    found = ScoredLabels(scores, truth).measures_at(1.3)
    for name, function in {
        "kappa": metrics.cohen_kappa_score,
        "matthews": metrics.matthews_corrcoef,
        "balanced_accuracy": metrics.balanced_accuracy_score,
        "precision": metrics.precision_score,
    }.items():
        assert found[name] == pytest.approx(function(truth, verdict)), name


def test_a_kappa_of_one_kind_and_one_verdict_is_none() -> None:
    assert ScoredLabels(np.array([0.7, 0.8]), labels("11")).measures_at(0.5)["kappa"] is None
    assert ScoredLabels(np.array([0.2, 0.8]), labels("11")).measures_at(0.5)["kappa"] == 0.0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("wanted", [0.3, 0.6, 0.8])
def test_precision_is_reached_by_no_lower_threshold(seed: int, wanted: float) -> None:
    scores, truth = some(seed)
    tried = np.unique(np.concatenate((np.arange(-1, 3, 0.05), scores - 0.01)))
    reaching = [t for t in tried if (by_hand(scores, truth, t)["precision"] or 0.0) >= wanted]
    if not reaching:
        with pytest.raises(InputError, match="no threshold reaches"):
            ScoredLabels(scores, truth).threshold_for_precision(wanted)
        return
    threshold = ScoredLabels(scores, truth).threshold_for_precision(wanted)
    assert (ScoredLabels(scores, truth).measures_at(threshold)["precision"] or 0.0) >= wanted
    lowest = ScoredLabels(scores, truth).measures_at(min(reaching))
    assert ScoredLabels(scores, truth).measures_at(threshold) == lowest


def test_a_precision_out_of_reach_names_the_best() -> None:
    scores, truth = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), labels("01101")
    assert ScoredLabels(scores, truth).threshold_for_precision(1.0) == 4.5
    falling = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    with pytest.raises(InputError) as caught:
        ScoredLabels(falling, truth).threshold_for_precision(0.9)
    assert str(caught.value).startswith(
        "no threshold reaches a precision of 0.9: the best is 0.6666, at 2.5, where 3 of 5 scores "
        "lie above it (recall 0.667)"
    )
    three = np.array([1.0, 2.0, 2.0, 2.0])
    with pytest.raises(InputError, match=r"the best is 0\.6666, at 1\.5, where 3 of 4"):
        ScoredLabels(three, labels("0110")).threshold_for_precision(0.99)


@pytest.mark.parametrize("wanted", [0.0, -1.0, 1.1, math.nan])
def test_threshold_rejects_invalid_precision(wanted: float) -> None:
    with pytest.raises(UsageError, match="above 0, and at most 1"):
        ScoredLabels(np.array([0.1, 0.2]), labels("01")).threshold_for_precision(wanted)


def test_the_precision_that_all_have_takes_all() -> None:
    scores, truth = np.array([1.0, 2.0, 3.0]), labels("101")
    assert ScoredLabels(scores, truth).threshold_for_precision(0.5) < 1
    with pytest.raises(InputError, match="all 2 scores are 1"):
        ScoredLabels(np.ones(2), labels("01")).threshold_for_precision(0.5)
