"""Texts as the offline judge reads them: tokens, without citations and frames."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from trueground.judges.lexical.lexicon import Token, keys, signs_of, word_of
from trueground.judges.lexical.values import Value

ARTICLES = frozenset(("_a", "_an", "_the"))
_WORDS = re.compile(r"(?:[A-Z]\.){2,}|[^\W\d_][^\W_]*(?:['’][^\W\d_]+)*|\d+")
_TOKENS = re.compile(_WORDS.pattern + r"|[$€£¥₹]\d+|[,;:()“”\".!?—]")
_SPACELESS = r"\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_HAS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_BIGRAMS = re.compile(f"(?=([{_SPACELESS}]{{2}}))[{_SPACELESS}]|[^\\W{_SPACELESS}]+|[{_SPACELESS}]")
_ACRONYM = re.compile(r"[A-Z]\.[A-Z]\.")
_TO_SPACE = bytes(code if chr(code).isalnum() else 32 for code in range(128)).ljust(256)
_CITATION = re.compile(r"\[\d+(?:\s*[,–-]\s*\d+)*\]")


def read(text: str, start: int, end: int, values: Sequence[Value]) -> list[Token]:
    """The tokens of `text[start:end]`, of which `values` are the values."""
    values_by_start = {value.start: value for value in values}
    tokens: list[Token] = []
    taken = start
    for match in _TOKENS.finditer(text, start, end):
        begin = match.start()
        if begin >= taken:
            value = values_by_start.get(begin)
            taken = value.end if value else match.end()
            tokens.append(Token(word_of(match[0]), text[begin:taken], value))
    return tokens


def spellings(text: str) -> Counter[str]:
    """The words of a text in lower case without articles, and how often each stands there."""
    if is_spaceless(text):
        return Counter(spaceless_keys(text))
    lower = text.lower()
    counts = Counter(_spaced(lower).split() if _is_plain(lower) else _WORDS.findall(lower))
    for article in ("a", "an", "the"):
        del counts[article]
    return counts


def split_words(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[list[str]]:
    """Yield the words of each span of a text as they are spelled."""
    plain = _spaced(text) if _is_plain(text) else None
    for start, end in spans:
        yield plain[start:end].split() if plain else _WORDS.findall(text, start, end)


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
    """Return keys for a text in a script without spaces: pairs of neighboring characters."""
    return [match[1] or keys[match.group()] for match in _BIGRAMS.finditer(text)]
