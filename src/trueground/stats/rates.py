"""Rates that people would give, from their labels of some items and a judge's scores of all.

The prediction-powered mean of Angelopoulos, Duchi & Zrnic 2023 ("PPI++"): with labels y of the
slice S and scores f of all items, θ = mean_S(y) + λ (mean(f) − mean_S(f)). λ is the one of least
variance, clipped so that λ (1 − n/N), their λ, lies in 0…1; a judge that knows nothing gets 0, and
the labels alone are left. Where labels were drawn with unequal probabilities, means over S weigh
each label by 1 / probability; within strata by judge score this is Fisch et al. 2024 with one λ.

`ci` is about these very items: S is part of them, so the variance has the factor 1 − n/N. Its ends
are those of Student's t on the logit scale; of the forms tried, this one kept its coverage with a
hundred labels (docs/rates.md has the table). `ci_new` is about further items like these.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from trueground.errors import InputError
from trueground.stats.agreement import pearson
from trueground.stats.arithmetic.distributions import beta_quantile, t_quantile as quantile_of_t
from trueground.stats.arithmetic.scalars import logistic, logit, power
from trueground.stats.arithmetic.sums import dot, mean, sum_counts, total, variance
from trueground.stats.bootstrap import Floats, Interval, Ints, Mask, variance_of_mean

_FEW = 15  # labels that carry nearly all of the variance
_Z2 = 1.96 * 1.96
_FAR = 3.0  # standard errors that chance does not explain


@dataclass(frozen=True)
class LabelSample:
    """Which items were labeled and how they were drawn: all arrays have the shape (items,).

    `probability` is that with which an item came to be labeled. `strata` are numbers of strata
    drawn from one by one, else `clusters` numbers equal within a group; either may be None.
    """

    LEAST_LABELS: ClassVar[int] = 30
    LEAST_OF_A_CLASS: ClassVar[int] = 10

    labeled: Mask
    probability: Floats
    strata: Ints | None = None
    clusters: Ints | None = None

    @classmethod
    def random(cls, labeled: Mask, clusters: Ints | None = None) -> LabelSample:
        """All items had the same chance."""
        share = sum_counts(labeled) / len(labeled)
        return cls(labeled, np.full(len(labeled), share), None, clusters)

    @classmethod
    def allocate(
        cls, shares: Floats, strata: Ints, half_width: float, *, level: float = 0.95
    ) -> tuple[Ints, float]:
        """Labels of each stratum (strata,) for an interval of ± `half_width`, and that expected.

        `shares` (items,) is how likely people label the item 1, as far as is known; `strata`
        (items,) count from 0. Each gets labels by its size and its spread (Neyman 1934), never
        taken for less than that of a share of 0.1: two at least, LEAST_LABELS of all, so that
        LEAST_OF_A_CLASS are likely.
        """
        sizes, n = np.bincount(strata), len(shares)
        p = np.bincount(strata, shares) / sizes
        spread = np.sqrt(np.maximum(p * (1 - p), 0.09))
        likely_share = mean(shares)
        rarer = max(min(likely_share, 1 - likely_share), 1e-3)

        def counts_for(labels: int) -> Ints:
            ends = np.rint(labels * np.cumsum(sizes * spread) / dot(sizes, spread)).astype(np.int64)
            return np.asarray(np.minimum(sizes, np.maximum(2, np.diff(ends, prepend=0))))

        def width_of(counts: Ints) -> float:
            weighted = sizes / n * spread
            error = total(weighted * weighted * (1 / counts - 1 / sizes))
            freedom = sum_counts(counts) - len(sizes) - 1
            return t_quantile(freedom, level) * math.sqrt(max(error, 0.0))

        likely = cls.LEAST_OF_A_CLASS + 2 * math.sqrt(cls.LEAST_OF_A_CLASS)
        label_counts = range(min(n, max(cls.LEAST_LABELS, math.ceil(likely / rarer))), n)
        narrow = bisect_left(
            label_counts, True, key=lambda k: width_of(counts_for(k)) <= half_width
        )
        counts = counts_for(label_counts.start + narrow)
        return counts, width_of(counts)

    @property
    def equal(self) -> bool:
        """Whether all labels were drawn with the same probability, and not within strata."""
        own = self.probability[self.labeled]
        return self.strata is None and bool(np.ptp(own) <= 1e-9 * own.max(initial=0.0))

    @property
    def weights(self) -> Floats:
        """Of the labeled items, summing to 1."""
        w = 1 / self.probability[self.labeled]
        return np.asarray(w / total(w))

    def weighted_mean(self, values: Floats) -> float:
        """The weighted mean of a number of the labeled items, shape (labels,)."""
        return dot(self.weights, values)

    def units(self) -> tuple[Ints, Ints]:
        """For each labeled item its unit, for each unit its stratum; one of a single label joins
        another.
        """
        own = np.flatnonzero(self.labeled)
        if self.strata is None:
            clusters = own if self.clusters is None else self.clusters[own]
            units = np.unique(clusters, return_inverse=True)[1]
            return units, np.zeros(int(units.max(initial=-1)) + 1, np.int64)
        strata = np.unique(self.strata[own], return_inverse=True)[1]
        for k in range(int(strata.max(initial=0)), 0, -1):
            if sum_counts(strata == k) == 1:
                strata[strata == k] = k - 1
        if sum_counts(strata == 0) == 1:
            strata[strata == 0] = strata[strata > 0].min(initial=0)
        return np.arange(len(own)), np.unique(strata, return_inverse=True)[1]

    def covariance(self, a: Floats, b: Floats) -> float:
        """Of the weighted means of two numbers of the labeled items, each of shape (labels,)."""
        factor = self.weights * np.sqrt(1 - np.minimum(1.0, self.probability[self.labeled]))
        units, strata = self.units()
        sums = [np.bincount(units, factor * (x - self.weighted_mean(x))) for x in (a, b)]
        parts = []
        for k in range(int(strata.max(initial=0)) + 1):
            x, y = (part[strata == k] for part in sums)
            if len(x) > 1:
                parts.append(dot(x - mean(x), y - mean(y)) * len(x) / (len(x) - 1))
        return total(parts)

    def correct_rate(self, scores: Floats, labels: Floats, *, level: float = 0.95) -> Corrected:
        """Return the share of items that people would label 1. InputError: too few labels.

        `scores` (items,) are the judge's, none missing; `labels` (items,) 0, 1, or NaN for not
        asked.
        """
        y = labels[self.labeled]
        self.check_enough(len(y))
        alone = self.weighted_mean(y)
        positives = sum_counts(y > 0)
        if len(y) == len(labels):  # all are labeled: nothing is left to estimate about these
            few = min(positives, len(y) - positives) < self.LEAST_OF_A_CLASS
            more = _variance_new(scores, self, 0.0, alone)
            new = _exact(y, self, level) if few else _logit_ends(alone, more, len(y) - 1, level)
            return Corrected(
                *(alone, (alone, alone), new, level, len(y), alone, (alone, alone), 0.0, "ppi")
            )
        if min(positives, len(y) - positives) < self.LEAST_OF_A_CLASS:
            ci = _exact(y, self, level)
            return Corrected(alone, ci, None, level, len(y), alone, ci, 0.0, "exact")
        mean, variance, weight, freedom = _estimate(scores, y, self)
        own = self.covariance(y, y)
        mean = min(max(mean, 0.0), 1.0)
        return Corrected(
            mean,
            _logit_ends(mean, variance, freedom, level),
            _logit_ends(mean, _variance_new(scores, self, variance, mean), freedom, level),
            level,
            len(y),
            alone,
            _logit_ends(alone, own, freedom + 1, level),
            weight,
            "ppi",
        )

    def correct_difference(
        self, scores: Floats, labels: Floats, *, level: float = 0.95
    ) -> Corrected:
        """Return the same for differences of two systems, item by item: labels −1, 0 or 1.

        The interval is about further items too. InputError: too few labels of both, or that differ.
        """
        y = labels[self.labeled]
        self.check_enough(len(y), "items with labels of both")
        if (other := sum_counts(y != 0)) < self.LEAST_OF_A_CLASS:
            raise InputError(
                f"the labels differ on {other} of {len(y)} items; expected at least "
                f"{self.LEAST_OF_A_CLASS}"
            )
        mean, variance, weight, freedom = _estimate(scores, y, self)
        alone, own = self.weighted_mean(y), self.covariance(y, y)
        spread = self.weighted_mean((y - alone) * (y - alone))
        more = _design_effect(scores, self) * spread / len(scores)
        cis = []
        for value, var, df in ((mean, variance + more, freedom), (alone, own + more, freedom + 1)):
            half = t_quantile(df, level) * math.sqrt(var)
            cis.append((max(value - half, -1.0), min(value + half, 1.0)))
        mean = min(max(mean, -1.0), 1.0)
        return Corrected(mean, cis[0], cis[0], level, len(y), alone, cis[1], weight, "ppi")

    def is_shifted(self, scores: Floats) -> bool:
        """Whether the judge's scores of the labeled items differ from all, in mean or in spread.

        They do if chance (3 standard errors) does not explain it.
        """
        for values in (scores, np.abs(scores - np.median(scores))):
            own = values[self.labeled]
            error = math.sqrt(self.covariance(own, own))
            if abs(self.weighted_mean(own) - mean(values)) > _FAR * error + 1e-9:
                return True
        return False

    def is_reversed(self, scores: Floats, labels: Floats) -> bool:
        """Whether labels clearly go the other way round from the judge's scores."""
        judged, own = scores[self.labeled], labels[self.labeled]
        r = pearson(judged, own) or 0.0  # None if either never varies
        return r * math.sqrt(len(own) - 2) < -_FAR * math.sqrt(max(1 - r * r, 1e-12))

    @classmethod
    def check_enough(cls, labels: int, of: str = "labeled items") -> None:
        """Raise InputError if there are fewer than LEAST_LABELS."""
        if labels < cls.LEAST_LABELS:
            raise InputError(
                f"found {labels} {of}; expected at least {cls.LEAST_LABELS}, as fewer say too "
                "little about a rate. Label more: `trueground annotate plan RUN` draws them"
            )


