"""Whether a value of a text says what a value of a claim says."""

from __future__ import annotations

from trueground.text.values import Value

_CONVERTED = 0.02  # units that were converted may be rounded: 5 miles are 8 km
_EXACT = 1e-9


def agrees(claimed: Value, found: Value) -> bool:
    """Whether `found` supports `claimed`; a date may say more than the claim, never less."""
    if claimed.kind == "date":
        return _date_agrees(claimed, found)
    if claimed.kind != found.kind and not (claimed.kind == "number" and found.kind == "date"):
        return False
    if claimed.amount is None or found.amount is None:
        return False
    if claimed.unit == found.unit:
        return _near(claimed.amount, found.amount, _CONVERTED if _mixed(claimed) else _EXACT)
    if claimed.unit == "month" and found.unit is None:  # "aged 35" is 35 years
        return _near(claimed.amount, found.amount * 12, _EXACT)
    if claimed.unit is None and found.unit not in (None, "percent"):
        bare = found.amount / 12 if found.unit == "month" else found.amount
        return _near(claimed.amount, bare, _EXACT)
    return False


def same_kind(one: Value, other: Value) -> bool:
    """Whether two values could stand in each other's place."""
    return one.kind == other.kind and one.unit == other.unit


def _mixed(value: Value) -> bool:
    return value.unit in ("metre", "gram", "litre", "squaremetre", "speed", "celsius", "month")


def _near(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def _date_agrees(claimed: Value, found: Value) -> bool:
    if found.kind == "number":
        return found.unit is None and found.amount is not None and found.amount == claimed.amount
    if found.kind != "date":
        return False
    if claimed.years > 1:
        first = claimed.year or 0
        return (
            found.year is not None
            and first <= found.year < first + claimed.years
            and (found.years <= claimed.years)
        )
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
