"""How much of a claim its texts say, and what stands there word for word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from trueground.judges.lexical.coverage import ClaimView, Coverage, cover, statement
from trueground.judges.lexical.reading import TextView
from trueground.judges.lexical.words import NUMERIC

_EDGES = " \t\r\n.!?;:,\"'“”‘’。！？"
_DENIES = re.compile(  # May is a month
    r"\b(?:not|never|no|without|(?-i:may|MAY)|might|false|unlikely|if|whether|unless|almost|nearly|insufficient"
    r"|rumou?rs?|rumou?red|believes?|believed|claims?|claimed|allege[sd]?|denie[sd]|denies)\b|n['’]t\b",
    re.I,
)
_WHOLE = 0.1  # share of the whole text in the coverage


def core(claim: str) -> str:
    """The claim without what may differ where a text states it word for word."""
    return statement(claim).strip(_EDGES)


def verbatim(core: str, text: TextView) -> tuple[int, int] | None:
    """Where the text has `core` of a claim and nothing before it in the sentence takes it back.

    The first letter may be large in one and small in the other.
    """
    return _verbatim(core, text) or _verbatim(core[:1].swapcase() + core[1:], text)


def _verbatim(core: str, text: TextView) -> tuple[int, int] | None:
    source = text.text
    at = source.find(core) if core else -1
    while at >= 0:
        end = at + len(core)
        whole = not (at and source[at - 1].isalnum()) and not source[end : end + 1].isalnum()
        if whole and text.spans:
            begin = max((start for start, _ in text.spans if start <= at), default=0)
            if not _DENIES.search(source, begin, at):
                return at, end
        at = source.find(core, at + 1)
    return None


def ranked(view: ClaimView, texts: Sequence[TextView]) -> list[tuple[float, int, Coverage]]:
    """Score, number and coverage of the texts that may say most of the claim, the best first.

    A cheap bound on the score puts most of many texts aside.
    """
    found: list[tuple[float, int, Coverage]] = []
    best = -1.0
    for number, text in enumerate(texts):
        if not text.spans:
            continue
        if best >= 0 and text.vocabulary is not None and most(view, text.vocabulary) <= best:
            continue
        covered = cover(view, text)
        value = score(view, covered.said, covered.window, text.index)
        found.append((value, number, covered))
        best = max(best, value)
    return sorted(found, key=lambda one: (-one[0], one[1]))


def most(view: ClaimView, vocabulary: Mapping[str, int]) -> float:
    """What `score` cannot exceed in a text; `vocabulary` is its index as one sentence."""
    keys = [item.key if item.value is None else NUMERIC for item in view.items]
    return score(view, [vocabulary.get(key, 0) for key in keys], 1, vocabulary)


def score(view: ClaimView, said: list[int], window: int, index: Mapping[str, int]) -> float:
    """Coverage in the window with a little of the whole text, held down by plain words alone.

    Names and numbers are heavy: without the second a claim with the right name and a wrong
    predicate would pass. `said` and `window` are as in `Coverage`, `index` as in `TextView`.
    """
    inside = anywhere = plain = 0.0
    for item, mask in zip(view.items, said, strict=True):
        if mask:
            anywhere += item.weight
            if mask & window:
                inside += item.weight
                if item.plain:
                    plain += item.weight
    blended = (1 - _WHOLE) * (inside / view.weight) + _WHOLE * (anywhere / view.weight)
    if view.plain_weight:
        blended = min(blended, plain / view.plain_weight)
    covered = blended * view.weight
    for key, weight in view.small:
        if index.get(key, 0) & window:
            covered += weight
    return covered / view.full_weight
