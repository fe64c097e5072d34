"""Numbers, counts and names as messages and reports show them."""

from __future__ import annotations

from collections.abc import Sequence

NO_VALUE = "–"


def number(value: float | None) -> str:
    """Return four decimals, or a dash if there is no value."""
    return NO_VALUE if value is None else f"{value:.4f}"


def several(n: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: "1 item", "1,000 items"."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def percent(part: float | None, whole: float = 1, *, digits: int | None = None) -> str:
    """Return a share in percent, or a dash if there is none or the whole is 0.

    Args:
        part: The part, or a share from 0 to 1.
        whole: What the part is of.
        digits: Digits after the point. Without it, whole percents, and a share above 0 is never
            shown as 0.
    """
    if part is None or not whole:
        return NO_VALUE
    if digits is None and 0 < part / whole < 0.005:
        return "<1 %"
    return f"{100 * part / whole:.{digits or 0}f} %"


def few(labels: Sequence[str], most: int = 3) -> str:
    """Return the labels, or the first ones and how many more."""
    if len(labels) <= most:
        return ", ".join(labels)
    return f"{', '.join(labels[: most - 1])} and {len(labels) - most + 1} more"


def one_line(text: str, limit: int | None = None) -> str:
    """Return the text with a mark for each character that a terminal can't show.

    Args:
        text: A text without line breaks, such as a name.
        limit: Characters of the result. Of a longer text both ends are shown, since names of
            models end with their versions.
    """
    shown = "".join(c if c.isprintable() else "�" for c in text)
    if limit is None or len(shown) <= limit:
        return shown
    return f"{shown[: limit - 21]}…{shown[-20:]}"
