"""Noise of repeated answers: against plain loops, known models, and simulated coverage."""

from __future__ import annotations

from statistics import mean, variance

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from tests.marks import mostly_long

from trueground.stats.bootstrap import Bootstrap
from trueground.stats.repeats import Noise, PerQuestion

NAN = float("nan")


def of(values: NDArray[np.float64], **more: object) -> Noise:
    """The noise of values, shape (questions, repeats)."""
    questions, repeats = values.shape
    codes = np.repeat(np.arange(questions), repeats)
    answers = PerQuestion.of(values.reshape(-1, 1), codes, questions, [0])
    return answers.noise(**more)[0]  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.0, 0.3, 0.7, 1.0, NAN]))))
def test_per_question_is_what_plain_loops_find(items: list[tuple[int, float]]) -> None:
    codes = np.array([code for code, _ in items], np.int64)
    values = np.array([[value, -value] for _, value in items]).reshape(-1, 2)
    found = PerQuestion.of(values, codes, 7, [0])
    for question in range(7):
        every = [value for code, value in items if code == question]
        known = [value for value in every if value == value]
        assert found.asked[question] == len(every)
        assert found.scored[question, 0] == len(known)
        if known:
            assert found.means[question, 0] == pytest.approx(mean(known))
        if len(known) > 1:
            assert found.variances[question, 0] == pytest.approx(variance(known), abs=1e-12)
            sides = [value > 0.5 for value in known]
            assert found.flips[question, 0] == (len(set(sides)) == 2)
            pairs = [a != b for i, a in enumerate(sides) for b in sides[:i]]
            assert found.differ[question, 0] == pytest.approx(mean(pairs))
        else:
            assert np.isnan(found.variances[question, 0])
            assert np.isnan(found.flips[question, 0])
            assert np.isnan(found.differ[question, 0])


def test_the_components_are_those_of_the_analysis_of_variance() -> None:
    """Balanced data: the mean squares of one-way analysis of variance, by hand."""
    values = np.array([[0.2, 0.4, 0.6], [0.9, 0.8, 1.0], [0.1, 0.1, 0.4], [0.5, 0.9, 0.7]])
    found = of(values)
    within = float(values.var(axis=1, ddof=1).mean())
    among = 3 * float(values.mean(axis=1).var(ddof=1))
    assert found.within == pytest.approx(within)
    assert found.between == pytest.approx((among - within) / 3)
    assert found.errors is not None
    assert found.errors.now**2 == pytest.approx(among / 12)
    assert found.errors.noise**2 == pytest.approx(within / 12)
    assert found.errors.endless**2 == pytest.approx((among - within) / 12)
    assert found.errors.one**2 == pytest.approx((among - within) / 12 + within / 4)
    assert found.share == pytest.approx(within / among)


def test_the_interval_is_that_of_question_means() -> None:
    """One bootstrap behind both: nothing is counted twice."""
    values = np.random.default_rng(3).random((50, 4))
    expected = Bootstrap(seed=5).intervals(values.mean(axis=1, keepdims=True))[0]
    assert of(values, seed=5).ci == pytest.approx(expected)


