"""FaithCritic: the probability that a response is hallucinated (Dziri et al. 2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trueground.encoders import pair_scorer
from trueground.encoders.base import Pair, PairScorer
from trueground.encoders.options import encoder_options
from trueground.judges.comparing.encoding import BROKEN, given_or, output_of, shares
from trueground.judges.encoder import LEAST_ROOM
from trueground.judges.windows import RULE, Span, cut
from trueground.plugins import PartSpec
from trueground.types import Comparison, ComparisonRequest, Status

MODEL = "McGill-NLP/roberta-large-faithcritic"
_HALLUCINATED = ("hallucination", "hallucinated", "unfaithful")


def faith_critic(given: PartSpec | None = None) -> FaithCritic:
    """The probability that a response says what its contexts do not hold."""
    given = given_or("faith-critic", given, ("label",))
    scorer = pair_scorer(given.model or MODEL, encoder_options(given))
    return FaithCritic(scorer, output_of(given, scorer.name, scorer.labels, _HALLUCINATED))


class FaithCritic:
    """The model reads the pair (knowledge, response); a request's texts together are knowledge.

    Knowledge beyond the window is read in windows on sentence boundaries, and the window with which
    the response is least hallucinated counts.
    """

    def __init__(self, scorer: PairScorer, column: int) -> None:
        self.name = "faith-critic"
        self.values: tuple[str, ...] = ("hallucination",)
        self.signature = f"faith-critic-1|{RULE}|{scorer.signature}|label:{scorer.labels[column]}"
        self._scorer = scorer
        self._column = column

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; equal pairs are read once."""
        joined = [" ".join(text for text in r.texts if text.strip()) for r in requests]
        rooms = self._rooms([request.response for request in requests])
        wanted = [
            (knowledge, rooms[request.response])
            for knowledge, request in zip(joined, requests, strict=True)
        ]
        lengths = self._scorer.lengths
        spans = cut((w for w in wanted if w[1] > 0), lengths)
        own = [spans.get(w, []) for w in wanted]
        pairs = [
            [] if _too_small(w, found) else [(w[0][a:b], request.response) for a, b in found]
            for w, found, request in zip(wanted, own, requests, strict=True)
        ]
        known = self._read(pairs)
        return [
            self._compared(request, knowledge, found, [known[pair] for pair in asked])
            for request, knowledge, found, asked in zip(requests, joined, own, pairs, strict=True)
        ]

    @property
    def problem(self) -> str | None:
        """Why results were no longer kept on disk; None where they were."""
        return getattr(self._scorer, "problem", None)

    def close(self) -> None:
        """Give the model's memory back; a later request loads it again."""
        self._scorer.close()

    def _rooms(self, responses: Sequence[str]) -> dict[str, int]:
        """Tokens that each response leaves for knowledge; 0 for a blank one, which is not read."""
        texts = [text for text in dict.fromkeys(responses) if text.strip()]
        free = self._scorer.window - self._scorer.specials
        left = {t: free - n for t, n in zip(texts, self._scorer.lengths(texts), strict=True)}
        return dict.fromkeys(responses, 0) | left

    def _read(self, pairs: Sequence[Sequence[Pair]]) -> dict[Pair, float]:
        asked = list(dict.fromkeys(pair for own in pairs for pair in own))
        found = shares(self._scorer.scores(asked), self._column) if asked else ()
        return dict(zip(asked, found, strict=True))

    def _compared(
        self, request: ComparisonRequest, knowledge: str, spans: list[Span], found: list[float]
    ) -> Comparison:
        if not knowledge:
            return Comparison(status=Status.MISSING_FIELD, reason="there is no context")
        if not request.response.strip():
            return Comparison(status=Status.NO_CLAIMS, reason="the response has no words")
        if not found:
            return Comparison(
                status=Status.TOO_LONG,
                reason=f"the response takes so much of the model's window of "
                f"{self._scorer.window} tokens that fewer than {LEAST_ROOM} are left for knowledge",
            )
        if not all(map(math.isfinite, found)):
            return Comparison(status=Status.ERROR, reason=BROKEN)
        least = min(found)
        start, end = spans[found.index(least)]
        detail = {"windows": len(found), "start": start, "end": end} if len(found) > 1 else None
        return Comparison({"hallucination": least}, detail=detail)


def _too_small(wanted: tuple[str, int], spans: list[Span]) -> bool:
    """Whether knowledge would be read in pieces too small to say anything."""
    return len(spans) > 1 and wanted[1] < LEAST_ROOM
