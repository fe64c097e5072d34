"""The offline judge: rules over words, values and names; no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from trueground.judges.lexical import anchors, contradictions, presence
from trueground.judges.lexical.coverage import ClaimView, Coverage, cover
from trueground.judges.lexical.reading import TextView
from trueground.types import JudgeRequest, Status, Verdict

COVERED = 0.75  # coverage at which the probability is 0.5
_ABSENT = 0.4  # factors that bring every claim below 0.5: a name or value that is not there,
_AGAINST = 0.49  # and a contradiction, of which rules are less sure
_KEPT = 256  # texts that stay read: requests about one text come one after the other
_CHECKED = 300  # tokens: a longer claim is a text, to which the checks do not apply
_CHECKS = (
    contradictions.polarity,
    contradictions.hedging,
    contradictions.quantifiers,
    contradictions.bounds,
    contradictions.exclusives,
    anchors.governors,
    anchors.counted,
    anchors.subjects,
    anchors.directions,
    anchors.exchanged,
)

Key = TypeVar("Key")
View = TypeVar("View")


class LexicalJudge:
    """Measures how much of the claim a text says, then looks for contradictions."""

    name = "lexical"
    threshold = 0.5
    signature = basis = "lexical-2"

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request; every text is read once."""
        texts: _Views[str, TextView] = _Views(TextView)
        claims: _Views[tuple[str, str], ClaimView] = _Views(lambda pair: ClaimView(*pair))
        return [_decide(request, claims, texts) for request in requests]


class _Views(dict[Key, View]):
    """Text → how it is read, made on first sight."""

    def __init__(self, make: Callable[[Key], View]) -> None:
        self._make = make

    def __missing__(self, text: Key) -> View:
        if len(self) >= _KEPT:
            self.clear()
        view = self[text] = self._make(text)
        return view


def _decide(
    request: JudgeRequest,
    claims: _Views[tuple[str, str], ClaimView],
    texts: _Views[str, TextView],
) -> Verdict:
    """The verdict of the text that supports the claim best; the first of equals.

    A claim that stands in a text word for word is not read.
    """
    core = presence.core(request.claim)
    best = Verdict(False, 0.0, reasons=("no context",))
    for number, source in enumerate(request.texts):
        text = texts[source]
        place = presence.verbatim(core, text)
        if place is not None:
            verbatim = ("stated word for word",)
            return Verdict(True, 1.0, Status.SCORED, number, *place, verbatim)
        verdict = _judge(claims[request.claim, request.asked], text, best)
        if verdict is not None:
            best, best.text = verdict, number
            if best.probability == 1.0:
                break
    return best


def _judge(view: ClaimView, text: TextView, best: Verdict) -> Verdict | None:
    """Judge one claim against one text; None where that cannot be better than `best`."""
    least = -1.0 if best.text is None else best.probability or 0.0
    if _at_most(view, text, least) <= least or not text.spans:
        return None
    if not view.items:
        none = ("the claim has no words of its own",)
        return Verdict(False, 0.0, reasons=none)
    found = cover(view, text)
    probability = _probability(presence.score(view, found.said, found.window, text.index))
    if probability <= least:
        return None
    reasons, probability = _weigh(found, probability)
    if probability <= least:
        return None
    start, end = text.spans[found.first][0], text.spans[found.end - 1][1]
    supported = probability > LexicalJudge.threshold
    return Verdict(supported, probability, start=start, end=end, reasons=tuple(reasons))


def _at_most(view: ClaimView, text: TextView, least: float) -> float:
    """A cheap bound on the probability; most of many texts are put aside by it.

    The first text must be read in any case.
    """
    if least < 0:
        return 1.0
    if not view.items:
        return 0.0
    if text.vocabulary is None:
        return 1.0
    score, absent = presence.most(view, text.vocabulary)
    probability = _probability(score)
    return probability * _ABSENT / absent if absent else probability


def _weigh(found: Coverage, probability: float) -> tuple[list[str], float]:
    """Look for what speaks against the claim; return the reasons and the new probability."""
    reasons = list(presence.missing(found))
    if reasons:
        return reasons, probability * _ABSENT / len(reasons)
    if 0 < len(found.view.tokens) <= _CHECKED and probability > LexicalJudge.threshold:
        reading = contradictions.Reading.of(found)
        reasons = [why for check in _CHECKS if (why := check(reading))]
        if reasons:
            return reasons, probability * _AGAINST
    if probability > LexicalJudge.threshold:
        return [f"{found.share():.0%} of the claim is in the context"], probability
    return [presence.unsaid(found)], probability


def _probability(coverage: float) -> float:
    if coverage <= COVERED:
        return 0.5 * coverage / COVERED
    return min(1.0, 0.5 + 0.5 * (coverage - COVERED) / (1 - COVERED))
