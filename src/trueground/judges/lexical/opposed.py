"""Words that cannot both hold in one place of a sentence that is else the same."""

from __future__ import annotations

from functools import cache

from trueground.judges.lexical.words import exclusive_sets, lines_of

_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "anti", "mis")


def opposed(one: str, other: str) -> bool:
    """Whether two words in lower case cannot both hold: a listed pair, or one with un-, in-, …"""
    if one == other:
        return False
    table = _contrasts()
    if any(line == twin and side != end
           for line, side in table.get(one, ()) for twin, end in table.get(other, ())):  # fmt: skip
        return True
    if other in exclusive_sets().get(one, ()):
        return True
    long, short = (one, other) if len(one) > len(other) else (other, one)
    return len(short) > 3 and any(long == prefix + short for prefix in _PREFIXES)


@cache
def _contrasts() -> dict[str, list[tuple[int, int]]]:
    """Word → the lines of data/contrasts.txt that it stands in, and on which side."""
    table: dict[str, list[tuple[int, int]]] = {}
    for number, line in enumerate(lines_of("contrasts.txt") + lines_of("opposites.txt")):
        for side, words in enumerate(line.split("|")):
            for word in words.split():
                table.setdefault(word, []).append((number, side))
    return table
