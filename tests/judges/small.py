"""Encoders without weights, for the rules around them: words are tokens, numbers come from words.

Each counts what it was asked, so that a test can see that nothing was asked twice.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np

from trueground.encoders.base import Floats, Pair, Prompt

_TOKEN = re.compile(r"\w+|[^\w\s]")


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


class Words:
    """What the three have in common."""

    problem: str | None = None

    def __init__(self, window: int = 64, specials: int = 2) -> None:
        self.name = "words"
        self.signature = f"words/{window}"
        self.window, self.specials = window, specials
        self.asked: list[object] = []
        self.closed = 0

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens(text)) for text in texts]

    def close(self) -> None:
        self.closed += 1

    def _note(self, asked: Sequence[object]) -> None:
        assert len(set(asked)) == len(asked), "asked twice in one call"
        self.asked += asked


class WordVectors(Words):
    """A text is the sum of its words' random vectors; texts with the same words are near."""

    def encode(self, texts: Sequence[str]) -> Floats:
        self._note(texts)
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Floats:
        kept = tokens(text)[: self.window - self.specials] or ["nothing"]
        sum_ = np.zeros(48)
        for word in kept:
            sum_ += np.random.default_rng(zlib.crc32(word.encode())).normal(size=48)
        return (sum_ / np.linalg.norm(sum_)).astype(np.float32)


class WordPairs(Words):
    """How many words two texts have in common, for the last label."""

    def __init__(
        self, labels: tuple[str, ...] = ("label_0",), window: int = 64, specials: int = 3
    ) -> None:
        super().__init__(window, specials)
        self.labels = labels

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        self._note(pairs)
        return np.array([self._logits(*pair) for pair in pairs], np.float32)

    def _logits(self, first: str, second: str) -> list[float]:
        left = tokens(first)
        right = tokens(second)[: max(0, self.window - self.specials - len(left))]
        both = set(left) & set(right)
        return [0.0] * (len(self.labels) - 1) + [3.0 * len(both) - 8.0]


class WordAnswers(Words):
    """Answers "1" the more likely, the more words of the hypothesis are in the premise."""

    def __init__(self, window: int = 64, between: str = "hypothesis:") -> None:
        super().__init__(window, 1)
        self._between = between

    def prompt_lengths(self, prompts: Sequence[Prompt]) -> list[int]:
        joined = ["".join(prompt) for prompt in prompts]
        between = [len(prompt) - 1 for prompt in prompts]
        return [n + b + self.specials for n, b in zip(self.lengths(joined), between, strict=True)]

    def first_token(self, prompts: Sequence[Prompt], words: Sequence[str]) -> Floats:
        assert list(words) == ["0", "1"]
        self._note(prompts)
        assert all(length <= self.window for length in self.prompt_lengths(prompts))
        return np.array([self._logits(prompt) for prompt in prompts], np.float32).reshape(-1, 2)

    def _logits(self, prompt: Prompt) -> list[float]:
        premise, between, hypothesis = self._between.join(prompt).partition(self._between)
        assert between
        claim = set(tokens(hypothesis))
        return [2.0, 4.0 * len(claim & set(tokens(premise))) / max(1, len(claim))]
