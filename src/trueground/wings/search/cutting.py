"""Cut paragraphs into passages of at most some words, at ends of sentences where possible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from trueground.text import split_sentences

# A character of a script without spaces counts as a word.
_WORD = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")
_LONGEST = 2  # times the words of a passage: what one sentence may have before it is cut itself
_SHORTEST = 4  # a last passage of less than a fourth goes to the one before


class _Span(NamedTuple):
    """A sentence with what stands before it in its paragraph, its words, and if it begins one."""

    text: str
    words: int
    begins: bool


def cut_paragraphs(paragraphs: Iterable[str], words: int, overlap: int) -> Iterator[str]:
    """Yield the passages of the paragraphs of one section.

    A passage has at most `words` words, but for one sentence that is longer (twice as long at
    most) and for a short last rest.

    Args:
        paragraphs: The paragraphs.
        words: The most words of a passage.
        overlap: How many of the last sentences of the passage before a passage repeats.
    """
    sentences = list(_sentences(paragraphs, words))
    for start, stop in _groups(sentences, words):
        part = sentences[max(start - overlap, 0) : stop]
        text = "".join("\n" * (one.begins and i > 0) + one.text for i, one in enumerate(part))
        yield text.strip()


def _groups(sentences: list[_Span], words: int) -> list[tuple[int, int]]:
    """The passages as (first sentence, sentence after the last)."""
    groups: list[tuple[int, int]] = []
    start = size = 0
    for place, sentence in enumerate(sentences):
        if place > start and size + sentence.words > words:
            groups.append((start, place))
            start, size = place, 0
        size += sentence.words
    if not sentences:
        return []
    if groups and size * _SHORTEST < words:
        start = groups.pop()[0]
    return [*groups, (start, len(sentences))]


def _sentences(paragraphs: Iterable[str], words: int) -> Iterator[_Span]:
    """The sentences, those that are far too long in parts; nothing between is lost."""
    for paragraph in paragraphs:
        begins = True
        ends = [end for _, end in split_sentences(paragraph)]
        ends[-1:] = [len(paragraph)]
        for start, end in pairwise([0, *ends]):
            text = paragraph[start:end]
            found = [match.start() for match in _WORD.finditer(text)]
            cuts = found[words::words] if len(found) > _LONGEST * words else []
            for low, high in pairwise([0, *cuts, len(text)]):
                part = text[low:high]
                yield _Span(part, len(_WORD.findall(part)), begins)
                begins = False
