"""The offline judge's weights: from evidence to a probability."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from operator import mul
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.stats import logistic

FOR = (
    "words",  # words of the claim that stand in the texts, each as often as there
    "sentence",  # the claim's items, by their rarity, that the best sentence has
    "window",  # the same of the best three neighboring sentences
    "share",  # how much of the best sentence the claim repeats
)
AGAINST = (
    "values_missing",  # numbers and dates that no text has, at most two
    "names_missing",  # names that no text has, at most two
    "contradicted",  # whether the best sentence surely says something else
)
NAMES = FOR + AGAINST
FILE = Path(__file__).parent / "data" / "weights.toml"
CAP = 0.49  # what a doubtful claim cannot reach, and how far below it can still be told apart
_SQUEEZE = 0.09


class LexicalWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: `weights` by feature, none of them negative, the intercept of the log-odds, and the
    probability of a claim that stands in a text word for word.
    """

    intercept: float
    verbatim: float
    weights: dict[str, float]

    def signed(self) -> list[float]:
        """The weights in the order of NAMES, those that speak against a claim below 0."""
        return [-self.weights[n] if n in AGAINST else self.weights[n] for n in NAMES]


@cache
def weights() -> LexicalWeights:
    """The weights that come with the package."""
    return read_weights(tomllib.loads(FILE.read_text(encoding="utf-8")))


def read_weights(table: Mapping[str, object]) -> LexicalWeights:
    """Check a table of weights. ValueError where it is not monotone, or not of these features."""
    checked = msgspec.convert(table, LexicalWeights)
    if checked.weights.keys() != set(NAMES) or min(checked.weights.values()) < 0:
        raise ValueError(
            f"weights {checked.weights}; expected one of 0 or more for each of {NAMES}"
        )
    return checked


def probability(x: NDArray[np.float64], model: LexicalWeights) -> float:
    """The probability that a claim with these features, shape (7,), is supported."""
    log_odds = math.fsum(map(mul, x.tolist(), model.signed())) + model.intercept
    return logistic(log_odds)


def capped(probability: float) -> float:
    """Below 0.5 whatever the weights, and still in the order of the probabilities."""
    return min(probability, CAP - _SQUEEZE * (1 - probability))


def lifted(probability: float) -> float:
    """Above 0.5 whatever the weights, and still in the order of the probabilities."""
    return max(probability, 1 - CAP + _SQUEEZE * probability)
