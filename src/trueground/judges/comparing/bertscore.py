"""BERTScore: tokens of two texts, matched by the cosine of their contextual vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueground.components import ComponentSpec
from trueground.encoders import EncoderOptions, LayerEncoder
from trueground.errors import UsageError
from trueground.judges.comparing import Comparer
from trueground.judges.comparing.small import NOT_FINITE, check_options
from trueground.judges.windows import RULE, cut_windows
from trueground.types import Comparison, ComparisonRequest, Status

T = TypeVar("T")
Floats = NDArray[np.float32]
MODEL = "FacebookAI/roberta-large"
# The layer that agreed best with people, as published with the bert-score library.
LAYERS = {
    "FacebookAI/roberta-large": 17,
    "FacebookAI/roberta-base": 10,
    "google-bert/bert-base-uncased": 9,
    "google-bert/bert-large-uncased": 18,
    "google-bert/bert-base-multilingual-cased": 9,
    "distilbert/distilbert-base-uncased": 5,
}
VALUES = ("precision", "recall", "f1")
# Tokens whose states are held at a time: 64 MB for a model of 1,024 dimensions.
_HELD = 16_384


def bertscore(spec: ComponentSpec) -> BertScore:
    """The comparer `bertscore:MODEL(layer=NUMBER,…)`."""
    check_options(spec, "layer", runs=("torch",))
    model = spec.model or MODEL
    published = LAYERS.get(model.partition("@")[0])
    if published is None and "layer" not in spec.options:
        raise UsageError(
            f"bertscore:{model}: no layer is published for this model; say with layer=NUMBER which "
            f"one is read. Without it the model may be {', '.join(LAYERS)}"
        )
    layer = spec.whole("layer", published or 1)
    return BertScore(LayerEncoder(model, layer, EncoderOptions.of(spec)), keep=spec.cache)


class _Window(NamedTuple):
    """A piece of a text; its first `seen` characters stand in the window before it too."""

    text: str
    seen: int


class _Tokens(NamedTuple):
    """Unit vectors, shape (n, d), and which of them are in the mean, shape (n,)."""

    vectors: Floats
    counted: NDArray[np.bool_]


class _Match:
    """A response beside a text that comes window by window.

    Sums are in float64, so that their order does not show in float32.
    """

    def __init__(self, response: _Tokens) -> None:
        self._response = response
        self._best = np.full(len(response.vectors), -np.inf, np.float64)
        self._recall, self._count = 0.0, 0

    def add(self, window: _Tokens) -> None:
        """Match with one more window of the text."""
        left, right = (part.vectors.astype(np.float64) for part in (self._response, window))
        cosines = left @ right.T
        self._best = np.maximum(self._best, cosines.max(axis=1))
        self._recall += float(cosines.max(axis=0)[window.counted].sum())
        self._count += int(window.counted.sum())

    def values(self) -> tuple[float, float, float]:
        """Precision, recall and F1; 0 where a side has no tokens."""
        counted = self._best[self._response.counted]
        if not len(counted) or not self._count:
            return 0.0, 0.0, 0.0
        precision, recall = float(counted.mean()), self._recall / self._count
        total = precision + recall
        return precision, recall, 2 * precision * recall / total if total else 0.0


class BertScore(Comparer):
    """The values of each pair (response, text), and of a request the largest of each.

    Zhang et al. 2020, as the bert-score library computes it without idf weights and rescaling: the
    mean over a text's tokens of the largest cosine with any token of the other text. Special tokens
    are not in the means, but may be matched. A text beyond the window, which the library cuts off,
    is read in windows on sentence boundaries; what stands in two of them counts once, in the first.
    Values of a blank response or a blank text are 0. `keep`: whether values are kept on disk.
    """

    name = "bertscore"
    values = VALUES
    signature: str
    uses_encoder = True

    def __init__(self, encoder: LayerEncoder, *, keep: bool = True) -> None:
        self.signature = f"bertscore-1|{RULE}|{encoder.signature}"
        self._encoder = encoder
        self._store = encoder.open_store(self.signature, cached=keep)

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; equal pairs are read once."""
        pairs = [[(r.response.strip(), text.strip()) for text in r.texts] for r in requests]
        unique = list(
            dict.fromkeys(pair for request_pairs in pairs for pair in request_pairs if all(pair))
        )

        def compute(numbers: list[int]) -> Floats:
            return self._compute([unique[number] for number in numbers])

        rows = self._store.rows(unique, len(VALUES), compute)
        values_of = dict(zip(unique, rows, strict=True))
        blank = np.zeros(len(VALUES), np.float32)
        return [
            _best([values_of.get(pair, blank) for pair in request_pairs]) for request_pairs in pairs
        ]

    @property
    def problem(self) -> str | None:
        """Why results were no longer kept on disk; None where they were."""
        return self._store.problem

    def close(self) -> None:
        """Give the model's memory back; a later request loads it again."""
        self._encoder.close()
        self._store.close()

    def _compute(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Precision, recall and F1 of each pair, shape (n, 3); no side is blank."""
        windows = self._windows(list(dict.fromkeys(chain(*pairs))))
        rows = [
            match.values()
            for block in _blocks(pairs, lambda pair: sum(map(self._size, windows[pair[0]])))
            for match in self._match(block, windows)
        ]
        return np.array(rows, np.float32).reshape(-1, len(VALUES))

    def _windows(self, texts: Sequence[str]) -> dict[str, list[_Window]]:
        room = self._encoder.window - self._encoder.specials
        spans = cut_windows(((text, room) for text in texts), self._encoder.lengths)
        windows = {}
        for text in texts:
            ends = [0, *(end for _, end in spans[text, room])]
            windows[text] = [
                _Window(text[start:end], max(0, before - start))
                for (start, end), before in zip(spans[text, room], ends, strict=False)
            ]
        return windows

    def _match(
        self, pairs: Sequence[tuple[str, str]], windows: dict[str, list[_Window]]
    ) -> list[_Match]:
        """The responses are held, and the texts pass by them."""
        responses = list(dict.fromkeys(response for response, _ in pairs))
        read = iter(self._read([window for text in responses for window in windows[text]]))
        whole = {}
        for text in responses:
            vectors, counted = zip(*(next(read) for _ in windows[text]), strict=True)
            whole[text] = _Tokens(np.concatenate(vectors), np.concatenate(counted))
        matches = [_Match(whole[response]) for response, _ in pairs]
        beside: dict[str, list[_Match]] = {}
        for (_, text), match in zip(pairs, matches, strict=True):
            beside.setdefault(text, []).append(match)
        passing = [(text, window) for text in beside for window in windows[text]]
        for block in _blocks(passing, lambda item: self._size(item[1])):
            tokens = self._read([window for _, window in block])
            for (text, _), tokens_of_window in zip(block, tokens, strict=True):
                for match in beside[text]:
                    match.add(tokens_of_window)
        return matches

    def _read(self, windows: Sequence[_Window]) -> list[_Tokens]:
        states = self._encoder.states([window.text for window in windows])
        return [
            # Without a window before it also a token of no character counts: a space put first.
            _Tokens(
                state.vectors, ~state.special & ((state.ends > window.seen) | (window.seen == 0))
            )
            for window, state in zip(windows, states, strict=True)
        ]

    def _size(self, window: _Window) -> int:
        """No fewer than the window's tokens: one has at least a byte."""
        most = len(window.text.encode("utf-8", "replace")) + self._encoder.specials
        return min(most, self._encoder.window)


def _best(rows: Sequence[Floats]) -> Comparison:
    """The largest of each value."""
    if not rows:
        return Comparison(status=Status.MISSING_FIELD, reason="there is no text to compare with")
    if not np.isfinite(rows).all():
        return Comparison(status=Status.ERROR, reason=NOT_FINITE)
    return Comparison(dict(zip(VALUES, np.max(rows, axis=0).tolist(), strict=True)))


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
