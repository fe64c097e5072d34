"""A sentence as the rules see it: its words, with quotations and brackets made opaque."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from trueground.text.numerals import MONTH_NAMES

_WORD = re.compile(r"[^\W_]+(?:['’.,&/–-][^\W_]+)*")
_QUOTE = re.compile(r'"[^"]*"|“[^”]*”|«[^»]*»|(?<!\w)[\'‘][^\'‘’]{1,80}[\'’](?!\w)')
_BRACKET = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_OPENING = re.compile("[\"“«'‘]")
_ROLE_ENDINGS = ("er", "or", "ist", "ian", "man", "woman", "eur", "ess")
_UNPAIRED = re.compile(r'["“”«»()\[\]]')
_SPACE = re.compile(r"\s*(?:\([^()\[\]]*\)|\[(?!\d{4}\])[^()\[\]]*\])")
YEAR = re.compile(r"(?:1\d|20)\d\d(?:s|BC|AD)?$")
MONTHS = frozenset(MONTH_NAMES)
# What follows a participle: "built by", "located in".
PASSIVE = frozenset(("by", "in", "on", "at", "for", "to", "as", "with", "from", "near", "into"))


class Word(NamedTuple):
    """A word with its offsets in the sentence, and the marks that stand right before it.

    `name`: it is spelled as a name is; `value`: it is a number or the name of a month; `verb`: it
    looks like a finite verb (a capitalised one is part of a name); `doubt`: it denies, weakens or
    reports what is said; `idle`: it is neither that nor a verb nor a word that joins clauses.
    """

    lower: str
    spelling: str
    start: int
    end: int
    gap: str
    name: bool
    value: bool
    verb: bool
    doubt: bool
    idle: bool


class View:
    """The words of one sentence. A quotation counts as one name, a bracket does not exist."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.masked = masked = _mask(text)
        self.balanced = not _UNPAIRED.search(masked)
        self.words: list[Word] = []
        last = 0
        for match in _WORD.finditer(masked):
            start, end = match.span()
            gap = masked[last:start]
            if gap:
                gap = "" if gap == " " else gap.translate(_NO_GAP)
            lower, spelling, name, value, verb, doubt, idle = _looks(masked[start:end])
            fields = (lower, spelling, start, end, gap, name, value, verb, doubt, idle)
            self.words.append(tuple.__new__(Word, fields))  # half the time of Word(…)
            last = end

    def of(self, first: int, last: int) -> str:
        """The text from word `first` up to word `last` (exclusive), without brackets."""
        found = self.text[self.start_of(first) : self.end_of(last - 1)]
        return _SPACE.sub("", found) if "(" in found or "[" in found else found

    def stop_before(self, word: int) -> int:
        """Where the text before a word ends: brackets included, marks and white space not."""
        if word == len(self.words):
            return len(self.text)
        end = self.end_of(word - 1)
        bracket = self.masked.rfind("\x01", end, self.words[word].start)
        return max(end, bracket + 1)

    def start_of(self, word: int) -> int:
        """Where a word begins, with the quotation mark or currency sign that stands before it."""
        start = self.words[word].start
        while start > 0 and self.text[start - 1] in "\"“«‘'$€£":
            start -= 1
        return start

    def end_of(self, word: int) -> int:
        """Where a word ends, with the quotation mark or bracket that closes after it."""
        end = self.words[word].end
        while end < len(self.text) and self.text[end] in "\"”»’'%♯♭#+°":
            end += 1
        if self.text[end : end + 2] in (". ", ".,"):
            end += 1  # "Corp. was"
        return end


_NO_GAP = {  # a full stop inside a sentence belongs to an abbreviation
    ord(mark): None for mark in " .\t\n\r\x00\x01\"“”«»'‘’$€£%"
}


