"""Splitting paragraphs into passages of a maximum size, at ends of sentences if possible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from trueground.text import split_sentences

# A character of a script without spaces counts as a word.
_WORD = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")
# A sentence with more than this many times the words of a passage is split itself.
_MAX_SENTENCE_RATIO = 2
# A last passage with less than 1/4 of the words is joined with the one before.
_MIN_LAST_SHARE = 4


class _Sentence(NamedTuple):
    """A sentence with the space before it, and whether it starts a paragraph."""

    text: str
    n_words: int
    starts_paragraph: bool


def cut_paragraphs(paragraphs: Iterable[str], max_words: int, overlap: int) -> Iterator[str]:
    """Yield the passages of the paragraphs of one section.

    A passage has at most `max_words` words. There are two exceptions: a single sentence may have
    up to twice as many, and a short rest is added to the last passage.

    Args:
        paragraphs: The paragraphs.
        max_words: The maximum number of words per passage.
        overlap: The number of sentences that a passage repeats from the passage before.
    """
    sentences = list(_split(paragraphs, max_words))
    for start, stop in _group(sentences, max_words):
        text = ""
        for sentence in sentences[max(start - overlap, 0) : stop]:
            if sentence.starts_paragraph and text:
                text += "\n"
            text += sentence.text
        yield text.strip()


def _group(sentences: list[_Sentence], max_words: int) -> list[tuple[int, int]]:
    """Return the passages as (first sentence, sentence after the last)."""
    groups: list[tuple[int, int]] = []
    start = size = 0
    for number, sentence in enumerate(sentences):
        if number > start and size + sentence.n_words > max_words:
            groups.append((start, number))
            start, size = number, 0
        size += sentence.n_words
    if not sentences:
        return []
    if groups and size * _MIN_LAST_SHARE < max_words:
        start = groups.pop()[0]
    return [*groups, (start, len(sentences))]


def _split(paragraphs: Iterable[str], max_words: int) -> Iterator[_Sentence]:
    """Yield the sentences; very long ones in parts. No character is lost."""
    for paragraph in paragraphs:
        starts_paragraph = True
        ends = [end for _, end in split_sentences(paragraph)]
        ends[-1:] = [len(paragraph)]
        for start, end in pairwise([0, *ends]):
            text = paragraph[start:end]
            word_starts = [match.start() for match in _WORD.finditer(text)]
            is_long = len(word_starts) > _MAX_SENTENCE_RATIO * max_words
            cuts = word_starts[max_words::max_words] if is_long else []
            for low, high in pairwise([0, *cuts, len(text)]):
                part = text[low:high]
                yield _Sentence(part, len(_WORD.findall(part)), starts_paragraph)
                starts_paragraph = False
