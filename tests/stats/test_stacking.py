"""A logistic model of claims from labels of whole responses."""

from __future__ import annotations

import numpy as np
import pytest

from trueground.stats.calibration import logistic
from trueground.stats.monotone import LabeledClaims, LogisticModel


def made(responses: int, claims: int, seed: int = 0) -> LabeledClaims:
    """Two features: the first tells of support, the second of its opposite; labels by the mean."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(responses * claims, 2))
    of = np.repeat(np.arange(responses), claims)
    truth = LogisticModel(np.array([2.0, -1.0]), 0.5)
    probability = logistic(x @ truth.weights + truth.intercept)
    labels = rng.random(responses) < np.bincount(of, probability) / claims
    return LabeledClaims(x, of, labels.astype(float), np.full(responses, 1 / responses))


def test_it_finds_the_weights_that_made_the_labels() -> None:
    rows = made(20_000, 1)
    found = (rows._replace(x=rows.x * [1, -1])).fit(0.0)
    assert found.weights == pytest.approx([2.0, 1.0], abs=0.1)
    assert found.intercept == pytest.approx(0.5, abs=0.1)


def test_also_where_only_responses_of_several_claims_have_labels() -> None:
    rows = made(20_000, 3)
    found = (rows._replace(x=rows.x * [1, -1])).fit(0.0)
    assert found.weights == pytest.approx([2.0, 1.0], abs=0.25)


def test_no_weight_is_negative() -> None:
    assert made(2_000, 1).fit(0.0).weights[1] == 0


def test_a_penalty_draws_the_weights_to_the_prior() -> None:
    rows = made(200, 1)
    prior = np.array([0.7, 0.3])
    assert rows.fit(1e6, prior=prior).weights == pytest.approx(prior, abs=1e-3)
    assert rows.fit(1e6).weights == pytest.approx([0, 0], abs=1e-3)


def test_stacking_constant_feature_has_no_weight() -> None:
    rows = made(200, 1)
    same = rows._replace(x=np.column_stack([rows.x, np.full(200, 3.0)]))
    found = same.fit(0.01, prior=np.array([0.5, 0.0, 0.5]))
    assert found.weights[2] == 0
    expected = rows.fit(0.01, prior=np.array([0.5, 0.0]))
    assert found.weights[:2] == pytest.approx(expected.weights, abs=1e-4)


def test_some_responses_of_them() -> None:
    some = made(10, 3).select(np.array([2, 5]))
    assert some.of.tolist() == [0, 0, 0, 1, 1, 1]
    assert len(some.labels) == 2
    assert some.x[:3] == pytest.approx(made(10, 3).x[6:9])


def test_support_is_the_mean_over_claims() -> None:
    rows = made(5, 2)
    model = LogisticModel(np.array([1.0, 0.0]), 0.0)
    means = model.probabilities(rows.x).reshape(5, 2).mean(axis=1)
    assert model.support(rows) == pytest.approx(means)