@dataclass(frozen=True)
class Corrected:
    """A rate as people would give it; `labels_mean` and `labels_ci` are of the labels alone.

    `method` is `ppi`, or `exact` where fewer than LEAST_OF_A_CLASS labels are of one kind: then the
    judge takes no part, `weight` (λ) is 0 and `ci_new` None.
    """

    mean: float
    ci: Interval
    ci_new: Interval | None
    level: float
    labels: int
    labels_mean: float
    labels_ci: Interval
    weight: float
    method: Literal["ppi", "exact"]


def _estimate(scores: Floats, y: Floats, draw: LabelSample) -> tuple[float, float, float, int]:
    """Mean, its variance about these items, λ, and degrees of freedom."""
    f = scores[draw.labeled]
    share = len(y) / len(scores)
    if draw.equal:  # as ppi-python has it: cov over the labeled, variance over all
        above, below = mean((y - mean(y)) * (f - mean(f))), variance(scores, ddof=1)
    else:
        above, below = draw.covariance(y, f), draw.covariance(f, f)
    # What has no spread but in its last digits tells nothing.
    weight = float(above / below) if below > 1e-18 else 0.0
    weight = min(max(weight, 0.0), 1 / (1 - share)) if share < 1 else 0.0
    strata = draw.units()[1]
    count = len(strata)
    freedom = count - int(strata.max(initial=0)) - 2  # one for each stratum, one for λ
    if freedom < 1:
        raise InputError(
            f"the labels are from {count} group{'' if count == 1 else 's'}; expected at least 3. "
            "Label answers of more groups"
        )
    rest = y - weight * f
    spread = draw.covariance(rest, rest) * (freedom + 1) / freedom
    corrected = draw.weighted_mean(rest) + weight * mean(scores)
    return corrected, _at_least(spread, rest, draw), weight, freedom


