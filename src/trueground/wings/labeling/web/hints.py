"""Hints for annotators: likely sentences for a claim, and the claim's position in its answer."""

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

# The names of shown texts: the text to judge (the first of these that a task has), and passages.
_CLAIMS = ("response", "sentence", "fact", "new_answer", "answer", "question")
_PASSAGES = (
    *("contexts", "context", "passage", "passages", "text", "new_contexts", "paragraph"),
    *("references", "citation", "facts", "knowledge"),
)
_MAX_HINTS = 5
_MIN_SHARED_WORDS = 0.5  # share of a claim's words that its sentence must have
# Words that are too common to find a sentence.
_COMMON = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "did", "do", "does",
    "for", "from", "had", "has", "have", "he", "her", "him", "his", "how", "i", "if", "in",
    "into", "is", "it", "its", "may", "no", "not", "of", "on", "or", "she", "so", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "whom", "why", "will", "with", "would",
    "you",
))  # fmt: skip


class Hint(msgspec.Struct, frozen=True):
    """A sentence of a shown text.

    Attributes:
        show: The name of the shown text.
        part: The 0-based index in it if it is a list, else None.
        start: The start of the sentence in code points; in a passage with a title, in its text.
        end: The end of the sentence.
    """

    show: str
    part: int | None
    start: int
    end: int


class WholeAnswer(msgspec.Struct, frozen=True):
    """The answer that a claim is from, and the position of the claim if it was found."""

    text: str
    start: int | None
    end: int | None


def find_hints(shown: Mapping[str, Any]) -> list[Hint]:
    """Return the sentences that share the most words with a claim, the best first.

    Rare words count more than common words.
    """
    named = next((name for name in _CLAIMS if isinstance(shown.get(name), str)), None)
    if named is None:
        return []
    hints, texts = list[Hint](), list[str]()
    for name in _PASSAGES:
        if name != named and name in shown:
            for part, text in _texts_of(shown[name]):
                for start, end in split_sentences(text):
                    hints.append(Hint(name, part, start, end))
                    texts.append(text[start:end])
    answer = shown[named]
    claims = [answer[start:end] for start, end in split_sentences(answer)]
    words = _words([*texts, *claims])
    sentences, claims_words = words[: len(texts)], words[len(texts) :]
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)
    weight = {word: log(1 + len(texts) / count) for word, count in counts.items()}
    # Words that are in no sentence don't change the order, so they have no weight.
    totals = [_sum_weights(weight, claim) for claim in claims_words]
    ranked = []
    for hint, sentence in zip(hints, sentences, strict=True):
        best = 0.0
        for claim, total in zip(claims_words, totals, strict=True):
            if total:
                best = max(best, _sum_weights(weight, claim & sentence) / total)
        if best > 0:
            ranked.append((-best, len(sentence), hint))
    ranked.sort(key=lambda entry: entry[:2])
    return [hint for *_, hint in ranked[:_MAX_HINTS]]


def _sum_weights(weight: Mapping[str, float], words: set[str]) -> float:
    return math.fsum(weight.get(word, 0.0) for word in words)


def find_place(claim: str, answer: str) -> WholeAnswer:
    """Find a claim in an answer: the exact words, or else the most similar sentence."""
    words = [re.escape(word) for word in claim.strip().rstrip(".").split()]
    exact = re.search(r"\s+".join(words), answer) if words else None
    if exact is not None:
        return WholeAnswer(answer, *exact.span())
    spans = split_sentences(answer)
    claim_words, *sentences = _words([claim, *(answer[start:end] for start, end in spans)])
    shares = [len(claim_words & sentence) / max(1, len(claim_words)) for sentence in sentences]
    if not shares or max(shares) < _MIN_SHARED_WORDS:
        return WholeAnswer(answer, None, None)
    return WholeAnswer(answer, *spans[shares.index(max(shares))])


def shorten_title(shown: Mapping[str, Any], max_chars: int = 90) -> str:
    """Return the beginning of the text to judge, as a title of the task."""
    text = next((shown[name] for name in _CLAIMS if isinstance(shown.get(name), str)), "")
    text = " ".join(text[: 4 * max_chars].split())
    return text if len(text) <= max_chars else text[: max_chars - 1].rstrip() + "…"


def _texts_of(value: Any) -> Iterator[tuple[int | None, str]]:
    if isinstance(value, str):
        yield None, value
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            text = part.get("text") if isinstance(part, Mapping) else part
            if isinstance(text, str):
                yield number, text


def _words(texts: Sequence[str]) -> list[set[str]]:
    """Return the stems of the words of each text, without common words."""
    plain = tokenize(texts, Normalizer.named("squad")).strings()
    return [{stem(word) for word in text.split() if word not in _COMMON} for text in plain]
