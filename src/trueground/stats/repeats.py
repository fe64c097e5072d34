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
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats, Interval, percentiles, resampled_means
from trueground.stats.per_question import PerQuestion

_SECOND_STAGE = 2  # beside the seed, so that these draws are not those of the first stage


@dataclass(frozen=True)
class Errors:
    """Standard errors of the mean: as asked (`now`), with one answer to each question (`one`), with
    endlessly many (`endless`), and the model's part of it alone (`noise`)."""

    now: float
    one: float
    endless: float
    noise: float


@dataclass(frozen=True)
class Spread:
    """Standard deviations over the answers to one question, over the questions with several."""

    mean: float
    median: float
    largest: float


@dataclass(frozen=True)
class Flips:
    """Questions whose answers lie on both sides of 0.5.

    `flipped` of `questions` with several values do; `rate` is their share, which grows with the
    number of answers. `two_differ` does not: the share of pairs of answers to one question that lie
    on two sides, averaged over questions.
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

    `questions` have a value, `several` of them two or more; `part` have a value for some of their
    answers only. `mean` is over questions of the means over their answers. `ci` holds for other
    questions and other answers, `ci_one` likewise if each were answered once, `ci_noise` for these
    questions, answered anew. `between` and `within` are variances, that between questions without
    the noise. `share` is the part of the mean's variance that is noise.
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
    errors: Errors | None
    share: float | None
    sd: Spread | None
    flips: Flips | None


def noise(
    answers: PerQuestion,
    clusters: NDArray[np.int64] | None = None,
    *,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> list[Noise]:
    """Everything told of repeated answers, one for each metric.

    `clusters` (questions,) holds equal numbers for questions that are resampled together.
    """
    metrics = answers.means.shape[1]
    # What the second stage adds if it draws one answer: the variance of one drawn at random.
    single = np.nan_to_num(answers.variances) * (1 - 1 / np.maximum(answers.scored, 1))
    single[answers.scored == 0] = np.nan
    table = np.concatenate([answers.means, single, answers.flips, answers.differ], axis=1)
    draws = resampled_means(table, clusters, resamples=resamples, seed=seed)
    both, added, flipped, differ = draws.reshape(4, metrics, resamples)
    normal = np.random.Generator(np.random.SFC64([seed, _SECOND_STAGE, 0])).normal(size=resamples)
    found = []
    for i in range(metrics):
        scored = int((answers.scored[:, i] > 0).sum())
        one = both[i] + np.sqrt(added[i] / max(scored, 1)) * normal
        one = np.clip(one, answers.low[i], answers.high[i])  # where every drawn mean lies
        intervals = [percentiles(drawn, level) for drawn in (both[i], one, flipped[i], differ[i])]
        found.append(_noise(answers, i, clusters, intervals, level))
    return found


def _noise(
    answers: PerQuestion,
    i: int,
    clusters: NDArray[np.int64] | None,
    intervals: Sequence[Interval | None],
    level: float,
) -> Noise:
    scored, means = answers.scored[:, i], answers.means[:, i]
    known, several = scored > 0, scored > 1
    counts = (int(known.sum()), int(several.sum()), int((known & (scored < answers.asked)).sum()))
    if not counts[0]:
        return Noise(*counts, *(None,) * 10)
    mean = float(means[known].mean())
    both, one, flipped, differ = intervals
    within = _within(scored[several], answers.variances[several, i])
    if within is None:
        return Noise(*counts, mean, both, *(None,) * 8)
    errors = _errors(scored, means, known, within, clusters)
    between = None
    if counts[0] > 1:
        raw = float(means[known].var(ddof=1)) - within * float((1 / scored[known]).mean())
        between = max(0.0, raw)
    again = NormalDist().inv_cdf((1 + level) / 2) * errors.noise if errors else None
    share = min(1.0, (errors.noise / errors.now) ** 2) if errors and errors.now > 0 else None
    sds = np.sqrt(answers.variances[several, i])
    return Noise(
        *counts,
        mean,
        both,
        one,
        None
        if again is None
        else (max(mean - again, float(answers.low[i])), min(mean + again, float(answers.high[i]))),
        between,
        within,
        errors,
        share,
        Spread(float(sds.mean()), float(np.median(sds)), float(sds.max())),
        _flips(answers, i, flipped, differ) if answers.has_verdicts[i] else None,
    )


def _within(scored: NDArray[np.int64], variances: Floats) -> float | None:
    """The variance within questions, pooled over those with several answers."""
    freedom = scored - 1
    return float((freedom * variances).sum() / freedom.sum()) if len(scored) else None


def _errors(
    scored: NDArray[np.int64],
    means: Floats,
    known: NDArray[np.bool_],
    within: float,
    clusters: NDArray[np.int64] | None,
) -> Errors | None:
    """None below two questions (clusters). The variance of a mean of clusters is that of their sums
    of deviations (Cameron & Miller 2015, section II.A); without clusters it is s² / Q."""
    count = int(known.sum())
    off = means[known] - means[known].mean()
    if clusters is not None:
        off = np.bincount(np.unique(clusters[known], return_inverse=True)[1], weights=off)
    if len(off) < 2:
        return None
    now = float((off**2).sum()) / count**2 * len(off) / (len(off) - 1)
    own = within * float((1 / scored[known]).sum()) / count**2
    endless = max(0.0, now - own)
    return Errors(*map(math.sqrt, (now, endless + within / count, endless, own)))


def _flips(
    answers: PerQuestion, i: int, ci: Interval | None, differ_ci: Interval | None
) -> Flips | None:
    flips, differ = answers.flips[:, i], answers.differ[:, i]
    told = ~np.isnan(flips)
    if not told.any():
        return None
    flipped, questions = int(flips[told].sum()), int(told.sum())
    share = float(differ[told].mean())
    return Flips(flipped, questions, flipped / questions, ci, share, differ_ci)
