"""What a judge is, and how requests reach it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from trueground.types import JudgeRequest, Verdict


@runtime_checkable
class Judge(Protocol):
    """Says whether any of the given texts supports a claim.

    `threshold` is the value above which (strictly) the judge's own score means "supported", and
    `signature` names the judge and the version of its rules or weights.
    """

    name: str
    threshold: float
    signature: str

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request, in their order."""
        ...


def ask(judge: Judge, requests: Sequence[JudgeRequest]) -> list[Verdict]:
    """Judge every different request once and return one verdict for each request, in their order.

    Equal requests share one verdict object.
    """
    places: dict[JudgeRequest, int] = {}
    order = [places.setdefault(request, len(places)) for request in requests]
    verdicts = judge.judge(list(places)) if places else []
    return [verdicts[place] for place in order]
