"""Why a claim is, or is not, supported: one line for people, and its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from trueground.judges.lexical.agreement import same_kind
from trueground.judges.lexical.coverage import Coverage, CoverageItem
from trueground.judges.lexical.features import missing_name, missing_value
from trueground.judges.lexical.pool import WordPool
from trueground.text.values import Value
from trueground.types import ReasonKind

_NAMED = 4  # words in a line
_PARTS = 2  # reasons in a line
_HALF = 0.5
_SIZE = 3.0  # times as large is no number of the same size
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


def lacks_words(text: str) -> Reason:
    """The context does not speak of it."""
    return Reason(ReasonKind.WORDS, text)


def join_reasons(reasons: Sequence[Reason]) -> Reason:
    """One reason of several: the first kind of the set, and a line of the first texts.

    Of two that speak of the same words the first is left; before a missing name goes its rival.
    """
    ordered = sorted(reasons, key=lambda one: _ORDER.index(one.kind))
    kind, about = ordered[0].kind, ordered[0].about
    if kind is ReasonKind.NAME:
        ordered.sort(key=lambda one: not (one.rival and one.about >= about))
    spoken: set[str] = set()
    texts: list[str] = []
    for one in ordered:
        if one.text not in texts and not (one.about and one.about <= spoken):
            texts.append(one.text)
            spoken |= one.about
    return Reason(kind, "; ".join(texts[:_PARTS]))


def find_missing(found: Coverage, pool: WordPool) -> Iterator[Reason]:
    """The values and names of the claim that no text has, together."""
    pairs = zip(found.view.items, found.said, strict=True)
    unsaid = [item for item, said in pairs if not said]
    values = [item for item in unsaid if missing_value(item, pool.texts)]
    names = [item for item in unsaid if item.value is None and missing_name(item, pool)]
    if values or names:
        numbers = (_value_with_nearest(found, item) for item in values)
        written = list(dict.fromkeys(chain(numbers, _phrases(names))))
        kind = ReasonKind.NUMBER if values else ReasonKind.NAME
        about = frozenset(item.token.spelling for item in (*values, *names))
        yield Reason(kind, f"not in the context: {_listed(written, len(written))}", about)


def find_misplaced(found: Coverage) -> Iterator[Reason]:
    """Values of the claim that stand elsewhere, where the window has others in their place."""
    window = found.window
    for item, said in zip(found.view.items, found.said, strict=True):
        value = item.value
        if value is None or not said or said & window:
            continue
        nearest = _nearest(value, found, range(found.first, found.end))
        if nearest is not None:
            written = _written(found, value)
            text = f"elsewhere in the context: {written} (here {nearest})"
            yield contradicts(text, item.token.spelling)


def explain_weak(found: Coverage, pool: WordPool) -> Reason:
    """Why too little speaks for a claim against which nothing speaks: its words, heaviest first."""
    lacking = _lacking(found)
    absent = [item for item in lacking if _is_nowhere(item, pool)]
    words = _spelled(absent or lacking)
    if absent:
        share = found.share()
        kind = ReasonKind.WORDS if share >= _HALF else ReasonKind.LOW_OVERLAP
        return Reason(
            kind,
            f"not in the context: {words}"
            if words
            else f"only {int(100 * share)}% of the claim is in the context",
        )
    if words:
        text = f"elsewhere in the context, not with the rest of the claim: {words}"
    else:
        text = "its words are in the context, but not as the claim has them"
    return Reason(ReasonKind.APART, text)


def explain_support(found: Coverage, pool: WordPool) -> str:
    """How much of a supported claim is in the context."""
    absent = [item for item in _lacking(found) if _is_nowhere(item, pool)]
    if not absent:
        return "all its words are in the context"
    words = _spelled(absent)
    if words:
        return f"in the context, except {words}"
    return f"{int(100 * found.share())}% of the claim is in the context"


def _lacking(found: Coverage) -> list[CoverageItem]:
    pairs = zip(found.view.items, found.said, strict=True)
    return [item for item, said in pairs if not said & found.window]


def _is_nowhere(item: CoverageItem, pool: WordPool) -> bool:
    if item.value is not None:
        return missing_value(item, pool.texts)
    return item.key not in pool.places


def _spelled(items: Sequence[CoverageItem]) -> str:
    """The heaviest words, in the claim's order."""
    heaviest: dict[str, CoverageItem] = {}
    for item in sorted(items, key=lambda item: -item.weight):
        if item.token.spelling:
            heaviest.setdefault(item.token.spelling, item)
    shown = sorted(list(heaviest.values())[:_NAMED], key=lambda item: item.at)
    return _listed([repr(item.token.spelling) for item in shown], len(heaviest))


def _listed(words: Sequence[str], of: int) -> str:
    return ", ".join(words[:_NAMED]) + (" …" if of > _NAMED else "")


def _phrases(names: Sequence[CoverageItem]) -> Iterator[str]:
    """Names that follow each other in the claim are one: 'Silicon Valley'."""
    run: list[CoverageItem] = []
    for item in names:
        if run and item.at != run[-1].at + 1:
            yield repr(" ".join(one.token.spelling for one in run))
            run = []
        run.append(item)
    if run:
        yield repr(" ".join(one.token.spelling for one in run))


def _value_with_nearest(found: Coverage, item: CoverageItem) -> str:
    value = item.value
    if value is None:
        return repr(item.token.spelling)
    for anywhere in (False, True):
        numbers = range(len(found.text.spans)) if anywhere else range(found.first, found.end)
        nearest = _nearest(value, found, numbers, anywhere)
        if nearest is not None:
            noun = "date" if value.kind == "date" else "number"
            return f"{_written(found, value)} (nearest {noun} {nearest})"
    return _written(found, value)


def _nearest(value: Value, found: Coverage, sentences: range, alike: bool = False) -> str | None:
    """The value of these sentences, as it is written, that comes nearest and is of its kind.

    With `alike` numbers are of one size, or have nothing to do with each other.
    """
    text = found.text
    rivals = [
        (_distance(value, other), text.text[other.start : other.end])
        for number in sentences
        for other in text.values(number)
        if same_kind(value, other) and (not alike or _are_alike(value, other))
    ]
    return min(rivals)[1] if rivals else None


def _written(found: Coverage, value: Value) -> str:
    return found.view.text[value.start : value.end]


def _are_alike(one: Value, other: Value) -> bool:
    if one.kind == "date":
        return True
    low, high = sorted((abs(one.amount or 0), abs(other.amount or 0)))
    return high <= _SIZE * low


def _distance(one: Value, other: Value) -> float:
    if one.kind == "date":
        mine, theirs = (12 * (v.year or 0) + (v.month or 0) for v in (one, other))
        return abs(mine - theirs)
    return abs((one.amount or 0) - (other.amount or 0))
