"""From features to a probability: a logistic model whose weights stand in data/weights.toml."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.judges.lexical.evidence import AGAINST, NAMES

FILE = Path(__file__).parent / "data" / "weights.toml"
CAP = 0.49  # what a doubtful claim cannot reach, and how far below it can still be told apart
_SQUEEZE = 0.09
_LEAST_ODDS = 700.0  # e to a power of some more has no place in 64 bits


class LexicalWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: `weights` by feature, none of them negative, the intercept of the log-odds, and the
    probability of a claim that stands in a text word for word.
    """

    intercept: float
    verbatim: float
    weights: dict[str, float]

    def signed(self) -> NDArray[np.float64]:
        """The weights in the order of NAMES, those that speak against a claim below 0."""
        return np.array([-self.weights[n] if n in AGAINST else self.weights[n] for n in NAMES])


@cache
def weights() -> LexicalWeights:
    """The weights that come with the package."""
    return read_weights(tomllib.loads(FILE.read_text(encoding="utf-8")))


def read_weights(table: Mapping[str, object]) -> LexicalWeights:
    """Check a table of weights. ValueError where it is not monotone, or not of these features."""
    found = msgspec.convert(table, LexicalWeights)
    if found.weights.keys() != set(NAMES) or min(found.weights.values()) < 0:
        raise ValueError(f"weights {found.weights}; expected one of 0 or more for each of {NAMES}")
    return found


def probability(x: NDArray[np.float64], model: LexicalWeights) -> float:
    """The probability that a claim with these features, shape (7,), is supported."""
    odds = float(x @ model.signed()) + model.intercept
    return 1 / (1 + math.exp(min(-odds, _LEAST_ODDS)))


def capped(probability: float) -> float:
    """Below 0.5 whatever the weights, and still in the order of the probabilities."""
    return min(probability, CAP - _SQUEEZE * (1 - probability))


def lifted(probability: float) -> float:
    """Above 0.5 whatever the weights, and still in the order of the probabilities."""
    return max(probability, 1 - CAP + _SQUEEZE * probability)
