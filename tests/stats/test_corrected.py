"""Corrected rates: the same numbers as ppi-python, and intervals that hold what they promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.data.golden_ppi import CASES, sample

from trueground.errors import InputError
from trueground.stats.rates import LabelSample

Floats = NDArray[np.float64]
GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "golden_ppi.json").read_text("utf-8"))
# (AUROC of the judge, share of items that people label 1)
JUDGES = [(a, p) for a in (0.5, 0.7, 0.8, 0.95) for p in (0.05, 0.2, 0.5, 0.8, 0.95)]


def items(
    random: np.random.Generator, n: int, auroc: float, share: float, per_group: int = 1
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Scores, what people would say, groups: within a group what people say is alike."""
    from scipy.special import ndtr, ndtri

    groups = np.arange(n) // per_group
    own, shared = random.standard_normal(n), random.standard_normal(n)[groups]
    latent = own if per_group == 1 else np.sqrt(0.5) * (own + shared)
    y = (ndtr(latent) < share).astype(np.float64)
    apart = np.sqrt(2) * ndtri(auroc)
    scores = ndtr(random.standard_normal(n) + apart * (y - 0.5))
    return np.asarray(scores, np.float64), y, groups


def covered(
    n: int, labels: int, auroc: float, share: float, times: int, per_group: int = 1
) -> tuple[float, float]:
    """In which share of draws the interval holds the items' own rate; its mean relative width."""
    random = np.random.Generator(np.random.SFC64([n, labels, int(1000 * auroc + 100 * share)]))
    hits, widths = 0, []
    for _ in range(times):
        scores, y, groups = items(random, n, auroc, share, per_group)
        labeled = np.zeros(n, np.bool_)
        labeled[random.choice(n, labels, replace=False)] = True
        draw = LabelSample.random(labeled, None if per_group == 1 else groups)
        found = draw.correct_rate(scores, np.where(labeled, y, np.nan))
        hits += found.ci[0] <= y.mean() <= found.ci[1]
        if found.method == "ppi":
            low, high = found.labels_ci
            widths.append((found.ci[1] - found.ci[0]) / (high - low))
    return hits / times, float(np.mean(widths)) if widths else 1.0


@pytest.mark.parametrize("place", range(len(CASES)))
def test_the_numbers_are_those_of_ppi_python(place: int) -> None:
    own, scores = sample(*CASES[place])
    golden = GOLDEN[place]
    labels = np.full(len(scores), np.nan)
    labels[: len(own)] = own
    found = (LabelSample.random(~np.isnan(labels))).correct_rate(scores, labels)
    assert found.mean == pytest.approx(golden["mean"], abs=1e-12)
    # Their interval is for further items, symmetric, and has no correction for small samples.
    assert found.ci_new is not None
    width = found.ci_new[1] - found.ci_new[0]
    assert width == pytest.approx(golden["high"] - golden["low"], rel=0.12)
    assert found.ci[1] - found.ci[0] < width


def test_a_judge_that_knows_nothing_takes_no_part() -> None:
    own, scores = sample(*CASES[5])  # its scores run against people
    labels = np.concatenate([own, np.full(len(scores) - len(own), np.nan)])
    found = (LabelSample.random(~np.isnan(labels))).correct_rate(scores, labels)
    assert found.weight == 0
    assert found.mean == pytest.approx(own.mean())
    assert found.mean == pytest.approx(found.labels_mean)
    constant = (LabelSample.random(~np.isnan(labels))).correct_rate(
        np.full(len(scores), 0.7), labels
    )
    assert constant.weight == 0


@pytest.mark.long
def test_intervals_cover_and_a_good_judge_narrows_them() -> None:
    for auroc, share in [(0.5, 0.5), (0.8, 0.3), (0.95, 0.5)]:
        coverage, width = covered(800, 100, auroc, share, 300)
        assert 0.92 <= coverage <= 0.985, (auroc, share)
        assert width < {0.5: 1.03, 0.8: 0.92, 0.95: 0.75}[auroc]


