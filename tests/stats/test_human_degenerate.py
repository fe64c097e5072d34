"""What is undefined is None and says why; nothing is an exception, a warning, a 0 or a 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest

from trueground.errors import InputError
from trueground.stats.human.estimates import MEASURES
from trueground.stats.human.measure import Measured, measure
from trueground.stats.human.people import Ceiling, preferences

NEED_BOTH = (
    "auroc",
    "spearman",
    "kendall",
    "point_biserial",
    "balanced_accuracy",
    "balanced_accuracy_best",
    "matthews",
)


def whys(found: Measured) -> dict[str, str | None]:
    return {name: one.why for name, one in found.estimates.items() if one.value is None}


def check_whole(found: Measured) -> None:
    """Each value is finite and in its interval's reach; each absence has a reason."""
    for name in MEASURES:
        one = found.estimates[name]
        assert (one.why is None) == (one.value is not None and one.ci is not None), (name, one)
        if one.value is not None:
            assert -1.0 - 1e-9 <= one.value <= 1.0 + 1e-9, (name, one)
        if one.ci is not None:
            assert one.ci[0] <= one.ci[1]
            assert np.isfinite(one.ci).all()


def test_no_items() -> None:
    for found in (measure([], []), measure([np.nan, 0.5], [1.0, np.nan])):
        check_whole(found)
        assert set(whys(found)) == set(MEASURES)
        assert whys(found)["auroc"] == "no item has both a score and a label"
        assert found.n == 0
        assert found.best_threshold is None
        assert found.histogram["edges"] == []
        assert [one.n for one in found.by_label] == [0, 0]
        assert found.by_label[0].mean.why == "no item has this label"


def test_one_item() -> None:
    found = measure([0.7], [1])
    check_whole(found)
    assert found.estimates["raw_agreement"].value == 1.0
    assert found.estimates["raw_agreement"].ci == pytest.approx((0.025, 1.0))  # exact, if wide
    assert found.estimates["krippendorff_alpha"].ci is None
    assert found.by_label[1].sd.why == "one item has no spread"


@pytest.mark.parametrize(("label", "word"), [(0, "none of"), (1, "all of")])
def test_labels_of_one_kind(label: int, word: str) -> None:
    found = measure([0.1, 0.9, 0.4], [label] * 3)
    check_whole(found)
    for name in NEED_BOTH:
        assert word in (whys(found)[name] or "")
    assert found.estimates["raw_agreement"].value is not None
    assert found.best_threshold is None


def test_constant_scores() -> None:
    """Ties all count half: the area is ½. There is no rank and no threshold to choose."""
    found = measure([0.3] * 40, [0, 1] * 20)
    check_whole(found)
    assert found.estimates["auroc"].value == 0.5
    assert found.estimates["auroc"].ci is None
    assert found.estimates["auroc"].why == "the same in every resample: nothing varies here"
    for name in ("spearman", "kendall", "point_biserial", "balanced_accuracy_best"):
        assert whys(found)[name] == "all of the 40 scores are 0.3"
    assert whys(found)["matthews"] == "all of the 40 scores are at or below the threshold 0.5"
    assert found.estimates["cohen_kappa"].value == 0.0
    assert found.by_label[0].sd.value == 0.0
    assert found.by_label[0].sd.ci is None


def test_one_cluster_and_one_cluster_of_a_kind() -> None:
    scores, labels = [0.2, 0.8, 0.3, 0.6, 0.5, 0.1], [0, 1, 0, 1, 0, 0]
    one = measure(scores, labels, clusters=["a"] * 6)
    check_whole(one)
    assert all(estimate.ci is None for estimate in one.estimates.values())
    two = measure(scores, labels, clusters=["a", "b", "a", "b", "a", "a"], resamples=50)
    check_whole(two)
    assert two.estimates["auroc"].ci is None
    assert "positive" in (two.estimates["auroc"].why or "")
    assert "2 labeled groups" in (two.estimates["raw_agreement"].why or "")


def test_measure_constant_values_have_no_zero_width_interval() -> None:
    """Two negatives that lie below all positives show little; no resample would say so."""
    scores, labels = [0.1, 0.2, 0.6, 0.7, 0.8, 0.9, 0.95], [0, 0, 1, 1, 1, 1, 1]
    found = measure(scores, labels, resamples=200)
    check_whole(found)
    area = found.estimates["auroc"]
    assert (area.value, area.ci) == (1.0, None)
    assert area.why == "2 negative items are too few to draw from: an interval takes 5"
    more = measure([*scores, 0.15, 0.25, 0.3], [*labels, 0, 0, 0], resamples=200)
    check_whole(more)
    assert more.estimates["auroc"].why == "the same in every resample: nothing varies here"


