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


def percent(share: float | None) -> str:
    """Return whole percents; a share above 0 is never shown as 0."""
    if share is None:
        return NO_VALUE
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def percent_of(part: float, whole: float, *, digits: int = 0) -> str:
    """Return a share in percent, or a dash if the whole is 0."""
    return f"{100 * part / whole:.{digits}f} %" if whole else NO_VALUE


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


def docs_page(name: str) -> str:
    """Return what messages and reports call a page of the documentation."""
    return f"docs/{name}.md"
