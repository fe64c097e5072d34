"""The offline judge: how much of a claim the texts say, and whether they say something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from trueground.judges.lexical.claim import ClaimView
from trueground.judges.lexical.evidence import NAMES, BestPlace, Evidence, find_evidence
from trueground.judges.lexical.model import capped, lifted, probability, weights
from trueground.judges.lexical.reading import TextView, without_citations
from trueground.judges.lexical.reasons import Reason, explain_support, explain_weak, join_reasons
from trueground.text.refusal import REFUSAL_RULES
from trueground.types import JudgeRequest, ReasonKind, Verdict

_KEPT = 256  # texts that stay read: requests about one text come one after the other
_EDGES = " \t\r\n.!?;:,\"'“”‘’。！？"
_TAKEN_BACK = re.compile(  # what may stand before a quoted claim; May is a month
    r"\b(?:not|never|no|without|(?-i:may|MAY)|might|false|unlikely|if|whether|unless|almost|nearly"
    r"|insufficient|rumou?rs?|rumou?red|believes?|believed|claims?|claimed|allege[sd]?|denie[sd]"
    r"|denies)\b|n['’]t\b",
    re.I,
)
_LIMITED = re.compile(r"\b(?:unless|except|provided that|false|untrue|rumou?rs?|myth)\b", re.I)


class LexicalJudge:
    """Measures how much of the claim the texts say, and looks for contradictions."""

    name = "lexical"
    threshold = 0.5
    feature_names = NAMES
    # A claim that declines to answer is not supported.
    signature = basis = f"lexical-5/{REFUSAL_RULES}"

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request; every text is read once."""
        return [_decide(one, texts) for one, texts in _read_texts(requests)]

    def features(self, requests: Sequence[JudgeRequest]) -> NDArray[np.float64]:
        """Shape (requests, features), by `feature_names`; zeros where there are no words."""
        found = [
            find_evidence(ClaimView(one.claim, one.asked), texts).features
            for one, texts in _read_texts(requests)
        ]
        return np.array(found).reshape(len(found), len(NAMES))


def _read_texts(requests: Sequence[JudgeRequest]) -> Iterator[tuple[JudgeRequest, list[TextView]]]:
    """Each request with its texts, which are read once for requests that follow each other."""
    views: dict[str, TextView] = {}
    for request in requests:
        if len(views) > _KEPT:
            views = {}
        for text in request.texts:
            if text not in views:
                views[text] = TextView(text)
        yield request, [views[text] for text in request.texts]


def find_verbatim(claim: str, text: TextView) -> tuple[int, int] | None:
    """Where the text has the claim word for word and nothing in its sentence takes it back.

    Citation marks and outer marks do not matter, nor whether the first letter is large.
    """
    core = without_citations(claim).strip().strip(_EDGES)
    for wanted in (core, core[:1].swapcase() + core[1:]):
        source = text.text
        at = source.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            whole = not (at and source[at - 1].isalnum()) and not source[end : end + 1].isalnum()
            if whole and text.spans:
                inside = [span for span in text.spans if span[0] <= at]
                begin, stop = inside[-1] if inside else (0, end)
                behind = _LIMITED.search(source, end, max(stop, end))
                if not behind and not _TAKEN_BACK.search(source, begin, at):
                    return at, end
            at = source.find(wanted, at + 1)
    return None


def _decide(request: JudgeRequest, texts: Sequence[TextView]) -> Verdict:
    """A claim that stands in a text word for word is not read; else the best place decides."""
    for number, text in enumerate(texts):
        span = find_verbatim(request.claim, text)
        if span is not None:
            why = ("stated word for word",)
            likely, (start, end) = weights().verbatim, span
            return Verdict(True, likely, text=number, start=start, end=end, reasons=why)
    claim = ClaimView(request.claim, request.asked)
    found = find_evidence(claim, texts)
    if found.place is None:
        kind = ReasonKind.NO_CONTEXT if claim.items else ReasonKind.NO_WORDS
        line = f"no {request.source}" if claim.items else "the claim has no words of its own"
        return Verdict(False, 0.0, reasons=(line,), kind=kind)
    return _weigh(claim, found, found.place, texts[found.place.text], request.source)


def _weigh(
    claim: ClaimView, found: Evidence, place: BestPlace, text: TextView, source: str
) -> Verdict:
    likely = probability(found.features, weights())
    if found.doubtful:
        likely = capped(likely)
    elif found.whole:
        likely = lifted(likely)
    supported = likely > LexicalJudge.threshold
    why: Reason | None = None
    if not supported:
        weak = explain_weak(claim, place.said, place.there, place.end - place.first)
        why = join_reasons(found.doubts) if found.doubts else weak
    line = why.text if why else explain_support(claim, place.there)
    return Verdict(
        supported,
        likely,
        text=place.text,
        start=text.spans[place.first][0],
        end=text.spans[place.end - 1][1],
        reasons=(line.replace("the context", f"the {source}"),),
        kind=why.kind if why else None,
    )
