"""How much a word says: rare words say more."""

from __future__ import annotations

from functools import cache

from trueground.judges.lexical.words import lines_of

UNSEEN = 1.0


class Rarity(dict[str, float]):
    """Key of a word → its rarity from 0 (in every sentence) to 1 (in none that was counted)."""

    def __missing__(self, key: str) -> float:
        return UNSEEN


@cache
def rarity() -> Rarity:
    """The table of data/rarity.txt: a value and the keys that have it, one value a line."""
    found = Rarity()
    for line in lines_of("rarity.txt"):
        value, _, keys = line.partition(":")
        found.update(dict.fromkeys(keys.split(), float(value)))
    return found
