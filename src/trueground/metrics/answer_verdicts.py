"""The verdict of a whole answer, from the share of its claims that the contexts support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trueground.metrics.base import Spec, make_spec
from trueground.metrics.batch import Codes
from trueground.metrics.grounding import METRICS, claim_check
from trueground.types import Status


class AnswerVerdict:
    """The verdict of an answer: whether the contexts support all, some or none of its claims.

    Attributes:
        NAMES: The verdicts in the order in which they are shown. Arrays hold their indexes.
        LABELS: What reports call each of them.
        FORMER_NAMES: Names in files and gates of earlier versions, each with today's name.
    """

    NAMES: ClassVar = ("grounded", "partly_grounded", "not_grounded", "abstained", "unscored")
    LABELS: ClassVar = {
        "grounded": "grounded",
        "partly_grounded": "partly grounded",
        "not_grounded": "not grounded",
        "abstained": "declined to answer",
        "unscored": "not judged",
    }
    FORMER_NAMES: ClassVar = {
        "partly": "partly_grounded",
        "not": "not_grounded",
        "declined": "abstained",
    }

    @staticmethod
    def choose_metric(specs: Sequence[Spec]) -> Spec | None:
        """Return `grounding_precision` over the claims that these metrics check.

        If metrics differ in their claims, those against all contexts come first. Answers that
        abstain get their verdict whatever the metrics make of them. None if no claims are checked.
        """
        checks = [check for spec in specs for check in spec.checks if check.splits]
        usual = claim_check("claims", "input")
        checks.sort(key=lambda check: check != usual)
        for check in checks:
            if check == claim_check("claims", check.scope, check.variant):
                chosen = {"scope": check.scope, "variant": check.variant or "windows"}
                return make_spec(METRICS[0], chosen)
        return None

    @staticmethod
    def encode(values: NDArray[np.float64], status: Codes) -> NDArray[np.int64]:
        """Return the index of each answer's verdict, shape (n,).

        Args:
            values: The values of the metric of `choose_metric`, shape (n,).
            status: Their statuses, shape (n,).
        """
        scored = status == Status.SCORED.code
        abstained = status == Status.ABSTAINED.code
        return np.select(
            [scored & (values >= 1), scored & (values <= 0), scored, abstained], [0, 2, 1, 3], 4
        )

    @classmethod
    def of_score(cls, score: float | None, status: str) -> str:
        """Return the verdict of one answer from its line of items.jsonl."""
        value = np.array([np.nan if score is None else score])
        index = cls.encode(value, np.array([Status(status).code], np.uint8))
        return cls.NAMES[int(index[0])]
