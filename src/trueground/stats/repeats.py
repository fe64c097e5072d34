"""Several answers to each question: which part of a mean's uncertainty is the model's own noise.

The value of answer r to question q is taken as x_qr = μ + b_q + e_qr: b varies between questions,
e within them, which is the noise of the model. With K answers to each of Q questions, the mean over
questions of the means over answers has the variance (σ²_b + σ²_e / K) / Q.

The bootstrap has two stages (Davison & Hinkley 1997, "Bootstrap methods and their application",
section 3.8): questions (or the clusters that they belong to) are drawn with replacement, and then
m of the K answers of each drawn question without replacement. Its variance is the one above with m
in the place of K. With m = K the second stage keeps every answer, and both parts are in the
interval. With replacement in the second stage the noise would be counted twice. With m = 1 it is
the interval that one answer to each question gives; there the sum of the second draws is taken
from its normal limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trueground.stats.arithmetic.distributions import draw_normal, normal_quantile
from trueground.stats.arithmetic.sums import dot, mean, sum_counts, total, variance
from trueground.stats.bootstrap import (
    Floats,
    Interval,
    Ints,
    Mask,
    NumberTable,
    percentiles,
    ratio,
    resampled_means,
    variance_of_mean,
)

_ROWS = 65_536
_SECOND_STAGE = 2  # beside the seed, so that these draws are not those of the first stage


@dataclass(frozen=True)
class PerQuestion:
    """The answers to each question summed up, arrays of shape (questions, metrics).

    `scored` counts the answers with a value, `asked` (questions,) all. `means` is NaN without a
    value, `variances` (of a sample) below two. `above` counts values above 0.5. `low` and `high`
    (metrics,) are the ends of all values, `whole` (metrics,) tells whether all are 0 or 1.
    """

    VERDICT_AT: ClassVar[float] = 0.5  # a value above it is a yes

    asked: Ints
    scored: Ints
    means: Floats
    variances: Floats
    above: Ints
    low: Floats
    high: Floats
    whole: Mask

    @property
    def flips(self) -> Floats:
        """1 where answers lie on both sides of 0.5, 0 where not, NaN below two values."""
        both = (self.above > 0) & (self.above < self.scored)
        return np.where(self.scored > 1, both.astype(np.float64), np.nan)

    @property
    def differ(self) -> Floats:
        """The share of pairs of answers that lie on two sides of 0.5; NaN below two values."""
        pairs = self.scored * (self.scored - 1) / 2
        apart = (self.above * (self.scored - self.above)).astype(np.float64)
        return ratio(apart, pairs)

    @property
    def has_verdicts(self) -> Mask:
        """The metrics (metrics,) whose values all lie in 0 to 1: 0.5 means something there."""
        return (self.low >= 0) & (self.high <= 1)

    @classmethod
    def of(
        cls, values: NumberTable, questions: Ints, count: int, columns: Sequence[int]
    ) -> PerQuestion:
        """Gather the answers to each question, from values (items, metrics), NaN where not scored.

        `questions` (items,) holds the number of each item's question, below `count`; `columns` are
        the metrics. Reads the values twice, in blocks: a sum of squares alone would lose digits.
        """
        columns = list(columns)
        shape = (count, len(columns))
        scored, above = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        sums, squares = np.zeros(shape), np.zeros(shape)
        low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
        whole = np.ones(len(columns), np.bool_)
        for codes, block in _blocks(values, questions, columns):
            known = ~np.isnan(block)
            scored += _sums(codes, known, count).astype(np.int64)
            above += _sums(codes, block > cls.VERDICT_AT, count).astype(np.int64)
            sums += _sums(codes, np.where(known, block, 0.0), count)
            low = np.fmin(low, np.fmin.reduce(block, axis=0, initial=np.inf))
            high = np.fmax(high, np.fmax.reduce(block, axis=0, initial=-np.inf))
            whole &= ((block == 0) | (block == 1) | ~known).all(axis=0)
        means = ratio(sums, scored)
        for codes, block in _blocks(values, questions, columns):
            away = block - means[codes]
            squares += _sums(codes, np.nan_to_num(away * away), count)
        variances = ratio(squares, scored - 1)
        asked = np.bincount(questions, minlength=count)
        return cls(asked, scored, means, variances, above, low, high, whole)

    def noise(
        self,
        clusters: Ints | None = None,
        *,
        resamples: int = 2_000,
        seed: int = 0,
        level: float = 0.95,
    ) -> list[Noise]:
        """Return the noise of each metric; `clusters` (questions,) are drawn together."""
        metrics = self.means.shape[1]
        # What the second stage adds if it draws one answer: the variance of one drawn at random.
        single = np.nan_to_num(self.variances) * (1 - 1 / np.maximum(self.scored, 1))
        single[self.scored == 0] = np.nan
        table = np.concatenate([self.means, single, self.flips, self.differ], axis=1)
        draws = resampled_means(table, clusters, resamples=resamples, seed=seed)
        both, added, flipped, differ = draws.reshape(4, metrics, resamples)
        generator = np.random.Generator(np.random.SFC64([seed, _SECOND_STAGE, 0]))
        normal = draw_normal(generator, resamples)
        results = []
        for i in range(metrics):
            scored = sum_counts(self.scored[:, i] > 0)
            one = both[i] + np.sqrt(added[i] / max(scored, 1)) * normal
            one = np.clip(one, self.low[i], self.high[i])  # where every drawn mean lies
            intervals = [
                percentiles(drawn, level) for drawn in (both[i], one, flipped[i], differ[i])
            ]
            results.append(_noise(self, i, clusters, intervals, level))
        return results


@dataclass(frozen=True)
class StandardErrors:
    """Standard errors of the mean: as asked (`now`), with one answer to each question (`one`), with
    endlessly many (`endless`), and the model's part of it alone (`noise`)."""

    now: float
    one: float
    endless: float
    noise: float


