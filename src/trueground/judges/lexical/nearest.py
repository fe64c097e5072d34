"""The number or date of a text that is nearest to one that the text doesn't have."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from trueground.judges.lexical.values import Value, same_kind

_MAX_RATIO = 3.0  # of two numbers of one size
_SLACK = 1e-9  # wider than any rounding of a bound; `_are_alike` has the last word


class _Entry(NamedTuple):
    """A value as it is written, and the number that it is sorted by."""

    rank: float
    written: str
    value: Value


class NearestValues:
    """The values of a text, sorted so that the nearest one is looked up instead of searched."""

    def __init__(self, values: Iterable[Value], text: str) -> None:
        groups: dict[tuple[str, str | None, float], dict[tuple[float, str], _Entry]]
        groups = defaultdict(dict)
        for value in values:
            entry = _Entry(_rank(value), text[value.start : value.end], value)
            groups[value.kind, value.unit, value.scale][entry.rank, entry.written] = entry
        self._groups = [sorted(group.values(), key=_rank_of) for group in groups.values()]

    def find(self, value: Value) -> str | None:
        """Return how the nearest value of the same kind and size is written, if there is one."""
        nearest: list[tuple[float, str]] = []
        for entries in self._groups:
            if same_kind(value, entries[0].value):
                for low, high in _alike_ranges(value, entries):
                    nearest += _closest(value, entries, low, high)
        return min(nearest)[1] if nearest else None


def _closest(
    value: Value, entries: list[_Entry], low: int, high: int
) -> Iterator[tuple[float, str]]:
    """(distance, how it is written) of the nearest on each side, among entries `low` to `high`."""
    start = min(max(bisect_left(entries, _rank(value), key=_rank_of), low), high)
    for side in (range(start, high), range(start - 1, low - 1, -1)):
        least: float | None = None
        for number in side:
            entry = entries[number]
            distance = abs(_rank(value) - entry.rank)
            if least is not None and distance > least:
                break
            if _are_alike(value, entry.value):
                least = distance
                yield distance, entry.written


def _alike_ranges(value: Value, entries: list[_Entry]) -> Iterator[tuple[int, int]]:
    """Slices that hold all entries of the value's size, as they measure or as they are written."""
    if value.kind == "date":
        yield 0, len(entries)
        return
    amount = abs(value.amount or 0)
    scale = abs(entries[0].value.scale) / abs(value.scale)
    for size in {amount, amount * scale}:
        low, high = size / _MAX_RATIO * (1 - _SLACK), size * _MAX_RATIO * (1 + _SLACK)
        for first, last in ((low, high), (-high, -low)):
            begin = bisect_left(entries, first, key=_rank_of)
            yield begin, bisect_right(entries, last, lo=begin, key=_rank_of)


def _are_alike(one: Value, other: Value) -> bool:
    """Of one size, as they measure or as they are written: 45 kW and 45 W."""
    mine, theirs = abs(one.amount or 0), abs(other.amount or 0)
    pairs = [(mine, theirs), (mine / abs(one.scale), theirs / abs(other.scale))]
    return one.kind == "date" or any(max(pair) <= _MAX_RATIO * min(pair) for pair in pairs)


def _rank(value: Value) -> float:
    """What the distance of two values of a kind is measured by: months, or the amount."""
    if value.kind == "date":
        return 12 * (value.year or 0) + (value.month or 0)
    return value.amount or 0


def _rank_of(entry: _Entry) -> float:
    return entry.rank
