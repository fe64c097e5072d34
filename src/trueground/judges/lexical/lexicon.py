"""Words as the offline judge knows them: key, rarity, role, and which exclude each other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from trueground.judges.lexical.values import STARTERS, Value
from trueground.text import stem

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


class Token(msgspec.Struct, gc=False):
    """A word, value or punctuation mark. A value's key is NUMERIC, its word that which opens it."""

    word: LexicalWord
    spelling: str
    value: Value | None = None

    @property
    def key(self) -> str:
        """The key of the word."""
        return self.word.key


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
    return bool(OppositeWords([other]).find(one))


class OppositeWords:
    """Words in lower case, found by the words that they exclude."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = list(words)
        self._positions: dict[str, list[int]] = defaultdict(list)
        self._sides: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for position, word in enumerate(self._words):
            self._positions[word].append(position)
            for line, side in _contrasts_of(word):
                self._sides[line].append((side, position))

    def find(self, word: str) -> list[int]:
        """Return the positions of the words that cannot hold if `word` does, ascending."""
        opposite: set[int] = set()
        for line, side in _contrasts_of(word):
            opposite.update(position for end, position in self._sides.get(line, ()) if end != side)
        opposite.difference_update(self._positions.get(word, ()))
        for prefix in _PREFIXES:
            bare = word.removeprefix(prefix)
            if len(bare) > 3 and bare != word:
                opposite.update(self._positions.get(bare, ()))
            if len(word) > 3:
                opposite.update(self._positions.get(prefix + word, ()))
        return sorted(opposite)


@lru_cache(_CACHED)
def _contrasts_of(word: str) -> list[tuple[int, int]]:
    return _contrasts().get(word) or _contrasts().get(stem(word)) or []


def signs_of(kind: str) -> frozenset[str]:
    """The words of a kind in signs.txt."""
    return _signs()[kind]


def has_sign(token: Token, kind: str) -> bool:
    """Whether the token's word is of this kind in signs.txt."""
    return token.word.lower in signs_of(kind)


def level_of(token: Token) -> int | None:
    """How much a word of quantity says, from 4 ("all") to 0 ("none"); None for other words."""
    return _levels().get(token.word.lower)


def is_telling(token: Token) -> bool:
    """Whether the token says something that another sentence may say otherwise."""
    word = token.word
    if word.content or token.value is not None or word.role in ("negator", "hedge"):
        return True
    return level_of(token) is not None


@cache
def _levels() -> dict[str, int]:
    levels: dict[str, int] = {}
    for level in range(5):
        for word in signs_of(f"level {level}"):
            levels.setdefault(word, level)
    return levels


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
    rarities: dict[str, float] = {}
    for line in _lines("rarity.txt"):
        value, _, words = line.partition(":")
        rarities.update(dict.fromkeys(words.split(), float(value)))
    return rarities


def _lines(name: str) -> list[str]:
    """The lines of a file in data/, without comments and empty ones."""
    source = (files("trueground.judges.lexical") / "data" / name).read_text(encoding="utf-8")
    return [line for line in source.splitlines() if line and not line.startswith("#")]


keys = Keys()
