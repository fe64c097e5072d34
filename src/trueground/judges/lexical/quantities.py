"""How many and how much: "all" against "some", "at least" against "at most"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from trueground.judges.lexical.agreement import agrees
from trueground.judges.lexical.contradictions import ContradictionView
from trueground.judges.lexical.reasons import Reason, contradicts, differs, lacks_words
from trueground.judges.lexical.tokens import Token

_LOWER = frozenset(("least", "over", "more", "above", "minimum", "exceeds", "exceeded"))
_UPPER = frozenset(("most", "under", "less", "fewer", "below", "maximum"))
_TIMES = frozenset(("year", "month", "week", "day", "hour", "minute", "time", "season"))
_WEAKER = {"all": ("most", "some"), "most": ("some",)}


def quantifiers(reading: ContradictionView) -> Reason | None:
    """The claim speaks of more cases than the context, or adds "only"."""
    mine, theirs = _quantities(reading.view.tokens), _quantities(reading.best.tokens)
    for strong, weak in _WEAKER.items():
        kept = next((theirs[w] for w in weak if w in theirs), None)
        if strong in mine and strong not in theirs and kept:
            return differs(mine[strong], kept)
    if "only" in mine and not any(t.word.role == "only" for t in reading.window):
        return lacks_words(f"{mine['only']!r} is not in the context")
    return None


def _quantities(tokens: Sequence[Token]) -> dict[str, str]:
    """Kind of quantity → how it is spelled; "each year" and "most beautiful" are none."""
    found: dict[str, str] = {}
    for token, after in zip_longest(tokens, tokens[1:]):
        role = token.word.role
        if not role:
            continue
        behind = after.spelling.lower() if after else ""
        if role == "all" and behind in _TIMES:
            continue
        plural = behind in ("of", "the", "") or (behind.endswith("s") and behind[-2:] != "us")
        if token.spelling.lower() == "most" and not plural:
            continue
        found[role] = token.spelling
    return found


def bounds(reading: ContradictionView) -> Reason | None:
    """The claim says "at least" where the context says "at most", or the other way round."""
    for at, token in enumerate(reading.view.tokens):
        mine = _bound(reading.view.tokens, at) if token.value is not None else 0
        if not mine or token.value is None:
            continue
        for i, found in enumerate(reading.window):
            if found.value is None or not agrees(token.value, found.value):
                continue
            if _bound(reading.window, i) == -mine:
                return contradicts(
                    f"{token.spelling!r} is the least in one and the most in the other"
                )
    return None


def _bound(tokens: Sequence[Token], at: int) -> int:
    """+1 where the number at `at` is a lower bound, -1 for an upper one, 0 for none."""
    words = [t.spelling.lower() for t in tokens[max(0, at - 3) : at]]
    if words[-2:] == ["up", "to"]:
        return -1
    sign = 1 if _LOWER & set(words) else -1 if _UPPER & set(words) else 0
    return -sign if "no" in words or "not" in words else sign
