"""Cells that a spreadsheet would run as a formula or change: how they are guarded."""

from __future__ import annotations

import re

_BEGINS = r"=+\-@＝＋－＠'"
_FORMULA = re.compile(rf"[\s\"]*[{_BEGINS}]|[\t\r\n]")
# Behind such a sign another cell or row begins, for some programs.
_CELL = r"[;|\t\r\n\x0b\x0c\x1c-\x1f\x85\u2028\u2029]"
_INNER = re.compile(rf"({_CELL}[\s\"]*)(?=[{_BEGINS}])")
_GUARDED = re.compile(rf"({_CELL}[\s\"]*)'(?=[{_BEGINS}])")
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_TAKEN_FOR_NUMBER = re.compile(
    rf"(?:[\d\s.,:/eE%$€£()+-]|am|pm|(?:{_MONTHS})[a-z]*+)+|true|false", re.IGNORECASE
)
_SAFE_NUMBER = re.compile(r"(?:0|[1-9]\d{0,14})")


def guard(text: str, *, numbers: bool = True) -> str:
    """Return the text so that no spreadsheet runs it as a formula.

    With `numbers` it isn't taken for a number or a date either. The viewer has the form without.
    """
    guarded = _needs_guard(text) if numbers else _FORMULA.match(text)
    return ("'" if guarded else "") + _INNER.sub(r"\1'", text)


def unguard(text: str) -> str:
    """The text without the apostrophes of `guard`."""
    if text.startswith("'") and _needs_guard(_GUARDED.sub(r"\1", text[1:])):
        text = text[1:]
    return _GUARDED.sub(r"\1", text)


def _needs_guard(text: str) -> bool:
    if _FORMULA.match(text):
        return True
    if len(text) > 60 or _SAFE_NUMBER.fullmatch(text):
        return False
    word = text.strip()
    return bool(_TAKEN_FOR_NUMBER.fullmatch(word)) and (
        any(c.isdigit() for c in word) or word.lower() in ("true", "false")
    )