def _at_least(variance: float, rest: Floats, draw: LabelSample) -> float:
    """The variance where few labels hold an error of the judge, or none: the rest may hold more.

    As in Wilson's interval (1927), z² errors are added, fewer where many labels carry the variance.
    """
    weights = draw.weights
    weighted = weights * (rest - draw.weighted_mean(rest))
    parts = weighted * weighted
    whole, most = total(parts), dot(parts, parts)
    carriers = whole * whole / most if most > 0 else 0.0
    unseen = 1 - len(rest) / len(draw.labeled)
    error = _Z2 * unseen * dot(weights, weights) / len(weights)
    return max(variance + error * max(0.0, 1 - carriers / _FEW), error)


def _variance_new(scores: Floats, draw: LabelSample, variance: float, mean: float) -> float:
    """Of the mean as an estimate for further items: these are a sample of them."""
    return variance + _design_effect(scores, draw) * mean * (1 - mean) / len(scores)


def _design_effect(scores: Floats, draw: LabelSample) -> float:
    """How much groups widen the variance of a mean: of the judge's scores, as all have one."""
    plain, grouped = variance_of_mean(scores, None), variance_of_mean(scores, draw.clusters)
    return max(1.0, grouped / plain) if plain and grouped else 1.0


def t_quantile(freedom: int, level: float) -> float:
    """Of Student's t, at the upper end of an interval of this level."""
    return quantile_of_t((1 + level) / 2, max(freedom, 1))