def _mask(text: str) -> str:
    if _OPENING.search(text):
        text = _QUOTE.sub(lambda m: m.group()[0] + "Q" * (len(m.group()) - 2) + m.group()[-1], text)
        text = text.replace('"Q', "\x00Q").replace('Q"', "Q\x00")
        text = text.replace("“Q", "\x00Q").replace("Q”", "Q\x00")
        text = text.replace("«Q", "\x00Q").replace("Q»", "Q\x00")
    if "(" in text or "[" in text:
        text = _BRACKET.sub(lambda m: "\x01" * len(m.group()), text)
    return text


@lru_cache(maxsize=100_000)
def _looks(spelling: str) -> tuple[str, str, bool, bool, bool, bool, bool]:
    """The lower-case form and the spelling, and the flags of a Word in their order."""
    lower = spelling.lower().replace("’", "'")
    name = spelling[0].isupper()
    value = spelling[0].isdigit() or (name and lower in MONTHS)
    doubt = not name and among(lower, "hedge|report")
    verb = not name and is_finite(lower)
    joins = among(lower, "stop|nesting|joint|report|hedge")
    return lower, spelling, name, value, verb, doubt, not (verb or joins)


class _WordLists(dict[str, frozenset[str]]):
    """The lists of `claim_words.txt`, and unions of them under names joined with "|"."""

    def __missing__(self, name: str) -> frozenset[str]:
        known = word_lists("claim_words.txt")
        self[name] = frozenset[str]().union(*(known[part] for part in name.split("|")))
        return self[name]


_LISTS = _WordLists()


def among(word: str, name: str) -> bool:
    """Whether a lower-case word is in the list `name` of `claim_words.txt`, or in one of A|B."""
    return word in _LISTS[name]


def is_adverb(word: str) -> bool:
    """Whether a lower-case word looks like an adverb."""
    if among(word, "adverb"):
        return True
    return len(word) > 4 and word.endswith("ly") and not among(word, "no adverb")


def is_noun(word: Word) -> bool:
    """Whether a word is no determiner, preposition, adverb, name or value."""
    known = among(word.lower, "determiner|preposition|stop|pronoun|object")
    return not (known or word.name or word.value or is_adverb(word.lower))


def skip_adverbs(words: Sequence[Word], at: int, last: int) -> int:
    """The first of the words from `at` on that is no adverb; `last` where there is none."""
    while at < last and is_adverb(words[at].lower):
        at += 1
    return at


def holds(words: Iterable[Word], name: str) -> bool:
    """Whether one of the words, which is no name, is in the list `name`."""
    return any(among(word.lower, name) and not word.name for word in words)


def is_role(word: str) -> bool:
    """Whether a lower-case noun names what somebody is: "singer", "poet"."""
    if among(word, "role"):
        return True
    return len(word) > 4 and word.endswith(_ROLE_ENDINGS) and not among(word, "no role")


_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@lru_cache(maxsize=100_000)
def is_finite(word: str) -> bool:
    """Whether the lower-case `word` looks like a finite verb form."""
    known = word_lists("clause_words.txt")
    if word in known["finite"]:
        return True
    return len(word) > 3 and word.endswith("ed") and word not in known["not past"]


def has_finite(text: str) -> bool:
    """Whether `text` has a finite verb."""
    return any(is_finite(m.group().lower()) for m in _LETTERS.finditer(text))


@cache
def word_lists(file: str) -> dict[str, frozenset[str]]:
    """The word lists of a data file of this room by name."""
    found: dict[str, set[str]] = {}
    for line in data_lines(file):
        name, _, words = line.partition(":")
        found.setdefault(name, set()).update(words.split())
    return {name: frozenset(words) for name, words in found.items()}


def data_lines(name: str) -> list[str]:
    """Return the lines of a data file of this room without comments and blank lines."""
    source = (files("trueground.claims") / "data" / name).read_text(encoding="utf-8")
    return [line for line in source.splitlines() if line.strip() and not line.startswith("#")]
