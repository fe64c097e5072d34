"""Numbers, counts and names as messages and reports show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


def p_value(p: float | None) -> str:
    """Return four digits, or a dash if there was no test."""
    if p is None:
        return NO_VALUE
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def few(labels: Sequence[str], most: int = 3) -> str:
    """Return the labels, or the first ones and how many more."""
    if len(labels) <= most:
        return ", ".join(labels)
    return f"{', '.join(labels[: most - 1])} and {len(labels) - most + 1} more"


def join_alike(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Group pairs of (message, name): each message once, with a few of its names."""
    names_of: dict[str, list[str]] = {}
    for message, name in pairs:
        names_of.setdefault(message, []).append(name)
    return [(message, few(names)) for message, names in names_of.items()]


def one_line(text: str) -> str:
    """Return the text with a mark for each character that a terminal can't show."""
    return "".join(c if c.isprintable() else "�" for c in text)


def shown_name(name: str, most: int = 60) -> str:
    """Return a name on one line; of a long name both ends, where versions are."""
    name = one_line(name)
    return name if len(name) <= most else f"{name[: most - 21]}…{name[-20:]}"


def docs_page(name: str) -> str:
    """Return what messages and reports call a page of the documentation."""
    return f"docs/{name}.md"
