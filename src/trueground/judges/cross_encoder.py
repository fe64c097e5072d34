"""The cross-encoder judge: a ranking model reads claim and passage together."""

from __future__ import annotations

from collections.abc import Sequence

from trueground.encoders import pair_scorer
from trueground.encoders.base import Floats, Pair, PairScorer
from trueground.encoders.options import encoder_options
from trueground.errors import UsageError
from trueground.judges.encoding import given_or, made, rooms_beside
from trueground.judges.windowed import WindowedJudge
from trueground.plugins import PartSpec

MODEL = "cross-encoder/ms-marco-MiniLM-L-12-v2"
THRESHOLD = 6.0  # Truly-Ground, appendix A: of the raw logit, with the pair (fact, text)


def cross_encoder(given: PartSpec | None = None) -> WindowedJudge:
    """A ranking model's raw logit for (claim, passage): the judge of the Truly-Ground paper."""
    given = given_or("cross-encoder", given)
    model = given.model or MODEL
    encoder = pair_scorer(model, encoder_options(given))
    if len(encoder.labels) != 1:
        raise UsageError(
            f"cross-encoder:{model} has {len(encoder.labels)} outputs ({', '.join(encoder.labels)}"
            f"); expected one. For a classifier of entailment write nli:{model}"
        )
    return made(given, LogitReader(encoder), THRESHOLD)


class LogitReader:
    """The one logit of a pair (claim, window)."""

    score_name = "relevance"
    options = ""
    probable = False
    joins = True

    def __init__(self, encoder: PairScorer) -> None:
        self.encoder = encoder

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """What each claim leaves of the window."""
        return rooms_beside(self.encoder, claims)

    def fits(self, pairs: Sequence[Pair]) -> list[bool]:
        """Two texts are counted apart and put side by side: nothing is added."""
        return [True] * len(pairs)

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """Raw logits, shape (n,)."""
        return self.encoder.scores(pairs)[:, 0]
