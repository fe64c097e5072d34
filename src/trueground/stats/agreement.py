"""Agreement of raters beyond chance, by Cohen, Fleiss and Krippendorff; correlation of two scores.

Labels are an array of shape (items, annotators); NaN is a label that is missing. Every statistic
takes the weights of the items, so that a bootstrap need not build its samples. What is undefined is
None, never 0 or 1. Pearson's and Spearman's coefficients are not scipy's: loading scipy.stats takes
longer than these take to run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.stats.arithmetic.sums import count_product, dot, dot_rows, mean, sum_counts, total
from trueground.stats.bootstrap import Floats, Interval, Ints, percentiles

Statistic = Callable[..., float | None]  # of (labels, *, weights), as the functions below
Measure = Literal["nominal", "ordinal", "interval"]


class _RatedItems(NamedTuple):
    """The items with two labels or more: each its number `m`, share of agreeing pairs and weight.

    The label `values[code]` was given `n` times to the item `row`.
    """

    m: Floats
    agreeing: Floats
    weights: Floats
    total: float
    row: Ints
    code: Ints
    n: Floats
    values: Floats


def cohen_kappa(table: NDArray[np.integer]) -> float | None:
    """Cohen's kappa (1960) of counts, shape (k, k); None without any, or where both use one
    category.
    """
    n = sum_counts(table)
    if not n:
        return None
    observed = float(np.trace(table)) / n
    expected = dot(sum_counts(table, axis=1), sum_counts(table, axis=0)) / (n * n)
    return None if expected == 1.0 else (observed - expected) / (1.0 - expected)


def cohen(labels: Floats, *, weights: Floats | None = None) -> float | None:
    """Cohen's kappa of two annotators, shape (items, 2), over the items that both have labeled.

    None without such items, and where both gave one label throughout. UsageError.
    """
    array = _as_array(labels)
    if array.shape[1] != 2:
        raise UsageError(f"Cohen's kappa is of two annotators; found {array.shape[1]} columns")
    both = ~np.isnan(array).any(axis=1)
    w = (np.ones(len(array)) if weights is None else weights)[both]
    weight = total(w)
    if not weight:
        return None
    values, codes = np.unique(array[both], return_inverse=True)
    a, b = codes.reshape(-1, 2).T
    first, second = (np.bincount(c, w, len(values)) / weight for c in (a, b))
    if np.count_nonzero(first + second) < 2:
        return None
    return 1.0 - dot(w, a != b) / weight / (1.0 - dot(first, second))


def raw_agreement(labels: Floats, *, weights: Floats | None = None) -> float | None:
    """The share of pairs of labels that are equal: the mean over items with two labels or more."""
    rated = _rated_items(labels, weights)
    if not rated.total:
        return None
    return dot(rated.weights, rated.agreeing) / rated.total


def fleiss_kappa(labels: Floats, *, weights: Floats | None = None) -> float | None:
    """Fleiss' kappa (1971), for any number of labels an item; those with fewer than two are left
    out.

    The shares of the categories expected by chance are means over items (Gwet's form for incomplete
    ratings, 2014). None without pairs, and where one category only was used.
    """
    rated = _rated_items(labels, weights)
    shares = np.bincount(rated.code, rated.weights[rated.row] * rated.n / rated.m[rated.row])
    if np.count_nonzero(shares) < 2:
        return None
    by_chance = shares / rated.total
    expected = dot(by_chance, by_chance)
    observed = dot(rated.weights, rated.agreeing) / rated.total
    return (observed - expected) / (1.0 - expected)


def krippendorff_alpha(
    labels: Floats, measure: Measure = "nominal", *, weights: Floats | None = None
) -> float | None:
    """Krippendorff's alpha (2011, "Computing Krippendorff's alpha-reliability").

    `measure` says how far two labels are apart: "nominal" equal or not; "ordinal" by the number of
    labels between them; "interval" by their squared difference. None without pairs, and where all
    labels are equal.
    """
    rated = _rated_items(labels, weights)
    each = rated.weights[rated.row] * rated.n
    counts = np.bincount(rated.code, each, len(rated.values))
    if np.count_nonzero(counts) < 2:
        return None
    n = total(counts)
    if measure == "nominal":
        apart = dot(rated.weights, rated.m * (1.0 - rated.agreeing))
        return 1.0 - apart * (n - 1.0) / (n * n - dot(counts, counts))
    if measure == "ordinal":
        # The labels between two, half of either end included, are the difference of middle ranks.
        values = np.cumsum(counts) - counts / 2.0
    elif measure == "interval":
        values = rated.values
    else:
        raise UsageError(f"measure {measure!r}: expected nominal, ordinal or interval")
    x = (values - dot(counts, values) / n)[rated.code]
    away = x - (np.bincount(rated.row, rated.n * x) / rated.m)[rated.row]
    squares = np.bincount(rated.row, rated.n * away * away)
    within = total(rated.weights * squares * rated.m / (rated.m - 1.0))
    return 1.0 - within * (n - 1.0) / (n * dot(each, x * x))


def bootstrap_agreement(
    labels: Floats,
    statistic: Statistic,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    *,
    groups: Ints | None = None,
) -> Interval | None:
    """A percentile bootstrap interval over the items that have two labels or more.

    `statistic` is one of this module. `groups` (items,) are items that are drawn together. Samples
    in which the statistic is undefined are left out; None where it is undefined for the labels, and
    for fewer than two items or groups.
    """
    array = _as_array(labels)
    rated = sum_counts(~np.isnan(array), axis=1) >= 2
    array = array[rated]
    unit = np.arange(len(array)) if groups is None else _codes(groups[rated])
    if int(unit.max(initial=-1)) < 1 or statistic(array) is None:
        return None
    # Items with the same labels are drawn together: few patterns, however many items.
    codes = _codes(array).reshape(array.shape)
    codes[np.isnan(array)] = -1
    _, firsts, row, often = np.unique(
        codes, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    patterns = array[firsts]
    counts = None
    if groups is not None:  # so are groups that have the same labels, each as often
        counts = np.zeros((int(unit.max()) + 1, len(patterns)))
        np.add.at(counts, (unit, row.reshape(-1)), 1.0)
        counts, often = np.unique(counts, axis=0, return_counts=True)
    n = sum_counts(often)
    which = np.repeat(np.arange(len(often)), often)
    random = np.random.Generator(np.random.SFC64([seed, 0]))
    draws = np.full(resamples, np.nan)
    for number in range(resamples):
        # NumPy's multinomial numbers come by way of the C library's logarithm.
        drawn = np.bincount(which[random.integers(0, n, n)], minlength=len(often))
        weights = (drawn if counts is None else count_product(drawn, counts)).astype(np.float64)
        some = weights > 0
        value = statistic(patterns[some], weights=weights[some])
        draws[number] = np.nan if value is None else value
    return percentiles(draws, level)


class EstimatedAgreement(NamedTuple):
    """A statistic with its interval; both None if it is undefined."""

    value: float | None
    ci: Interval | None


@dataclass(frozen=True, eq=False)
class LabelAgreement:
    """How well annotators agree, with bootstrap intervals over items.

    Attributes:
        labels: Shape (items, annotators), NaN where a label is missing.
        groups: The group of each item, shape (items,). Items of a group are resampled together.
        resamples: Bootstrap samples.
        seed: Seed of the samples.
        level: Confidence level of the intervals.
    """

    labels: Floats
    groups: Ints | None = None
    resamples: int = 2_000
    seed: int = 0
    level: float = 0.95

    def estimate(self, statistic: Statistic) -> EstimatedAgreement:
        """Return a statistic of labels and weights, such as `raw_agreement`."""
        value = statistic(self.labels)
        if value is None:
            return EstimatedAgreement(None, None)
        ci = bootstrap_agreement(
            self.labels, statistic, self.resamples, self.seed, self.level, groups=self.groups
        )
        return EstimatedAgreement(value, ci)

    def raw(self) -> EstimatedAgreement:
        """Return the share of pairs of labels that are equal."""
        return self.estimate(raw_agreement)

    def cohen(self) -> EstimatedAgreement:
        """Return Cohen's kappa. Raises UsageError unless there are two annotators."""
        return self.estimate(cohen)

    def fleiss(self) -> EstimatedAgreement:
        """Return Fleiss' kappa."""
        return self.estimate(fleiss_kappa)

    def krippendorff(self, measure: Measure) -> EstimatedAgreement:
        """Return Krippendorff's alpha; `measure` as in `krippendorff_alpha`."""
        return self.estimate(partial(krippendorff_alpha, measure=measure))


