"""The sentences of a text that are most like a claim."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from trueground.stats import log
from trueground.text import split_sentences

EVIDENCE_RULE = "evidence-1"
MAX_WORDS = 70
_TOKEN = re.compile(r"\w+")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|ly)$")


class EvidenceFinder:
    """Sentences of texts, indexed by their words. The order of the texts doesn't matter."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._sentences: list[str] = []
        for text in sorted(set(texts)):
            self._sentences += [text[start:end] for start, end in split_sentences(text)]
        self._postings: dict[str, list[int]] = {}  # word key -> numbers of sentences with it
        for number, sentence in enumerate(self._sentences):
            for key in _keys(sentence):
                self._postings.setdefault(key, []).append(number)

    def find(self, claim: str, max_words: int = MAX_WORDS) -> str:
        """Return the sentences nearest to a claim, in text order, "" if there are none.

        Sentences are chosen greedily. Each time the sentence wins whose words of the claim weigh
        most by their rarity, not counting words of the sentences before. If no sentence shares a
        word with the claim, the first one is returned.

        Args:
            claim: The claim.
            max_words: Most words to return. The last sentence may be cut off.
        """
        n = len(self._sentences)
        uncovered = _keys(claim) & self._postings.keys()
        rarity = {key: log((n + 1) / (len(self._postings[key]) + 0.5)) for key in uncovered}
        chosen: dict[int, str] = {}
        room = max_words
        while room > 0 and uncovered:
            gains: dict[int, list[float]] = {}
            for key in uncovered:
                for number in self._postings[key]:
                    gains.setdefault(number, []).append(rarity[key])
            # Exact sums, so that the order of a set never decides between equal sentences.
            best = min(gains, key=lambda number: (-math.fsum(gains[number]), number))
            tokens = self._sentences[best].split()
            chosen[best] = " ".join(tokens[:room])
            room -= len(tokens)
            uncovered = {key for key in uncovered if best not in self._postings[key]}
        if not chosen and n:
            chosen[0] = " ".join(self._sentences[0].split()[:max_words])
        return " ".join(chosen[number] for number in sorted(chosen))


def _keys(text: str) -> set[str]:
    return {_ENDING.sub("", word) for word in _TOKEN.findall(text.lower())}
