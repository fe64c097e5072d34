"""The offline judge: how much of a claim the texts say, and whether they say something else.

A claim is laid beside its texts; what is found becomes features, of which a logistic model, whose
weights stand in data/weights.toml, makes a probability.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest, nsmallest
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.judges.base import Judge
from trueground.judges.lexical.claim import ClaimItem, ClaimView
from trueground.judges.lexical.reading import without_citations
from trueground.judges.lexical.reasons import (
    Reason,
    explain_missing,
    explain_support,
    explain_weak,
    join_reasons,
)
from trueground.judges.lexical.rivals import find_rival
from trueground.judges.lexical.texts import ContextView, TextView, WeighedItem
from trueground.judges.lexical.weights import FOR, NAMES, capped, lifted, probability, weights
from trueground.text import REFUSAL_RULES
from trueground.types import JudgeRequest, ReasonKind, Status, Verdict

_AT_MOST = 2
MAX_RARE = (
    64  # sentences with a word; those with a more frequent one are ranked once for all claims
)
_BEST = 4  # sentences around which windows are tried
_AROUND = 3  # sentences in a window
_SMALLER = 0.02  # what each further sentence of a window must add
_READ = 0.5  # share of the claim from which a sentence is searched for contradictions
_NEARLY = 0.05  # sentences so near to the best may clear the claim of a contradiction
_TRIED = 3  # such sentences
_APART = 0.6  # share of the claim below which its words only stand here and there
MAX_CHECKED_TOKENS = 300  # tokens: a longer claim is a text, to which the checks do not apply

# Comparisons of a claim's words and values with those of its texts. Most claims need fewer than a
# hundred; only numbers that a long claim and a long text both repeat need more than their length.
MAX_COMPARISONS = 1_000_000


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


class WorkLimitError(Exception):
    """A claim that needs more than MAX_COMPARISONS with its texts."""

    def __init__(self, comparisons: int) -> None:
        super().__init__(
            f"the claim needs {comparisons:,} comparisons of its words and numbers with the texts; "
            f"the limit is {MAX_COMPARISONS:,}"
        )


def find_evidence(claim: ClaimView, context: ContextView) -> Evidence:
    """Compare a claim with its texts, read as one. Raises WorkLimitError."""
    if not claim.items or not context.starts[-1]:
        return Evidence(np.zeros(len(NAMES)), None, [])
    comparison = _Comparison(claim, context)
    window, place = comparison.find_place()
    missing = [i for i, there in zip(claim.items, place.there, strict=True) if not there]
    text = context.texts[place.text]
    kinds = text.value_kinds(range(place.first, place.end))
    if not comparison.scores:  # no sentence is closer than others, so the first text isn't special
        kinds = context.first_value_kinds
    values = [
        item
        for item in missing
        if item.value and (not item.counts or (item.value.kind, item.value.unit) in kinds)
    ]
    names = [item for item in missing if item.name]
    against, sure = comparison.find_contradiction()
    features = (
        comparison.spelled(),
        comparison.scores.get(comparison.order[0], 0.0) / comparison.every,
        window,
        max(map(comparison.repeated, comparison.order[:2])) if comparison.scores else 0.0,
        min(_AT_MOST, len(values)),
        min(_AT_MOST, len({item.key for item in names})),
        float(sure),
    )
    doubts = [*explain_missing(claim, values, names, text), *filter(None, [against])]
    if REFUSAL_RULES.find(claim.text):
        doubts = [Reason(ReasonKind.DECLINES, "the claim declines to answer")]
    return Evidence(np.array(features), place, doubts)


def count_comparisons(claim: ClaimView, context: ContextView) -> int:
    """Return how many words, numbers and dates of the texts those of a claim are compared with."""
    counts: dict[tuple[object, ...], int] = {}
    total = 0
    for item in _counted_items(claim):
        if item.identity not in counts:
            counts[item.identity] = _count(item, context)
        total += counts[item.identity]
    return total


def _counted_items(claim: ClaimView) -> list[ClaimItem]:
    """A word once, a number or date as often as the claim has it."""
    once = {(item.identity, item.at if item.value else 0): item for item in claim.items}
    return list(once.values())


def _count(item: ClaimItem, context: ContextView) -> int:
    if item.value is None:
        return len(context.index.get(item.key, ()))
    return context.values.count_candidates(item.value, item.about)


def _find(item: ClaimItem, context: ContextView) -> Sequence[int]:
    """The sentences with the item, perhaps written otherwise."""
    if item.value is None:
        return context.index.get(item.key, ())
    return context.values.positions(item.value, item.about)


class _Comparison:
    """A claim and texts whose sentences are counted through all of them.

    `postings` are the sentences with each different word or value, by its key, `weighed` key and
    weight of each item, which sum to `every`; `scores` are the weights that sentences have, `order`
    the best of them.
    """

    def __init__(self, claim: ClaimView, context: ContextView) -> None:
        self.claim, self.context = claim, context
        self.starts = context.starts
        self.keys = [item.identity for item in claim.items]
        comparisons = count_comparisons(claim, context)
        if comparisons > MAX_COMPARISONS:
            raise WorkLimitError(comparisons)
        self.weighed = [(item.identity, item.weight) for item in _counted_items(claim)]
        self.postings = {item.identity: _find(item, context) for item in claim.items}
        self.every = math.fsum([weight for _, weight in self.weighed]) or 1.0
        self.scores = self._score()
        self.order = _best_sentences(self.scores) or [0]

    def _score(self) -> dict[int, float]:
        """The weight of the claim that sentences have; of long texts only the best are listed."""
        frequent = {key for key, sentences in self.postings.items() if len(sentences) > MAX_RARE}
        if not frequent:
            return _add_weights(self.weighed, self.postings)
        rare = self.postings.keys() - frequent
        candidates = set[int]().union(*(self.postings[key] for key in rare))
        few = {key: self.postings[key] for key in rare}
        for key in frequent:
            few[key] = [n for n in candidates if _has(self.postings[key], n)]
        # A long claim can repeat a year in each sentence: its weights are added once for all.
        weights: dict[tuple[object, ...], float] = {}
        for key, weight in self.weighed:
            weights[key] = weights.get(key, 0.0) + weight
        scores = _add_weights(tuple(weights.items()), few)
        repeated = tuple((key, weight) for key, weight in weights.items() if key in frequent)
        ranked = self.context.rank(repeated, self._rank)
        others = (pair for pair in ranked if pair[0] not in candidates)
        scores.update(islice(others, _BEST))
        return scores

    def _rank(self, weighed: Sequence[WeighedItem]) -> list[tuple[int, float]]:
        """The sentences with one of these items and their weights, the best first."""
        scores = _add_weights(weighed, self.postings)
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))

    def find_place(self) -> tuple[float, BestPlace]:
        """(share of the best window of _AROUND sentences, the smallest that is nearly as good)."""
        near = self._near_best()
        masks = {key: _mask(near, numbers) for key, numbers in self.postings.items()}
        best = (-1.0, 0, 0)
        widest = 0.0
        for number in self.order:
            text = self.context.text_of(number)
            low, high = self.starts[text], self.starts[text + 1]
            for size in range(1, _AROUND + 1):
                for first in range(max(low, number - size + 1), min(number, high - size) + 1):
                    bits = _mask(near, range(first, first + size))
                    said = (
                        math.fsum([w for key, w in self.weighed if masks[key] & bits]) / self.every
                    )
                    widest = max(widest, said)
                    if said - _SMALLER * (size - 1) > best[0] + 1e-9:
                        best = (said - _SMALLER * (size - 1), first, size)
        _, first, size = best
        bits = _mask(near, range(first, first + size))
        text, begin = self.context.locate(first)
        said_there = [bool(masks[key] & bits) for key in self.keys]
        there = [bool(self.postings[key]) for key in self.keys]
        return widest, BestPlace(text, begin, begin + size, said_there, there)

    def _near_best(self) -> dict[int, int]:
        """The sentences of which windows may consist → a bit for each."""
        reach = range(1 - _AROUND, _AROUND)
        numbers = {number + step for number in self.order for step in reach}
        return {number: 1 << bit for bit, number in enumerate(sorted(numbers))}

    def spelled(self) -> float:
        """K-Precision of the claim, without the words of the question and values that are there."""
        pairs = zip(self.keys, self.claim.items, strict=True)
        words = self.claim.spelled([i.value for key, i in pairs if i.value and self.postings[key]])
        counts = self.context.spellings
        said = 0
        for word, n in words.items():
            said += min(n, counts.get(word, 0))
        return said / sum(words.values()) if words else 1.0

    def repeated(self, number: int) -> float:
        """How much of a sentence the claim repeats."""
        text, sentence = self.context.locate(number)
        present = set(self.context.texts[text].sentences[sentence])
        keys = {key for key in present if key[0] != "_"} or present
        claim_keys = {item.key for item in self.claim.items}
        return len(keys & claim_keys) / len(keys) if keys else 0.0

    def find_contradiction(self) -> tuple[Reason | None, bool]:
        """What the best sentence says instead; nothing where one as good does not contradict."""
        first: tuple[Reason | None, bool] = (None, False)
        if not 0 < len(self.claim.tokens) <= MAX_CHECKED_TOKENS:
            return first
        best = self.scores.get(self.order[0], 0.0)
        least = max(_READ * self.every, best - _NEARLY * self.every)
        for number in self.order[:_TRIED]:
            if self.scores.get(number, 0.0) < least:
                break
            text, sentence = self.context.locate(number)
            rival = find_rival(self.claim, self.context.texts[text], sentence)
            if rival[0] is None:
                return rival
            first = first if first[0] else rival
        return first


def _add_weights(
    weighed: Sequence[WeighedItem], postings: Mapping[tuple[object, ...], Sequence[int]]
) -> dict[int, float]:
    """The sum of the weights of each sentence, added in the order of the items."""
    scores: dict[int, float] = {}
    for key, weight in weighed:
        for number in postings[key]:
            scores[number] = scores.get(number, 0.0) + weight
    return scores


def _has(numbers: Sequence[int], number: int) -> bool:
    """Whether an ascending sequence has a number."""
    at = bisect_left(numbers, number)
    return at < len(numbers) and numbers[at] == number


def _best_sentences(scores: Mapping[int, float]) -> list[int]:
    """The _BEST sentences; of those with one score the first."""
    least = min(nlargest(_BEST, scores.values()), default=0.0)
    better = [number for number, score in scores.items() if score > least]
    better.sort(key=lambda number: (-scores[number], number))
    ties = [number for number, score in scores.items() if score == least]
    return better + nsmallest(_BEST - len(better), ties)


def _mask(bits: Mapping[int, int], numbers: Sequence[int]) -> int:
    mask = 0
    if len(numbers) > MAX_RARE:
        numbers = [number for number in bits if _has(numbers, number)]
    for number in bits.keys() & numbers:
        mask |= bits[number]
    return mask


MAX_CACHED_TEXTS = 256  # texts that stay read: requests about one text come one after the other
_EDGES = " \t\r\n.!?;:,\"'“”‘’。！？"


class LexicalJudge(Judge):
    """Measures how much of the claim the texts say, and looks for contradictions."""

    name = "lexical"
    threshold = 0.5
    feature_names = NAMES
    # A claim that declines to answer is not supported.
    signature = basis = f"lexical-5/{REFUSAL_RULES.name}"

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request; every text is read once."""
        return [_decide(request, context) for request, context in _read_texts(requests)]

    def features(self, requests: Sequence[JudgeRequest]) -> NDArray[np.float64]:
        """Shape (requests, features), by `feature_names`.

        Zeros where there are no words, or more than MAX_COMPARISONS to make.
        """
        rows = [_features(request, context) for request, context in _read_texts(requests)]
        return np.array(rows).reshape(len(rows), len(NAMES))


