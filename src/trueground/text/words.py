"""The words of a sentence by word lists: names, numbers, finite verbs, doubts."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+(?:['’.,&/–-][^\W_]+)*")
_QUOTE = re.compile(r'"[^"]*"|“[^”]*”|«[^»]*»|(?<!\w)[\'‘][^\'‘’]{1,80}[\'’](?!\w)')
_BRACKET = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_OPENING = re.compile("[\"“«'‘]")
_UNPAIRED = re.compile(r'["“”«»()\[\]]')
_SPACE = re.compile(r"\s*(?:\([^()\[\]]*\)|\[(?!\d{4}\])[^()\[\]]*\])")
_MONTHS = frozenset(
    re.findall(
        r"\w+",
        "january february march april may june july august september october november december",
    )
)


class Word(NamedTuple):
    """A word with its offsets in the sentence, and the marks that stand right before it.

    `name`: it is spelled as a name is; `value`: it is a number or the name of a month; `verb`: it
    looks like a finite verb (a capitalized one is part of a name); `doubt`: it denies, weakens or
    reports what is said.
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
            lower, spelling, name, value, verb, doubt = _looks(masked[start:end])
            fields = (lower, spelling, start, end, gap, name, value, verb, doubt)
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
def _looks(spelling: str) -> tuple[str, str, bool, bool, bool, bool]:
    """The lower-case form and the spelling, and the flags of a Word in their order."""
    lower = spelling.lower().replace("’", "'")
    name = spelling[0].isupper()
    value = spelling[0].isdigit() or (name and lower in _MONTHS)
    doubt = not name and WORD_LISTS.among(lower, "hedge|report")
    verb = not name and WORD_LISTS.is_finite(lower)
    return lower, spelling, name, value, verb, doubt


class WordLists:
    """The lists of words in words.txt, by which lower-case words are told apart."""

    def __init__(self) -> None:
        self._joined: dict[str, frozenset[str]] = {}

    def among(self, word: str, names: str) -> bool:
        """Return whether a word is in a list.

        Args:
            word: The word.
            names: The list, such as "pronoun", or several lists as "A|B".
        """
        words = self._joined.get(names)
        if words is None:
            words = frozenset[str]().union(*(self._lists[name] for name in names.split("|")))
            self._joined[names] = words
        return word in words

    def is_adverb(self, word: str) -> bool:
        """Return whether a word looks like an adverb."""
        if self.among(word, "adverb"):
            return True
        return len(word) > 4 and word.endswith("ly") and not self.among(word, "no adverb")

    def is_finite(self, word: str) -> bool:
        """Return whether a word looks like a finite verb form."""
        if self.among(word, "finite"):
            return True
        return len(word) > 3 and word.endswith("ed") and not self.among(word, "not past")

    @cached_property
    def _lists(self) -> dict[str, frozenset[str]]:
        lists: dict[str, set[str]] = {}
        for line in data_lines("trueground.text", "words.txt"):
            name, _, words = line.partition(":")
            lists.setdefault(name, set()).update(words.split())
        return {name: frozenset(words) for name, words in lists.items()}


def data_lines(package: str, name: str) -> list[str]:
    """Return the lines of a package's data file without comments and blank lines."""
    source = (files(package) / "data" / name).read_text(encoding="utf-8")
    return [line for line in source.splitlines() if line.strip() and not line.startswith("#")]


WORD_LISTS = WordLists()