@pytest.mark.long
@pytest.mark.parametrize("per_group", [1, 5])
@pytest.mark.parametrize(("auroc", "share"), JUDGES)
def test_coverage(auroc: float, share: float, per_group: int) -> None:
    coverage, _ = covered(1000, 100, auroc, share, 1000, per_group)
    assert coverage >= 0.93


@pytest.mark.parametrize("errs", [0.0, 0.01, 0.02, 0.05])
def test_a_judge_that_hardly_errs_is_not_taken_to_be_certain(errs: float) -> None:
    random = np.random.Generator(np.random.SFC64(21))
    hits = 0
    for _ in range(200):
        y = (random.random(1500) < 0.4).astype(np.float64)
        scores = np.where(random.random(1500) < errs, 1.0, y)  # it takes wrong ones for right
        labeled = np.zeros(1500, np.bool_)
        labeled[random.choice(1500, 100, replace=False)] = True
        found = (LabelSample.random(labeled)).correct_rate(scores, np.where(labeled, y, np.nan))
        assert found.ci[1] - found.ci[0] > 0.06
        hits += _covers(found.ci, float(y.mean()))
    assert hits / 200 >= 0.93


def test_few_of_a_kind_get_the_exact_interval_of_the_labels() -> None:
    labels = np.full(1000, np.nan)
    labels[:100] = np.arange(100) < 4
    scores = np.random.Generator(np.random.SFC64(0)).random(1000)
    found = (LabelSample.random(~np.isnan(labels))).correct_rate(scores, labels)
    assert (found.method, found.mean, found.weight, found.ci_new) == ("exact", 0.04, 0.0, None)
    assert found.ci == pytest.approx((0.0110, 0.0993), abs=1e-4)
    none = (LabelSample.random(~np.isnan(labels))).correct_rate(
        scores, np.where(np.isnan(labels), np.nan, 0)
    )
    assert none.ci == pytest.approx((0.0, 0.0362), abs=1e-4)


def test_an_estimate_at_the_end_of_the_scale_has_an_interval_of_some_width() -> None:
    labels = np.full(2000, np.nan)
    labels[:200] = np.arange(200) < 12
    scores = np.where(np.arange(2000) < 12, 1.0, 0.0)  # the judge knows of no other
    found = (LabelSample.random(~np.isnan(labels))).correct_rate(scores, labels)
    assert found.mean < 0.01
    assert 0 <= found.ci[0] <= found.mean < found.ci[1] < 0.05
    alike = (LabelSample.random(np.ones(2000, np.bool_))).correct_rate(scores, np.zeros(2000))
    assert alike.ci_new == pytest.approx((0, 0.0018), abs=1e-4)


def test_a_weighted_draw_is_weighed_and_a_random_one_of_all_is_exact() -> None:
    random = np.random.Generator(np.random.SFC64(7))
    hits, plain = 0, 0
    for _ in range(300):
        scores, y, _groups = items(random, 900, 0.8, 0.5)
        strata = np.searchsorted([0.4, 0.6], scores)
        labeled, probability = np.zeros(900, np.bool_), np.full(900, np.nan)
        for k, count in enumerate((20, 60, 30)):
            own = np.flatnonzero(strata == k)
            labeled[random.choice(own, count, replace=False)] = True
            probability[own] = count / len(own)
        labels = np.where(labeled, y, np.nan)
        found = LabelSample(labeled, probability, strata).correct_rate(scores, labels)
        hits += found.ci[0] <= y.mean() <= found.ci[1]
        # The same labels by their probabilities alone: wider, but no less right.
        plain += _covers(
            LabelSample(labeled, probability).correct_rate(scores, labels).ci, y.mean()
        )
    assert 0.92 <= hits / 300 <= 0.985
    assert plain / 300 >= 0.92
    everything = (LabelSample.random(np.ones(900, np.bool_))).correct_rate(scores, y)
    assert everything.mean == pytest.approx(y.mean())
    assert everything.ci == (everything.mean, everything.mean)
    assert everything.ci_new is not None
    assert everything.ci_new[1] - everything.ci_new[0] == pytest.approx(4 * 0.5 / 30, rel=0.05)