def _features(request: JudgeRequest, context: ContextView) -> NDArray[np.float64]:
    try:
        return find_evidence(ClaimView(request.claim, request.asked), context).features
    except WorkLimitError:
        return np.zeros(len(NAMES))


def _read_texts(requests: Sequence[JudgeRequest]) -> Iterator[tuple[JudgeRequest, ContextView]]:
    """Each request with its texts, which are read once for requests that follow each other."""
    views: dict[str, TextView] = {}
    texts: tuple[str, ...] = ()
    context = ContextView([])
    for request in requests:
        if request.texts != texts:
            texts = request.texts
            if len(views) > MAX_CACHED_TEXTS:
                views = {}
            for text in texts:
                if text not in views:
                    views[text] = TextView(text)
            context = ContextView([views[text] for text in texts])
        yield request, context


def find_verbatim(claim: str, text: TextView) -> tuple[int, int] | None:
    """Where the text has the claim word for word and nothing in its sentence takes it back.

    Citation marks and outer marks do not matter, nor whether the first letter is large.
    """
    return _find_first_stated(_ways_to_state(claim), text)


def _ways_to_state(claim: str) -> list[str]:
    core = without_citations(claim).strip().strip(_EDGES)
    return list(dict.fromkeys((core, core[:1].swapcase() + core[1:]))) if core else []


