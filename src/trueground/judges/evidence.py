"""The sentences of a text that are most like a claim."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from trueground.stats import log
from trueground.text import split_sentences

EVIDENCE_RULE = "evidence-1"
WORDS = 70
_TOKEN = re.compile(r"\w+")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|ly)$")


class EvidenceFinder:
    """Sentences of texts, and how rare each word is among them; the order of texts is no matter."""

    def __init__(self, texts: Sequence[str]) -> None:
        ordered = sorted(set(texts))
        self._sentences = [text[a:b] for text in ordered for a, b in split_sentences(text)]
        self._places: dict[str, list[int]] = {}  # of each word: in which sentences it stands
        for number, sentence in enumerate(self._sentences):
            for key in _keys(sentence):
                self._places.setdefault(key, []).append(number)

    def find(self, claim: str, words: int = WORDS) -> str:
        """At most that many words: sentences in their order, "" where the texts have none.

        Chosen one by one, each time the one whose words of the claim that are not yet covered weigh
        most by their rarity, the first of equals; the first sentence where none has any.
        """
        n = len(self._sentences)
        left = _keys(claim) & self._places.keys()
        rarity = {key: log((n + 1) / (len(self._places[key]) + 0.5)) for key in left}
        chosen: dict[int, str] = {}
        room = words
        while room > 0 and left:
            gains: dict[int, list[float]] = {}
            for key in left:
                for number in self._places[key]:
                    gains.setdefault(number, []).append(rarity[key])
            # Exact sums: the order of a set must not decide between equals.
            best = min(gains, key=lambda number: (-math.fsum(gains[number]), number))
            tokens = self._sentences[best].split()
            chosen[best] = " ".join(tokens[:room])
            room -= len(tokens)
            left = {key for key in left if best not in self._places[key]}
        if not chosen and n:
            chosen[0] = " ".join(self._sentences[0].split()[:words])
        return " ".join(chosen[number] for number in sorted(chosen))


def _keys(text: str) -> set[str]:
    return {_ENDING.sub("", word) for word in _TOKEN.findall(text.lower())}
