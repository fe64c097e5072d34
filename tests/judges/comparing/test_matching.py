"""BERTScore's windows and memory, with vectors that do not depend on what stands beside a word."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
import pytest

from trueground.encoders.base import TokenStates
from trueground.encoders.cache import Store
from trueground.judges.comparing import bertscore
from trueground.judges.comparing.bertscore import BertScore
from trueground.types import ComparisonRequest

_WORD = re.compile(r"\w+|[^\w\s]")


class Words:
    """Every word has a random vector of its own, and so has what stands around a text."""

    def __init__(self, window: int) -> None:
        self.name, self.signature = "words", f"words/{window}"
        self.window, self.specials = window, 2
        self.read: list[str] = []
        self.most = 0

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(_WORD.findall(text)) for text in texts]

    def states(self, texts: Sequence[str]) -> list[TokenStates]:
        self.read += texts
        found = [self._states(text) for text in texts]
        self.most = max(self.most, sum(len(one.vectors) for one in found))
        return found

    def _states(self, text: str) -> TokenStates:
        words = [(match[0].lower(), match.end()) for match in _WORD.finditer(text)]
        assert len(words) <= self.window - self.specials, "cut off"
        all_ = [("[CLS]", 0), *words, ("[SEP]", 0)]
        vectors = np.stack([_vector(word) for word, _ in all_])
        special = np.array([True, *(False for _ in words), True])
        return TokenStates(vectors, special, np.array([end for _, end in all_], np.int32))

    def open_store(self, signature: str, *, cached: bool) -> Store:
        return Store(self.name, signature, cached)

    def close(self) -> None:
        """Nothing is held."""


def _vector(word: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    drawn = np.random.default_rng(zlib.crc32(word.encode())).normal(size=64)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


LONG = "Ida was born in Warsaw. She won two prizes, and then a third one. " * 3 + (
    "The council may ban fireworks and bells and drums and horns and flutes and songs of joy. "
    "No one came! Who knows why?"
)
RESPONSE = "Ida won a prize. The council banned nothing. She was born in Paris, who knows when?"


def values(encoder: Words, *requests: ComparisonRequest) -> list[dict[str, float]]:
    found = BertScore(encoder, keep=False).compare(requests)
    return [one.values for one in found]


@pytest.mark.parametrize("window", [12, 17, 24, 40])
def test_every_token_counts_once_however_small_the_window(window: int) -> None:
    request = ComparisonRequest(RESPONSE, (LONG,))
    (whole,) = values(Words(1000), request)
    encoder = Words(window)
    (pieces,) = values(encoder, request)
    assert len(encoder.read) > 3
    assert pieces == pytest.approx(whole, abs=1e-6)


def test_the_definition() -> None:
    """Greedy cosines; special tokens may be matched, and are in no mean."""
    left, right = _WORD.findall(RESPONSE.lower()), _WORD.findall(LONG.lower())
    outer = ["[CLS]", "[SEP]"]
    cosines = {(a, b): float(_vector(a) @ _vector(b)) for a in left + outer for b in right + outer}
    precision = np.mean([max(cosines[a, b] for b in right + outer) for a in left])
    recall = np.mean([max(cosines[a, b] for a in left + outer) for b in right])
    expected = {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall),
    }
    (found,) = values(Words(1000), ComparisonRequest(RESPONSE, (LONG,)))
    assert found == pytest.approx(expected, abs=1e-6)


def test_little_is_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{LONG} Number {n} is {n} more. " * 4 for n in range(12)]
    requests = [ComparisonRequest(f"{RESPONSE} {n}", (text,)) for n, text in enumerate(texts)]
    encoder = Words(24)
    plain = values(encoder, *requests)
    assert encoder.most > 600
    monkeypatch.setattr(bertscore, "_HELD", 120)
    encoder = Words(24)
    assert values(encoder, *requests) == plain
    assert encoder.most <= 120


def test_each_value_is_the_largest_by_itself() -> None:
    references = ("Ida", "Ida won a prize and the council knows of nothing", "Paris")
    request = ComparisonRequest(RESPONSE, references)
    (together,) = values(Words(64), request)
    alone = values(Words(64), *(ComparisonRequest(RESPONSE, (r,)) for r in references))
    assert together == {name: max(one[name] for one in alone) for name in together}
    best = {name: max(range(3), key=lambda n: alone[n][name]) for name in together}
    assert best["precision"] != best["recall"]


def test_blank_sides_are_zero_and_white_space_around_is_nothing() -> None:
    zero = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    found = values(
        Words(64),
        ComparisonRequest("", ("x",)),
        ComparisonRequest("x", (" \n",)),
        ComparisonRequest("", ("",)),
        ComparisonRequest("x y", (" x\n", "")),
        ComparisonRequest("\tx y", ("x",)),
    )
    assert found[:3] == [zero] * 3
    assert found[3] == found[4] != zero
