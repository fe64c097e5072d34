"""Whether a value of a text says what a value of a claim says."""

from __future__ import annotations

import math

from trueground.text.values import Value

_CONVERTED = 0.02  # from one system of units to another, values are rounded: 5 miles are 8 km
_ABOUT = 0.05  # "about 40,000" for 41,200
_EXACT = 1e-9


def agrees(claimed: Value, found: Value, about: bool = False) -> bool:
    """Whether `found` supports `claimed`; a date may say more than the claim, never less.

    With `about` the claim says that its number is rounded.
    """
    if claimed.kind == "date":
        return _date_agrees(claimed, found)
    if claimed.kind != found.kind and not (claimed.kind == "number" and found.kind == "date"):
        return False
    if claimed.amount is None or found.amount is None:
        return False
    if claimed.unit == found.unit:
        return _near(claimed.amount, found.amount, _ABOUT if about else _tolerance(claimed, found))
    if claimed.unit == "month" and found.unit is None:  # "aged 35" is 35 years
        return _near(claimed.amount, found.amount * 12, _EXACT)
    if claimed.unit is None and found.unit != "percent":
        return _near(claimed.amount, found.amount / found.scale, _ABOUT if about else _EXACT)
    return False


def same_kind(one: Value, other: Value) -> bool:
    """Whether two values could stand in each other's place."""
    return one.kind == other.kind and one.unit == other.unit


def _tolerance(one: Value, other: Value) -> float:
    """Exact in one unit and between those that differ by a power of ten, such as km and m."""
    if (
        one.scale == other.scale
        or one.unit in ("month", "second")
        or min(one.scale, other.scale) <= 0
    ):
        return _EXACT
    power = math.log10(one.scale / other.scale)
    return _EXACT if abs(power - round(power)) < _EXACT else _CONVERTED


def _near(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def _date_agrees(claimed: Value, found: Value) -> bool:
    if found.kind == "number":
        return found.unit is None and found.amount is not None and found.amount == claimed.amount
    if found.kind != "date":
        return False
    if claimed.years > 1:
        first = claimed.year or 0
        within = found.year is not None and first <= found.year < first + claimed.years
        return within and found.years <= claimed.years
    if found.years > 1 and claimed.year is not None:
        return False
    mine = (claimed.year, claimed.month, claimed.day)
    readings = [(found.year, found.month, found.day)]
    if claimed.either != found.either:  # two that may be read in two ways are written alike
        readings.append((found.year, found.day, found.month))
    return any(
        all(one is None or one == other for one, other in zip(mine, theirs, strict=True))
        for theirs in readings
    )
