"""The offline judge: how much of a claim the texts say, and whether they say something else.

A claim is laid beside its texts; what is found becomes features, of which a logistic model, whose
weights stand in data/weights.toml, makes a probability.
"""

from __future__ import annotations

import math
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from operator import mul
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.arithmetic.scalars import logistic
from trueground.judges.lexical.claim import (
    ClaimView,
    Reason,
    explain_missing,
    explain_support,
    explain_weak,
    join_reasons,
    sentences_with,
)
from trueground.judges.lexical.reading import TextView, without_citations
from trueground.judges.lexical.rivals import find_rival
from trueground.text.refusal import REFUSAL_RULES, find_refusal
from trueground.text.values import same_kind
from trueground.types import JudgeRequest, ReasonKind, Verdict

FOR = (
    "words",  # words of the claim that stand in the texts, each as often as there
    "sentence",  # the claim's items, by their rarity, that the best sentence has
    "window",  # the same of the best three neighbouring sentences
    "share",  # how much of the best sentence the claim repeats
)
AGAINST = (
    "values_missing",  # numbers and dates that no text has, at most two
    "names_missing",  # names that no text has, at most two
    "contradicted",  # whether the best sentence surely says something else
)
NAMES = FOR + AGAINST
_AT_MOST = 2
_BEST = 4  # sentences around which windows are tried
_AROUND = 3  # sentences in a window
_SMALLER = 0.02  # what each further sentence of a window must add
_READ = 0.5  # share of the claim from which a sentence is searched for contradictions
_NEARLY = 0.05  # sentences so near to the best may clear the claim of a contradiction
_TRIED = 3  # such sentences
_APART = 0.6  # share of the claim below which its words only stand here and there
_CHECKED = 300  # tokens: a longer claim is a text, to which the checks do not apply


class BestPlace(NamedTuple):
    """The window that says most of a claim: sentences `first`…`end`-1 of a text.

    `said[i]` says whether it has `items[i]` of the claim, `there[i]` whether any text has.
    """

    text: int
    first: int
    end: int
    said: list[bool]
    there: list[bool]


class Evidence(NamedTuple):
    """What was found of a claim: nothing (`place` None) where it or the texts have no words.

    `features` has the shape (7,), by NAMES. `doubts` are signs against it. A `doubtful` claim stays
    below 0.5 whatever the weights: there are such signs, or no place says enough of it. One that is
    said `whole` stays above.
    """

    features: NDArray[np.float64]
    place: BestPlace | None
    doubts: list[Reason]

    @property
    def doubtful(self) -> bool:
        """Whether the claim cannot be called supported."""
        return bool(self.doubts) or self.features[FOR.index("window")] < _APART

    @property
    def whole(self) -> bool:
        """Whether one sentence says all of it, and nothing speaks against it."""
        return not self.doubtful and self.features[FOR.index("sentence")] > 1 - 1e-9


def find_evidence(claim: ClaimView, texts: Sequence[TextView]) -> Evidence:
    """Compare a claim with its texts, read as one."""
    if not claim.items or not any(text.spans for text in texts):
        return Evidence(np.zeros(len(NAMES)), None, [])
    found = _Comparison(claim, texts)
    window, place = found.find_place()
    missing = [i for i, there in zip(claim.items, place.there, strict=True) if not there]
    text = texts[place.text]
    here = [value for n in range(place.first, place.end) for value in text.values(n)]
    values = [
        item
        for item in missing
        if item.value and (not item.counts or any(same_kind(item.value, one) for one in here))
    ]
    names = [item for item in missing if item.name]
    against, sure = found.find_contradiction()
    features = (
        found.spelled(),
        found.scores.get(found.order[0], 0.0) / found.every,
        window,
        max(map(found.repeated, found.order[:2])) if found.scores else 0.0,
        min(_AT_MOST, len(values)),
        min(_AT_MOST, len({item.key for item in names})),
        float(sure),
    )
    doubts = [*explain_missing(claim, values, names, text), *filter(None, [against])]
    if find_refusal(claim.text):
        doubts = [Reason(ReasonKind.DECLINES, "the claim declines to answer")]
    return Evidence(np.array(features), place, doubts)