def _find_first_stated(ways: Sequence[str], text: TextView) -> tuple[int, int] | None:
    for stated in ways:
        span = _find_stated(stated, text)
        if span is not None:
            return span
    return None


def _find_stated(phrase: str, text: TextView) -> tuple[int, int] | None:
    source = text.text
    at = source.find(phrase)
    while at >= 0:
        end = at + len(phrase)
        after = at + 1
        whole = not (at and source[at - 1].isalnum()) and not source[end : end + 1].isalnum()
        if whole and text.spans:
            sentence = bisect_right(text.starts, at) - 1
            cautions = text.cautions(sentence)
            if cautions.first_end <= at:
                after = cautions.stop  # what precedes the claim here precedes it all along
            elif cautions.last_start >= end:
                after = max(after, cautions.last_start - len(phrase) + 1)
            else:
                return at, end
        at = source.find(phrase, after)
    return None


def _decide(request: JudgeRequest, context: ContextView) -> Verdict:
    """A claim that stands in a text word for word is not read; else the best place decides."""
    ways = _ways_to_state(request.claim)
    for number in context.texts_with(ways):
        span = _find_first_stated(ways, context.texts[number])
        if span is not None:
            why = ("stated word for word",)
            likely, (start, end) = weights().verbatim, span
            return Verdict(True, likely, text=number, start=start, end=end, reasons=why)
    claim = ClaimView(request.claim, request.asked)
    try:
        evidence = find_evidence(claim, context)
    except WorkLimitError as error:
        return Verdict(status=Status.TOO_LONG, reasons=(str(error),))
    if evidence.place is None:
        kind = ReasonKind.NO_CONTEXT if claim.items else ReasonKind.NO_WORDS
        line = f"no {request.source}" if claim.items else "the claim has no words of its own"
        return Verdict(False, 0.0, reasons=(line,), kind=kind)
    return _weigh(
        claim, evidence, evidence.place, context.texts[evidence.place.text], request.source
    )


def _weigh(
    claim: ClaimView, evidence: Evidence, best: BestPlace, text: TextView, source: str
) -> Verdict:
    likely = probability(evidence.features, weights())
    if evidence.doubtful:
        likely = capped(likely)
    elif evidence.whole:
        likely = lifted(likely)
    supported = likely > LexicalJudge.threshold
    doubt: Reason | None = None
    if not supported:
        weak = explain_weak(claim, best.said, best.there, best.end - best.first)
        doubt = join_reasons(evidence.doubts) if evidence.doubts else weak
    line = doubt.text if doubt else explain_support(claim, best.there)
    return Verdict(
        supported,
        likely,
        text=best.text,
        start=text.spans[best.first][0],
        end=text.spans[best.end - 1][1],
        reasons=(line.replace("the context", f"the {source}"),),
        kind=doubt.kind if doubt else None,
    )
