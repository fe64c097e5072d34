"""Popularity: a number of each document, and the lists of the most and the least popular ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import isfinite, nan
from typing import Any

from trueground.builders.grounding.items import Popularity
from trueground.builders.grounding.settings import LINKS, NUMBERS
from trueground.errors import InputError
from trueground.records.problems import describe

_SHOWN = 12


class NoNumber(ValueError):  # noqa: N818 - becomes a reason, never reaches the user
    """A field holds something else than a finite number."""


def number(value: Any) -> float | None:
    """A field's number, also of text such as "12,345"; None where it is absent. NoNumber."""
    if value is None or value == "":
        return None
    plain = value.replace(",", "") if isinstance(value, str) else value
    proper = isinstance(plain, int | float | str) and not isinstance(plain, bool)
    try:
        found = float(plain) if proper else nan
    except (ValueError, OverflowError):
        found = nan
    if not isfinite(found):
        raise NoNumber(f"found {describe(value)}; expected a number")
    return found


def names_of(asked: str | None) -> tuple[str, ...]:
    """The fields that may hold the number: the one asked for, or else all usual ones."""
    if asked == LINKS:
        return ()
    return (asked,) if asked else NUMBERS


def field_of(rows: Iterable[Mapping[str, Any]], asked: str | None) -> str:
    """The field that holds the number; `links` where that is asked for. InputError: there is none.

    Without `asked` the first of NUMBERS that a row has.
    """
    if asked == LINKS:
        return LINKS
    known = list(dict.fromkeys(name for row in rows for name in row))
    for name in names_of(asked):
        if name in known:
            return name
    wanted = f"a field {asked!r}" if asked else f"a field {' or '.join(NUMBERS)}"
    shown = ", ".join(map(repr, known[:_SHOWN])) or "no fields"
    raise InputError(
        f"no document has {wanted} with a number of its popularity (found: {shown}); name the "
        "field with --popularity-field, give numbers in a file with --meta, or count the documents "
        "that link to each with --popularity-field links"
    )


def check_numbers(numbers: Mapping[str, float]) -> None:
    """See that popular and unpopular can be told apart. `numbers` by id. InputError."""
    if len(numbers) < 2:
        raise InputError(
            f"{len(numbers)} of the documents have a number of popularity; two or more are needed "
            "to tell popular from unpopular ones"
        )
    if len(set(numbers.values())) == 1:
        raise InputError(
            f"all {len(numbers)} documents have the popularity {next(iter(numbers.values())):g}; "
            "popular and unpopular ones cannot be told apart: name another field with "
            "--popularity-field"
        )


def lists(numbers: Mapping[str, float], share: Decimal) -> dict[str, Popularity]:
    """The top and bottom `share` of the documents as high and low, by id; others are left out.

    Each list has that share of all, rounded down, and one document at least. Where a list's border
    goes through documents with the same number, the order of their ids decides (Truly-Ground,
    A.1: 0.3 of the page views).
    """
    if len(numbers) < 2:
        return {}
    ordered = sorted(numbers, key=lambda one: (numbers[one], one))
    size = max(1, int(share * len(ordered)))
    found: dict[str, Popularity] = dict.fromkeys(ordered[:size], "low")
    return found | dict.fromkeys(ordered[-size:], "high")
