"""The lower bound of a share: exact by itself, honest with clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trueground.errors import InputError
from trueground.stats.rates import lower_bound, share_interval


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 7), (45, 50), (50, 50), (190, 200)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_without_clusters_it_is_the_exact_bound(hits: int, n: int, level: float) -> None:
    expected = stats.binomtest(hits, n, alternative="greater").proportion_ci(level).low
    found = np.arange(n) < hits
    assert lower_bound(found, level=level) == pytest.approx(expected)
    assert lower_bound(found, np.arange(n), level=level) == pytest.approx(expected)


def test_copies_are_no_new_evidence() -> None:
    hits = np.arange(60) % 4 != 0
    alone = lower_bound(hits)
    copies = lower_bound(np.repeat(hits, 5), np.repeat(np.arange(60), 5))
    loose = lower_bound(np.repeat(hits, 5))
    assert alone is not None
    assert copies is not None
    assert loose is not None
    assert copies == pytest.approx(alone, abs=0.01)
    assert loose > alone + 0.02


def test_hits_only_count_as_their_clusters() -> None:
    found = lower_bound(np.ones(100, np.bool_), np.arange(100) % 10)
    assert found == pytest.approx(0.05 ** (1 / 10))


def test_it_holds_in_nineteen_samples_of_twenty() -> None:
    """Clusters whose own shares differ: the bound lies at or below the truth often enough."""
    below, trials = 0, 800
    for seed in range(trials):
        random = np.random.default_rng(seed)
        clusters = np.repeat(np.arange(60), 4)
        share = random.beta(8.5, 1.5, 60)  # 0.85 on average
        hits = random.random(240) < share[clusters]
        bound = lower_bound(hits, clusters)
        assert bound is not None
        below += bound <= 0.85
    assert 0.93 <= below / trials <= 0.99


def test_of_two_clusters_the_variance_is_that_of_a_sample() -> None:
    """Deviations from a mean of their own are too small by 1 − 1 / clusters: here by half."""
    hits = np.arange(200) % 4 != 0
    clusters = np.arange(200) < 104  # 78 of 104, 72 of 96
    hits[0] = True
    share = hits.mean()
    sums = np.array([(hits - share)[clusters].sum(), (hits - share)[~clusters].sum()])
    size = share * (1 - share) / ((sums**2).sum() * 2 / 200**2)
    size = min(size * (stats.t.ppf(0.95, 199) / stats.t.ppf(0.95, 1)) ** 2, 200)
    expected = stats.beta.ppf(0.05, share * size, (1 - share) * size + 1)
    assert lower_bound(hits, clusters.astype(np.int64)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("hits", "clusters"), [([], None), ([True], None), ([True, False], np.zeros(2, np.int64))]
)
def test_too_little_has_no_bound(hits: list[bool], clusters: np.ndarray | None) -> None:
    assert lower_bound(np.array(hits, np.bool_), clusters) is None


def test_share_interval_rejects_invalid_level() -> None:
    with pytest.raises(InputError, match="level=1"):
        lower_bound(np.ones(3, np.bool_), level=1.0)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 7), (190, 200), (1, 1)])
def test_the_interval_without_clusters_is_clopper_pearson(hits: int, n: int) -> None:
    expected = stats.binomtest(hits, n).proportion_ci(0.9)
    found = np.arange(n) < hits
    assert share_interval(found, level=0.9) == pytest.approx(expected)
    if n > 1:
        assert share_interval(found, np.arange(n), level=0.9) == pytest.approx(expected)


def test_the_interval_needs_items_and_two_clusters() -> None:
    assert share_interval(np.zeros(0, np.bool_)) is None
    assert share_interval(np.ones(9, np.bool_), np.zeros(9, np.int64)) is None
    copies = share_interval(np.ones(60, np.bool_), np.repeat(np.arange(6), 10))
    assert copies == pytest.approx(stats.binomtest(6, 6).proportion_ci(0.95))