@dataclass(frozen=True, eq=False)
class TwoJudges:
    """How two judges of the same things agree.

    Attributes:
        table: Counts of pairs of verdicts, shape (k, k), the first judge in rows.
        kappa_ci: 95% interval of Cohen's kappa. None if it is undefined, or from a table alone.
    """

    table: NDArray[np.integer]
    kappa_ci: Interval | None = None

    @classmethod
    def of(
        cls, pairs: Iterable[tuple[bool, bool]], groups: Sequence[Hashable] | None = None
    ) -> TwoJudges:
        """Compare two judges by pairs: the first says yes, the second says yes.

        The table has yes first. The interval is a bootstrap over the things, or over `groups` of
        them, such as a fact's item.
        """
        table = np.zeros((2, 2), np.int64)
        verdicts = list(pairs)
        if not verdicts:
            return cls(table)
        for first, second in verdicts:
            table[int(not first), int(not second)] += 1
        unit = None
        if groups is not None:
            numbers: dict[Hashable, int] = {}
            unit = np.array([numbers.setdefault(one, len(numbers)) for one in groups], np.int64)
        labels = np.array(verdicts, np.float64)
        return cls(table, bootstrap_agreement(labels, cohen, groups=unit))

    @property
    def n(self) -> int:
        """How many things both have judged."""
        return sum_counts(self.table)

    @property
    def agreement(self) -> float | None:
        """The share of them that both judge alike; None without any."""
        return float(np.trace(self.table)) / self.n if self.n else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None if it is undefined."""
        return cohen_kappa(self.table)


def _rated_items(labels: Floats, weights: Floats | None) -> _RatedItems:
    array = _as_array(labels)
    present = ~np.isnan(array)
    rows = sum_counts(present, axis=1) >= 2
    array, present = array[rows], present[rows]
    m = sum_counts(present, axis=1).astype(np.float64)
    values, codes = np.unique(array[present], return_inverse=True)
    key = np.nonzero(present)[0] * max(len(values), 1) + codes
    cells, n = np.unique(key, return_counts=True)
    row, code = np.divmod(cells, max(len(values), 1))
    pairs = np.bincount(row, n * (n - 1.0), len(array))
    w = np.ones(len(array)) if weights is None else weights[rows]
    return _RatedItems(
        m, pairs / (m * (m - 1.0)), w, total(w), row, code, n.astype(np.float64), values
    )


def _as_array(labels: Floats) -> Floats:
    array = np.asarray(labels, np.float64)
    if array.ndim != 2:
        raise UsageError(f"labels have shape {array.shape}; expected (items, annotators)")
    return array


def _codes(values: Floats | Ints) -> Ints:
    return np.unique(values, return_inverse=True)[1].reshape(-1)


LEAST = 3  # two points always lie on a line


@dataclass(frozen=True)
class Correlation:
    """A coefficient from -1 to 1 over `n` pairs, with its interval, or `why` there is none."""

    value: float | None
    ci: Interval | None
    ci_level: float
    n: int
    why: str | None = None

    @classmethod
    def of(
        cls,
        x: Sequence[float],
        y: Sequence[float],
        *,
        ranked: bool = False,
        resamples: int = 2_000,
        seed: int = 0,
        level: float = 0.95,
    ) -> Correlation:
        """Pearson's, or with `ranked` Spearman's, coefficient of the pairs with its interval.

        A percentile bootstrap over the pairs, the same for both; resamples in which one side is
        constant are left out. Numbers that differ beyond the twelfth decimal only are equal: means
        carry such noise.
        """
        a: Floats = np.asarray(x, np.float64).round(12)
        b: Floats = np.asarray(y, np.float64).round(12)
        n = len(a)
        if n < LEAST:
            return cls(None, None, level, n, f"{n} of at least {LEAST} pairs")
        value = (spearman if ranked else pearson)(a, b)
        if value is None:
            side = "first" if (a == a[0]).all() else "second"
            return cls(None, None, level, n, f"the {side} score is the same for all")
        draws = np.random.Generator(np.random.PCG64(seed)).integers(0, n, (resamples, n))
        drawn_a, drawn_b = (_drawn_ranks(x, draws) if ranked else x[draws] for x in (a, b))
        return cls(value, percentiles(_pearson(drawn_a, drawn_b), level), level, n)


def average_ranks(values: Sequence[float] | Floats) -> Floats:
    """Ranks from 1 in rising order, shape (n,); equal values share the mean of their places."""
    _, place, counts = np.unique(
        np.asarray(values, np.float64), return_inverse=True, return_counts=True
    )
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place], np.float64)


def pearson(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float | None:
    """The linear correlation of two equally long samples; None where either is constant.

    Raises ValueError where they are not equally long.
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} numbers are no pairs")
    if len(a) < 2:
        return None
    value = float(_pearson(a[None, :], b[None, :])[0])
    return None if np.isnan(value) else value