def test_rates_of_single_items_have_exact_intervals() -> None:
    """Clopper and Pearson's: none of two, none of five, all of seven."""
    found = measure([0.1, 0.2, 0.6, 0.7, 0.8, 0.9, 0.95], [0, 0, 1, 1, 1, 1, 1], resamples=50)
    expected = {
        "false_positive_rate": (0, 2),
        "false_negative_rate": (0, 5),
        "raw_agreement": (7, 7),
    }
    for name, (hits, n) in expected.items():
        one = found.estimates[name]
        theirs = binomtest(hits, n).proportion_ci(method="exact")
        assert one.n == n
        assert one.ci == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    groups = measure([0.1, 0.2, 0.6, 0.7] * 5, [0, 0, 1, 1] * 5, clusters=[*range(10)] * 2)
    assert groups.estimates["raw_agreement"].ci is None  # groups: not so many single items


def test_no_threshold_and_no_probability() -> None:
    found = measure([3.0, 9.0, 4.0], [0, 1, 1], threshold=None, probability=False, resamples=30)
    check_whole(found)
    assert found.confusion is None
    assert found.reliability is None
    assert whys(found)["matthews"] == "there is no default threshold"
    assert whys(found)["calibration_error"] == "the score is no probability"
    assert found.estimates["auroc"].value is not None
    high = measure([3.0, 9.0, 4.0], [0, 1, 1], resamples=30)
    assert "from 3 to 9" in (whys(high)["calibration_error"] or "")


def test_score_and_label_that_always_say_the_same_word() -> None:
    found = measure([0.6, 0.7, 0.8], [1, 1, 1])
    for name in ("cohen_kappa", "fleiss_kappa", "krippendorff_alpha"):
        assert "by chance" in (whys(found)[name] or "")


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e300, 1.7e308])
def test_huge_and_tiny_scores(scale: float) -> None:
    random = np.random.default_rng(1)
    labels = (random.random(60) < 0.5).astype(float)
    plain = random.integers(-99, 99, 60) / 100 + 0.01 * labels
    small = measure(plain, labels, threshold=0.0, probability=False, resamples=40)
    found = measure(plain * scale, labels, threshold=0.0, probability=False, resamples=40)
    check_whole(found)
    near = {"abs": 1e-3 if scale < 1e-300 else 1e-9}
    for name in ("spearman", "kendall", "point_biserial", "auroc", "cohen_kappa"):
        value = found.estimates[name].value
        assert value == pytest.approx(small.estimates[name].value, **near)


def test_a_narrow_spread_far_from_zero() -> None:
    scores = 1e9 + np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]) * 1e-3
    found = measure(scores, [0, 0, 1, 0, 1, 1], threshold=None, probability=False, resamples=40)
    near = measure(scores - 1e9, [0, 0, 1, 0, 1, 1], threshold=None, resamples=40)
    for name in ("point_biserial", "spearman"):
        expected = near.estimates[name].value
        assert found.estimates[name].value == pytest.approx(expected, rel=1e-4)


def test_invalid_arguments_raise() -> None:
    with pytest.raises(InputError, match="infinite"):
        measure([0.1, np.inf], [0, 1])
    with pytest.raises(InputError, match="one number for each item"):
        measure([0.1], [0, 1])
    with pytest.raises(InputError, match="one for each"):
        measure([0.1, 0.2], [0, 1], clusters=[1])
    with pytest.raises(InputError, match=r"\(items, annotators\)"):
        Ceiling.of_labels([1.0, 0.0])


@given(
    st.lists(
        st.tuples(
            st.one_of(st.sampled_from([0.0, 0.5, 1.0, np.nan]), st.floats(-1e308, 1e308)),
            st.sampled_from([0.0, 0.5, 1.0, 2.0, np.nan]),
            st.integers(0, 3),
        ),
        max_size=12,
    ),
    st.booleans(),
    st.sampled_from([None, 0.5, 1e308]),
)
def test_anything_goes(
    rows: list[tuple[float, float, int]], ordinal: bool, threshold: float | None
) -> None:
    scores, labels, clusters = (
        (list(column) for column in zip(*rows, strict=True))
        if rows
        else (
            [],
            [],
            [],
        )
    )
    found = measure(
        scores, labels, clusters=clusters, ordinal=ordinal, threshold=threshold, resamples=9
    )
    for one in found.estimates.values():
        assert one.value is not None or one.why
        assert one.value is None or np.isfinite(one.value)
    pairs = preferences(scores, labels, clusters, resamples=9)
    for one in pairs.estimates.values():
        assert one.value is not None or one.why
    people = Ceiling.of_labels(np.array([labels, labels[::-1]]).T.reshape(-1, 2), resamples=9)
    for one in people.mean.values():
        assert one.value is not None or one.why
