"""Texts as the judge reads them: which sentence has which word, and tokens for a closer look."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from trueground.judges.lexical.segments import Segment, segments
from trueground.judges.lexical.tokens import WORDS, Token, read
from trueground.judges.lexical.words import NUMERIC, keys
from trueground.text.sentences import split_sentences
from trueground.text.values import Value, find_values

ARTICLES = frozenset(("_a", "_an", "_the"))
_SPACELESS = r"\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_HAS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_BIGRAMS = re.compile(f"(?=([{_SPACELESS}]{{2}}))[{_SPACELESS}]|[^\\W{_SPACELESS}]+|[{_SPACELESS}]")
_LONGEST = 2000  # characters
_ACRONYM = re.compile(r"[A-Z]\.[A-Z]\.")
_TO_SPACE = bytes(code if chr(code).isalnum() else 32 for code in range(128)).ljust(256)
_CITATION = re.compile(r"\[\d+(?:\s*[,–-]\s*\d+)*\]")


class TextView:
    """One text: the spans of its sentences, and an index from word keys to sentences.

    Everything is read when it is asked for, and kept: in most texts nothing is looked at closely.
    """

    def __init__(self, text: str) -> None:
        self.text = without_citations(text)
        self._original = text
        self._tokens: dict[int, list[Token]] = {}
        self._values: dict[int, list[Value]] = {}
        self._segments: dict[tuple[int, int], list[Segment]] = {}

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where the sentences stand."""
        text = self._original
        return [part for span in split_sentences(text) for part in _pieces(text, *span)]

    @cached_property
    def index(self) -> dict[str, int]:
        """Key of a word → bit mask of the sentences that have it."""
        index: dict[str, int] = {}
        get = index.get
        keys_of = _reader(self.text)
        for number, (start, end) in enumerate(self.spans):
            bit = 1 << number
            for key in keys_of(start, end):
                index[key] = get(key, 0) | bit
        return index

    @cached_property
    def sequences(self) -> list[list[str]]:
        """The keys of each sentence in their order, without articles."""
        keys_of = _reader(self.text)
        return [
            [key for key in keys_of(start, end) if key not in ARTICLES] for start, end in self.spans
        ]

    @cached_property
    def spellings(self) -> Counter[str]:
        """The words of the text in lower case, and how often each stands there."""
        return spellings(self.text)

    @cached_property
    def vocabulary(self) -> dict[str, int] | None:
        """The index that there would be if the text were one sentence, at a fraction of the cost.

        None where sentences may be cut inside words.
        """
        if len(self.text) > _LONGEST or is_spaceless(self.text):
            return None
        return dict.fromkeys(map(keys.__getitem__, _words(self.text)), 1)

    def tokens(self, number: int) -> list[Token]:
        """The tokens of one sentence; offsets count from the start of the text."""
        if number not in self._tokens:
            self._tokens[number] = read(self.text, *self.spans[number], self.values(number))
        return self._tokens[number]

    def values(self, number: int) -> list[Value]:
        """The numbers and dates of one sentence; offsets count from the start of the text."""
        if number not in self._values:
            numeric = self.index.get(NUMERIC, 0) >> number & 1
            self._values[number] = find_values(self.text, *self.spans[number]) if numeric else []
        return self._values[number]

    def segments(self, first: int, end: int) -> list[Segment]:
        """The segments of the sentences `first`…`end`-1."""
        if (first, end) not in self._segments:
            found = segments([self.tokens(number) for number in range(first, end)])
            self._segments[first, end] = found
        return self._segments[first, end]


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut what is too long for a sentence (tables, logs, texts without full stops) at spaces."""
    while end - start > _LONGEST:
        space = text.rfind(" ", start + 1, start + _LONGEST)
        stop = space if space > start else start + _LONGEST
        yield start, stop
        start = stop
    yield start, end


def _reader(text: str) -> Callable[[int, int], Iterable[str]]:
    """A function that gives the keys of the words in `text[start:end]`, some of them repeatedly."""
    if is_spaceless(text):
        return lambda start, end: spaceless_keys(text[start:end])
    if _is_plain(text):
        spaced = _spaced(text)
        return lambda start, end: map(keys.__getitem__, spaced[start:end].split())
    return lambda start, end: map(keys.__getitem__, _words(text[start:end]))


def spellings(text: str) -> Counter[str]:
    """The words of a text in lower case without articles, and how often each stands there."""
    words = spaceless_keys(text) if is_spaceless(text) else _words(text.lower())
    found = Counter(words)
    for article in ("a", "an", "the"):
        del found[article]
    return found


def sequence(text: str) -> list[str]:
    """The keys of the words of a text in their order, without articles."""
    return [key for key in _reader(text)(0, len(text)) if key not in ARTICLES]


def _words(text: str) -> list[str]:
    """The words of a text, by the quick way where that gives the same keys."""
    return _spaced(text).split() if _is_plain(text) else WORDS.findall(text)


def _is_plain(text: str) -> bool:
    """Whether every run of letters and digits is a word."""
    return text.isascii() and "'" not in text and not _ACRONYM.search(text)


def _spaced(text: str) -> str:
    """A plain text with a space for everything that is no letter or digit."""
    return text.encode("ascii").translate(_TO_SPACE).decode("ascii")


def without_citations(text: str) -> str:
    """Blank out "[1]" and "[2, 3]", keeping all offsets."""
    if "[" not in text:
        return text
    return _CITATION.sub(lambda match: " " * len(match.group()), text)


def is_spaceless(text: str) -> bool:
    """Whether `text` has letters of a script that puts no spaces between words."""
    return not text.isascii() and _HAS_SPACELESS.search(text) is not None


def spaceless_keys(text: str) -> list[str]:
    """Return keys for a text in a script without spaces: pairs of neighbouring characters."""
    return [match[1] or keys[match.group()] for match in _BIGRAMS.finditer(text)]
