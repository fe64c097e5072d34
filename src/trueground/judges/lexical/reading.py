"""Texts as the judge reads them: which sentence has which word, and tokens for a closer look."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, cached_property

import msgspec

from trueground.judges.lexical.words import NUMERIC, LexicalWord, keys, signs_of, word_of
from trueground.text.sentences import split_sentences
from trueground.text.values import Value, find_values

_ARTICLES = frozenset(("_a", "_an", "_the"))
_WORDS = re.compile(r"(?:[A-Z]\.){2,}|[^\W\d_][^\W_]*(?:['’][^\W\d_]+)*|\d+")
_TOKENS = re.compile(_WORDS.pattern + r"|[$€£¥₹]\d+|[,;:()“”\".!?—]")
_SPACELESS = r"\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_HAS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_BIGRAMS = re.compile(f"(?=([{_SPACELESS}]{{2}}))[{_SPACELESS}]|[^\\W{_SPACELESS}]+|[{_SPACELESS}]")
_LONGEST = 2000  # characters of a sentence
_ACRONYM = re.compile(r"[A-Z]\.[A-Z]\.")
_TO_SPACE = bytes(code if chr(code).isalnum() else 32 for code in range(128)).ljust(256)
_CITATION = re.compile(r"\[\d+(?:\s*[,–-]\s*\d+)*\]")


class Token(msgspec.Struct, gc=False):
    """A word, value or punctuation mark. A value's key is NUMERIC, its word that which opens it."""

    word: LexicalWord
    spelling: str
    value: Value | None = None

    @property
    def key(self) -> str:
        """The key of the word."""
        return self.word.key


class TextView:
    """One text: the spans of its sentences, and an index from word keys to sentences.

    Everything is read when it is asked for, and kept: most texts are not looked at closely.
    """

    def __init__(self, text: str) -> None:
        self.text = without_citations(text)
        self._original = text
        self._tokens: dict[int, list[Token]] = {}
        self._values: dict[int, list[Value]] = {}

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where the sentences stand."""
        text = self._original
        return [part for span in split_sentences(text) for part in _pieces(text, *span)]

    @cached_property
    def sentences(self) -> list[list[str]]:
        """The keys of each sentence in their order, without articles."""
        if is_spaceless(self.text):
            return [spaceless_keys(self.text[start:end]) for start, end in self.spans]
        plain = _spaced(self.text) if _is_plain(self.text) else None
        found = []
        for start, end in self.spans:
            words = plain[start:end].split() if plain else _WORDS.findall(self.text, start, end)
            found.append([key for key in map(keys.__getitem__, words) if key not in _ARTICLES])
        return found

    @cached_property
    def index(self) -> dict[str, int]:
        """Key of a word → bit mask of the sentences that have it."""
        index: dict[str, int] = {}
        for number, sentence in enumerate(self.sentences):
            bit = 1 << number
            for key in sentence:
                index[key] = index.get(key, 0) | bit
        return index

    @cached_property
    def spellings(self) -> Counter[str]:
        """The words of the text in lower case, and how often each stands there."""
        return spellings(self.text)

    def tokens(self, number: int) -> list[Token]:
        """The tokens of one sentence; offsets of values count from the start of the text."""
        if number not in self._tokens:
            self._tokens[number] = read(self.text, *self.spans[number], self.values(number))
        return self._tokens[number]

    def values(self, number: int) -> list[Value]:
        """The numbers and dates of one sentence; offsets count from the start of the text."""
        if number not in self._values:
            numeric = self.index.get(NUMERIC, 0) >> number & 1
            self._values[number] = find_values(self.text, *self.spans[number]) if numeric else []
        return self._values[number]


def read(text: str, start: int, end: int, values: Sequence[Value]) -> list[Token]:
    """The tokens of `text[start:end]`, of which `values` are the values."""
    known = {value.start: value for value in values}
    tokens: list[Token] = []
    taken = start
    for match in _TOKENS.finditer(text, start, end):
        begin = match.start()
        if begin >= taken:
            value = known.get(begin)
            taken = value.end if value else match.end()
            tokens.append(Token(word_of(match[0]), text[begin:taken], value))
    return tokens


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut what is too long for a sentence (tables, logs, texts without full stops) at spaces."""
    while end - start > _LONGEST:
        space = text.rfind(" ", start + 1, start + _LONGEST)
        stop = space if space > start else start + _LONGEST
        yield start, stop
        start = stop
    yield start, end


def spellings(text: str) -> Counter[str]:
    """The words of a text in lower case without articles, and how often each stands there."""
    if is_spaceless(text):
        return Counter(spaceless_keys(text))
    lower = text.lower()
    found = Counter(_spaced(lower).split() if _is_plain(lower) else _WORDS.findall(lower))
    for article in ("a", "an", "the"):
        del found[article]
    return found


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


def without_frames(claim: str) -> str:
    """Blank out citations, and what only leads in: "First, …; second, …", "Yes, indeed: …"."""
    return _frame().sub(lambda match: " " * len(match.group()), without_citations(claim))


@cache
def _frame() -> re.Pattern[str]:
    word = rf"(?:{'|'.join(sorted(signs_of('leads in'), key=len, reverse=True))})"
    opens = rf"(?:^|(?<=[;.:] )|(?<=, and ))(?:{word}(?: {word})*(?:[,:]| [–—-]) )+"
    return re.compile(rf"{opens}|\b(?:e\.g|i\.e|etc)\b\.?", re.I)


def is_spaceless(text: str) -> bool:
    """Whether `text` has letters of a script that puts no spaces between words."""
    return not text.isascii() and _HAS_SPACELESS.search(text) is not None


def spaceless_keys(text: str) -> list[str]:
    """Return keys for a text in a script without spaces: pairs of neighbouring characters."""
    return [match[1] or keys[match.group()] for match in _BIGRAMS.finditer(text)]
