"""All texts of a request read as one: which words stand where, and which stand together."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from trueground.judges.lexical.reading import TextView


class WordPool:
    """The words of several texts in their order, by key; articles are left out.

    Sentences are counted through all texts, so that a claim may be spread over several of them.
    """

    def __init__(self, texts: Sequence[TextView]) -> None:
        self.texts = texts
        self.sentences: list[list[str]] = []
        self.words: Counter[str] = Counter()
        self._starts: list[int] = []
        self._masks: dict[str, int] = {}
        for text in texts:
            self.sentences += text.sequences
            self.words.update(text.spellings)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Key → where it stands, counted in words through all texts, ascending."""
        found: dict[str, list[int]] = {}
        at = 0
        for sentence in self.sentences:
            self._starts.append(at)
            for key in sentence:
                if key in found:
                    found[key].append(at)
                else:
                    found[key] = [at]
                at += 1
        return found

    def mask(self, key: str) -> int:
        """Bit mask of the sentences that have the key."""
        mask = self._masks.get(key)
        if mask is None:
            mask = 0
            places = self.places.get(key, ())
            for place in places:
                mask |= 1 << bisect_right(self._starts, place) - 1
            self._masks[key] = mask
        return mask