@dataclass(frozen=True)
class AnswerSpread:
    """Standard deviations over the answers to one question, over the questions with several."""

    mean: float
    median: float
    largest: float


@dataclass(frozen=True)
class Flips:
    """Questions whose answers lie on both sides of 0.5: `flipped` of `questions` with several
    values.

    `rate` grows with the number of answers; `two_differ`, the share of pairs of answers to one
    question that lie on two sides, averaged over questions, does not.
    """

    flipped: int
    questions: int
    rate: float
    ci: Interval | None
    two_differ: float
    two_differ_ci: Interval | None


@dataclass(frozen=True)
class Noise:
    """One metric over repeated answers. None where there is too little to tell.

    `questions` have a value, `several` two or more, `part` one for some answers only. `mean` is
    over questions of the means over their answers. `ci` holds for other questions and answers,
    `ci_one` likewise if each were answered once, `ci_noise` for these questions, answered anew.
    `between` (less the noise) and `within` are variances; `share` is the part of the mean's
    variance that is noise.
    """

    questions: int
    several: int
    part: int
    mean: float | None
    ci: Interval | None
    ci_one: Interval | None
    ci_noise: Interval | None
    between: float | None
    within: float | None
    errors: StandardErrors | None
    share: float | None
    sd: AnswerSpread | None
    flips: Flips | None


def _blocks(
    values: NumberTable, questions: Ints, columns: list[int]
) -> Iterator[tuple[Ints, Floats]]:
    for start in range(0, len(values), _ROWS):
        part = slice(start, start + _ROWS)
        yield questions[part], np.asarray(values[part])[:, columns]


def _sums(codes: Ints, block: NDArray[np.generic], count: int) -> Floats:
    columns = [np.bincount(codes, weights=column, minlength=count) for column in block.T]
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0))


def _noise(
    answers: PerQuestion,
    i: int,
    clusters: Ints | None,
    intervals: Sequence[Interval | None],
    level: float,
) -> Noise:
    scored, means, variances = answers.scored[:, i], answers.means[:, i], answers.variances[:, i]
    known, several = scored > 0, scored > 1
    counts = (sum_counts(known), sum_counts(several), sum_counts(known & (scored < answers.asked)))
    if not counts[0]:
        return Noise(*counts, *(None,) * 10)
    center = mean(means[known])
    both, one, flipped, differ = intervals
    if not counts[1]:
        return Noise(*counts, center, both, *(None,) * 8)
    freedom = scored[several] - 1
    within = dot(freedom, variances[several]) / sum_counts(freedom)  # pooled over questions
    errors = _errors(scored, means, known, within, clusters)
    between = ci_noise = share = None
    if counts[0] > 1:
        raw = variance(means[known], ddof=1) - within * mean(1 / scored[known])
        between = max(0.0, raw)
    if errors:
        half = normal_quantile((1 + level) / 2) * errors.noise
        ci_noise = (
            max(center - half, float(answers.low[i])),
            min(center + half, float(answers.high[i])),
        )
        if errors.now > 0:
            part = errors.noise / errors.now
            share = min(1.0, part * part)
    sds, flips = np.sqrt(variances[several]), None
    if answers.has_verdicts[i]:
        sides, apart = answers.flips[several, i], mean(answers.differ[several, i])
        n = sum_counts(sides > 0)
        flips = Flips(n, counts[1], n / counts[1], flipped, apart, differ)
    return Noise(
        *counts,
        mean=center,
        ci=both,
        ci_one=one,
        ci_noise=ci_noise,
        between=between,
        within=within,
        errors=errors,
        share=share,
        sd=AnswerSpread(mean(sds), float(np.median(sds)), float(sds.max())),
        flips=flips,
    )


def _errors(
    scored: Ints, means: Floats, known: Mask, within: float, clusters: Ints | None
) -> StandardErrors | None:
    """None below two questions (clusters)."""
    questions = sum_counts(known)
    now = variance_of_mean(means[known], None if clusters is None else clusters[known])
    if now is None:
        return None
    own = within * total(1 / scored[known]) / (questions * questions)
    endless = max(0.0, now - own)
    return StandardErrors(*map(math.sqrt, (now, endless + within / questions, endless, own)))
