"""What the rules for error categories see in a text: words, names, lists, dates and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from trueground.text.normalize import get_normalizer
from trueground.text.values import Value, same_day, values

_WORD = re.compile(r"\w+(?:['’.,/-]\w+)*")
_PARTICLES = "of|de|del|van|von|der|den|la|le|the|di|da|du|bin|al|for|on|in|to|a"
_PART = r"(?:(?:[A-ZÀ-ÖØ-Þ]\.)+(?!\w)|(?:St|Dr|Mr|Mrs|Ms|Jr|Sr|Prof|Mt|Ft)\.|[A-ZÀ-ÖØ-Þ][\w'’-]*)"
_NAME = re.compile(rf"{_PART}(?:\s+(?:(?:{_PARTICLES})\s+){{0,2}}{_PART})*")
_SPLIT = re.compile(r"\s*(?:[,;\n]|\s/\s)\s*(?:(?:and|or|also)\s+)*|\s+(?:and|or)\s+|\s*&\s*")
_JOINED = re.compile(r"\s*(?:,|;|&|,?\s*\b(?:and|or)\b)\s*(?:the\s+|by\s+)?")
_SPACES = re.compile(r"[^\S\n]+")
_GAP = 20  # characters between two names of a list
# What no name begins with, although a sentence may; and what says nothing anywhere.
_BEGIN = (
    "the a an it he she they we i you in on at by of to for from with and but or as is are was "
    "were his her its their this that these those there here after before during since when where "
    "who what which while both all each some several many most only about around approximately yes "
    "no not then later also because although according based members among near"
)
_LITTLE = (
    "be been being has have had do does did can could may might will would shall should s them him "
    "than so such into out up down off over under again more very just too own same"
)
_OPENERS = frozenset(_BEGIN.split())
STOP = _OPENERS | frozenset(_LITTLE.split())
_ROMAN = re.compile(r"(?<=[a-z]\s)([IVX]{1,6})\b")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10}


@dataclass(frozen=True)
class Word:
    """A normalised word and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Text:
    """A text as the rules see it."""

    raw: str

    @cached_property
    def places(self) -> list[Word]:
        """The words in order, articles left out."""
        rule = get_normalizer("unicode-1").rule
        return [
            Word(word, match.start(), match.end())
            for match in _WORD.finditer(self.raw)
            for word in rule(match[0]).split()
        ]

    @cached_property
    def words(self) -> list[str]:
        """The words alone."""
        return [word.text for word in self.places]

    def content(self, known: Iterable[str] = ()) -> list[str]:
        """The words that say something, without those that are known already."""
        left_out = STOP.union(known)
        return [word for word in self.words if word not in left_out]

    @cached_property
    def names(self) -> list[tuple[int, int]]:
        """Where words with capitals stand together, without what only begins a sentence."""
        found = []
        for match in _NAME.finditer(self.raw):
            start, end = match.span()
            while (first := _WORD.match(self.raw, start, end)) and first[0].lower() in _OPENERS:
                rest = self.raw[first.end() : end]
                start = first.end() + len(rest) - len(rest.lstrip())
                if start < end and not self.raw[start].isupper():
                    inner = _NAME.search(self.raw, start, end)
                    start = inner.start() if inner else end
            if start < end:
                found.append((start, end))
        return found

    @cached_property
    def values(self) -> list[Value]:
        """Numbers and dates; Roman numerals behind a word count as numbers."""
        return values(_ROMAN.sub(_arabic, self.raw))

    def find(self, words: Sequence[str]) -> str | None:
        """The raw text where these words stand one after another; None where they do not."""
        n = len(words)
        for at in range(len(self.words) - n + 1) if n else ():
            if self.words[at : at + n] == list(words):
                return self.raw[self.places[at].start : self.places[at + n - 1].end]
        return None

    @cached_property
    def is_name(self) -> bool:
        """Whether it is a name or names and nothing else: each telling word has a capital."""
        telling = [m[0] for m in _WORD.finditer(self.raw) if m[0].lower() not in STOP]
        return (
            bool(telling)
            and all(w[0].isupper() or not w[0].isalpha() for w in telling)
            and any(w[0].isupper() for w in telling)
        )

    @cached_property
    def is_value(self) -> bool:
        """Whether it is numbers or dates and little else."""
        return bool(self.values) and len(self.beside_values) <= 1

    @cached_property
    def beside_values(self) -> list[str]:
        """The telling words that belong to no number or date."""
        spans = [(value.start, value.end) for value in self.values]
        return [
            word.text
            for word in self.places
            if word.text not in STOP and not any(a <= word.start < b for a, b in spans)
        ]

    @cached_property
    def items(self) -> list[Text]:
        """The pieces between commas, semicolons and the words "and" and "or"."""
        plain = _SPACES.sub(" ", self.raw).strip(" .")
        return [Text(piece) for piece in _SPLIT.split(plain) if piece.strip()]

    @cached_property
    def longest_list(self) -> list[tuple[int, int]]:
        """The longest run of names with nothing but commas or "and" between them."""
        best: list[tuple[int, int]] = []
        run: list[tuple[int, int]] = []
        for span in self.names:
            near = run and span[0] - run[-1][1] <= _GAP
            together = near and _JOINED.fullmatch(self.raw, run[-1][1], span[0])
            run = [*run, span] if together else [span]
            best = run if len(run) > len(best) else best
        return best


def _arabic(match: re.Match[str]) -> str:
    """A Roman numeral in digits, as long as before; other letters stay."""
    digits = [_ROMAN_DIGITS[c] for c in match[1]]
    pairs = zip(digits, [*digits[1:], 0], strict=True)
    number = str(sum(-d if d < after else d for d, after in pairs))
    return number.ljust(len(match[1])) if len(number) <= len(match[1]) else match[1]


def same_value(a: Value, b: Value) -> bool:
    """Whether two numbers or two dates are equal, however they are written."""
    if "date" in (a.kind, b.kind):
        if a.kind != b.kind:
            return False
        return a.years == b.years and same_day(a, b)
    if a.amount is None or b.amount is None or a.kind != b.kind:
        return False
    close = abs(a.amount - b.amount) <= 1e-9 * max(abs(a.amount), abs(b.amount))
    return close and (a.unit == b.unit or None in (a.unit, b.unit))


def coarser(a: Value, b: Value) -> bool | None:
    """Whether date `a` holds date `b` and says less; False the other way round, None if neither."""
    if a.kind != "date" or b.kind != "date":
        return None
    if a.years != b.years:
        wide, narrow = (a, b) if a.years > b.years else (b, a)
        if wide.year is None or narrow.year is None:
            return None
        return wide is a if wide.year <= narrow.year < wide.year + wide.years else None
    parts_a, parts_b = _parts(a), _parts(b)
    common = parts_a.keys() & parts_b.keys()
    if parts_a.keys() == parts_b.keys() or any(parts_a[k] != parts_b[k] for k in common):
        return None
    if not common or common not in (parts_a.keys(), parts_b.keys()):
        return None
    return len(parts_a) < len(parts_b)


def _parts(date: Value) -> dict[str, int]:
    parts = {"year": date.year, "month": date.month, "day": date.day}
    return {name: number for name, number in parts.items() if number is not None}
