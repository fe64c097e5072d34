"""A triple as a statement that a sentence may entail: what a judge is asked about it.

The statement is "property: value" (Li et al. 2024, section 4.3). Which entity it is about is not
said: sentences name theirs by pronouns more often than not.
"""

from __future__ import annotations

import re

from trueground.text.triples import plain, plain_property
from trueground.types import JudgeRequest

# Lives have several of these, and sentences name two at a time: "born in Rome, died in Naples".
_EVENTS = frozenset(("birth", "death", "burial"))
_LINKS = frozenset(("of", "at", "in"))
# One character for one, so that places stay: typographic signs as they stand on a keyboard.
_KEYS = str.maketrans(dict.fromkeys("‘’ʼ′", "'") | dict.fromkeys("‐‑‒–—―−", "-"))


def hypothesis(name: str, value: str) -> str:
    """`property: value`."""
    return f"{plain_property(name)}: {plain(value)}"


def request(sentence: str, name: str, value: str) -> JudgeRequest:
    """Does this sentence entail "property: value"?

    The property's name is given as what was asked, so that "She was a painter" need not say the
    word "occupation"; only words for events must be said.
    """
    return JudgeRequest(hypothesis(name, value), (sentence,), _asked(name))


def _asked(name: str) -> str:
    words = [word for word in plain_property(name).split() if word.lower() not in _EVENTS]
    while words and words[-1].lower() in _LINKS:
        words.pop()
    return f"What is the {' '.join(words)}?" if words else ""


def place_of(value: str, sentence: str) -> tuple[int, int] | None:
    """Where the value stands in the sentence on word boundaries, in large or small letters.

    White space of any length is as good as one space, and typographic apostrophes and dashes are
    as good as plain ones.
    """
    words = plain(value).translate(_KEYS).split()
    if not words:
        return None
    pattern = r"\s+".join(map(re.escape, words))
    found = re.search(rf"(?<!\w){pattern}(?!\w)", sentence.translate(_KEYS), re.IGNORECASE)
    return found.span() if found else None
