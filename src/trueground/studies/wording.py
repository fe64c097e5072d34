"""Wording that several studies share."""

from __future__ import annotations

from collections.abc import Iterable

from trueground.text import NO_VALUE, few


def p_value(p: float | None) -> str:
    """Return four digits, or a dash if there was no test."""
    if p is None:
        return NO_VALUE
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def join_alike(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Group pairs of (message, name): each message once, with a few of its names."""
    names_of: dict[str, list[str]] = {}
    for message, name in pairs:
        names_of.setdefault(message, []).append(name)
    return [(message, few(names)) for message, names in names_of.items()]
