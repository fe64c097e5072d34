"""Intervals: against simulation, against themselves cut differently, and on the edges."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from trueground.stats import bootstrap
from trueground.stats.bootstrap import (
    EXACT_UP_TO,
    Bootstrap,
    percentiles,
    resampled_means,
)


@pytest.mark.parametrize("n", [400, EXACT_UP_TO + 600])
def test_width_is_that_of_the_normal_theory(n: int) -> None:
    values = np.random.default_rng(1).random((n, 1))
    ((low, high),) = Bootstrap().intervals(values)  # type: ignore[misc]
    theory = 2 * 1.96 * values.std() / n**0.5
    assert (high - low) / theory == pytest.approx(1, abs=0.08)
    assert low < values.mean() < high


def test_coverage_by_simulation() -> None:
    """A 95 % interval holds the true mean in about 95 % of samples."""
    random = np.random.default_rng(0)
    samples = random.random((300, 60)) ** 2
    hits = 0
    for sample in samples:
        ((low, high),) = Bootstrap(resamples=500).intervals(sample[:, None])  # type: ignore[misc]
        hits += low <= 1 / 3 <= high
    assert 0.90 <= hits / len(samples) <= 0.98


def test_unscored_items_are_resampled_but_not_averaged() -> None:
    values = np.full((100, 2), np.nan)
    values[:50, 0] = 0.25
    assert Bootstrap().intervals(values) == [(0.25, 0.25), None]


def test_one_scored_item_has_no_interval() -> None:
    values = np.full((100, 1), np.nan)
    values[3] = 1.0
    assert Bootstrap().intervals(values) == [None]
    assert Bootstrap().intervals(np.empty((0, 1))) == [None]


@pytest.mark.parametrize("clusters", [300, EXACT_UP_TO + 500])
def test_clusters_widen_the_interval(clusters: int) -> None:
    """Items that repeat their cluster's value tell no more than one item per cluster."""
    random = np.random.default_rng(2)
    one = random.random((clusters, 1))
    values = np.repeat(one, 4, axis=0)
    codes = np.repeat(random.permutation(clusters), 4)
    order = random.permutation(len(values))
    ((low, high),) = Bootstrap().intervals(values[order], codes[order])  # type: ignore[misc]
    ((low_1, high_1),) = Bootstrap().intervals(one)  # type: ignore[misc]
    assert (high - low) / (high_1 - low_1) == pytest.approx(1, abs=0.1)


def test_rows_are_the_same_as_a_smaller_table() -> None:
    values = np.random.default_rng(3).random((3_000, 3))
    rows = np.arange(0, 3_000, 7)
    assert Bootstrap().intervals(values, rows=rows) == Bootstrap().intervals(values[rows])


def test_columns_do_not_touch_each_other() -> None:
    values = np.random.default_rng(4).random((2_500, 4))
    values[::3, 2] = np.nan
    together = Bootstrap().intervals(values)
    for column in range(4):
        assert Bootstrap().intervals(values[:, [column]])[0] == pytest.approx(
            together[column], abs=1e-12
        )


def test_seed_decides() -> None:
    values = np.random.default_rng(5).random((500, 1))
    assert Bootstrap(seed=1).intervals(values) == Bootstrap(seed=1).intervals(values)
    assert Bootstrap(seed=1).intervals(values) != Bootstrap(seed=2).intervals(values)


def test_poisson_weights_have_mean_and_variance_one() -> None:
    table = np.searchsorted(bootstrap._POISSON_STEPS, np.arange(1 << 16), side="right")
    assert table.mean() == pytest.approx(1, abs=1e-4)
    assert table.var() == pytest.approx(1, abs=1e-3)


def test_poisson_steps_invert_the_distribution() -> None:
    probabilities = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(9)])
    uniform = (np.arange(1 << 16) + 0.5) / (1 << 16)
    expected = np.searchsorted(probabilities, uniform)
    table = np.searchsorted(bootstrap._POISSON_STEPS, np.arange(1 << 16), side="right")
    assert (table == expected).all()


def test_resampled_means_of_strata_average_to_a_narrower_interval() -> None:
    """The interval of an average over strata: against the normal approximation."""
    dice = np.random.default_rng(4)
    strata = [dice.random((n, 1)) < p for n, p in ((150, 0.2), (90, 0.5), (240, 0.9))]
    values = np.concatenate(strata).astype(float)
    cuts = np.cumsum([0, *(len(s) for s in strata)])
    parts = [
        resampled_means(values, rows=np.arange(low, high), seed=Bootstrap().of_stratum(number).seed)
        for number, (low, high) in enumerate(itertools.pairwise(cuts))
    ]
    low, high = percentiles(np.mean(parts, axis=0)[0], 0.95) or (0.0, 0.0)
    mean = np.mean([s.mean() for s in strata])
    spread = np.sqrt(sum(s.var() / len(s) for s in strata)) / 3
    assert low == pytest.approx(mean - 1.96 * spread, abs=0.004)
    assert high == pytest.approx(mean + 1.96 * spread, abs=0.004)
    assert Bootstrap().of_stratum(0) != Bootstrap().of_stratum(1) != Bootstrap(seed=1).of_stratum(0)
