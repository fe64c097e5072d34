"""An index of numbers and dates: which of many values support a claimed one.

The answer is the same as from `agrees` with each of them. The index only leaves out values that
cannot agree, so that a long table is not compared with every number of a long claim.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product
from typing import NamedTuple

from trueground.judges.lexical.values import ABOUT, EXACT, Value, agrees, tolerance

_SLACK = 1e-8  # wider than any rounding of a bound; `agrees` has the last word
_MAX_SCANNED = 8  # values: fewer are compared faster than indexed

# Which parts of a date (year, month, day) a claim may name.
_NAMED_PARTS = [kept for kept in product((True, False), repeat=3) if any(kept)]

DateKey = tuple[int | None, int | None, int | None]


class Entry(NamedTuple):
    """A value, the number that it is sorted by, and its position in the caller's count."""

    rank: float
    position: int
    value: Value


class ValueIndex:
    """Values at positions, such as sentences of a text or tokens of a sentence."""

    def __init__(self, values: Iterable[tuple[int, Value]]) -> None:
        different = {(position, identify(v)): Entry(0.0, position, v) for position, v in values}
        self._entries = list(different.values())
        self._positions: dict[tuple[object, ...], list[int]] = {}

    def positions(self, value: Value, about: bool = False) -> list[int]:
        """Return the positions with a value that supports `value`, ascending, each once.

        Args:
            value: What is claimed.
            about: Whether the claim says that its number is rounded.
        """
        key = (*identify(value), about)
        known = self._positions.get(key)
        if known is None:
            agreeing = {
                entry.position
                for entry in self._candidates(value, about)
                if agrees(value, entry.value, about)
            }
            known = self._positions[key] = sorted(agreeing)
        return known

    def count_candidates(self, value: Value, about: bool = False) -> int:
        """Return how many values are compared with `value` one by one."""
        return sum(high - low for _, low, high in self._ranges(value, about))

    def _candidates(self, value: Value, about: bool) -> Iterator[Entry]:
        for entries, low, high in self._ranges(value, about):
            yield from entries[low:high]

    def _ranges(self, value: Value, about: bool) -> Iterator[tuple[list[Entry], int, int]]:
        """Slices of sorted entries that together hold every value that agrees."""
        if len(self._entries) <= _MAX_SCANNED:
            yield self._entries, 0, len(self._entries)
        elif value.kind != "date":
            yield from self._amount_ranges(value, about)
        else:
            if value.amount is not None:
                for (kind, unit, _), entries in self._amounts.items():
                    if kind == "number" and unit is None:
                        yield _near(entries, value.amount, EXACT)
            if value.years > 1:
                first = value.year or 0
                yield _between(self._years, first, first + value.years)
            else:
                entries = self._dates.get((value.year, value.month, value.day), [])
                yield entries, 0, len(entries)

    def _amount_ranges(self, value: Value, about: bool) -> Iterator[tuple[list[Entry], int, int]]:
        """Amounts in the claimed unit, and bare numbers, years and units that count as it."""
        amount = value.amount
        if amount is None:
            return
        for (kind, unit, scale), entries in self._amounts.items():
            if kind != value.kind and (kind, value.kind) != ("date", "number"):
                continue
            if unit == value.unit:
                limit = ABOUT if about else tolerance(value, entries[0].value)
                yield _near(entries, amount, limit)
            elif value.unit == "month" and unit is None:
                yield _near(entries, amount / 12, EXACT)
            elif value.unit is None and unit != "percent":
                yield _near(entries, amount * scale, ABOUT if about else EXACT)

    @cached_property
    def _amounts(self) -> dict[tuple[str, str | None, float], list[Entry]]:
        """Entries by kind, unit and scale, sorted by amount."""
        groups: dict[tuple[str, str | None, float], list[Entry]] = defaultdict(list)
        for _, position, value in self._entries:
            if value.amount is not None:
                entry = Entry(value.amount, position, value)
                groups[value.kind, value.unit, value.scale].append(entry)
        for entries in groups.values():
            entries.sort(key=_rank)
        return groups

    @cached_property
    def _years(self) -> list[Entry]:
        """Dates with a year, sorted by it."""
        dates = [e for e in self._entries if e.value.kind == "date" and e.value.year is not None]
        return sorted((Entry(e.value.year or 0, e.position, e.value) for e in dates), key=_rank)

    @cached_property
    def _dates(self) -> dict[DateKey, list[Entry]]:
        """Dates by every choice of their parts, with day and month in both orders."""
        dates: dict[DateKey, list[Entry]] = defaultdict(list)
        for entry in self._entries:
            if entry.value.kind == "date" and entry.value.years == 1:
                for key in _date_keys(entry.value):
                    dates[key].append(entry)
        return dates


def identify(value: Value) -> tuple[object, ...]:
    """Return what two values share that agree with the same others: all but where they stand."""
    return (
        value.kind,
        value.amount,
        value.unit,
        value.year,
        value.month,
        value.day,
        value.years,
        value.either,
        value.scale,
    )


def _date_keys(date: Value) -> set[DateKey]:
    keys = set()
    for month, day in ((date.month, date.day), (date.day, date.month)):
        for year_kept, month_kept, day_kept in _NAMED_PARTS:
            keys.add(
                (
                    date.year if year_kept else None,
                    month if month_kept else None,
                    day if day_kept else None,
                )
            )
    return keys


def _rank(entry: Entry) -> float:
    return entry.rank


def _near(entries: list[Entry], amount: float, limit: float) -> tuple[list[Entry], int, int]:
    """The slice of amounts that differ by at most the share `limit` of the larger of the two."""
    share = 1 - limit - _SLACK
    low, high = sorted((amount * share, amount / share))
    return _between(entries, low, high)


def _between(entries: list[Entry], low: float, high: float) -> tuple[list[Entry], int, int]:
    first = bisect_left(entries, low, key=_rank)
    return entries, first, bisect_right(entries, high, lo=first, key=_rank)
