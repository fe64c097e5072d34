"""Units of measure and currencies: what a spelling means, in a base that can be compared."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_UNIT = re.compile(
    r"[\s-]?(?P<sym>%|°\s?[CF]?|km/h|k?m²)"
    r"|[\s-]?degrees?\s(?P<degree>Celsius|Fahrenheit|C|F)\b"
    r"|\s?(?P<percent>per\s?cent|percentage points?)\b"
    r"|[\s\-\u00a0]?(?:(?:U\.?S\.?|American)\s)?(?P<word>[A-Za-z]+2?)\b(?:[\s-]old\b)?"
)


def unit_at(text: str, at: int) -> tuple[str, float, int] | None:
    """Return (base, factor, end) of the unit that is written at `at`, if one is."""
    match = _UNIT.match(text, at)
    if not match:
        return None
    if match["percent"]:
        return "percent", 1.0, match.end()
    if match["degree"]:
        name = "°" + match["degree"][0].upper()
    else:
        name = (match["sym"] or match["word"]).replace(" ", "")
    known = _units().get(name) or _units().get(name.lower() + "\0")
    return (*known, match.end()) if known else None


@cache
def _units() -> dict[str, tuple[str, float]]:
    """Spelling → (base, factor); a spelling whose case does not matter carries a NUL at its end."""
    table: dict[str, tuple[str, float]] = {}
    source = files("trueground.text") / "data" / "units.txt"
    for line in source.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        head, _, names = line.partition("=")
        base, factor = head.split()
        for name in names.split():
            exact = name.endswith("!")
            table[name[:-1] if exact else name.lower() + "\0"] = (base, float(factor))
    return table
