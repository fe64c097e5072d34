"""A resample by weights against the same items written out; clusters; threads; coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.stats import norm

from trueground.stats.agreement import bootstrap_agreement, cohen
from trueground.stats.bootstrap import percentiles
from trueground.stats.human.estimates import MEASURES
from trueground.stats.human.measure import AGAINST_LIMIT, Measured, measure
from trueground.stats.human.weighing import GROUP, group_weights

UNDRAWN = ("balanced_accuracy_best", "calibration_error")


def drawn_again(
    scores: np.ndarray, labels: np.ndarray, unit: np.ndarray, resamples: int, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The items of each resample, written out as often as they were drawn."""
    units = int(unit.max()) + 1
    groups = [group_weights(units, number, seed) for number in range(-(-resamples // GROUP))]
    weights = np.concatenate(groups)[:resamples]
    return [(np.repeat(scores, w[unit]), np.repeat(labels, w[unit])) for w in weights]


SETTINGS_OF_SETS = (
    st.integers(4, 40),
    st.integers(0, 2**32 - 1),
    st.integers(0, 6),
    st.booleans(),
    st.sampled_from([2, 3, 7]),
)


@pytest.mark.long
@given(*SETTINGS_OF_SETS)
def test_each_resample_is_what_repeating_the_items_gives(
    n: int, seed: int, digits: int, ordinal: bool, kinds: int
) -> None:
    check_resamples(n, seed, digits, ordinal, kinds)


@pytest.mark.long
@given(*SETTINGS_OF_SETS)
def test_each_of_many_resamples_is_what_repeating_the_items_gives(
    n: int, seed: int, digits: int, ordinal: bool, kinds: int
) -> None:
    check_resamples(n, seed, digits, ordinal, kinds)


def check_resamples(n: int, seed: int, digits: int, ordinal: bool, kinds: int) -> None:
    random = np.random.default_rng(seed)
    labels = random.integers(0, kinds, n) / (kinds - 1)
    labels[:2] = 0.0, 1.0
    scores = np.round(random.random(n), digits)
    scores[:2] = 0.0, 1.0  # on one scale with the labels
    unit = np.unique(random.integers(0, n, n), return_inverse=True)[1]
    assume(unit.max() > 0)
    found = measure(scores, labels, ordinal=ordinal, clusters=unit, resamples=20, seed=seed)
    samples = drawn_again(scores, labels, unit, 20, seed)
    plain = [measure(x, y, ordinal=ordinal, resamples=0).estimates for x, y in samples]
    binary = [measure(x, y, resamples=0).estimates for x, y in samples]
    for name in MEASURES:
        if name in UNDRAWN or (ordinal and name == "krippendorff_alpha"):
            continue  # α of a resample has the grades that were drawn
        # Verdicts are against the 0/1 label; of a resample with one kind of it they count as drawn.
        values = [one[name].value for one in (binary if name in AGAINST_LIMIT else plain)]
        expected = np.array([np.nan if value is None else value for value in values])
        np.testing.assert_allclose(found.draws[name], expected, rtol=1e-7, atol=1e-7, err_msg=name)


def test_scores_by_label_have_the_intervals_of_a_plain_bootstrap() -> None:
    random = np.random.default_rng(4)
    labels = (random.random(60) < 0.4).astype(float)
    scores = np.round(random.random(60), 1)
    found = measure(scores, labels, resamples=100, seed=3)
    samples = drawn_again(scores, labels, np.arange(60), 100, 3)
    for one in found.by_label:
        mine = [x[y == one.label] for x, y in samples]
        for key, statistic in (
            ("mean", np.mean),
            ("median", np.median),
            ("sd", lambda x: np.std(x, ddof=1)),
        ):
            expected = percentiles(np.array([statistic(x) for x in mine]), 0.95)
            assert getattr(one, key).ci == pytest.approx(expected, abs=1e-7), key


def test_an_interval_is_near_that_of_the_agreement_of_two_raters() -> None:
    random = np.random.default_rng(6)
    labels = (random.random(300) < 0.5).astype(float)
    said = np.where(random.random(300) < 0.8, labels, 1 - labels)
    ours = measure(said, labels).estimates["cohen_kappa"].ci
    theirs = bootstrap_agreement(np.stack([said, labels], axis=1), cohen)
    assert ours == pytest.approx(theirs, abs=0.01)


def test_the_number_of_threads_and_blocks_changes_nothing() -> None:
    random = np.random.default_rng(7)
    n = 3_000
    labels = (random.random(n) < 0.5).astype(float)
    scores = random.random(n) + labels * 0.2
    one, three = (measure(scores, labels, resamples=801, workers=k) for k in (1, 3))
    assert one == three
    more = measure(scores, labels, resamples=900)
    for name in ("auroc", "kendall", "raw_agreement"):
        np.testing.assert_array_equal(more.draws[name][:801], one.draws[name])
    assert measure(scores, labels, resamples=801, seed=1) != one


def test_the_order_of_the_clusters_names_does_not_matter_to_the_value() -> None:
    random = np.random.default_rng(8)
    labels = (random.random(50) < 0.5).astype(float)
    scores = random.random(50)
    names = [f"text {k}" for k in random.integers(0, 12, 50)]
    found = measure(scores, labels, clusters=names, resamples=300)
    single = measure(scores, labels, resamples=300)
    assert found.estimates["auroc"].value == single.estimates["auroc"].value
    assert found.estimates["auroc"].ci != single.estimates["auroc"].ci


# Coverage: a 95 % interval holds the truth in 93 to 97 % of simulated sets.

SETS = 1_000
SHIFT = 1.0
TRUE_AUROC = float(norm.cdf(SHIFT / np.sqrt(2)))


def covered(found: list[Measured], name: str, truth: float) -> float:
    inside = []
    for one in found:
        ci = one.estimates[name].ci
        assert ci is not None
        inside.append(ci[0] <= truth <= ci[1])
    return float(np.mean(inside))


def simulated(n: int, *, clusters: int = 0, resamples: int = 500) -> list[Measured]:
    """Normal scores, one standard deviation apart by label; clusters share half the variance."""
    random = np.random.default_rng(11)
    found = []
    for number in range(SETS):
        if clusters:
            unit = np.repeat(np.arange(clusters), n // clusters)
            labels = (random.random(clusters) < 0.4)[unit].astype(float)
            noise = (random.normal(size=clusters)[unit] + random.normal(size=n)) / np.sqrt(2)
        else:
            unit = np.arange(n)
            labels, noise = (random.random(n) < 0.4).astype(float), random.normal(size=n)
        found.append(
            measure(
                noise + labels * SHIFT,
                labels,
                clusters=unit,
                threshold=0.0,
                probability=False,
                resamples=resamples,
                seed=number,
                workers=1,
            )
        )
    return found


@pytest.mark.long
def test_coverage_of_independent_items() -> None:
    found = simulated(240)
    rho = (TRUE_AUROC - 0.5) * np.sqrt(12 * 0.4 * 0.6)
    assert 0.93 <= covered(found, "auroc", TRUE_AUROC) <= 0.97
    assert 0.93 <= covered(found, "spearman", rho) <= 0.97
    assert 0.93 <= covered(found, "raw_agreement", 0.6 * 0.5 + 0.4 * norm.cdf(SHIFT)) <= 0.97
    means = [one.by_label[1].mean.ci for one in found]
    assert 0.93 <= np.mean([ci is not None and ci[0] <= SHIFT <= ci[1] for ci in means]) <= 0.97


@pytest.mark.long
def test_coverage_in_clusters() -> None:
    found = simulated(400, clusters=200)
    assert 0.93 <= covered(found, "auroc", TRUE_AUROC) <= 0.97
    rho = (TRUE_AUROC - 0.5) * np.sqrt(12 * 0.4 * 0.6)
    assert 0.93 <= covered(found, "spearman", rho) <= 0.97


def test_a_measure_of_several_scores_shares_its_resamples() -> None:
    random = np.random.default_rng(9)
    labels = (random.random(40) < 0.5).astype(float)
    scores = random.random(40)
    both = Measured.measure_all({"a": scores, "b": scores / 2}, labels, resamples=60)
    np.testing.assert_array_equal(both["a"].draws["auroc"], both["b"].draws["auroc"])
