"""A stretch of text as tokens: words with what the lexicon knows of them, values, marks."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from trueground.judges.lexical.words import NUMERIC, LexicalWord, lexicon
from trueground.text.values import Value

WORDS = re.compile(r"(?:[A-Z]\.){2,}|[^\W\d_][^\W_]*(?:['’][^\W\d_]+)*|\d+")
_TOKENS = re.compile(WORDS.pattern + r"|[$€£¥₹]\d+|[,;:()“”\".!?—]")
_NONE = LexicalWord("")
_ENDS_DENIAL = frozenset(("but", "and", "because", "although", "while", "whereas"))


class Token(msgspec.Struct, gc=False):
    """One word, value or punctuation mark. `content` says whether it says something by itself."""

    word: LexicalWord
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
    before = _NONE
    for match in _TOKENS.finditer(text, start, end):
        begin = match.start()
        if begin < taken:
            continue
        word = lexicon[match[0]]
        if begin in known:
            value = known[begin]
            taken, before = value.end, _NONE
            spelling = text[begin:taken]
            tokens.append(Token(word, "", spelling, True, False, negated, value))
            continue
        role = word.role
        if role == "negator":
            negated = True
        elif role == "mark" or word.spelling in _ENDS_DENIAL:
            negated = False
        content = word.content
        verb = word.verb or (
            content
            and not word.capital
            and (before.spelling == "to" or (before.verb and bool(before.role)))
        )
        key = "" if word.key == NUMERIC else word.key
        tokens.append(Token(word, key, word.spelling, content, verb, negated and content))
        before = word
    return tokens
