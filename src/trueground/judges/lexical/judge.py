"""The offline judge: rules find evidence and contradictions, a small model weighs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from trueground.judges.lexical import presence
from trueground.judges.lexical.coverage import ClaimView
from trueground.judges.lexical.looking import Looked, WindowPlace, look
from trueground.judges.lexical.model import capped, probability, weights
from trueground.judges.lexical.pool import WordPool
from trueground.judges.lexical.reading import TextView
from trueground.judges.lexical.reasons import (
    Reason,
    explain_support,
    explain_weak,
    join_reasons,
)
from trueground.text.refusal import REFUSAL_RULES
from trueground.types import JudgeRequest, ReasonKind, Verdict

_KEPT = 256  # texts that stay read: requests about one text come one after the other
_NO_CONTEXT = Reason(ReasonKind.NO_CONTEXT, "no context")
_NO_WORDS = Reason(ReasonKind.NO_WORDS, "the claim has no words of its own")

Key = TypeVar("Key")
View = TypeVar("View")


class LexicalJudge:
    """Measures how much of the claim the texts say, and looks for contradictions."""

    name = "lexical"
    threshold = 0.5
    # A claim that declines to answer is not supported.
    signature = basis = f"lexical-4/{REFUSAL_RULES}"

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request; every text is read once."""
        texts: _Views[str, TextView] = _Views(TextView)
        pools: _Views[tuple[str, ...], WordPool] = _Views(
            lambda several: WordPool([texts[text] for text in several])
        )
        return [_decide(request, pools[request.texts]) for request in requests]


class _Views(dict[Key, View]):
    """Text → how it is read, made on first sight."""

    def __init__(self, make: Callable[[Key], View]) -> None:
        self._make = make

    def __missing__(self, text: Key) -> View:
        if len(self) >= _KEPT:
            self.clear()
        view = self[text] = self._make(text)
        return view


def _decide(request: JudgeRequest, pool: WordPool) -> Verdict:
    """The verdict over all texts; the text that says most of the claim is the one named.

    A claim that stands in a text word for word is not read.
    """
    core = presence.core(request.claim)
    for number, text in enumerate(pool.texts):
        span = presence.verbatim(core, text)
        if span is not None:
            start, end = span
            why = ("stated word for word",)
            return Verdict(True, weights().verbatim, text=number, start=start, end=end, reasons=why)
    view = ClaimView(request.claim, request.asked)
    looked = look(view, pool)
    if looked.place is None:
        nothing = _NO_CONTEXT if view.items else _NO_WORDS
        line = nothing.text.replace("no context", f"no {request.source}")
        return Verdict(False, 0.0, reasons=(line,), kind=nothing.kind)
    return _weigh(looked, looked.place, pool, request.source)


def _weigh(looked: Looked, place: WindowPlace, pool: WordPool, source: str) -> Verdict:
    likely = probability(looked.features, weights())
    if looked.doubtful:
        likely = capped(likely)
    supported = likely > LexicalJudge.threshold
    found = place.found
    why = None
    if not supported:
        why = join_reasons(looked.doubts) if looked.doubts else explain_weak(found, pool)
    line = why.text if why else explain_support(found, pool)
    start, end = found.text.spans[found.first][0], found.text.spans[found.end - 1][1]
    return Verdict(
        supported,
        likely,
        text=place.number,
        start=start,
        end=end,
        reasons=(line.replace("the context", f"the {source}"),),
        kind=why.kind if why else None,
    )
