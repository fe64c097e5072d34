"""Names of entities: one key for the spellings of a name."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

DASHES = "\u002d\u2010\u2011\u2012\u2013\u2014\u2212"
APOSTROPHES = "'\u2018\u2019\u02bc\uff07"
# A hyphen equals a space: "Chiang Kai shek" is "Chiang Kai-shek".
_TABLE = str.maketrans({**dict.fromkeys(DASHES, " "), **dict.fromkeys(APOSTROPHES, "'")})


class Folded(NamedTuple):
    """`text` is compared; `places[i]` is where its i-th character stands in what was folded.

    None where that is i.
    """

    text: str
    places: list[int] | None = None

    def place(self, start: int, end: int) -> tuple[int, int] | None:
        """Where text[start:end], which is not empty, stands in what was folded.

        None where it begins or ends within a letter that was folded to two ("ß").
        """
        if self.places is None:
            return start, end
        first, last = self.places[start], self.places[end - 1]
        if start and self.places[start - 1] == first:
            return None
        if end < len(self.places) and self.places[end] == last:
            return None
        return first, last + 1


def nfc(text: str) -> str:
    """NFC."""
    return unicodedata.normalize("NFC", text)


def name_key(name: str) -> str:
    """Equal for equal names; "" for one of white space and dashes only."""
    if name.isascii():
        return " ".join(name.casefold().replace("-", " ").split())
    return " ".join(nfc(name).casefold().translate(_TABLE).split())


def fold(text: str) -> Folded:
    """`text`, which is in NFC, as `name_key` folds it, with its places; its ends stay as they are.

    The text of a name is `name_key` but for a space at its ends.
    """
    low = text.casefold()
    low = low.replace("-", " ") if text.isascii() else low.translate(_TABLE)
    longer = len(low) != len(text)
    if not longer and "  " not in low and low.isprintable():  # no white space but single spaces
        return Folded(low)
    places = [i for i, c in enumerate(text) for _ in c.casefold()] if longer else range(len(low))
    kept = [i for i, c in enumerate(low) if not (c.isspace() and i and low[i - 1].isspace())]
    return Folded(
        "".join(" " if low[i].isspace() else low[i] for i in kept), [places[i] for i in kept]
    )