def _logit_ends(mean: float, variance: float, freedom: int, level: float) -> Interval:
    """The interval of a share whose logit is taken to be t distributed; where it would reach 0 or 1
    that of Clopper and Pearson for as many labels as vary by so much (Korn & Graubard 1998).
    """
    half = t_quantile(freedom, level) * math.sqrt(variance)
    if half >= min(mean, 1 - mean):
        least = LabelSample.LEAST_OF_A_CLASS / (
            freedom + LabelSample.LEAST_OF_A_CLASS
        )  # fewer would be `exact`
        size = max(mean * (1 - mean), least * (1 - least)) / variance
        return clopper_pearson(mean * size, size, level)
    half /= mean * (1 - mean)
    middle = logit(mean)
    return logistic(middle - half), logistic(middle + half)


def _exact(y: Floats, draw: LabelSample, level: float) -> Interval:
    """Clopper and Pearson's of the labels alone; with weights for as many as tell as much."""
    if draw.equal:
        own = None if draw.clusters is None else draw.clusters[draw.labeled]
        return share_interval(y > 0, own, level=level) or (0.0, 1.0)
    size = 1 / dot(draw.weights, draw.weights)
    return clopper_pearson(draw.weighted_mean(y) * size, size, level)


def lower_bound(hits: Mask, clusters: Ints | None = None, *, level: float = 0.95) -> float | None:
    """What the share of `hits` (n,) is at least, in `level` of all cases (one-sided).

    The exact bound of Clopper and Pearson. With `clusters` (n,) items count as so many as would
    vary as much by themselves (Korn & Graubard 1998, "Confidence intervals for proportions with
    small expected number of positive counts"): copies are no new evidence; where all are alike, as
    many as clusters. None with fewer than two items (clusters). InputError: a level that is not
    between 0 and 1.
    """
    if not 0 < level < 1:
        raise InputError(f"level={level}; expected a number between 0 and 1")
    size = _effective_size(hits, clusters, level) if len(hits) >= 2 else None
    if size is None:
        return None
    return clopper_pearson(sum_counts(hits) / len(hits) * size, size, 2 * level - 1)[0]


def share_interval(
    hits: Mask, clusters: Ints | None = None, *, level: float = 0.95
) -> Interval | None:
    """The two-sided bounds of the share of hits, by the rule of `lower_bound`."""
    size = _effective_size(hits, clusters, (1 + level) / 2) if len(hits) else None
    if size is None:
        return None
    share = sum_counts(hits) / len(hits)
    return clopper_pearson(share * size, size, level)


def clopper_pearson(k: float, n: float, level: float = 0.95) -> Interval:
    """The exact interval of a share of k in n (Clopper and Pearson 1934), n above 0."""
    tail = (1 - level) / 2
    if k <= 0:
        return 0.0, 1.0 - power(tail, 1 / n)
    if k >= n:
        return power(tail, 1 / n), 1.0
    # The upper end is 1 less that of the rest: so the small tail keeps its digits.
    return beta_quantile(tail, k, n - k + 1), 1.0 - beta_quantile(tail, n - k, k + 1)


def _effective_size(hits: Mask, clusters: Ints | None, level: float) -> float | None:
    """Items that would vary as much by themselves, at most all; None where they are one cluster."""
    n, share = len(hits), sum_counts(hits) / len(hits)
    if clusters is None:
        return float(n)
    number = len(np.unique(clusters))
    if number < 2:
        return None
    if share in (0, 1):
        return float(number)
    if number == n:
        return float(n)
    spread = variance_of_mean(hits.astype(np.float64), clusters)
    size = share * (1 - share) / spread if spread else float(n)
    few = quantile_of_t(level, n - 1) / quantile_of_t(level, number - 1)
    return min(size * few * few, float(n))