class _Comparison:
    """A claim and texts whose sentences are counted through all of them.

    `masks` are bit masks of the sentences with each item, `weighed` mask and weight of each
    different one, which sum to `every`; `scores` are the weights that sentences have, `order` the
    best of them.
    """

    def __init__(self, claim: ClaimView, texts: Sequence[TextView]) -> None:
        self.claim, self.texts = claim, texts
        self.starts = [0, *accumulate(len(text.spans) for text in texts)]
        indexes = [(text.index, start) for text, start in zip(texts, self.starts, strict=False)]
        self.masks = []
        for item in claim.items:
            mask, key = 0, item.key
            for number, (index, start) in enumerate(indexes):
                if key not in index:
                    continue
                value = item.value
                found = sentences_with(value, texts[number], item.about) if value else index[key]
                mask |= found << start
            self.masks.append(mask)
        items = zip(claim.items, self.masks, strict=True)
        once = {
            (item.key, item.at if item.value else 0): (mask, item.weight) for item, mask in items
        }
        self.weighed = list(once.values())
        self.every = math.fsum([weight for _, weight in self.weighed]) or 1.0
        self.scores: dict[int, float] = {}
        for mask, weight in self.weighed:
            while mask:
                low = mask & -mask
                number = low.bit_length() - 1
                self.scores[number] = self.scores.get(number, 0.0) + weight
                mask ^= low
        self.order = sorted(self.scores, key=lambda n: (-self.scores[n], n))[:_BEST] or [0]

    def find_place(self) -> tuple[float, BestPlace]:
        """(share of the best window of _AROUND sentences, the smallest that is nearly as good)."""
        best = (-1.0, 0, 0)
        widest = 0.0
        for number in self.order:
            text = self._text_of(number)
            low, high = self.starts[text], self.starts[text + 1]
            for size in range(1, _AROUND + 1):
                for first in range(max(low, number - size + 1), min(number, high - size) + 1):
                    bits = (1 << first + size) - (1 << first)
                    said = math.fsum([w for mask, w in self.weighed if mask & bits]) / self.every
                    widest = max(widest, said)
                    if said - _SMALLER * (size - 1) > best[0] + 1e-9:
                        best = (said - _SMALLER * (size - 1), first, size)
        _, first, size = best
        bits = (1 << first + size) - (1 << first)
        text = self._text_of(first)
        begin = first - self.starts[text]
        said_there = [bool(mask & bits) for mask in self.masks]
        return widest, BestPlace(text, begin, begin + size, said_there, [m > 0 for m in self.masks])

    def _text_of(self, number: int) -> int:
        return bisect_right(self.starts, number) - 1

    def spelled(self) -> float:
        """K-Precision of the claim, without the words of the question and values that are there."""
        pairs = zip(self.claim.items, self.masks, strict=True)
        words = self.claim.spelled([item.value for item, mask in pairs if mask and item.value])
        counts = [text.spellings for text in self.texts]
        said = 0
        for word, n in words.items():
            said += min(n, sum([count[word] for count in counts if word in count]))
        return said / sum(words.values()) if words else 1.0

    def repeated(self, number: int) -> float:
        """How much of a sentence the claim repeats."""
        text = self._text_of(number)
        sentence = self.texts[text].sentences[number - self.starts[text]]
        keys = {key for key in sentence if key[0] != "_"} or set(sentence)
        own = {item.key for item in self.claim.items}
        return len(keys & own) / len(keys) if keys else 0.0

    def find_contradiction(self) -> tuple[Reason | None, bool]:
        """What the best sentence says instead; nothing where one as good does not contradict."""
        first: tuple[Reason | None, bool] = (None, False)
        if not 0 < len(self.claim.tokens) <= _CHECKED:
            return first
        best = self.scores.get(self.order[0], 0.0)
        least = max(_READ * self.every, best - _NEARLY * self.every)
        for number in self.order[:_TRIED]:
            if self.scores.get(number, 0.0) < least:
                break
            text = self._text_of(number)
            found = find_rival(self.claim, self.texts[text], number - self.starts[text])
            if found[0] is None:
                return found
            first = first if first[0] else found
        return first


_KEPT = 256  # texts that stay read: requests about one text come one after the other
_EDGES = " \t\r\n.!?;:,\"'“”‘’。！？"
_TAKEN_BACK = re.compile(  # what may stand before a quoted claim; May is a month
    r"\b(?:not|never|no|without|(?-i:may|MAY)|might|false|unlikely|if|whether|unless|almost|nearly"
    r"|insufficient|rumou?rs?|rumou?red|believes?|believed|claims?|claimed|allege[sd]?|denie[sd]"
    r"|denies)\b|n['’]t\b",
    re.I,
)
_LIMITED = re.compile(r"\b(?:unless|except|provided that|false|untrue|rumou?rs?|myth)\b", re.I)


