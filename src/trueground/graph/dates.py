"""Dates in RDF and as people tell them: years as historians count them, decades, centuries.

In RDF years count as XML Schema 1.1 counts them, where the year 0 is 1 BCE.
"""

from __future__ import annotations

import re

# How far a time is known, as Wikidata writes it; below a millennium nothing is told.
MILLENNIUM, CENTURY, DECADE, YEAR, MONTH, DAY = range(6, 12)
_YEAR = re.compile(r"([+-]?)(\d{1,1000})((?!\d).*)", re.DOTALL)


def historical(text: str) -> str:
    """A date of RDF with its year as historians count: `-0043-03-15` → `-0044-03-15`.

    What begins with no year stays as it is.
    """
    match = _YEAR.fullmatch(text)
    if match is None:
        return text
    sign, digits, rest = match.groups()
    year = -int(digits) if sign == "-" else int(digits)
    return f"-{1 - year:04d}{rest}" if year <= 0 else f"{digits}{rest}"


def in_rdf(text: str) -> str | None:
    """The other way round: `-0044-03-15` → `-0043-03-15`. None for the year 0: there was none."""
    match = _YEAR.fullmatch(text)
    if match is None:
        return text
    sign, digits, rest = match.groups()
    year = int(digits)
    if not year:
        return None
    if sign != "-":
        return f"{digits}{rest}"
    return f"-{year - 1:04d}{rest}" if year > 1 else f"0000{rest}"


def span(year: int, precision: int, *, before: bool = False) -> str:
    """The decade, century or millennium of a year: "1870s", "19th century", "1st century BCE"."""
    if precision == DECADE:
        told = f"{year // 10 * 10}s"
    else:
        years, name = (100, "century") if precision == CENTURY else (1000, "millennium")
        told = f"{_ordinal(-(-year // years))} {name}"
    return f"{told} BCE" if before else told


def _ordinal(number: int) -> str:
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
