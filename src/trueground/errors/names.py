"""Unknown names: similar names to suggest, and the message of the error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

LISTED_KINDS = (
    "metric",
    "judge",
    "decomposer",
    "normalizer",
    "benchmark",
    "retriever",
    "model",
    "builder",
)
MAX_LISTED_NAMES = 10
MAX_SUGGESTIONS = 3
MIN_SIMILARITY = 0.6  # from 0 to 1
# In a short name, one wrong letter lowers the similarity more.
SHORT_NAME_LENGTH = 3
MIN_SHORT_SIMILARITY = 0.5
WORD_WEIGHT = 0.8  # weight of a match with one word of a name
ALIAS_WEIGHT = 0.9  # weight of a match with a name that leads to a known name


def find_near(name: str, known: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """Return at most three names that are similar to a name, the most similar first.

    A name is compared as a whole and with each of its words. Aliases in `others` must be more
    similar than names in `known`.
    """
    name = name.lower()
    is_short = len(name) <= SHORT_NAME_LENGTH
    min_similarity = MIN_SHORT_SIMILARITY if is_short else MIN_SIMILARITY
    matcher = SequenceMatcher(b=name, autojunk=False)

    def similarity(other: str) -> float:
        matcher.set_seq1(other)
        return matcher.ratio()

    ranked = []
    weights = {**dict.fromkeys(others, ALIAS_WEIGHT), **dict.fromkeys(known, 1.0)}
    for candidate, weight in weights.items():
        words = re.split(r"[_-]", candidate.lower())
        by_word = max(map(similarity, words)) if len(words) > 1 else 0.0
        ranked.append(
            (weight * max(similarity(candidate.lower()), WORD_WEIGHT * by_word), candidate)
        )
    ranked.sort(key=lambda pair: (-pair[0], pair[1]))
    return [candidate for score, candidate in ranked[:MAX_SUGGESTIONS] if score >= min_similarity]


def suggest(name: str, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return " Did you mean …?" with the nearest names; "" if none is near."""
    near = find_near(name, known, others)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def describe_unknown(kind: str, name: str, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return the message for a name that doesn't exist; see `UsageError.unknown_name`."""
    allowed = sorted(known)
    hint = suggest(name, allowed, others)
    if "llm" in allowed and (not hint or re.search(r"[0-9/]", name)):
        hint += f" To use a language model, write 'llm:{name}'."
    if len(allowed) <= MAX_LISTED_NAMES or not (hint or kind in LISTED_KINDS):
        hint += f" Known: {', '.join(allowed)}."
    elif kind in LISTED_KINDS:
        hint += f" To list all {len(allowed)}: trueground list {kind}s"
    return f"unknown {kind} {name!r}.{hint}"
