"""How scores are measured against labels, and which way round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueground.metrics.registry import higher_is_better
from trueground.stats.human import Measured, measure_all
from trueground.studies.labelled.rule import LabelRule

Floats = NDArray[np.float64]
Verdict = Literal["above", "at-least"]


@dataclass(frozen=True)
class Manner:
    """How everything is measured."""

    rule: LabelRule
    threshold: float = 0.5
    resamples: int = 2_000
    seed: int = 0
    level: float = 0.95
    worst: int = 10
    verdict: Verdict = "above"  # which side of the threshold a score at it lies on
    workers: int | None = None  # threads for the resamples; None: as many as there are cores

    @property
    def positive_above(self) -> float:
        """The limit for labels as the statistics get them: these are 1 or 0, or ordinal."""
        return self.rule.positive_above if self.rule.ordinal else 0.5

    def measured(
        self, scores: Mapping[str, Floats], labels: Floats, clusters: Any
    ) -> dict[str, Measured]:
        """Every measure of these scores, each (n,), turned so that more is better."""
        shares = {key: is_share(values) for key, values in scores.items()}
        return measure_all(
            scores,
            labels,
            positive_above=self.positive_above,
            ordinal=self.rule.ordinal,
            clusters=clusters,
            threshold={key: self.threshold if share else None for key, share in shares.items()},
            probability=shares,
            at_least=self.verdict == "at-least",
            resamples=self.resamples,
            seed=self.seed,
            level=self.level,
            workers=self.workers,
        )


def turn(key: str, scores: Floats) -> Floats:
    """The scores so that more is better: 1 − x of shares, −x of others, where less is better."""
    if higher_is_better(key) is not False:
        return scores
    return 1.0 - scores if is_share(scores) else -scores


def is_share(scores: Floats) -> bool:
    """Whether all scores lie between 0 and 1, so that a threshold and a probability mean a thing.

    `scores` has at least one that is not NaN.
    """
    return bool(np.nanmin(scores) >= 0.0 and np.nanmax(scores) <= 1.0)
