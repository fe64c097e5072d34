"""BEM and FaithCritic: comparers over a classifier of text pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

from trueground.components import ComponentSpec
from trueground.encoders import CrossEncoder, EncoderOptions
from trueground.errors import MissingExtraError
from trueground.judges.classifiers import find_output
from trueground.judges.comparing import Comparer
from trueground.judges.encoder import MIN_EVIDENCE_TOKENS, OPTIONS, EncoderComponent, softmax
from trueground.judges.windows import RULE, Span, cut_windows
from trueground.types import Comparison, ComparisonRequest, Status

# The published model is one of TensorFlow; this is its conversion.
BEM_MODEL = "kortukov/answer-equivalence-bem"
FAITH_CRITIC_MODEL = "McGill-NLP/roberta-large-faithcritic"
NOT_FINITE = "the model gave no finite numbers: its weights or its arithmetic are broken"
_EQUIVALENT = ("equivalent", "equivalence")
_HALLUCINATED = ("hallucination", "hallucinated", "unfaithful")


def check_options(
    spec: ComponentSpec, *more: str, runs: Sequence[str] = ("torch", "onnxruntime")
) -> None:
    """UsageError for an option that is not known; MissingExtraError where nothing is installed
    that runs the model: the extra that runs every one.
    """
    spec.check((*OPTIONS, *more))
    if not any(map(find_spec, runs)):
        raise MissingExtraError(f"the comparer {spec.name}", "hf")


def bem(spec: ComponentSpec) -> Bem:
    """The comparer `bem:MODEL(label=NAME,…)`."""
    check_options(spec, "label")
    scorer = CrossEncoder(spec.model or BEM_MODEL, EncoderOptions.of(spec))
    return Bem("bem-1", scorer, _find_label(spec, scorer, _EQUIVALENT))


def faith_critic(spec: ComponentSpec) -> FaithCritic:
    """The comparer `faith-critic:MODEL(label=NAME,…)`."""
    check_options(spec, "label")
    scorer = CrossEncoder(spec.model or FAITH_CRITIC_MODEL, EncoderOptions.of(spec))
    label = _find_label(spec, scorer, _HALLUCINATED)
    return FaithCritic(f"faith-critic-1|{RULE}", scorer, label)


def _find_label(spec: ComponentSpec, scorer: CrossEncoder, label_names: Sequence[str]) -> str:
    """The output that is meant; of two without names (LABEL_0, LABEL_1) it is the second."""
    default = "label_1" if tuple(scorer.labels) == ("label_0", "label_1") else None
    hint = "Say which one is meant with label=NAME"
    return find_output(spec, scorer, label_names, default, "two, or one", hint)


class _Classifier(EncoderComponent, Comparer):
    """A comparer whose only value is the softmax of one output."""

    signature: str
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
        to_read = [
            request_triples if request.response.strip() else []
            for request, request_triples in zip(requests, triples, strict=True)
        ]
        tokens = self._count(
            text for request_triples in to_read for triple in request_triples for text in triple
        )
        # One special token more stands between reference and question.
        room = self.encoder.window - self.encoder.specials - 1
        fits = [
            all(sum(tokens[t] for t in triple) <= room for triple in request_triples)
            for request_triples in to_read
        ]
        # Where one reference does not fit, the others are not the maximum.
        scores = self._shares(
            t
            for request_triples, fit in zip(to_read, fits, strict=True)
            if fit
            for t in request_triples
        )
        results = []
        for request_triples, read, fit in zip(triples, to_read, fits, strict=True):
            if not request_triples:
                reason = "there is no reference that is not blank"
                results.append(Comparison(status=Status.NOT_APPLICABLE, reason=reason))
            elif not read:
                results.append(Comparison({"bem": 0.0}))
            elif not fit:
                reason = "response, reference and question together exceed the model's window of "
                reason += f"{self.encoder.window} tokens"
                results.append(Comparison(status=Status.TOO_LONG, reason=reason))
            elif not all(math.isfinite(scores[triple]) for triple in read):
                results.append(Comparison(status=Status.ERROR, reason=NOT_FINITE))
            else:
                results.append(Comparison({"bem": max(scores[triple] for triple in read)}))
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
        knowledge_limits = [
            (" ".join(t for t in r.texts if t.strip()), free - tokens.get(r.response, free))
            for r in requests
        ]
        windows = cut_windows((w for w in knowledge_limits if w[1] > 0), self.encoder.lengths)
        spans = [windows.get(w, []) for w in knowledge_limits]
        pairs = [
            # Pieces of knowledge that are too small say nothing.
            []
            if len(request_spans) > 1 and room < MIN_EVIDENCE_TOKENS
            else [(knowledge[start:end], request.response) for start, end in request_spans]
            for request, (knowledge, room), request_spans in zip(
                requests, knowledge_limits, spans, strict=True
            )
        ]
        scores = self._shares(pair for request_spans in pairs for pair in request_spans)
        return [
            self._compare(
                request, knowledge_limits[i][0], spans[i], [scores[pair] for pair in pairs[i]]
            )
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
                reason="the response takes so much of the model's window of "
                f"{self.encoder.window} tokens that fewer than {MIN_EVIDENCE_TOKENS} are left for "
                "knowledge",
            )
        if not all(map(math.isfinite, shares)):
            return Comparison(status=Status.ERROR, reason=NOT_FINITE)
        least = min(shares)
        start, end = spans[shares.index(least)]
        detail = {"windows": len(shares), "start": start, "end": end} if len(shares) > 1 else None
        return Comparison({"hallucination": least}, detail=detail)
