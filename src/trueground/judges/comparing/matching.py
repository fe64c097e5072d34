"""Greedy matching of two texts' tokens by the cosines of their states.

Zhang et al. 2020, as the bert-score library computes it without idf weights and rescaling: the mean
over a text's tokens of the largest cosine with any token of the other text. Special tokens are not
in the means, but may be matched. A text beyond the model's window, which the library cuts off, is
read in windows on sentence boundaries; what stands in two of them counts once, in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Floats, TokenEncoder
from trueground.judges.windows import cut

T = TypeVar("T")
# Tokens whose states are held at a time: 64 MB for a model of 1,024 dimensions.
_HELD = 16_384

Pair = tuple[str, str]


class Window(NamedTuple):
    """A piece of a text; its first `seen` characters stand in the window before it too."""

    text: str
    seen: int


class Tokens(NamedTuple):
    """Unit vectors, shape (n, d), and which of them are in the mean, shape (n,)."""

    vectors: Floats
    counted: NDArray[np.bool_]


class Match:
    """A response beside a text that comes window by window.

    Sums are in float64, so that their order does not show in float32.
    """

    def __init__(self, response: Tokens) -> None:
        self._response = response
        self._best = np.full(len(response.vectors), -np.inf, np.float64)
        self._recall, self._count = 0.0, 0

    def check(self, text: Tokens) -> None:
        """Match with one more window of the text."""
        left, right = (part.vectors.astype(np.float64) for part in (self._response, text))
        cosines = left @ right.T
        self._best = np.maximum(self._best, cosines.max(axis=1))
        self._recall += float(cosines.max(axis=0)[text.counted].sum())
        self._count += int(text.counted.sum())

    def values(self) -> tuple[float, float, float]:
        """Precision, recall and F1; 0 where a side has no tokens."""
        own = self._best[self._response.counted]
        if not len(own) or not self._count:
            return 0.0, 0.0, 0.0
        precision, recall = float(own.mean()), self._recall / self._count
        total = precision + recall
        return precision, recall, 2 * precision * recall / total if total else 0.0


class Matcher:
    """Pairs (response, text), both without outer white space and not blank."""

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Precision, recall and F1 of each pair, shape (n, 3)."""
        windows = self._windows(list(dict.fromkeys(chain(*pairs))))
        found = [
            match.values()
            for block in _blocks(pairs, lambda pair: sum(map(self._size, windows[pair[0]])))
            for match in self._matched(block, windows)
        ]
        return np.array(found, np.float32).reshape(-1, 3)

    def _windows(self, texts: Sequence[str]) -> dict[str, list[Window]]:
        room = self._encoder.window - self._encoder.specials
        spans = cut(((text, room) for text in texts), self._encoder.lengths)
        found = {}
        for text in texts:
            own = spans[text, room]
            ends = [0, *(end for _, end in own)]
            found[text] = [
                Window(text[start:end], max(0, before - start))
                for (start, end), before in zip(own, ends, strict=False)
            ]
        return found

    def _matched(self, pairs: Sequence[Pair], windows: dict[str, list[Window]]) -> list[Match]:
        """The responses are held, and the texts pass by them."""
        responses = self._whole({u: windows[u] for u, _ in pairs})
        matches = [Match(responses[u]) for u, _ in pairs]
        beside: dict[str, list[Match]] = {}
        for (_, text), match in zip(pairs, matches, strict=True):
            beside.setdefault(text, []).append(match)
        passing = [(text, window) for text in beside for window in windows[text]]
        for block in _blocks(passing, lambda item: self._size(item[1])):
            read = self._read([window for _, window in block])
            for (text, _), tokens in zip(block, read, strict=True):
                for match in beside[text]:
                    match.check(tokens)
        return matches

    def _whole(self, windows: dict[str, list[Window]]) -> dict[str, Tokens]:
        """The tokens of each text, those of all its windows together."""
        read = iter(self._read(list(chain(*windows.values()))))
        whole = {}
        for text, own in windows.items():
            vectors, counted = zip(*(next(read) for _ in own), strict=True)
            whole[text] = Tokens(np.concatenate(vectors), np.concatenate(counted))
        return whole

    def _read(self, windows: Sequence[Window]) -> list[Tokens]:
        states = self._encoder.states([window.text for window in windows])
        return [
            # Without a window before it also a token of no character counts: a space put first.
            Tokens(one.vectors, ~one.special & ((one.ends > window.seen) | (window.seen == 0)))
            for window, one in zip(windows, states, strict=True)
        ]

    def _size(self, window: Window) -> int:
        """No fewer than the window's tokens: one has at least a byte."""
        most = len(window.text.encode("utf-8", "replace")) + self._encoder.specials
        return min(most, self._encoder.window)


def _blocks(items: Sequence[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in their order, as many together as are held at a time."""
    block: list[T] = []
    total = 0
    for item in items:
        more = size(item)
        if block and total + more > _HELD:
            yield block
            block, total = [], 0
        block.append(item)
        total += more
    if block:
        yield block
