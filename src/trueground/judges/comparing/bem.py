"""BEM: the probability that two answers to a question are equivalent (Bulian et al. 2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trueground.encoders import parts_scorer
from trueground.encoders.base import Parts, PartsScorer
from trueground.encoders.options import encoder_options
from trueground.judges.comparing.encoding import BROKEN, given_or, output_of, shares
from trueground.plugins import PartSpec
from trueground.types import Comparison, ComparisonRequest, Status

# The published model is one of TensorFlow; this is its conversion.
MODEL = "kortukov/answer-equivalence-bem"
_EQUIVALENT = ("equivalent", "equivalence")


def bem(given: PartSpec | None = None) -> Bem:
    """The probability that response and reference are equivalent answers to the question."""
    given = given_or("bem", given, ("label",))
    scorer = parts_scorer(given.model or MODEL, encoder_options(given))
    return Bem(scorer, output_of(given, scorer.name, scorer.labels, _EQUIVALENT))


class Bem:
    """The largest probability over the texts of a request, its references.

    The model reads [CLS] response [SEP] reference [SEP] question [SEP]. A blank response is 0, and
    blank references are left out. What exceeds the window is `too_long`: nothing is cut off.
    """

    def __init__(self, scorer: PartsScorer, column: int) -> None:
        self.name = "bem"
        self.values: tuple[str, ...] = ("bem",)
        self.signature = f"bem-1|{scorer.signature}|label:{scorer.labels[column]}"
        self._scorer = scorer
        self._column = column

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; equal triples are read once."""
        triples = [_triples(request) for request in requests]
        sizes = self._sizes(triples)
        fits = {triple for triple, size in sizes.items() if size <= self._scorer.window}
        # Where one reference does not fit, the others are not the maximum.
        read = list(dict.fromkeys(t for own in triples if fits.issuperset(own) for t in own))
        found = shares(self._scorer.scores(read), self._column) if read else ()
        known = dict(zip(read, found, strict=True))
        return [
            self._compared(request, [known.get(triple) for triple in own])
            for request, own in zip(requests, triples, strict=True)
        ]

    @property
    def problem(self) -> str | None:
        """Why results were no longer kept on disk; None where they were."""
        return getattr(self._scorer, "problem", None)

    def close(self) -> None:
        """Give the model's memory back; a later request loads it again."""
        self._scorer.close()

    def _sizes(self, triples: Sequence[Sequence[Parts]]) -> dict[Parts, int]:
        """Tokens of each triple, special ones included."""
        texts = list(dict.fromkeys(text for own in triples for triple in own for text in triple))
        tokens = dict(zip(texts, self._scorer.lengths(texts), strict=True)) if texts else {}
        specials = self._scorer.specials + 1  # one more between reference and question
        return {t: specials + sum(tokens[text] for text in t) for own in triples for t in own}

    def _compared(self, request: ComparisonRequest, found: Sequence[float | None]) -> Comparison:
        if not any(text.strip() for text in request.texts):
            reason = "there is no reference that is not blank"
            return Comparison(status=Status.NOT_APPLICABLE, reason=reason)
        if not request.response.strip():
            return Comparison({"bem": 0.0})
        values = [value for value in found if value is not None]
        if len(values) < len(found):
            return Comparison(
                status=Status.TOO_LONG,
                reason="response, reference and question together exceed the model's window of "
                f"{self._scorer.window} tokens",
            )
        if not all(map(math.isfinite, values)):
            return Comparison(status=Status.ERROR, reason=BROKEN)
        return Comparison({"bem": max(values)})


def _triples(request: ComparisonRequest) -> list[Parts]:
    if not request.response.strip():
        return []
    return [(request.response, text, request.question) for text in request.texts if text.strip()]
