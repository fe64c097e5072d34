"""BERTScore: every token's nearest token on the other side, by the states of a language model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueground.encoders import token_encoder
from trueground.encoders.base import Floats, TokenEncoder
from trueground.encoders.cached import Store
from trueground.encoders.options import encoder_options
from trueground.errors import UsageError
from trueground.judges.comparing.encoding import BROKEN, given_or
from trueground.judges.comparing.matching import Matcher
from trueground.judges.windows import RULE
from trueground.plugins import PartSpec
from trueground.types import Comparison, ComparisonRequest, Status

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


def bertscore(given: PartSpec | None = None) -> BertScore:
    """Tokens matched with tokens by a language model's states: precision, recall and F1."""
    given = given_or("bertscore", given, ("layer",))
    model = given.model or MODEL
    published = LAYERS.get(model.partition("@")[0])
    if published is None and "layer" not in given.options:
        raise UsageError(
            f"bertscore:{model}: no layer is published for this model; say with layer=NUMBER which "
            f"one is read. Without it the model may be {', '.join(LAYERS)}"
        )
    layer = given.whole("layer", published or 1)
    return BertScore(token_encoder(model, layer, encoder_options(given)), keep=given.cache)


class BertScore:
    """The values of each pair (response, text), and of a request the largest of each.

    Values of a blank response or a blank text are 0. `keep`: whether values are kept on disk.
    """

    def __init__(self, encoder: TokenEncoder, *, keep: bool = True) -> None:
        self.name = "bertscore"
        self.values: tuple[str, ...] = VALUES
        self.signature = f"bertscore-1|{RULE}|{encoder.signature}"
        self._encoder = encoder
        self._matcher = Matcher(encoder)
        self._store = Store(encoder.name, self.signature, keep)

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; equal pairs are read once."""
        pairs = [[(r.response.strip(), text.strip()) for text in r.texts] for r in requests]
        asked = list(dict.fromkeys(pair for own in pairs for pair in own if all(pair)))

        def compute(places: list[int]) -> Floats:
            return self._matcher.values([asked[place] for place in places])

        found = self._store.rows(asked, len(VALUES), compute)
        known = dict(zip(asked, found, strict=True))
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


def _best(rows: Sequence[Floats]) -> Comparison:
    """The largest of each value."""
    if not rows:
        return Comparison(status=Status.MISSING_FIELD, reason="there is no text to compare with")
    best = [max(values) for values in zip(*(row.tolist() for row in rows), strict=True)]
    if not all(math.isfinite(value) for row in rows for value in row.tolist()):
        return Comparison(status=Status.ERROR, reason=BROKEN)
    return Comparison(dict(zip(VALUES, best, strict=True)))
