"""Where a task's claim is said: the likeliest sentences, and the claim's place in its answer."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trueground.metrics import tokenize
from trueground.stats import log
from trueground.text import Normalizer, split_sentences, stem

# What is judged, and by what, by the names that kinds of tasks show them under; the first counts.
_CLAIMS = ("response", "sentence", "fact", "new_answer", "answer", "question")
_PASSAGES = (
    *("contexts", "context", "passage", "passages", "text", "new_contexts", "paragraph"),
    *("references", "citation", "facts", "knowledge"),
)
_MOST = 5
_LEAST_ALIKE = 0.5  # of a claim's words that the sentence it is found in must have
# Words that tell nothing of what a sentence is about.
_COMMON = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "did", "do", "does",
    "for", "from", "had", "has", "have", "he", "her", "him", "his", "how", "i", "if", "in",
    "into", "is", "it", "its", "may", "no", "not", "of", "on", "or", "she", "so", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "whom", "why", "will", "with", "would",
    "you",
))  # fmt: skip


class Hint(msgspec.Struct, frozen=True):
    """A sentence of what is shown: of its part number `part` where it is a list, counted from 0.

    `start` and `end` are code points; of a passage with a title, in its text.
    """

    show: str
    part: int | None
    start: int
    end: int


class WholeAnswer(msgspec.Struct, frozen=True):
    """The answer that a claim is from, and where the claim stands in it, if it was found."""

    text: str
    start: int | None
    end: int | None


def find_hints(shown: Mapping[str, Any]) -> list[Hint]:
    """The sentences that have most words of a claim, rare words before common ones; best first."""
    named = next((name for name in _CLAIMS if isinstance(shown.get(name), str)), None)
    if named is None:
        return []
    places, texts = list[Hint](), list[str]()
    for name in _PASSAGES:
        if name != named and name in shown:
            for part, text in _texts_of(shown[name]):
                for start, end in split_sentences(text):
                    places.append(Hint(name, part, start, end))
                    texts.append(text[start:end])
    answer = shown[named]
    claims = [answer[start:end] for start, end in split_sentences(answer)]
    words = _words([*texts, *claims])
    sentences, claims_words = words[: len(texts)], words[len(texts) :]
    known = Counter(word for sentence in sentences for word in sentence)
    weight = {word: log(1 + len(texts) / count) for word, count in known.items()}
    # A word that no sentence has weighs as much for all of them: it need not be counted.
    totals = [math.fsum(weight.get(word, 0.0) for word in claim) for claim in claims_words]
    found = []
    for place, sentence in zip(places, sentences, strict=True):
        shares = [
            math.fsum(weight[word] for word in claim & sentence) / total
            for claim, total in zip(claims_words, totals, strict=True)
            if total
        ]
        if shares and max(shares) > 0:
            found.append((-max(shares), len(sentence), place))
    found.sort(key=lambda one: one[:2])
    return [place for *_, place in found[:_MOST]]


def find_place(claim: str, answer: str) -> WholeAnswer:
    """Where a claim stands in an answer: word for word, or else in the sentence most like it."""
    words = [re.escape(word) for word in claim.strip().rstrip(".").split()]
    exact = re.search(r"\s+".join(words), answer) if words else None
    if exact is not None:
        return WholeAnswer(answer, *exact.span())
    spans = split_sentences(answer)
    (wanted, *sentences) = _words([claim, *(answer[start:end] for start, end in spans)])
    alike = [len(wanted & sentence) / max(1, len(wanted)) for sentence in sentences]
    if not alike or max(alike) < _LEAST_ALIKE:
        return WholeAnswer(answer, None, None)
    return WholeAnswer(answer, *spans[alike.index(max(alike))])


def shorten_title(shown: Mapping[str, Any], most: int = 90) -> str:
    """A few words by which somebody knows a task again: the beginning of what is judged."""
    text = next((shown[name] for name in _CLAIMS if isinstance(shown.get(name), str)), "")
    text = " ".join(text[: 4 * most].split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _texts_of(value: Any) -> Iterator[tuple[int | None, str]]:
    if isinstance(value, str):
        yield None, value
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            text = part.get("text") if isinstance(part, Mapping) else part
            if isinstance(text, str):
                yield number, text


def _words(texts: Sequence[str]) -> list[set[str]]:
    """The stems of each text's words, without those that every text has."""
    plain = tokenize(texts, Normalizer.named("squad")).strings()
    return [{stem(word) for word in text.split() if word not in _COMMON} for text in plain]