def spearman(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float | None:
    """The correlation of average ranks; None where either sample is constant."""
    return pearson(average_ranks(x), average_ranks(y))


def _drawn_ranks(values: Floats, draws: Ints) -> Floats:
    """Average ranks within each resample, shape (resamples, n), from counts of each value."""
    distinct, code = np.unique(values, return_inverse=True)
    cells = code[draws] + len(distinct) * np.arange(len(draws))[:, None]
    counts = np.bincount(cells.ravel(), minlength=len(draws) * len(distinct))
    counts = counts.reshape(len(draws), len(distinct))
    ranks = np.cumsum(counts, axis=1) - (counts - 1) / 2
    return np.asarray(ranks.ravel()[cells], np.float64)


def _pearson(a: Floats, b: Floats) -> Floats:
    """The coefficient of each row with its partner, shape (rows,); NaN where one is constant."""
    flat = (a == a[:, :1]).all(axis=1) | (b == b[:, :1]).all(axis=1)
    a, b = _centered(a), _centered(b)
    size = np.sqrt(dot_rows(a, a) * dot_rows(b, b))
    size[flat] = np.nan
    return np.asarray(np.clip(dot_rows(a, b) / size, -1.0, 1.0), np.float64)


def _centered(rows: Floats) -> Floats:
    """Scaled to a largest deviation of 1, so that squares neither overflow nor vanish."""
    centered = rows - mean(rows, axis=1)[:, None]
    largest = np.abs(centered).max(axis=1, keepdims=True)
    return np.asarray(centered / np.where(largest > 0, largest, 1.0), np.float64)
