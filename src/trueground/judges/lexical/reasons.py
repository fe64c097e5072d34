"""Why the offline judge supports a claim or not, in words for people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple

from trueground.judges.lexical.claim import ClaimItem, ClaimView
from trueground.judges.lexical.texts import TextView
from trueground.judges.lexical.value_index import identify
from trueground.types import ReasonKind

_NAMED = 4  # words in a line
_PARTS = 2  # reasons in a line
_HALF = 0.5
_ORDER = list(ReasonKind)


class Reason(NamedTuple):
    """Why a claim is not supported.

    `about` are the words of the claim that it speaks of; `rival` says that it names what the
    context has in their place.
    """

    kind: ReasonKind
    text: str
    about: frozenset[str] = frozenset()
    rival: bool = False


def contradicts(text: str, *about: str) -> Reason:
    """The context says something else."""
    return Reason(ReasonKind.CONTRADICTED, text, frozenset(about))


def differs(mine: str, theirs: str, where: str = "in the context") -> Reason:
    """The context has another word where the claim has its own."""
    text = f"{mine!r} in the claim, {theirs!r} {where}"
    return Reason(ReasonKind.CONTRADICTED, text, frozenset((mine,)), rival=True)


def join_reasons(reasons: Sequence[Reason]) -> Reason:
    """One reason of several: the first kind of the set, and a line of the first texts.

    Of two that speak of the same words the first is left; before a missing name goes its rival.
    """
    ordered = sorted(reasons, key=lambda reason: _ORDER.index(reason.kind))
    kind, about = ordered[0].kind, ordered[0].about
    if kind is ReasonKind.NAME:
        ordered.sort(key=lambda reason: not (reason.rival and reason.about >= about))
    spoken: set[str] = set()
    texts: list[str] = []
    for reason in ordered:
        if reason.text not in texts and not (reason.about and reason.about <= spoken):
            texts.append(reason.text)
            spoken |= reason.about
    return Reason(kind, "; ".join(texts[:_PARTS]))


def explain_missing(
    claim: ClaimView,
    values: Sequence[ClaimItem],
    names: Sequence[ClaimItem],
    text: TextView,
) -> Iterator[Reason]:
    """The values and names of the claim that no text has, together; `text` is the nearest one."""
    if values or names:
        numbers = (_with_nearest(claim, item, text) for item in _different(claim, values))
        phrases: dict[str, None] = {}
        for phrase in chain(numbers, _phrases(names)):
            phrases[phrase] = None
            if len(phrases) > _NAMED:
                break  # each number is compared with all of the text, and the rest is not shown
        kind = ReasonKind.NUMBER if values else ReasonKind.NAME
        about = frozenset(item.token.spelling for item in (*values, *names))
        yield Reason(kind, f"not in the context: {_listed(list(phrases), len(phrases))}", about)


def explain_weak(
    claim: ClaimView, said: Sequence[bool], there: Sequence[bool], sentences: int
) -> Reason:
    """Why too little speaks for a claim against which nothing speaks: its words, heaviest first.

    `said` in the best place, which has so many `sentences`, and `there` in any text, by item.
    """
    lacking = [item for item, here in zip(claim.items, said, strict=True) if not here]
    absent = [item for item, here in zip(claim.items, there, strict=True) if not here]
    words = _spelled(absent or lacking)
    if absent:
        every = math.fsum(item.weight for item in claim.items) or 1.0
        share = 1 - math.fsum(item.weight for item in lacking) / every
        kind = ReasonKind.WORDS if share >= _HALF else ReasonKind.LOW_OVERLAP
        only = f"only {int(100 * share)}% of the claim is in the context"
        return Reason(kind, f"not in the context: {words}" if words else only)
    if words:
        text = f"elsewhere in the context, not with the rest of the claim: {words}"
    else:
        how = "spread over several sentences" if sentences > 1 else "not as the claim has them"
        text = f"its words are in the context, but {how}"
    return Reason(ReasonKind.APART, text)


def explain_support(claim: ClaimView, there: Sequence[bool]) -> str:
    """How much of a supported claim is in the context."""
    absent = [item for item, here in zip(claim.items, there, strict=True) if not here]
    words = _spelled(absent)
    if words:
        return f"in the context, except {words}"
    if absent and not claim.tokens:  # a script without spaces has no words to name
        share = 1 - len(absent) / len(claim.items)
        return f"{int(100 * share)}% of the claim is in the context"
    return "all its words are in the context"


def _spelled(items: Sequence[ClaimItem]) -> str:
    """The heaviest words, in the claim's order, without those that say little."""
    heaviest: dict[str, ClaimItem] = {}
    for item in sorted(items, key=lambda item: -item.weight):
        if item.token.spelling and not item.token.word.light and not item.counts:
            heaviest.setdefault(item.token.spelling, item)
    named = sorted(list(heaviest.values())[:_NAMED], key=lambda item: item.at)
    return _listed([repr(item.token.spelling) for item in named], len(heaviest))


def _listed(words: Sequence[str], of: int) -> str:
    return ", ".join(words[:_NAMED]) + (" …" if of > _NAMED else "")


def _phrases(names: Sequence[ClaimItem]) -> Iterator[str]:
    """Names that follow each other in the claim are one: 'Silicon Valley'."""
    for _, run in groupby(enumerate(names), key=lambda pair: pair[1].at - pair[0]):
        yield repr(" ".join(item.token.spelling for _, item in run))


def _different(claim: ClaimView, items: Sequence[ClaimItem]) -> Iterator[ClaimItem]:
    """The first of the values that are written alike and mean the same."""
    seen = set()
    for item in items:
        value = item.value
        if value is not None:
            key = (claim.text[value.start : value.end], identify(value))
            if key not in seen:
                seen.add(key)
                yield item


def _with_nearest(claim: ClaimView, item: ClaimItem, text: TextView) -> str:
    """The value as it is written, with the nearest of its kind and size in the text."""
    value = item.value
    if value is None:
        return repr(item.token.spelling)
    spelling = claim.text[value.start : value.end]
    nearest = text.nearest.find(value)
    noun = "date" if value.kind == "date" else "number"
    return spelling if nearest is None else f"{spelling} (nearest {noun} {nearest})"
