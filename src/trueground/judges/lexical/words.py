"""What the judge knows about single words: key, weight, and what a word does to its clause."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import msgspec

from trueground.claims.view import is_finite
from trueground.judges.lexical.stems import stem
from trueground.text.values import STARTERS

LIGHT = 0.5  # weight of a word such as "become"; other content words weigh 1
NUMERIC = "#"  # the key of every word that may begin a number or a date
_CACHED = 200_000
_POSSESSIVE = re.compile(r"(?:'s|(?<=s)')$")
_PARTICIPLES = frozenset(
    ("born", "known", "given", "taken", "written", "shown", "seen", "chosen", "driven", "grown")
)


class LexicalWord(msgspec.Struct, frozen=True, gc=False):
    """One spelling. `key` is shared by all words that count as the same; function words have "".

    `role` is the kind of a function word ("plain", "pronoun", "negator", "mark" …) or "". `sign` is
    +1 or -1 for the two sides of a pair of opposites, which share their key. `content` follows from
    the others: whether the word says something by itself.
    """

    spelling: str
    key: str = ""
    weight: float = 0.0
    role: str = ""
    verb: bool = False
    sign: int = 0
    capital: bool = False
    content: bool = False

    def __post_init__(self) -> None:
        # "The bank failed": a verb of denial or intent is also what the clause says.
        says = not self.role or self.weight > 0
        has_content = bool(self.key) and self.key != NUMERIC and says
        msgspec.structs.force_setattr(self, "content", has_content)


class Lexicon(dict[str, LexicalWord]):
    """Spelling → Word, filled on first sight."""

    def __missing__(self, spelling: str) -> LexicalWord:
        if len(self) > _CACHED:
            self.clear()
        word = self[spelling] = _make(spelling)
        return word


class Keys(dict[str, str]):
    """Spelling → key, the part of `Lexicon` that is needed for every word of every text."""

    def __missing__(self, spelling: str) -> str:
        if len(self) > _CACHED:
            self.clear()
        word = lexicon[spelling]
        key = self[spelling] = word.key or small_key(spelling)
        return key


def small_key(spelling: str) -> str:
    """The key of a word without content, apart from all other keys."""
    return "_" + spelling.lower()


def _make(spelling: str) -> LexicalWord:
    first = spelling[0]
    if not first.isalpha():
        if first.isdigit() or spelling[-1].isdigit():
            return LexicalWord(spelling, NUMERIC)
        return LexicalWord(spelling, role="mark")
    lower = spelling.lower().replace("’", "'")
    capital = first.isupper()
    shouted = len(spelling) > 1 and spelling.isupper()
    role = "" if shouted and lower in ("us", "it", "who", "may") else _roles().get(lower, "")
    verb = is_finite(lower) or lower in _PARTICIPLES
    number = lower in STARTERS and lower != "mar"
    lower = _POSSESSIVE.sub("", lower)
    if role not in ("", "negator", "hedge"):
        sign = _signs().get(lower, ("", 0))[1]
        return LexicalWord(spelling, "", 0.0, role, verb, sign, capital)
    if number and lower not in ("may", "march"):
        return LexicalWord(spelling, NUMERIC, 0.0, role, False, 0, capital)
    key = _groups().get(lower) or _groups().get(stem(lower)) or stem(lower)
    pair, sign = _signs().get(lower) or _signs().get(key, (key, 0))
    weight = 0.0 if role else LIGHT if lower in _light() else 1.0
    if role and key in _verbs_with_role():
        weight = 1.0
    return LexicalWord(spelling, pair, weight, role, verb, sign, capital)


@cache
def _groups() -> dict[str, str]:
    """Word or stem → key of its synonym group."""
    table: dict[str, str] = {}
    for line in lines_of("groups.txt"):
        members = line.split()
        for member in members:
            table.setdefault(member, members[0] + "~")
            table.setdefault(stem(member), members[0] + "~")
    return table


@cache
def _signs() -> dict[str, tuple[str, int]]:
    """Word or key → (key of the pair of opposites, side)."""
    table: dict[str, tuple[str, int]] = {}
    for line in lines_of("opposites.txt"):
        one, other = (side.split() for side in line.split("|"))
        for side, sign in ((one, 1), (other, -1)):
            for word in side:
                key = _groups().get(word) or stem(word)
                table[word] = table[key] = (f"{one[0]}|{other[0]}", sign)
    return table


@cache
def exclusive_sets() -> dict[str, frozenset[str]]:
    """Word → all words of its set, of which only one can hold."""
    sets = [frozenset(line.split()) for line in lines_of("exclusive.txt")]
    return {word: members for members in sets for word in members}


@cache
def _roles() -> dict[str, str]:
    table: dict[str, str] = {}
    for line in lines_of("function_words.txt"):
        role, _, words = line.partition(":")
        table |= dict.fromkeys(words.split(), role)
    return table


@cache
def _verbs_with_role() -> frozenset[str]:
    words = "fail lack refuse deny plan intend hope consider propose expect suspect attempt false"
    return frozenset(_groups().get(w) or _groups().get(stem(w)) or stem(w) for w in words.split())


@cache
def _light() -> frozenset[str]:
    return frozenset(word for line in lines_of("light_words.txt") for word in line.split())


def lines_of(name: str) -> list[str]:
    """The lines of a file in data/, without comments and empty ones."""
    source = (files("trueground.judges.lexical") / "data" / name).read_text(encoding="utf-8")
    return [line for line in source.splitlines() if line and not line.startswith("#")]


lexicon = Lexicon()
keys = Keys()
