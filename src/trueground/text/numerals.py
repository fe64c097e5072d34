"""English number words, ordinals and month names."""

from __future__ import annotations

import re

_ONES = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "dozen": 12.0,
    "k": 1e3,
    "m": 1e6,
    "mn": 1e6,
    "b": 1e9,
    "bn": 1e9,
}
NUMBER_WORDS = {word: float(i) for i, word in enumerate(_ONES)} | {
    word: 10.0 * (i + 2) for i, word in enumerate(_TENS)
}
_IRREGULAR = {
    "first": 1.0,
    "second": 2.0,
    "third": 3.0,
    "fifth": 5.0,
    "eighth": 8.0,
    "ninth": 9.0,
    "twelfth": 12.0,
}
ORDINAL_WORDS = (
    {f"{word}th": float(i) for i, word in enumerate(_ONES) if i > 3}
    | {f"{word[:-1]}ieth": 10.0 * (i + 2) for i, word in enumerate(_TENS)}
    | _IRREGULAR
)
MONTH_NAMES = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
MONTHS = {name: i for i, name in enumerate(MONTH_NAMES, 1)}
MONTHS |= {name[:3]: i for name, i in MONTHS.items()} | {"sept": 9}

_STEP = re.compile(r"(?:[\s-]+(?:and\s+)?)?([A-Za-z]+)")


def spoken(text: str, at: int) -> tuple[int, float, bool] | None:
    """Read the number in words at `at`: (end, number, is it an ordinal?), or None.

    "a" or "an" counts as one only before a scale word ("a million").
    """
    total = part = 0.0
    end, ordinal = at, False
    scale = float("inf")  # the last one above a hundred
    # Size of the last ones or tens word: "twenty three" adds, "two three" does not.
    last = float("inf")
    while match := _STEP.match(text, end):
        word = match[1].lower()
        if end == at and (match.start(1) != at or word in ("hundred", "thousand")):
            return None
        if word in ("a", "an") and end == at:
            part, last = 1.0, 1.0
        elif word in SCALES and len(word) > 2 and end != at:
            size = SCALES[word]
            if size <= 100 and part < 100:
                part = (part or 1.0) * size
            elif 100 < size < scale:  # "two million three thousand"
                total, part, scale = total + (part or 1.0) * size, 0.0, size
            else:  # a scale that repeats begins another number
                break
            last = size
        elif word in NUMBER_WORDS and _fits(NUMBER_WORDS[word], last):
            part, last = part + NUMBER_WORDS[word], NUMBER_WORDS[word]
        elif word in ORDINAL_WORDS and _fits(ORDINAL_WORDS[word], last):
            part, ordinal, end = part + ORDINAL_WORDS[word], True, match.end()
            break
        else:
            break
        end = match.end()
    if end == at or text[at:end].lower() in ("a", "an"):
        return None
    return end, total + part, ordinal


def _fits(number: float, last: float) -> bool:
    """Whether a ones or tens word may follow a word of size `last`."""
    return last == float("inf") or last >= 100 or (20 <= last < 100 and number < 10)
