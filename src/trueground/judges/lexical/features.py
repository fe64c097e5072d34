"""What the model of the judge looks at: numbers between a claim and its texts, each with a name.

All but the last three are shares from 0 to 1 of which more is better; the last three count what
speaks against the claim. The model of `model.py` gives each a weight that is never negative, with
the sign of its direction, so that more evidence never lowers a probability.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trueground.judges.lexical.agreement import agrees
from trueground.judges.lexical.coverage import ClaimView, CoverageItem
from trueground.judges.lexical.pool import WordPool
from trueground.judges.lexical.rarity import rarity
from trueground.judges.lexical.reading import TextView, sequence, spellings
from trueground.judges.lexical.words import NUMERIC

FOR = (
    "said",  # items of the claim that the best place of one text says (presence.score)
    "words",  # words of the claim that stand in the texts, each as often as there
    "sentence",  # rarity of the claim's content words that the best sentence has
    "window",  # the same of the best three neighbouring sentences
    "together",  # pairs of content words that share a sentence, by their rarities
    "neighbours",  # neighbouring content words that stand near each other in the texts
    "share",  # how much of the best sentence the claim repeats
)
AGAINST = (
    "values_missing",  # numbers and dates that no text has, at most two
    "names_missing",  # names that no text has, at most two
    "contradictions",  # signs that the best place says something else, at most two
)
NAMES = FOR + AGAINST
_AT_MOST = 2
_BEST = 4  # sentences around which windows are tried
_AROUND = 3  # sentences in a window
_PAIRED = 40  # content words of a claim: pairs are made with so many that follow


class FeatureView:
    """A claim's words beside a pool of texts."""

    def __init__(self, view: ClaimView, pool: WordPool) -> None:
        self.view, self.pool = view, pool
        self.missing = [item for item in view.items if missing_value(item, pool.texts)]
        self.text = self._without_values()
        known = view.asked
        every = sequence(self.text)
        words = [key for key in every if key not in known]
        content = [key for key in words if key[0] != "_" and key != NUMERIC]
        if not content and not any(item.value for item in view.items):
            words = words or every  # nothing else is claimed
            content = words
        table = rarity()
        self.content = content
        self.rarity = {key: table[key] or 0.01 for key in self.content}
        self.total = sum(self.rarity.values())

    def _without_values(self) -> str:
        """The claim without the values that a text has, perhaps in another form: 8 km, 5 miles."""
        text, missing = list(self.view.text), set(map(id, self.missing))
        for item in self.view.items:
            value = item.value
            if value is not None and id(item) not in missing:
                text[value.start : value.end] = " " * (value.end - value.start)
        return "".join(text)


def features(
    view: ClaimView, pool: WordPool, said: float, contradictions: int
) -> NDArray[np.float64]:
    """The numbers named in NAMES, shape (10,).

    `said` and the number of `contradictions` come from the text that says most of the claim.
    """
    reading = FeatureView(view, pool)
    if not reading.content:  # nothing but values
        alone = 0.0 if reading.missing else 1.0
        return np.array([said, *[alone] * (len(FOR) - 1), len(reading.missing), 0, contradictions])
    sentence, window, share = _places(reading)
    return np.array(
        (
            said,
            _spelled(reading),
            sentence,
            window,
            _together(reading, sentence),
            _neighbours(reading, sentence),
            share,
            min(_AT_MOST, len(reading.missing)),
            min(_AT_MOST, sum(missing_name(item, pool) for item in view.items)),
            min(_AT_MOST, contradictions),
        )
    )


def missing_value(item: CoverageItem, texts: Sequence[TextView]) -> bool:
    """Whether the item is a number or a date, and no text has it."""
    value = item.value
    if value is None:
        return False
    return not any(
        agrees(value, other)
        for text in texts
        if NUMERIC in text.index
        for number in range(len(text.spans))
        for other in text.values(number)
    )


def missing_name(item: CoverageItem, pool: WordPool) -> bool:
    """Whether the item is a name, and no text has it."""
    return item.name and item.key not in pool.places


def _spelled(reading: FeatureView) -> float:
    """K-Precision of the claim, without the words of the question."""
    words, asked = spellings(reading.text), reading.view.asked_words
    if asked:
        words = Counter({w: n for w, n in words.items() if w not in asked}) or words
    total, there = words.total(), reading.pool.words
    return sum(min(n, there[word]) for word, n in words.items()) / total if total else 1.0


def _places(reading: FeatureView) -> tuple[float, float, float]:
    """(best sentence, best window, share of the best sentence that the claim repeats)."""
    weights, pool = reading.rarity, reading.pool
    masks = {key: pool.mask(key) for key in weights}
    scores: dict[int, float] = {}
    for key, mask in masks.items():
        while mask:
            low = mask & -mask
            number = low.bit_length() - 1
            scores[number] = scores.get(number, 0.0) + weights[key]
            mask ^= low
    if not scores:
        return 0.0, 0.0, 0.0
    order = sorted(scores, key=lambda i: (-scores[i], i))[:_BEST]
    best = 0.0
    for number in order:
        for first in range(max(0, number - _AROUND + 1), number + 1):
            mask = (1 << first + _AROUND) - (1 << first)
            best = max(best, sum([weights[k] for k, m in masks.items() if m & mask]))
    share = max(_repeated(pool.sentences[number], weights) for number in order[:2])
    return scores[order[0]] / reading.total, best / reading.total, share


def _repeated(sentence: Sequence[str], weights: Mapping[str, float]) -> float:
    own = {key for key in sentence if key[0] != "_"} or set(sentence)
    return sum(key in weights for key in own) / len(own)


def _together(reading: FeatureView, alone: float) -> float:
    """Share of the pairs that stand in one sentence; of a single word that it is there."""
    keys = list(reading.rarity)
    masks = [reading.pool.mask(key) for key in keys]
    weights = list(reading.rarity.values())
    found = every = 0.0
    for i, (mask, weight) in enumerate(zip(masks, weights, strict=True)):
        for other in range(i + 1, min(len(keys), i + _PAIRED)):
            both = weight * weights[other]
            every += both
            if mask & masks[other]:
                found += both
    return found / every if every else alone


def _neighbours(reading: FeatureView, alone: float) -> float:
    """Mean nearness of neighbouring content words: 1 within two words, then falling."""
    places = reading.pool.places
    pairs = list(pairwise(reading.content))
    if not pairs:
        return alone
    total = 0.0
    for one, other in pairs:
        if one in places and other in places:
            apart = 0 if one == other else _apart(places[one], places[other])
            total += 1 / (1 + max(0, apart - 2) / 4)
    return total / len(pairs)


def _apart(one: list[int], other: list[int]) -> int:
    """The least distance between two ascending lists of places."""
    if len(one) > len(other):
        one, other = other, one
    least = 1 << 30
    for place in one:
        at = bisect_left(other, place)
        for near in other[max(0, at - 1) : at + 1]:
            least = min(least, abs(near - place))
    return least
