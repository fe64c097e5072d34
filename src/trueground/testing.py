"""Fakes and synthetic records for the tests of packages that build on trueground.

Everything here follows the real protocols: a `FakeJudge` goes wherever a judge goes, a `FakeModel`
wherever a chat model goes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from trueground.claims import Decomposer
from trueground.judges import Judge
from trueground.models import FakeModel
from trueground.types import Claim, JudgeRequest, Status, Verdict

__all__ = ["FakeDecomposer", "FakeJudge", "FakeModel", "synthetic_records"]


class FakeJudge(Judge):
    """A judge that answers from a table of claims; unknown claims get `default`.

    A probability above 0.5 means supported; None gives an `unparseable` verdict. `requests` holds
    every request that was made.
    """

    name: str
    signature: str
    threshold: float

    def __init__(
        self, table: Mapping[str, float | None] | None = None, default: float | None = 1.0
    ) -> None:
        self.name = "fake"
        self.threshold = 0.5
        self.signature = "fake-1"
        self.requests: list[JudgeRequest] = []
        self._table = dict(table or {})
        self._default = default

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """One verdict per request, in order."""
        self.requests += requests
        return [self._verdict(self._table.get(r.claim, self._default)) for r in requests]

    def _verdict(self, probability: float | None) -> Verdict:
        if probability is None:
            return Verdict(status=Status.UNPARSEABLE, reasons=("the fake has no verdict",))
        return Verdict(supported=probability > self.threshold, probability=probability)


class FakeDecomposer(Decomposer):
    """A decomposer that splits at a separator, so that a test can write claims by hand."""

    name: str
    signature: str

    def __init__(self, separator: str = "|") -> None:
        self.name = "fake"
        self.signature = "fake-1"
        self._separator = separator

    def decompose(self, texts: Sequence[str]) -> list[list[Claim]]:
        """The non-blank pieces of each text with their places."""
        return [list(self._pieces(text)) for text in texts]

    def _pieces(self, text: str) -> Iterator[Claim]:
        start = 0
        for number, piece in enumerate(text.split(self._separator)):
            if piece.strip():
                inner = start + len(piece) - len(piece.lstrip())
                yield Claim(piece.strip(), inner, inner + len(piece.strip()), number)
            start += len(piece) + len(self._separator)


def synthetic_records(
    n: int, seed: int = 0, response_chars: int = 200, context_chars: int = 800
) -> Iterator[dict[str, Any]]:
    """n records of made-up English-like text, the same for the same seed; for load tests.

    Responses share sentences with their contexts to a varying degree; each has a question, one
    context, one reference of some words, and says whether it is answerable.
    """
    dice = random.Random(seed)
    sentences = _sentences(dice, 4_000)
    for number in range(n):
        known = _fill(dice, sentences, context_chars)
        copied = dice.random()
        mixed = [s if dice.random() < copied else dice.choice(sentences) for s in known]
        response = " ".join(mixed)[:response_chars]
        words = known[0].split()
        yield {
            "id": f"r{number}",
            "question": f"What about {' '.join(words[:6])}?",
            "contexts": [" ".join(known)[:context_chars]],
            "references": [" ".join(words[2:7])],
            "response": response,
            "answerable": dice.random() < 0.8,
            "model": dice.choice(("model-a", "model-b")),
        }


def _fill(dice: random.Random, sentences: Sequence[str], chars: int) -> list[str]:
    chosen: list[str] = []
    length = 0
    while length < chars:
        chosen.append(dice.choice(sentences))
        length += len(chosen[-1]) + 1
    return chosen


_COMMON = re.findall(
    r"\w+", "the of and a in to was is for on an by with as at from were that it which"
)
_HEADS = re.findall(r"\w+", "b br c ch d f g gr h j k l m n p pr r s st t tr v w")


def _sentences(dice: random.Random, count: int) -> list[str]:
    """Sentences over 12,000 made-up words, whose frequencies fall like those of English."""
    syllables = [h + v + t for h in _HEADS for v in "aeiou" for t in ("", "n", "r", "l", "st")]
    rare = ["".join(dice.choices(syllables, k=dice.choice((1, 2, 2, 3)))) for _ in range(12_000)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(rare))))
    result = []
    for _ in range(count):
        words = []
        for _ in range(dice.randint(8, 22)):
            if dice.random() < 0.4:
                words.append(dice.choice(_COMMON))
            elif dice.random() < 0.06:
                words.append(str(dice.randint(1, 2_020)))
            else:
                words.append(dice.choices(rare, cum_weights=weights)[0])
        name = dice.choice(rare).capitalize()
        result.append(f"{name} {' '.join(words)}.".replace(" which ", ", which "))
    return result
