"""Where the gold contexts stand among the distractors (Lee et al. 2024, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from trueground.types import Passage


def placed(
    gold: Sequence[Passage], others: Sequence[Passage], position: str, seed: int, question: str
) -> list[Passage]:
    """Gold contexts and distractors in one list; each kind keeps its own order.

    `position`: beginning, middle (half of the distractors, rounded down, before them), end, or
    random: the places are drawn from the seed and the question's id, so that they depend neither
    on other questions nor on the wording of the contexts.
    """
    number = len(gold) + len(others)
    if position == "random":
        places = set(_drawn(number, f"{seed}/{question}")[: len(gold)])
    else:
        starts = {"beginning": 0, "middle": len(others) // 2, "end": len(others)}
        places = set(range(starts[position], starts[position] + len(gold)))
    golden, other = iter(gold), iter(others)
    return [next(golden if place in places else other) for place in range(number)]


def _drawn(number: int, seed: str) -> list[int]:
    """The numbers below `number` in an order that the seed alone decides, on every machine."""
    return sorted(range(number), key=lambda place: sha256(f"{seed}/{place}".encode()).digest())
