"""Dates as knowledge graphs write them (ISO 8601): "1871-11" and, before our era, "-0044"."""

from __future__ import annotations

import re

_YEAR_MONTH = re.compile(r"(?P<y>[012]\d{3})-(?P<m>0[1-9]|1[0-2])(?![-/\d]|\.\d)")
_DATED = re.compile(r"(?:date|time|birth|death|born|died|inception)[^:.;\n]{0,30}:\s*$", re.I)
_REACH = 50  # characters before a value that may name its property


def year_month(text: str, at: int) -> re.Match[str] | None:
    """A year `y` and a month `m` at `at`, if they are no range of years.

    "1871-11" is none, since 11 is not behind 71. "1900-06" may be seven years; behind the name of a
    property such as "date of death:" it is a month.
    """
    match = _YEAR_MONTH.match(text, at)
    if match is None or is_before_era(text, at):
        return match
    if at and text[at - 1] in "-/.":
        return None
    certain = match["m"] <= match["y"][2:]
    return match if certain or _DATED.search(text, max(0, at - _REACH), at) else None


def is_before_era(text: str, at: int) -> bool:
    """Whether the digits at `at` are a year before our era: "-0044"."""
    if text[at] != "0" or not at or text[at - 1] not in "-−":
        return False
    return at == 1 or text[at - 2] in " (:["
