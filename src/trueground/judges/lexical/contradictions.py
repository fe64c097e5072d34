"""Signs that a window does not say what a claim says although it uses the claim's words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trueground.judges.lexical.agreement import agrees
from trueground.judges.lexical.coverage import ClaimView, Coverage, CoverageItem
from trueground.judges.lexical.reasons import Reason, contradicts, differs, lacks_words
from trueground.judges.lexical.segments import Segment
from trueground.judges.lexical.tokens import Token
from trueground.judges.lexical.words import exclusive_sets, lexicon

_PIVOTS = frozenset(("than", "before", "after"))
_NOTHING = Segment([], set(), set(), set(), set())
_NEAR = 2
_HEDGED = 4  # tokens behind a hedge that it weakens
_SOFT = frozenset(("can", "would", "usually", "generally", "often", "sometimes", "almost"))
_KNOWING = frozenset(lexicon[word].key for word in ("know", "sure", "certain", "remember", "think"))


class ContradictionView(msgspec.Struct):
    """A claim beside the window that comes nearest to it, and the segment that comes nearest."""

    view: ClaimView
    parts: list[Segment]
    best: Segment

    @classmethod
    def of(cls, found: Coverage) -> ContradictionView:
        """Cut the window, with the sentence before it, into segments."""
        first = max(0, found.first - 1)
        parts = found.text.segments(first, found.end)
        view, focus = found.view, found.view.items[-1].key

        def shared(part: Segment) -> float:
            total = sum(_weight_in(item, part) for item in view.items)
            return total + 0.1 * (bool(focus) and focus in part.keys)

        return cls(view, parts, max(parts, key=shared, default=_NOTHING))

    @property
    def window(self) -> list[Token]:
        """All tokens of the window."""
        return [token for part in self.parts for token in part.tokens]


def _weight_in(item: CoverageItem, part: Segment) -> float:
    """Weight of the item in the segment: less for what it only refers to and for an opposite."""
    if item.value is not None:
        said = any(t.value is not None and agrees(item.value, t.value) for t in part.tokens)
        return item.weight if said else 0.0
    if item.key not in part.keys:
        return 0.5 * item.weight if item.key in part.about else 0.0
    sign = item.token.word.sign
    opposed = sign and all(t.word.sign == -sign for t in part.tokens if t.key == item.key)
    return 0.5 * item.weight if opposed else item.weight


def polarity(reading: ContradictionView) -> Reason | None:
    """One side denies what the other states (an even number of reversals cancels out)."""
    claim = reading.view.tokens
    own = _unsure(claim)
    denied = [t for t in claim[own:] if t.negated and t.key]
    spoken_of = {key for part in reading.parts for key in part.keys}
    if denied and sum(t.key not in spoken_of for t in denied) * 2 >= len(denied):
        return lacks_words("the claim denies something that the context does not speak of")
    turns = [why for why in (_denial(reading), *_opposites(reading), _order(reading)) if why]
    return turns[0] if len(turns) % 2 else None


def _unsure(tokens: Sequence[Token]) -> int:
    """How many tokens at the start only say that the speaker is not sure: "I don't know, but"."""
    turn = next((i for i, t in enumerate(tokens) if t.spelling == "but"), 0)
    opening = tokens[:turn]
    known = all(t.key in _KNOWING for t in opening if t.content and t.word.role != "negator")
    return turn if known and any(t.word.role == "negator" for t in opening) else 0


def _denial(reading: ContradictionView) -> Reason | None:
    """Only one side denies; what counts is the word that the denial is aimed at."""
    claim, best = reading.view.tokens, reading.best
    mine, theirs = _targets(claim), _targets(best.tokens)
    denied = {t.key for t in best.tokens if t.negated}
    for target in mine:
        if target.key in best.keys and target.key not in denied:
            return contradicts(f"the claim denies {target.spelling!r}, the context does not")
    if mine:
        return None
    focus = next((t.key for t in reversed(claim) if t.key in best.keys and t.key), None)
    for target in theirs:
        if target.key in reading.view.keys and focus in denied:
            return contradicts(f"the context denies {target.spelling!r}, the claim does not")
    return None


def _targets(tokens: Sequence[Token]) -> list[Token]:
    """The first content word behind each negator."""
    found: list[Token] = []
    for at, token in enumerate(tokens):
        if token.word.role != "negator":
            continue
        if all(t.spelling != "until" for t in tokens[at + 1 :]):  # "did not come until 1990"
            found += [t for t in tokens[at + 1 :] if t.negated and t.key][:1]
    return found


def _opposites(reading: ContradictionView) -> list[Reason]:
    found: list[Reason] = []
    claim, best = reading.view.tokens, reading.best.tokens
    for at, token in enumerate(claim):
        sign = token.word.sign
        if not sign or not token.key:
            continue
        twins = [i for i, t in enumerate(best) if t.key == token.key]
        if twins and all(best[i].word.sign != sign for i in twins):
            near = _around(claim, at)
            pivot = token.spelling in _PIVOTS
            if not (pivot or token.verb) and _said_too(token, near, reading.window):
                continue
            if pivot or any(near & _around(best, i) for i in twins):
                other = best[twins[0]].spelling
                found.append(differs(token.spelling, other))
        elif token.spelling in ("less", "fewer") and all(
            t.key != token.key for t in reading.window
        ):
            found.append(lacks_words(f"{token.spelling!r} is not in the context"))
    return found


def _said_too(token: Token, near: set[str], window: list[Token]) -> bool:
    """Whether the window has the word of the claim as well, beside one of the same words."""
    return any(
        t.key == token.key and t.word.sign == token.word.sign and near & _around(window, i)
        for i, t in enumerate(window)
    )


def _around(tokens: Sequence[Token], at: int) -> set[str]:
    """Keys of the two nearest content words on each side of `at`."""
    before = [t.key for t in tokens[:at] if t.key][-_NEAR:]
    return {*before, *[t.key for t in tokens[at + 1 :] if t.key][:_NEAR]}


def _order(reading: ContradictionView) -> Reason | None:
    """The two sides of a comparison are exchanged."""
    mine, theirs = _sides(reading.view.tokens), _sides(reading.best.tokens)
    if mine and theirs and mine[0] & theirs[1] and mine[1] & theirs[0]:
        crossed = len(mine[0] & theirs[1] - theirs[0]) + len(mine[1] & theirs[0] - theirs[1])
        straight = len(mine[0] & theirs[0] - theirs[1]) + len(mine[1] & theirs[1] - theirs[0])
        if crossed > straight:
            return contradicts("the two sides of the comparison are exchanged")
    return None


def _sides(tokens: Sequence[Token]) -> tuple[set[str], set[str]] | None:
    pivot = next((i for i, t in enumerate(tokens) if t.spelling in _PIVOTS), None)
    if pivot is None:
        return None
    verb = next((i for i, t in enumerate(tokens) if t.verb), pivot)
    before = {t.key for t in tokens[: min(verb, pivot)] if t.key}
    return before, {t.key for t in tokens[pivot + 1 :] if t.key}


def hedging(reading: ContradictionView) -> Reason | None:
    """The context only considers or plans what the claim states as a fact."""
    if any(t.word.role == "hedge" or t.spelling.lower() in _SOFT for t in reading.view.tokens):
        return None
    tokens = reading.best.tokens
    for at, token in enumerate(tokens):
        if token.spelling.startswith("May"):  # the month
            continue
        weakened = tokens[at + 1 : at + 1 + _HEDGED]
        if token.word.role == "hedge" and any(t.key in reading.view.keys for t in weakened):
            return contradicts(f"the context only says {token.spelling!r}")
    return None


def exclusives(reading: ContradictionView) -> Reason | None:
    """The context has another weekday, colour, season … than the claim."""
    sets = exclusive_sets()
    focus = reading.view.items[-1].key
    parts = [part for part in reading.parts if focus and focus in part.keys] or [reading.best]
    place = [token for part in parts for token in part.tokens]
    here = {token.spelling.lower() for token in place}
    claim = reading.view.tokens
    for at, token in enumerate(claim):
        members = sets.get(token.spelling.lower())
        if not members or token.spelling.lower() in here:
            continue
        near = _around(claim, at)
        for i, other in enumerate(place):
            rival = other.spelling.lower() in members and other.key not in reading.view.keys
            if rival and near & _around(place, i):
                return differs(token.spelling, other.spelling)
    return None
