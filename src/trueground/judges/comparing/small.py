"""Comparers over small models: BERTScore, and BEM and FaithCritic, each the share of one output.

BEM (Bulian et al. 2022) is the probability that two answers to a question are equivalent,
FaithCritic (Dziri et al. 2022) the probability that a response is hallucinated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Floats, Pair, encoder_options
from trueground.encoders.cache import Store
from trueground.encoders.models import CrossEncoder, LayerEncoder
from trueground.errors import MissingExtraError, UsageError
from trueground.judges.classifiers import find_output
from trueground.judges.encoder import LEAST_ROOM, OPTIONS, OnEncoder, softmax
from trueground.judges.windows import RULE, Span, cut
from trueground.plugins import PartSpec
from trueground.types import Comparison, ComparisonRequest, Status

# The published model is one of TensorFlow; this is its conversion.
BEM_MODEL = "kortukov/answer-equivalence-bem"
FAITH_CRITIC_MODEL = "McGill-NLP/roberta-large-faithcritic"
BROKEN = "the model gave no finite numbers: its weights or its arithmetic are broken"
_EQUIVALENT = ("equivalent", "equivalence")
_HALLUCINATED = ("hallucination", "hallucinated", "unfaithful")


def check_options(
    given: PartSpec, *more: str, runs: Sequence[str] = ("torch", "onnxruntime")
) -> None:
    """UsageError for an option that is not known; MissingExtraError where nothing is installed
    that runs the model: the extra that runs every one.
    """
    given.check((*OPTIONS, *more))
    if not any(map(find_spec, runs)):
        raise MissingExtraError(f"the comparer {given.name}", "hf")


def bem(given: PartSpec) -> Bem:
    """The comparer `bem:MODEL(label=NAME,…)`."""
    check_options(given, "label")
    scorer = CrossEncoder(given.model or BEM_MODEL, encoder_options(given))
    return Bem("bem-1", scorer, _find_label(given, scorer, _EQUIVALENT))


def faith_critic(given: PartSpec) -> FaithCritic:
    """The comparer `faith-critic:MODEL(label=NAME,…)`."""
    check_options(given, "label")
    scorer = CrossEncoder(given.model or FAITH_CRITIC_MODEL, encoder_options(given))
    label = _find_label(given, scorer, _HALLUCINATED)
    return FaithCritic(f"faith-critic-1|{RULE}", scorer, label)


def _find_label(given: PartSpec, scorer: CrossEncoder, wanted: Sequence[str]) -> str:
    """The output that is meant; of two without names (LABEL_0, LABEL_1) it is the second."""
    default = "label_1" if tuple(scorer.labels) == ("label_0", "label_1") else None
    hint = "Say which one is meant with label=NAME"
    return find_output(given, scorer, wanted, default, "two, or one", hint)


class _Classifier(OnEncoder):
    """A comparer whose only value is the softmax of one output."""

    encoder: CrossEncoder

    def __init__(self, version: str, scorer: CrossEncoder, label: str) -> None:
        self.signature = f"{version}|{scorer.signature}|label:{label}"
        self.encoder = scorer
        self._column = scorer.labels.index(label)

    def _count(self, texts: Iterable[str]) -> dict[str, int]:
        """Tokens of each different text."""
        unique = list(dict.fromkeys(texts))
        return dict(zip(unique, self.encoder.lengths(unique), strict=True)) if unique else {}

    def _shares(self, inputs: Iterable[Any]) -> dict[Any, float]:
        """The share of the output for each different input of the model."""
        unique = list(dict.fromkeys(inputs))
        if not unique:
            return {}
        shares = softmax(self.encoder.scores(unique))[:, self._column]
        return dict(zip(unique, shares.tolist(), strict=True))


class Bem(_Classifier):
    """The largest probability over the texts of a request, its references.

    The model reads [CLS] response [SEP] reference [SEP] question [SEP]. A blank response is 0, and
    blank references are left out. What exceeds the window is `too_long`: nothing is cut off.
    """

    name = "bem"
    values = ("bem",)
    encoder: CrossEncoder

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; equal triples are read once."""
        triples = [
            [(r.response, text, r.question) for text in r.texts if text.strip()] for r in requests
        ]
        asked = [
            own if request.response.strip() else []
            for request, own in zip(requests, triples, strict=True)
        ]
        tokens = self._count(text for own in asked for triple in own for text in triple)
        # One special token more stands between reference and question.
        room = self.encoder.window - self.encoder.specials - 1
        fits = [all(sum(tokens[t] for t in triple) <= room for triple in own) for own in asked]
        # Where one reference does not fit, the others are not the maximum.
        known = self._shares(t for own, fit in zip(asked, fits, strict=True) if fit for t in own)
        results = []
        for own, read, fit in zip(triples, asked, fits, strict=True):
            if not own:
                reason = "there is no reference that is not blank"
                results.append(Comparison(status=Status.NOT_APPLICABLE, reason=reason))
            elif not read:
                results.append(Comparison({"bem": 0.0}))
            elif not fit:
                reason = "response, reference and question together exceed the model's window of "
                reason += f"{self.encoder.window} tokens"
                results.append(Comparison(status=Status.TOO_LONG, reason=reason))
            elif not all(math.isfinite(known[triple]) for triple in read):
                results.append(Comparison(status=Status.ERROR, reason=BROKEN))
            else:
                results.append(Comparison({"bem": max(known[triple] for triple in read)}))
        return results


