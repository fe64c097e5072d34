"""What of a claim is not in a text at all, and what stands there word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from trueground.judges.lexical.agreement import same_kind
from trueground.judges.lexical.coverage import ClaimView, Coverage, cover, statement
from trueground.judges.lexical.features import missing_name, missing_value
from trueground.judges.lexical.pool import WordPool
from trueground.judges.lexical.reading import TextView
from trueground.judges.lexical.words import NUMERIC
from trueground.text.values import Value

_EDGES = " \t\r\n.!?;:,\"'“”‘’。！？"
_DENIES = re.compile(  # May is a month
    r"\b(?:not|never|no|without|(?-i:may|MAY)|might|false|unlikely|if|whether|unless|almost|nearly|insufficient"
    r"|rumou?rs?|rumou?red|believes?|believed|claims?|claimed|allege[sd]?|denie[sd]|denies)\b|n['’]t\b",
    re.I,
)
_NAMED = 4  # missing words in a reason
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


def missing(found: Coverage, pool: WordPool) -> Iterator[str]:
    """Say which values and names of the claim no text has."""
    for item, said in zip(found.view.items, found.said, strict=True):
        if said:
            continue
        if item.value is not None and missing_value(item, pool.texts):
            yield _no_value(found, item.value)
        elif missing_name(item, pool):
            yield f"{item.token.spelling!r} is not in the context"


def contradicted(found: Coverage) -> Iterator[str]:
    """Say which values of the claim the window has otherwise, though they stand elsewhere."""
    window = found.window
    for item, said in zip(found.view.items, found.said, strict=True):
        value = item.value
        if value is None or not said or said & window:
            continue
        there = [v for i in range(found.first, found.end) for v in found.text.values(i)]
        if any(same_kind(value, other) for other in there):
            yield _no_value(found, value)


def unsaid(found: Coverage) -> str:
    """Say which words of the claim the window lacks, the heaviest first."""
    pairs = zip(found.view.items, found.said, strict=True)
    lacking = [item for item, said in pairs if not said & found.window and item.token.spelling]
    if not lacking:
        return f"only {found.share():.0%} of the claim is in the context"
    lacking.sort(key=lambda item: -item.weight)
    words = dict.fromkeys(repr(item.token.spelling) for item in lacking)
    shown = ", ".join(list(words)[:_NAMED])
    return f"not said there: {shown}{' …' if len(words) > _NAMED else ''}"


def _no_value(found: Coverage, value: Value) -> str:
    written = found.view.text[value.start : value.end]
    text = found.text
    for numbers in (range(found.first, found.end), range(len(text.spans))):
        rivals = [
            (_distance(value, other), text.text[other.start : other.end])
            for number in numbers
            for other in text.values(number)
            if other.kind == value.kind
        ]
        if rivals:
            noun = "date" if value.kind == "date" else "number"
            return f"{written} is not in the context; nearest {noun} {min(rivals)[1]}"
    return f"{written} is not in the context"


def _distance(one: Value, other: Value) -> float:
    if one.kind == "date":
        mine, theirs = (12 * (v.year or 0) + (v.month or 0) for v in (one, other))
        return abs(mine - theirs)
    other_unit = 0 if one.unit == other.unit else 1e12
    return other_unit + abs((one.amount or 0) - (other.amount or 0))


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