class LexicalJudge:
    """Measures how much of the claim the texts say, and looks for contradictions."""

    name = "lexical"
    threshold = 0.5
    feature_names = NAMES
    # A claim that declines to answer is not supported.
    signature = basis = f"lexical-5/{REFUSAL_RULES}"

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request; every text is read once."""
        return [_decide(one, texts) for one, texts in _read_texts(requests)]

    def features(self, requests: Sequence[JudgeRequest]) -> NDArray[np.float64]:
        """Shape (requests, features), by `feature_names`; zeros where there are no words."""
        found = [
            find_evidence(ClaimView(one.claim, one.asked), texts).features
            for one, texts in _read_texts(requests)
        ]
        return np.array(found).reshape(len(found), len(NAMES))


def _read_texts(requests: Sequence[JudgeRequest]) -> Iterator[tuple[JudgeRequest, list[TextView]]]:
    """Each request with its texts, which are read once for requests that follow each other."""
    views: dict[str, TextView] = {}
    for request in requests:
        if len(views) > _KEPT:
            views = {}
        for text in request.texts:
            if text not in views:
                views[text] = TextView(text)
        yield request, [views[text] for text in request.texts]


def find_verbatim(claim: str, text: TextView) -> tuple[int, int] | None:
    """Where the text has the claim word for word and nothing in its sentence takes it back.

    Citation marks and outer marks do not matter, nor whether the first letter is large.
    """
    core = without_citations(claim).strip().strip(_EDGES)
    for wanted in (core, core[:1].swapcase() + core[1:]):
        source = text.text
        at = source.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            whole = not (at and source[at - 1].isalnum()) and not source[end : end + 1].isalnum()
            if whole and text.spans:
                inside = [span for span in text.spans if span[0] <= at]
                begin, stop = inside[-1] if inside else (0, end)
                behind = _LIMITED.search(source, end, max(stop, end))
                if not behind and not _TAKEN_BACK.search(source, begin, at):
                    return at, end
            at = source.find(wanted, at + 1)
    return None


def _decide(request: JudgeRequest, texts: Sequence[TextView]) -> Verdict:
    """A claim that stands in a text word for word is not read; else the best place decides."""
    for number, text in enumerate(texts):
        span = find_verbatim(request.claim, text)
        if span is not None:
            why = ("stated word for word",)
            likely, (start, end) = weights().verbatim, span
            return Verdict(True, likely, text=number, start=start, end=end, reasons=why)
    claim = ClaimView(request.claim, request.asked)
    found = find_evidence(claim, texts)
    if found.place is None:
        kind = ReasonKind.NO_CONTEXT if claim.items else ReasonKind.NO_WORDS
        line = f"no {request.source}" if claim.items else "the claim has no words of its own"
        return Verdict(False, 0.0, reasons=(line,), kind=kind)
    return _weigh(claim, found, found.place, texts[found.place.text], request.source)


def _weigh(
    claim: ClaimView, found: Evidence, place: BestPlace, text: TextView, source: str
) -> Verdict:
    likely = probability(found.features, weights())
    if found.doubtful:
        likely = capped(likely)
    elif found.whole:
        likely = lifted(likely)
    supported = likely > LexicalJudge.threshold
    why: Reason | None = None
    if not supported:
        weak = explain_weak(claim, place.said, place.there, place.end - place.first)
        why = join_reasons(found.doubts) if found.doubts else weak
    line = why.text if why else explain_support(claim, place.there)
    return Verdict(
        supported,
        likely,
        text=place.text,
        start=text.spans[place.first][0],
        end=text.spans[place.end - 1][1],
        reasons=(line.replace("the context", f"the {source}"),),
        kind=why.kind if why else None,
    )


FILE = Path(__file__).parent / "data" / "weights.toml"
CAP = 0.49  # what a doubtful claim cannot reach, and how far below it can still be told apart
_SQUEEZE = 0.09


class LexicalWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: `weights` by feature, none of them negative, the intercept of the log-odds, and the
    probability of a claim that stands in a text word for word.
    """

    intercept: float
    verbatim: float
    weights: dict[str, float]

    def signed(self) -> list[float]:
        """The weights in the order of NAMES, those that speak against a claim below 0."""
        return [-self.weights[n] if n in AGAINST else self.weights[n] for n in NAMES]


@cache
def weights() -> LexicalWeights:
    """The weights that come with the package."""
    return read_weights(tomllib.loads(FILE.read_text(encoding="utf-8")))


def read_weights(table: Mapping[str, object]) -> LexicalWeights:
    """Check a table of weights. ValueError where it is not monotone, or not of these features."""
    found = msgspec.convert(table, LexicalWeights)
    if found.weights.keys() != set(NAMES) or min(found.weights.values()) < 0:
        raise ValueError(f"weights {found.weights}; expected one of 0 or more for each of {NAMES}")
    return found


def probability(x: NDArray[np.float64], model: LexicalWeights) -> float:
    """The probability that a claim with these features, shape (7,), is supported."""
    return logistic(math.fsum(map(mul, x.tolist(), model.signed())) + model.intercept)


def capped(probability: float) -> float:
    """Below 0.5 whatever the weights, and still in the order of the probabilities."""
    return min(probability, CAP - _SQUEEZE * (1 - probability))


def lifted(probability: float) -> float:
    """Above 0.5 whatever the weights, and still in the order of the probabilities."""
    return max(probability, 1 - CAP + _SQUEEZE * probability)
