"""Made-up knowledge for the tests: graphs, answers that cite them, judges that answer by table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trueground.types import JudgeRequest, Verdict

Row = dict[str, Any]


def graph(*numbers: int, qid: str = "Q1") -> Row:
    """A graph with the triples k1, k2 … of these numbers."""
    return {"qid": qid, **{f"trait {n}": f"value {n}" for n in numbers}}


def k(number: int) -> str:
    """The citation of one triple."""
    return f"[Q1, trait {number}: value {number}]"


def triple(number: int) -> list[str]:
    return ["Q1", f"trait {number}", f"value {number}"]


def triples(*numbers: int) -> list[list[str]]:
    return [triple(n) for n in numbers]


def claim(number: int) -> str:
    return f"trait {number}: value {number}"


class PairJudge:
    """Supports exactly these pairs of a text and a claim; None stands for "no verdict"."""

    name = "pairs"
    threshold = 0.5
    signature = "pairs-1"

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.pairs = set(pairs)
        self.asked: list[JudgeRequest] = []

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        self.asked += requests
        return [self._verdict((r.texts[0], r.claim) in self.pairs) for r in requests]

    def _verdict(self, supported: bool) -> Verdict:
        return Verdict(supported=supported, probability=float(supported))
