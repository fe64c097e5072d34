"""Texts as the judge reads them: which sentence has which word, and tokens for a closer look.

Of single words it knows their key, rarity, role, and which exclude each other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files

import msgspec

from trueground.text.normalize import stem
from trueground.text.sentences import split_sentences
from trueground.text.values import STARTERS, Value, find_values

NUMERIC = "#"  # the key of every word that may begin a number or a date
_CACHED = 200_000
_POSSESSIVE = re.compile(r"(?:'s|(?<=s)')$")
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "anti", "mis")


class LexicalWord(msgspec.Struct, frozen=True, gc=False):
    """One spelling. `key` is shared by all words that count as the same.

    `role` is the kind of a function word ("plain", "pronoun", "negator", "mark" …) or "". Words
    without content (`content` false) have a key that begins with "_", numbers and dates NUMERIC.
    `light` words say little: adverbs, "become", "say".
    """

    lower: str
    key: str
    role: str = ""
    capital: bool = False
    content: bool = False
    light: bool = False


class Keys(dict[str, str]):
    """Spelling → key, which is needed for every word of every text."""

    def __missing__(self, spelling: str) -> str:
        if len(self) > _CACHED:
            self.clear()
        key = self[spelling] = word_of(spelling).key
        return key


@lru_cache(_CACHED)
def word_of(spelling: str) -> LexicalWord:
    """What is known of a spelling."""
    if not spelling[0].isalpha():
        number = spelling[0].isdigit() or spelling[-1].isdigit()
        return LexicalWord(
            spelling, NUMERIC if number else "_" + spelling, "" if number else "mark"
        )
    lower = spelling.lower().replace("’", "'")
    capital = spelling[0].isupper()
    shouted = len(spelling) > 1 and spelling.isupper() and lower in ("us", "it", "who", "may")
    role = "" if shouted else _roles().get(lower, "")
    bare = _POSSESSIVE.sub("", lower)
    if role:
        # "The bank failed": some verbs of denial or intent are also what the clause says.
        says = role in ("negator", "hedge") and _group_key(bare) in _also_content()
        key = _group_key(bare) if says else "_" + lower
        return LexicalWord(bare, key, role, capital, says)
    if bare in STARTERS and bare not in ("mar", "may", "march"):
        return LexicalWord(bare, NUMERIC, "", capital)
    light = bare in _light() or (bare.endswith("ly") and len(bare) > 4 and not capital)
    return LexicalWord(bare, _group_key(bare), "", capital, True, light)


def opposed(one: str, other: str) -> bool:
    """Whether two words in lower case cannot both hold: a listed pair, or one with un-, in-, …"""
    if one == other:
        return False
    table = _contrasts()
    found = [table.get(word) or table.get(stem(word)) or [] for word in (one, other)]
    if any(line == twin and side != end for line, side in found[0] for twin, end in found[1]):
        return True
    long, short = (one, other) if len(one) > len(other) else (other, one)
    return len(short) > 3 and any(long == prefix + short for prefix in _PREFIXES)


def signs_of(kind: str) -> frozenset[str]:
    """The words of a kind in signs.txt."""
    return _signs()[kind]


@cache
def _signs() -> dict[str, frozenset[str]]:
    return {kind: frozenset(words) for kind, words in _kinds("signs.txt").items()}


def may_be_same(one: str, other: str) -> bool:
    """Whether two names in lower case may be one: they begin alike, or stand for each other."""
    return one[:4] == other[:4] or bool(_aliases().get(one, set()) & _aliases().get(other, set()))


def rarity_of(key: str) -> float:
    """How much a word says, from 0.01 (it is in every sentence) to 1 (in none that was counted)."""
    return _rarities().get(key, 1.0) or 0.01


def is_common(key: str) -> bool:
    """Whether the word was counted when the rarities were made."""
    return key in _rarities()


def _group_key(word: str) -> str:
    return _groups().get(word) or _groups().get(stem(word)) or stem(word)


@cache
def _groups() -> dict[str, str]:
    """Word or stem → key of its synonym group."""
    table: dict[str, str] = {}
    for line in _lines("groups.txt"):
        members = line.split()
        for member in members:
            table.setdefault(member, members[0] + "~")
            table.setdefault(stem(member), members[0] + "~")
    return table


@cache
def _contrasts() -> dict[str, list[tuple[int, int]]]:
    """Word → the lines of contrasts.txt and exclusive.txt that it stands in, and on which side."""
    lines = [line.split("|") for line in _lines("contrasts.txt")]
    lines += [line.split() for line in _lines("exclusive.txt")]
    table: dict[str, list[tuple[int, int]]] = {}
    for number, sides in enumerate(lines):
        for side, words in enumerate(sides):
            for word in words.split():
                for form in {word, stem(word)}:
                    table.setdefault(form, []).append((number, side))
    return table


@cache
def _aliases() -> dict[str, set[int]]:
    table: dict[str, set[int]] = {}
    for number, line in enumerate(_lines("aliases.txt")):
        for word in line.split():
            table.setdefault(word, set()).add(number)
    return table


@cache
def _roles() -> dict[str, str]:
    kinds = _kinds("function_words.txt")
    return {word: role for role, words in kinds.items() for word in words}


def _kinds(name: str) -> dict[str, list[str]]:
    """A file of lines "kind: words"; a kind may have several."""
    table: dict[str, list[str]] = {}
    for line in _lines(name):
        kind, _, words = line.partition(":")
        table.setdefault(kind, []).extend(words.split())
    return table


@cache
def _also_content() -> frozenset[str]:
    return frozenset(map(_group_key, signs_of("also content")))


@cache
def _light() -> frozenset[str]:
    return frozenset(word for line in _lines("light_words.txt") for word in line.split())


@cache
def _rarities() -> dict[str, float]:
    """The table of rarity.txt: a value and the keys that have it, one value a line."""
    found: dict[str, float] = {}
    for line in _lines("rarity.txt"):
        value, _, words = line.partition(":")
        found.update(dict.fromkeys(words.split(), float(value)))
    return found


def _lines(name: str) -> list[str]:
    """The lines of a file in data/, without comments and empty ones."""
    source = (files("trueground.judges.lexical") / "data" / name).read_text(encoding="utf-8")
    return [line for line in source.splitlines() if line and not line.startswith("#")]


keys = Keys()


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
