"""Rubrics: prompts that ask for a whole number from 1 to 5.

Those that ship are fluency of a response by itself (Lee et al. 2024, figure 18), and fluency,
coherence, consistency and relevance of an answer to a question (Li et al. 2024, tables 14 to 17),
in our own words. Scale, steps and the form to fill in are theirs.
"""

from __future__ import annotations

from pathlib import Path

from trueground.errors import UsageError
from trueground.models.prompts import Prompt, packaged_prompt, user_prompt

_PACKAGE = "trueground.judges.rating"
# (name, what is shown) → the file.
_FILES = {
    ("fluency", "response"): "fluency-1",
    ("fluency", "question"): "fluency-answer-1",
    ("coherence", "question"): "coherence-1",
    ("consistency", "knowledge"): "consistency-1",
    ("relevance", "question"): "relevance-1",
}
NAMES = tuple(dict.fromkeys(name for name, _ in _FILES))
# What is shown → the places that a rubric then has.
PLACES = {
    "response": ("response",),
    "question": ("response", "question"),
    "knowledge": ("response", "question", "knowledge"),
}


def rubric_for(name: str, shown: str) -> Prompt:
    """The rubric of that name, or the user's file at that path, for what is shown to the rater.

    UsageError: a rubric that ships does not show this, or a file's places are others than these;
    InputError: the file cannot be read.
    """
    if shown not in PLACES:
        raise UsageError(f"the rubric {name}: shown={shown!r} is not one of {', '.join(PLACES)}")
    if name not in NAMES:
        return user_prompt(Path(name), ("response",), PLACES[shown][1:], plain=PLACES[shown])
    if (name, shown) not in _FILES:
        known = " or ".join(s for n, s in _FILES if n == name)
        raise UsageError(f"the rubric {name} cannot be shown={shown!r}; it shows the {known}")
    return packaged_prompt(_PACKAGE, _FILES[name, shown])