def _covers(ci: tuple[float, float], value: float) -> bool:
    return ci[0] <= value <= ci[1]


def test_differences_of_two_systems_cover() -> None:
    random = np.random.Generator(np.random.SFC64(11))
    hits, narrower = 0, []
    for _ in range(300):
        a, y_a, _ = items(random, 600, 0.85, 0.5)
        b, y_b, _ = items(random, 600, 0.85, 0.6)
        labeled = np.zeros(600, np.bool_)
        labeled[random.choice(600, 150, replace=False)] = True
        labels = np.where(labeled, y_b - y_a, np.nan)
        found = (LabelSample.random(labeled)).correct_difference(b - a, labels)
        hits += found.ci[0] <= 0.1 <= found.ci[1]
        narrower.append((found.ci[1] - found.ci[0]) / (found.labels_ci[1] - found.labels_ci[0]))
    assert 0.92 <= hits / 300 <= 0.985
    assert np.mean(narrower) < 0.95


def test_too_few_labels_are_refused() -> None:
    labels = np.full(100, np.nan)
    labels[:29] = 1.0
    with pytest.raises(InputError, match=r"found 29 labeled items; expected at least 30.*plan"):
        (LabelSample.random(~np.isnan(labels))).correct_rate(np.zeros(100), labels)
    alike = np.where(np.arange(100) < 40, 0.0, np.nan)
    with pytest.raises(InputError, match="differ on 0 of 40"):
        (LabelSample.random(~np.isnan(alike))).correct_difference(np.zeros(100), alike)


def test_a_slice_of_the_worst_is_noticed() -> None:
    scores = np.linspace(0, 1, 500)
    random = np.random.Generator(np.random.SFC64(1))
    fair = np.zeros(500, np.bool_)
    fair[random.choice(500, 100, replace=False)] = True
    assert not (LabelSample.random(fair)).is_shifted(scores)
    assert (LabelSample.random(scores < 0.2)).is_shifted(scores)
    assert (LabelSample.random(np.abs(scores - 0.5) < 0.1)).is_shifted(scores)  # the doubtful ones


def test_groups_widen_the_interval() -> None:
    random = np.random.Generator(np.random.SFC64(3))
    scores, y, groups = items(random, 1000, 0.7, 0.5, per_group=20)
    labeled = np.isin(groups, random.choice(50, 10, replace=False))  # whole groups
    labels = np.where(labeled, y, np.nan)
    alone = (LabelSample.random(labeled)).correct_rate(scores, labels)
    together = (LabelSample.random(labeled, groups)).correct_rate(scores, labels)
    assert together.mean == pytest.approx(alone.mean)
    assert together.ci[1] - together.ci[0] > 1.5 * (alone.ci[1] - alone.ci[0])


def test_a_plan_asks_for_as_many_labels_as_the_judge_leaves_unsaid() -> None:
    random = np.random.Generator(np.random.SFC64(5))
    sharp = np.where(random.random(2000) < 0.5, 0.95, 0.05)
    blunt = np.full(2000, 0.5)
    strata = (sharp > 0.5).astype(np.int64)
    few, width = LabelSample.allocate(sharp, strata, 0.05)
    many, _ = LabelSample.allocate(blunt, strata, 0.05)
    assert width <= 0.05
    assert few.sum() < 0.5 * many.sum()
    assert many.sum() == pytest.approx(323, abs=4)  # 0.25 · 1.967² / 0.05², of 2,000
    everything, width = LabelSample.allocate(blunt[:200], strata[:200], 0.001)
    assert (everything.sum(), width) == (200, 0.0)
