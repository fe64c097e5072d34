"""What a judge is asked about citations; `evaluate` asks it, and metrics read the verdicts.

A kind of check begins with one of the names in `kinds.MAKERS`; a word after a colon is its variant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trueground.metrics.batch import Batch
from trueground.types import Claim, JudgeRequest, Verdict


@dataclass(frozen=True)
class Asked:
    """One claim of an item, and either the request about it or the verdict that needs none.

    `claim` has its place in the response; `request` may be about another text, as in "is this
    triple in that sentence?".
    """

    claim: Claim
    request: JudgeRequest | None = None
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        assert (self.request is None) != (self.verdict is None), "one of the two"


# Given a batch and the variant ("" for none), what is asked of each item.
Maker = Callable[[Batch, str], list[list[Asked]]]
