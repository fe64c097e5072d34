"""Names that don't exist: which ones a slip may have meant, and what an error says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

_LISTED = (
    "metric",
    "judge",
    "decomposer",
    "normalizer",
    "benchmark",
    "retriever",
    "model",
    "builder",
)
_FEW = 10  # so many names are all named
_NEAR = 0.6  # from 0 to 1: how like a name is that is suggested
_SHORT, _NEAR_OF_SHORT = 3, 0.5  # of so few letters one wrong one is much
_WORD, _OTHER = 0.8, 0.9  # what it counts that one word is like, or a name that leads to another
_SUGGESTED = 3


def find_near(name: str, known: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """At most three names that a slip may have meant, the nearest first: as a whole, or in one of
    its words. `others` must be nearer than those known. Nothing where none is near.
    """
    name = name.lower()
    least = _NEAR if len(name) > _SHORT else _NEAR_OF_SHORT
    match = SequenceMatcher(b=name, autojunk=False)

    def likeness(other: str) -> float:
        match.set_seq1(other)
        return match.ratio()

    ranked = []
    weights = {**dict.fromkeys(others, _OTHER), **dict.fromkeys(known, 1.0)}
    for one, weight in weights.items():
        words = re.split(r"[_-]", one.lower())
        within = max(map(likeness, words)) if len(words) > 1 else 0.0
        ranked.append((weight * max(likeness(one.lower()), _WORD * within), one))
    ranked.sort(key=lambda pair: (-pair[0], pair[1]))
    return [one for ratio, one in ranked[:_SUGGESTED] if ratio >= least]


def suggest(name: str, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return " Did you mean …?" with the nearest names; "" if none is near."""
    near = find_near(name, known, others)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def describe_unknown(kind: str, name: str, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return the message for a name that doesn't exist; see `UsageError.unknown_name`."""
    allowed = sorted(known)
    few = len(allowed) <= _FEW
    hint = suggest(name, allowed, others)
    if few or not (hint or kind in _LISTED):
        hint += f" Known: {', '.join(allowed)}."
    elif kind in _LISTED:
        hint += f" All {len(allowed)} are shown by: trueground list {kind}s"
    return f"unknown {kind} {name!r}.{hint}"
