"""A stretch of text as tokens: words with what the lexicon knows of them, values, marks."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from trueground.judges.lexical.words import NUMERIC, Word, lexicon
from trueground.text.values import Value

WORDS = re.compile(r"(?:[A-Z]\.){2,}|[^\W\d_][^\W_]*(?:['’][^\W\d_]+)*|\d+")
_TOKENS = re.compile(WORDS.pattern + r"|[$€£¥₹]\d+|[,;:()“”\".!?—]")
_ENDS_DENIAL = frozenset(("but", "and", "because", "although", "while", "whereas"))


class Token(msgspec.Struct, gc=False):
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


def read(text: str, start: int, end: int, found: Sequence[Value]) -> list[Token]:
    """Return the tokens of `text[start:end]`: words, the values in `found`, punctuation marks."""
    known = {value.start: value for value in found}
    tokens: list[Token] = []
    taken = start
    negated = False
    before: Word | None = None
    for match in _TOKENS.finditer(text, start, end):
        begin = match.start()
        if begin < taken:
            continue
        word = lexicon[match.group()]
        value = known.get(begin)
        if value is not None:
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
