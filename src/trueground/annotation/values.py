"""What was filled in → the value of a field: as JSON has it, as people type it in spreadsheets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from trueground.annotation.base import Field
from trueground.annotation.given import Given
from trueground.records.problems import describe

NONE = "none"  # typed where none of the options apply
_YES_NO = {
    **dict.fromkeys(("yes", "y", "true", "1"), "yes"),
    **dict.fromkeys(("no", "n", "false", "0"), "no"),
}
_BETWEEN = re.compile(r"[\s,;|/]+")
_LINES = re.compile(r"[\r\n;]+")
_LONGEST = 86_400.0  # seconds; who needs more has left the file open


class BadAnswer(ValueError):  # noqa: N818 - one of many that are told together
    """What was filled in cannot be meant: what was found, and what was expected."""

    def __init__(self, found: Any, expected: str) -> None:
        super().__init__(f"found {describe(found)}; expected {expected}")


def read_value(field: Field, given: Given, raw: Any) -> Any:
    """The value of a field; None where nothing was filled in. BadAnswer.

    A choice is one of the options, choices are a tuple of them, each once, in their order, a scale
    is a whole number, texts are a tuple of texts.
    """
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return None
    if field.form == "choice":
        return _choice(raw, given.options(field))
    if field.form == "choices":
        return _choices(raw, given.options(field))
    if field.form == "scale":
        return _scale(raw, field)
    if field.form == "text":
        if not isinstance(raw, str):
            raise BadAnswer(raw, "a text")
        return raw.strip()
    return _texts(raw)


def expected(field: Field, given: Given) -> str:
    """What may be filled in, in words."""
    options = given.options(field)
    if field.form == "choice":
        return " or ".join(options)
    if field.form == "choices":
        return _expected_choices(options)
    if field.form == "scale":
        return f"a whole number from {field.low} to {field.high}"
    return "a text" if field.form == "text" else "texts, one a line"


def read_seconds(raw: Any) -> float | None:
    """The seconds that a task took; None where nobody counted them. BadAnswer."""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return None
    try:
        if isinstance(raw, bool):
            raise ValueError
        seconds = float(raw.strip().replace(",", ".") if isinstance(raw, str) else raw)
    except (TypeError, ValueError, OverflowError):
        raise BadAnswer(raw, "a number of seconds, such as 42") from None
    if not 0 <= seconds <= _LONGEST:  # NaN, too
        raise BadAnswer(raw, f"seconds between 0 and {_LONGEST:,.0f} (a day)")
    return seconds


def _choice(raw: Any, options: Sequence[str]) -> str:
    word = _word(raw)
    if tuple(options) == ("yes", "no"):
        word = _YES_NO.get(word or "", word)
    if word is None or word not in options:
        raise BadAnswer(raw, " or ".join(options))
    return word


def _choices(raw: Any, options: Sequence[str]) -> tuple[str, ...]:
    if isinstance(raw, str):
        words = [_word(part) for part in _BETWEEN.split(raw.strip(" \t\r\n,;|/[]"))]
        if words in ([NONE], [""]):
            words = []
    elif isinstance(raw, list | tuple):
        words = [_word(part) for part in raw]
    else:
        words = [_word(raw)]
    if not all(word in options for word in words):
        raise BadAnswer(raw, _expected_choices(options))
    if len(set(words)) < len(words):  # one of them is a slip for another
        raise BadAnswer(raw, f"each only once: {_expected_choices(options)}")
    return tuple(option for option in options if option in words)


def _expected_choices(options: Sequence[str]) -> str:
    if not options:
        return f"{NONE}, as there is nothing to choose from"
    if all(option.isdecimal() for option in options):
        return f"numbers from {options[0]} to {options[-1]} with spaces between them, or {NONE}"
    return f"some of {', '.join(options)}, or {NONE}"


def _scale(raw: Any, field: Field) -> int:
    word = _word(raw)
    if word is None or not re.fullmatch(r"[0-9]{1,9}", word):
        raise BadAnswer(raw, f"a whole number from {field.low} to {field.high}")
    if not field.low <= int(word) <= field.high:
        raise BadAnswer(raw, f"a whole number from {field.low} to {field.high}")
    return int(word)


def _texts(raw: Any) -> tuple[str, ...]:
    parts = _LINES.split(raw) if isinstance(raw, str) else raw
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise BadAnswer(raw, "texts, one a line")
    return unlike(part.strip() for part in parts)


def unlike(texts: Any) -> tuple[str, ...]:
    """The texts, of those that differ in case or white space only the first; no empty one."""
    found: dict[str, str] = {}
    for text in texts:
        if key := " ".join(text.casefold().split()):
            found.setdefault(key, text)
    return tuple(found.values())


def _word(raw: Any) -> str | None:
    """The value as a word in small letters; whole numbers without the .0 of spreadsheets."""
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, int | float):
        return str(int(raw)) if abs(raw) < 1e9 and raw == int(raw) else None
    if not isinstance(raw, str):
        return None
    word = " ".join(raw.casefold().split()).strip("'\"")
    return word[:-2] if re.fullmatch(r"[0-9]+[.,]0", word) else word
