"""Which option of a multiple-choice question does a response name?

Labels are looked for in the raw text, option texts in the normalised text (FaithEval accuracy).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from trueground.text.phrases import contains_words
from trueground.types import Choice

_SAID = (
    r"(?:(?:answer|option|choice|solution)(?:\s+(?:is|are|would\s+be|must\s+be|should\s+be))?"
    r"|(?:i|we)(?:\s+would|'d)?\s+(?:choose|pick|select|go\s+with)|it(?:\s+is|['’]s))"
    r"\s*:?\s*(?:(?:the\s+)?(?:option|choice|letter)\s*:?\s*)?"
)
_ORDINARY_WORDS = ("a", "i")
# What follows a label and not an article: "the answer is A because".
_GOES_ON = "according|as|based|because|due|for|from|given|in|is|since|so|which"
_EMPHASIS = str.maketrans(dict.fromkeys("*`"))


def chosen_label(
    response: str, choices: Sequence[Choice], normalise: Callable[[str], str]
) -> str | None:
    """The label of the one option that the response names; None for no option or several.

    A label counts alone ("B"), in brackets ("(b)"), with its sign ("B.", "B) text") and after words
    such as "the answer is"; an article ("A dog is") is no label. Option texts count on word
    boundaries, longest first, so that a text inside a longer one is not named with it. Without
    labels only texts can be named.
    """
    labels = tuple(choice.label.strip() for choice in choices)
    texts = tuple(choice.text.strip().lower() for choice in choices)
    named = _labels_in(response.translate(_EMPHASIS), labels, texts)
    left = normalise(response)
    for text, place in sorted(_texts(choices, normalise), key=lambda t: -len(t[0])):
        if contains_words(left, text):
            named.add(place)
            left = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", "\n", left)
    return choices[named.pop()].label if len(named) == 1 else None


def right_labels(
    references: Sequence[str], choices: Sequence[Choice], normalise: Callable[[str], str]
) -> set[str]:
    """The labels that `references` give: each is an option's text, its label, or names one option.

    Empty when no reference belongs to an option.
    """
    right: set[str] = set()
    for reference in references:
        text = normalise(reference)
        same = {choice.label for choice in choices if text and normalise(choice.text) == text}
        label = chosen_label(reference, choices, normalise)
        right |= same or ({label} if label is not None else set())
    return right


def _texts(choices: Sequence[Choice], normalise: Callable[[str], str]) -> list[tuple[str, int]]:
    normalised = ((normalise(choice.text), place) for place, choice in enumerate(choices))
    return [(text, place) for text, place in normalised if text]


def _labels_in(response: str, labels: tuple[str, ...], texts: tuple[str, ...]) -> set[int]:
    """The places of the labels that stand as labels in the raw text.

    Where an option's text begins with a label ("4" and "4 metres"), the text is meant.
    """
    alone, marked = _patterns(labels)
    places = {label.lower(): place for place, label in enumerate(labels)}
    whole = alone.fullmatch(response)
    if whole:
        return {places[whole.group(1).lower()]}
    found = set()
    for match in marked.finditer(response):
        number = next(i for i, group in enumerate(match.groups(), 1) if group)
        label, rest = match[number], response[match.start(number) :].lower()
        if not any(len(text) > len(label) and rest.startswith(text) for text in texts):
            found.add(places[label.lower()])
    return found


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One for a response that is nothing but a label, one for labels inside a text.

    Lower case counts alone and in brackets; elsewhere the label must be written as given, and one
    that is also a word ("A", "I") must be followed by a sign or the end.
    """
    given = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True) if label)
    given = given or r"(?!)"
    wordy = [label for label in labels if label.lower() in _ORDINARY_WORDS]
    words = "|".join(re.escape(label) for label in wordy) or r"(?!)"
    own = rf"(?!(?:{words})[ \t]+(?!(?:{_GOES_ON})\b)\w)(?:{given})"
    alone = rf"\W*({given})\W*"
    marked = (
        rf"[(\[](?i:({given}))[)\]]|\\boxed\{{\s*(?:\\text\{{)?(?i:({given}))\}}"
        rf"|^\s*({given})[.):](?=\s|$)|(?<![\w.(\[])({given})\)(?=\s|$)"
        rf"|\b(?i:{_SAID})[\"']?({own})(?![\w'’.-]*\w)"
    )
    return re.compile(alone, re.IGNORECASE), re.compile(marked, re.MULTILINE)