class FaithCritic(_Classifier):
    """The model reads the pair (knowledge, response); a request's texts together are knowledge.

    Knowledge beyond the window is read in windows on sentence boundaries, and the window with which
    the response is least hallucinated counts.
    """

    name = "faith-critic"
    values = ("hallucination",)
    encoder: CrossEncoder

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; equal pairs are read once."""
        free = self.encoder.window - self.encoder.specials
        tokens = self._count(r.response for r in requests if r.response.strip())
        wanted = [
            (" ".join(t for t in r.texts if t.strip()), free - tokens.get(r.response, free))
            for r in requests
        ]
        windows = cut((w for w in wanted if w[1] > 0), self.encoder.lengths)
        spans = [windows.get(w, []) for w in wanted]
        pairs = [
            # Pieces of knowledge that are too small say nothing.
            []
            if len(own) > 1 and room < LEAST_ROOM
            else [(knowledge[start:end], request.response) for start, end in own]
            for request, (knowledge, room), own in zip(requests, wanted, spans, strict=True)
        ]
        known = self._shares(pair for own in pairs for pair in own)
        return [
            self._compare(request, wanted[i][0], spans[i], [known[pair] for pair in pairs[i]])
            for i, request in enumerate(requests)
        ]

    def _compare(
        self, request: ComparisonRequest, knowledge: str, spans: list[Span], shares: list[float]
    ) -> Comparison:
        if not knowledge:
            return Comparison(status=Status.MISSING_FIELD, reason="there is no context")
        if not request.response.strip():
            return Comparison(status=Status.NO_CLAIMS, reason="the response has no words")
        if not shares:
            return Comparison(
                status=Status.TOO_LONG,
                reason=f"the response takes so much of the model's window of "
                f"{self.encoder.window} tokens that fewer than {LEAST_ROOM} are left for knowledge",
            )
        if not all(map(math.isfinite, shares)):
            return Comparison(status=Status.ERROR, reason=BROKEN)
        least = min(shares)
        start, end = spans[shares.index(least)]
        detail = {"windows": len(shares), "start": start, "end": end} if len(shares) > 1 else None
        return Comparison({"hallucination": least}, detail=detail)


T = TypeVar("T")
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


def bertscore(given: PartSpec) -> BertScore:
    """The comparer `bertscore:MODEL(layer=NUMBER,…)`."""
    check_options(given, "layer", runs=("torch",))
    model = given.model or MODEL
    published = LAYERS.get(model.partition("@")[0])
    if published is None and "layer" not in given.options:
        raise UsageError(
            f"bertscore:{model}: no layer is published for this model; say with layer=NUMBER which "
            f"one is read. Without it the model may be {', '.join(LAYERS)}"
        )
    layer = given.whole("layer", published or 1)
    return BertScore(LayerEncoder(model, layer, encoder_options(given)), keep=given.cache)


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
        own = self._best[self._response.counted]
        if not len(own) or not self._count:
            return 0.0, 0.0, 0.0
        precision, recall = float(own.mean()), self._recall / self._count
        total = precision + recall
        return precision, recall, 2 * precision * recall / total if total else 0.0


class BertScore:
    """The values of each pair (response, text), and of a request the largest of each.

    Zhang et al. 2020, as the bert-score library computes it without idf weights and rescaling: the
    mean over a text's tokens of the largest cosine with any token of the other text. Special tokens
    are not in the means, but may be matched. A text beyond the window, which the library cuts off,
    is read in windows on sentence boundaries; what stands in two of them counts once, in the first.
    Values of a blank response or a blank text are 0. `keep`: whether values are kept on disk.
    """

    uses_encoder = True

    def __init__(self, encoder: LayerEncoder, *, keep: bool = True) -> None:
        self.name = "bertscore"
        self.values: tuple[str, ...] = VALUES
        self.signature = f"bertscore-1|{RULE}|{encoder.signature}"
        self._encoder = encoder
        self._store = Store(encoder.name, self.signature, keep)

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; equal pairs are read once."""
        pairs = [[(r.response.strip(), text.strip()) for text in r.texts] for r in requests]
        asked = list(dict.fromkeys(pair for own in pairs for pair in own if all(pair)))

        def compute(places: list[int]) -> Floats:
            return self._compute([asked[place] for place in places])

        rows = self._store.rows(asked, len(VALUES), compute)
        known = dict(zip(asked, rows, strict=True))
        blank = np.zeros(len(VALUES), np.float32)
        return [_best([known.get(pair, blank) for pair in own]) for own in pairs]

    @property
    def problem(self) -> str | None:
        """Why results were no longer kept on disk; None where they were."""
        return self._store.problem

    def close(self) -> None:
        """Give the model's memory back; a later request loads it again."""
        self._encoder.close()
        self._store.close()

    def _compute(self, pairs: Sequence[Pair]) -> Floats:
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
        spans = cut(((text, room) for text in texts), self._encoder.lengths)
        windows = {}
        for text in texts:
            ends = [0, *(end for _, end in spans[text, room])]
            windows[text] = [
                _Window(text[start:end], max(0, before - start))
                for (start, end), before in zip(spans[text, room], ends, strict=False)
            ]
        return windows

    def _match(self, pairs: Sequence[Pair], windows: dict[str, list[_Window]]) -> list[_Match]:
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
            for (text, _), one in zip(block, tokens, strict=True):
                for match in beside[text]:
                    match.add(one)
        return matches

    def _read(self, windows: Sequence[_Window]) -> list[_Tokens]:
        states = self._encoder.states([window.text for window in windows])
        return [
            # Without a window before it also a token of no character counts: a space put first.
            _Tokens(one.vectors, ~one.special & ((one.ends > window.seen) | (window.seen == 0)))
            for window, one in zip(windows, states, strict=True)
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
        return Comparison(status=Status.ERROR, reason=BROKEN)
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
