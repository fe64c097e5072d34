"""Agreement against definitions written out plainly, published examples and known laws."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.stats.agreement import (
    Measure,
    Statistic,
    bootstrap_agreement,
    cohen,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    raw_agreement,
)

NONE = float("nan")
Floats = NDArray[np.float64]
MEASURES: tuple[Measure, ...] = ("nominal", "ordinal", "interval")
EVERY: dict[str, Statistic] = {
    "raw": raw_agreement,
    "fleiss": fleiss_kappa,
    **{m: partial(krippendorff_alpha, measure=m) for m in MEASURES},
}
# Four observers and twelve units, one row an observer (Krippendorff 2011, section C and D).
FOUR_OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
).T
# Fourteen raters, ten subjects, five categories: counts by category (Fleiss 1971's worked form).
FOURTEEN_RATERS = [
    (0, 0, 0, 0, 14),
    (0, 2, 6, 4, 2),
    (0, 0, 3, 5, 6),
    (0, 3, 9, 2, 0),
    (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0),
    (3, 2, 6, 3, 0),
    (2, 5, 3, 2, 2),
    (6, 5, 2, 1, 0),
    (0, 2, 2, 3, 7),
]


@st.composite
def tables(draw: st.DrawFn, least: int = 2) -> Floats:
    """Labels of up to nine items and four annotators, many of them missing."""
    annotators = draw(st.integers(least, 4))
    label = st.sampled_from([1.0, 2.0, 3.0, 7.0, NONE])
    row = st.lists(label, min_size=annotators, max_size=annotators)
    return np.array(draw(st.lists(row, min_size=1, max_size=9)))


def units(labels: Floats) -> list[list[float]]:
    rows = [[value for value in row if value == value] for row in labels.tolist()]
    return [row for row in rows if len(row) >= 2]


def alpha_by_matrices(labels: Floats, measure: Measure) -> float | None:
    """Coincidences of values, their margins, and the measure of each pair, all written out."""
    coincidences: Counter[tuple[float, float]] = Counter()
    for unit in units(labels):
        for a, b in permutations(range(len(unit)), 2):
            coincidences[unit[a], unit[b]] += 1 / (len(unit) - 1)
    margins: Counter[float] = Counter()
    for (a, _), count in coincidences.items():
        margins[a] += count
    n = sum(margins.values())

    def square(a: float, b: float) -> float:
        if measure == "nominal":
            return float(a != b)
        if measure == "interval":
            return (a - b) ** 2
        between = sum(count for v, count in margins.items() if min(a, b) <= v <= max(a, b))
        return float((between - (margins[a] + margins[b]) / 2) ** 2) if a != b else 0.0

    found = sum(count * square(a, b) for (a, b), count in coincidences.items())
    chance = sum(margins[a] * margins[b] * square(a, b) for a in margins for b in margins)
    return 1 - (n - 1) * found / chance if chance else None


def fleiss_by_hand(labels: Floats) -> float | None:
    rows = units(labels)
    if len({value for row in rows for value in row}) < 2:
        return None
    pairs = [list(combinations(row, 2)) for row in rows]
    observed = sum(sum(a == b for a, b in p) / len(p) for p in pairs) / len(rows)
    values = {value for row in rows for value in row}
    shares = [sum(row.count(v) / len(row) for row in rows) / len(rows) for v in values]
    expected = sum(share**2 for share in shares)
    return (observed - expected) / (1 - expected)


def cohen_by_hand(labels: Floats) -> float | None:
    rows = [row for row in labels.tolist() if row[0] == row[0] and row[1] == row[1]]
    found = sum(a != b for a, b in rows) / max(len(rows), 1)
    chance = sum(a != b for a, _ in rows for _, b in rows) / max(len(rows), 1) ** 2
    return 1 - found / chance if chance else None


def from_counts(rows: list[tuple[int, ...]]) -> Floats:
    return np.array([[float(c) for c, n in enumerate(row) for _ in range(n)] for row in rows])


@pytest.mark.parametrize(
    ("measure", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_the_four_observers(measure: Measure, expected: float) -> None:
    assert krippendorff_alpha(FOUR_OBSERVERS, measure) == pytest.approx(expected, abs=5e-4)


def test_alpha_of_two_observers_with_two_values() -> None:
    """Krippendorff 2011, section A: ten units, two observers, alpha 0.095."""
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    labels = np.array([first, second], np.float64).T
    assert krippendorff_alpha(labels) == pytest.approx(0.095, abs=5e-4)


def test_fleiss_of_the_fourteen_raters() -> None:
    assert fleiss_kappa(from_counts(FOURTEEN_RATERS)) == pytest.approx(0.210, abs=5e-4)


def test_cohen_of_a_table() -> None:
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    labels = np.array(pairs, np.float64)
    assert cohen(labels) == pytest.approx(0.4)
    assert cohen(labels) == pytest.approx(cohen_kappa(np.array([[15, 10], [5, 20]])))


def test_fleiss_against_statsmodels() -> None:
    """What statsmodels.stats.inter_rater.fleiss_kappa gives for these counts."""
    assert fleiss_kappa(from_counts(FOURTEEN_RATERS)) == pytest.approx(0.20993070442195522)
    few = [(3, 0, 0), (2, 1, 0), (0, 3, 0), (1, 1, 1), (0, 1, 2), (0, 0, 3), (3, 0, 0)]
    assert fleiss_kappa(from_counts(few)) == pytest.approx(0.4895833333333333)


def test_cohen_against_statsmodels() -> None:
    """What statsmodels.stats.inter_rater.cohens_kappa gives for this table."""
    table = [[11, 3, 1], [4, 9, 5], [0, 2, 8]]
    pairs = [[a, b] for a, row in enumerate(table) for b, n in enumerate(row) for _ in range(n)]
    assert cohen(np.array(pairs, np.float64)) == pytest.approx(0.47646103896103903)


@given(tables())
def test_every_statistic_is_as_defined(labels: Floats) -> None:
    for measure in MEASURES:
        expected = alpha_by_matrices(labels, measure)
        assert krippendorff_alpha(labels, measure) == (
            None if expected is None else pytest.approx(expected, abs=1e-9)
        )
    kappa = fleiss_by_hand(labels)
    assert fleiss_kappa(labels) == (None if kappa is None else pytest.approx(kappa, abs=1e-9))
    two = cohen_by_hand(labels[:, :2])
    assert cohen(labels[:, :2]) == (None if two is None else pytest.approx(two, abs=1e-9))


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_annotators_and_items_does_not_matter(labels: Floats, random: object) -> None:
    rng = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    moved = labels[rng.permutation(len(labels))][:, rng.permutation(labels.shape[1])]
    for statistic in EVERY.values():
        before, after = statistic(labels), statistic(moved)
        assert after == (None if before is None else pytest.approx(before, abs=1e-9))


@given(tables())
def test_weights_are_as_good_as_repeated_items(labels: Floats) -> None:
    weights = np.arange(len(labels)) % 3
    repeated = np.repeat(labels, weights, axis=0)
    for statistic in [*EVERY.values(), lambda x, weights=None: cohen(x[:, :2], weights=weights)]:
        expected = statistic(repeated)
        found = statistic(labels[weights > 0], weights=weights[weights > 0].astype(np.float64))
        assert found == (None if expected is None else pytest.approx(expected, abs=1e-9))


@given(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=2), st.integers(2, 4))
def test_those_who_always_agree_have_one(column: list[float], annotators: int) -> None:
    assume(len(set(column)) > 1)
    labels = np.repeat(np.array(column)[:, None], annotators, axis=1)
    for statistic in EVERY.values():
        assert statistic(labels) == pytest.approx(1.0)
    assert cohen(labels[:, :2]) == pytest.approx(1.0)
    low, high = bootstrap_agreement(labels, fleiss_kappa, resamples=20) or (0.0, 0.0)
    assert (low, high) == (pytest.approx(1.0), pytest.approx(1.0))


@given(tables())
def test_measures_keep_their_scale(labels: Floats) -> None:
    """Alpha: nominal under any renaming, ordinal under any rise, interval under a new unit."""
    named = np.where(labels == 2.0, 11.0, labels)
    changed: dict[Measure, Floats] = {
        "nominal": named,
        "ordinal": np.exp(labels),
        "interval": 32 + 1.8 * labels,
    }
    for measure, other in changed.items():
        before = krippendorff_alpha(labels, measure)
        after = krippendorff_alpha(other, measure)
        assert after == (None if before is None else pytest.approx(before, abs=1e-9))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "labels",
    [
        np.empty((0, 3)),
        np.full((4, 3), NONE),
        np.array([[1.0, NONE], [NONE, 2.0]]),  # no two labels meet
        np.array([[1.0, 1.0], [1.0, 1.0], [2.0, NONE]]),  # one category only among pairs
    ],
)
def test_undefined_is_none(name: str, labels: Floats) -> None:
    pairs = bool(units(labels))
    assert EVERY[name](labels) == (1.0 if name == "raw" and pairs else None)
    assert cohen(labels[:, :2]) is None
    if name != "raw":
        assert bootstrap_agreement(labels, EVERY[name]) is None


def test_an_item_alone_has_no_interval() -> None:
    assert bootstrap_agreement(np.array([[1.0, 2.0]]), raw_agreement) is None


def test_agreement_rejects_unreadable_values() -> None:
    with pytest.raises(UsageError, match=r"found 3 columns"):
        cohen(np.ones((2, 3)))
    with pytest.raises(UsageError, match=r"shape \(2,\)"):
        fleiss_kappa(np.ones(2))
    labels = np.array([[1.0, 2.0], [2.0, 2.0]])
    with pytest.raises(UsageError, match="expected nominal, ordinal or interval"):
        krippendorff_alpha(labels, "ratio")  # type: ignore[arg-type]


@pytest.mark.long
def test_interval_is_that_of_resampled_items() -> None:
    """Against a bootstrap that builds its samples; the draws differ, the interval hardly."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, (150, 3)).astype(np.float64)
    labels[:90] = labels[:90, :1]
    labels[rng.random(labels.shape) < 0.1] = NONE
    for statistic in (raw_agreement, fleiss_kappa, EVERY["ordinal"]):
        drawn = [statistic(labels[rng.integers(0, 150, 150)]) for _ in range(1_000)]
        expected = np.percentile([value for value in drawn if value is not None], [2.5, 97.5])
        found = bootstrap_agreement(labels, statistic)
        assert found == (pytest.approx(expected[0], abs=0.03), pytest.approx(expected[1], abs=0.03))
        assert found == bootstrap_agreement(labels[::-1], statistic)
        assert found != bootstrap_agreement(labels, statistic, seed=1)
        wide = bootstrap_agreement(labels, statistic, level=0.99)
        assert found
        assert wide
        assert wide[0] < found[0] < found[1] < wide[1]


@pytest.mark.long
def test_ten_thousand_items_take_seconds() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(1, 6, (10_000, 3)).astype(np.float64)
    labels[rng.random(labels.shape) < 0.1] = NONE
    begun = time.process_time()
    for statistic in EVERY.values():
        found = bootstrap_agreement(labels, statistic)
        assert found
        assert found[0] < (statistic(labels) or 0.0) < found[1]
    assert time.process_time() - begun < 20
