"""Texts as the judge reads them: which sentence has which word, and tokens for a closer look."""

from __future__ import annotations

import re
from collections import defaultdict

import msgspec

from trueground.judges.lexical.words import NUMERIC, Word, keys, lexicon
from trueground.text.sentences import sentences
from trueground.text.values import Value, value_at, values

_SPACELESS = r"\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_HAS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_WORDS = re.compile(r"(?:[A-Z]\.){2,}|[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
_TOKENS = re.compile(_WORDS.pattern + r"|[$€£¥₹]\d+|[,;:()“”\".!?—]")
_BIGRAMS = re.compile(f"(?=([{_SPACELESS}]{{2}}))[{_SPACELESS}]|[^\\W{_SPACELESS}]+|[{_SPACELESS}]")
_CITATION = re.compile(r"\[\d+(?:\s*[,–-]\s*\d+)*\]")
_ENDS_DENIAL = frozenset(("but", "and", "because", "although", "while", "whereas"))


class Token(msgspec.Struct):
    """One word, value or punctuation mark. `content` says whether it says something by itself."""

    start: int
    end: int
    word: Word
    key: str
    spelling: str
    content: bool
    verb: bool = False
    negated: bool = False
    value: Value | None = None


class TextView:
    """One text: the spans of its sentences, and an index from word keys to sentences.

    The index maps a key to a bit mask (bit i: sentence i has the word). Tokens and values of a
    sentence are read when they are asked for, and kept.
    """

    def __init__(self, text: str) -> None:
        self.text = without_citations(text)
        self.spans = sentences(text)
        self.index: defaultdict[str, int] = defaultdict(int)
        self._tokens: dict[int, list[Token]] = {}
        self._values: dict[int, list[Value]] = {}
        spaceless = is_spaceless(text)
        for number, (start, end) in enumerate(self.spans):
            bit = 1 << number
            if spaceless:
                found = spaceless_keys(self.text[start:end])
            else:
                found = set(map(keys.__getitem__, _WORDS.findall(self.text, start, end)))
            for key in found:
                self.index[key] |= bit

    def tokens(self, number: int) -> list[Token]:
        """The tokens of one sentence; offsets count from the start of the text."""
        if number not in self._tokens:
            self._tokens[number] = read(self.text, *self.spans[number])
        return self._tokens[number]

    def values(self, number: int) -> list[Value]:
        """The numbers and dates of one sentence; offsets count from the start of the text."""
        if number not in self._values:
            numeric = self.index.get(NUMERIC, 0) >> number & 1
            self._values[number] = values(self.text, *self.spans[number]) if numeric else []
        return self._values[number]


def without_citations(text: str) -> str:
    """Blank out "[1]" and "[2, 3]", keeping all offsets."""
    if "[" not in text:
        return text
    return _CITATION.sub(lambda match: " " * len(match.group()), text)


def is_spaceless(text: str) -> bool:
    """Whether `text` has letters of a script that puts no spaces between words."""
    return not text.isascii() and _HAS_SPACELESS.search(text) is not None


def spaceless_keys(text: str) -> set[str]:
    """Return keys for a text in a script without spaces: pairs of neighbouring characters."""
    return {match[1] or keys[match.group()] for match in _BIGRAMS.finditer(text)}


def read(text: str, start: int, end: int) -> list[Token]:
    """Return the tokens of `text[start:end]`: words, values and punctuation marks."""
    tokens: list[Token] = []
    taken = start
    negated = False
    before: Word | None = None
    for match in _TOKENS.finditer(text, start, end):
        begin = match.start()
        if begin < taken:
            continue
        word = lexicon[match.group()]
        value = value_at(text, begin) if word.opens_value else None
        if value is not None and value.end <= end:
            spelling = text[begin : value.end]
            tokens.append(Token(begin, value.end, word, "", spelling, True, value=value))
            tokens[-1].negated = negated
            taken, before = value.end, None
            continue
        key = "" if word.key == NUMERIC else word.key
        content = bool(key) and not word.role
        if word.role == "negator":
            negated = True
        elif word.role == "mark" or word.spelling in _ENDS_DENIAL:
            negated = False
        verb = word.verb or (
            content
            and before is not None
            and not word.capital
            and (before.spelling == "to" or (before.verb and bool(before.role)))
        )
        token = Token(begin, match.end(), word, key, word.spelling, content, verb)
        token.negated = negated and content
        tokens.append(token)
        before = word
    return tokens
