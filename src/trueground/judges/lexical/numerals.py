"""English words of quantities: number words, ordinals, scales, months, units and currencies."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_ONES: list[str] = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
)
_TENS: list[str] = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")
MONTH_NAMES: tuple[str, ...] = tuple(
    re.findall(
        r"\w+",
        "january february march april may june july august september october november december",
    )
)
_SHORT_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "dozen": 12.0}
SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
} | _SHORT_SCALES
NUMBER_WORDS = {word: float(i) for i, word in enumerate(_ONES)} | {
    word: 10.0 * (i + 2) for i, word in enumerate(_TENS)
}
ORDINAL_WORDS = (
    {f"{word}th": float(i) for i, word in enumerate(_ONES) if i > 3}
    | {f"{word[:-1]}ieth": 10.0 * (i + 2) for i, word in enumerate(_TENS)}
    | {"first": 1.0, "second": 2.0, "third": 3.0, "fifth": 5.0}
    | {"eighth": 8.0, "ninth": 9.0, "twelfth": 12.0}
)
MONTHS = {name: i for i, name in enumerate(MONTH_NAMES, 1)}
MONTHS |= {name[:3]: i for name, i in MONTHS.items()} | {"sept": 9}

_STEP = re.compile(r"(?:[\s-]+(?:and\s+)?)?([A-Za-z]+)")


_UNIT = re.compile(
    r"[\s-]?(?P<sym>%|°\s?[CF]?|km/h|k?m²)"
    r"|[\s-]?degrees?\s(?P<degree>Celsius|Fahrenheit|C|F)\b"
    r"|\s?(?P<percent>per\s?cent|percentage points?)\b"
    r"|[\s\-\u00a0]?(?:(?:U\.?S\.?|American)\s)?(?P<word>[A-Za-z]+2?)\b(?:[\s-]old\b)?"
)


def number_in_words(text: str, at: int) -> tuple[int, float, bool] | None:
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


def unit_at(text: str, at: int) -> tuple[str, float, int] | None:
    """Return (base, factor, end) of the unit that is written at `at`, if one is."""
    match = _UNIT.match(text, at)
    if not match:
        return None
    if match["percent"]:
        return "percent", 1.0, match.end()
    if match["degree"]:
        name = "°" + match["degree"][0].upper()
    else:
        name = (match["sym"] or match["word"]).replace(" ", "")
    unit = _units().get(name) or _units().get(name.lower() + "\0")
    return (*unit, match.end()) if unit else None


@cache
def _units() -> dict[str, tuple[str, float]]:
    """Spelling → (base, factor); a spelling whose case does not matter carries a NUL at its end."""
    table: dict[str, tuple[str, float]] = {}
    source = files("trueground.judges.lexical") / "data" / "units.txt"
    for line in source.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        head, _, names = line.partition("=")
        base, factor = head.split()
        for name in names.split():
            exact = name.endswith("!")
            table[name[:-1] if exact else name.lower() + "\0"] = (base, float(factor))
    return table