def test_a_second_stage_with_replacement_would_count_the_noise_twice() -> None:
    """Pure noise, two answers: its variance is half too large; ours is right."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 2))
    found = of(values)
    drawn = rng.integers(0, 400, (2_000, 400))
    again = rng.integers(0, 2, (2_000, 400, 2))
    naive = values[drawn[:, :, None], again].mean(axis=(1, 2)).std()
    assert found.ci is not None
    width = (found.ci[1] - found.ci[0]) / 3.92
    assert naive / width == pytest.approx(1.5**0.5, rel=0.08)
    assert width == pytest.approx((0.5 / 400) ** 0.5, rel=0.1)


def test_one_answer_each_is_as_wide_as_a_bootstrap_of_two_stages() -> None:
    """The draw of one answer a question by brute force, in clusters too."""
    rng = np.random.default_rng(8)
    chance = rng.beta(0.6, 0.4, 120)
    values = (rng.random((120, 5)) < chance[:, None]).astype(np.float64)
    for clusters in (None, np.arange(120) // 3):
        found = of(values, clusters=clusters, seed=1, resamples=4_000)
        groups = np.arange(120)[:, None] if clusters is None else np.arange(120).reshape(-1, 3)
        drawn = groups[rng.integers(0, len(groups), (4_000, len(groups)))].reshape(4_000, -1)
        means = values[drawn, rng.integers(0, 5, drawn.shape)].mean(axis=1)
        assert found.ci_one == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=0.012)


def test_no_noise_no_doubt_about_it() -> None:
    found = of(np.repeat([[0.0], [1.0], [1.0]], 4, axis=1))
    assert (found.within, found.share) == (0.0, 0.0)
    assert found.ci_one == found.ci
    assert found.ci_noise == pytest.approx((2 / 3, 2 / 3))
    assert found.flips is not None
    assert (found.flips.flipped, found.flips.questions, found.flips.two_differ) == (0, 3, 0.0)


def test_missing_answers_are_counted_and_do_not_weigh() -> None:
    values = np.array([[1.0, 1.0, 1.0], [0.0, NAN, NAN], [NAN, NAN, NAN], [0.0, 1.0, NAN]])
    found = of(values)
    assert (found.questions, found.several, found.part) == (3, 2, 2)
    assert found.mean == pytest.approx((1 + 0 + 0.5) / 3)
    assert found.flips is not None
    assert (found.flips.flipped, found.flips.questions) == (1, 2)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([[NAN, NAN], [NAN, NAN]], {"mean": None, "ci": None, "within": None, "flips": None}),
        ([[1.0], [0.0], [1.0]], {"ci_one": None, "within": None, "errors": None, "flips": None}),
        ([[0.2, 0.4]], {"ci": None, "ci_noise": None, "errors": None, "between": None}),
        ([[1.0, 5.0], [2.0, 3.0]], {"flips": None}),
    ],
)
def test_repeats_undefined_is_none(values: list[list[float]], told: dict[str, None]) -> None:
    """No values; no second answers; one question only; no scale on which 0.5 means anything."""
    found = of(np.array(values))
    assert {name: getattr(found, name) for name in told} == told


def means_of(
    kind: str, questions: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    """What each question's answers are worth in the long run, and the mean of all questions."""
    if kind == "binary":  # most questions are easy or hard, some are a coin
        return rng.beta(0.6, 0.4, questions), 0.6
    return (np.full(questions, 0.5) if kind == "noise" else rng.normal(0.5, 0.3, questions)), 0.5


def answers_of(
    kind: str, own: NDArray[np.float64], repeats: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    if kind == "normal":
        return own[:, None] + rng.normal(0, 0.5, (len(own), repeats))
    return (rng.random((len(own), repeats)) < own[:, None]).astype(np.float64)


def simulated(kind: str, questions: int, repeats: int, sets: int) -> dict[str, float]:
    """How often each interval covers what it is for, over simulated sets."""
    covered = {"ci": 0, "ci_one": 0, "ci_noise": 0}
    for seed in range(sets):
        rng = np.random.default_rng([seed, questions, repeats])
        own, truth = means_of(kind, questions, rng)
        found = of(answers_of(kind, own, repeats, rng), resamples=600, seed=seed)
        assert found.mean is not None
        assert found.ci is not None
        assert found.ci_one is not None
        assert found.ci_noise is not None
        shift = (
            float(answers_of(kind, own, 1, rng).mean()) - found.mean
        )  # a run of its own with one answer each
        covered["ci"] += found.ci[0] <= truth <= found.ci[1]
        covered["ci_one"] += found.ci_one[0] + shift <= truth <= found.ci_one[1] + shift
        covered["ci_noise"] += found.ci_noise[0] <= own.mean() <= found.ci_noise[1]
    return {name: count / sets for name, count in covered.items()}


@pytest.mark.parametrize(
    ("kind", "sets", "off"),
    mostly_long(
        1,
        [("binary", 150, 0.045), *((kind, 1_000, 0.02) for kind in ("binary", "noise", "normal"))],
    ),
)
def test_intervals_cover_what_they_are_for(kind: str, sets: int, off: float) -> None:
    """A 95 % interval covers 93 to 97 % of 1,000 simulated sets."""
    found = simulated(kind, 120, 3, sets)
    assert all(abs(share - 0.95) <= off for share in found.values()), found
