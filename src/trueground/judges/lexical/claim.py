"""A claim as the judge reads it, item by item; and why it is, or is not, supported, for people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, groupby
from typing import NamedTuple

import msgspec

from trueground.judges.lexical.reading import (
    NUMERIC,
    LexicalWord,
    Token,
    is_common,
    is_spaceless,
    is_telling,
    rarity_of,
    read,
    signs_of,
    spaceless_keys,
    spellings,
    without_frames,
)
from trueground.judges.lexical.texts import TextView
from trueground.text.value_index import identify
from trueground.text.values import Value, find_values
from trueground.types import ReasonKind

_LIGHT = 0.5  # what a word of little meaning weighs beside others of its rarity
_VALUE = 1.0
_FEW = 12  # "two singers": a count of the claim's own, which no text need spell out


class ClaimItem(msgspec.Struct, gc=False):
    """A word or value that the claim says, with its weight and its place among the tokens.

    A value's weight and key do not depend on how it is written. `about`: it says that it is
    rounded; `counts`: a small number in words, which may count what the claim lists, or
    one in a script without spaces; such a one is missing only where the place has another. Items
    with equal `identity` occur in the same sentences.
    """

    at: int
    token: Token
    key: str
    weight: float
    name: bool = False
    about: bool = False
    counts: bool = False
    identity: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        value = self.token.value
        self.identity = (self.key,) if value is None else (*identify(value), self.about)

    @property
    def value(self) -> Value | None:
        """The number or date, None for a word."""
        return self.token.value


class ClaimView:
    """A claim: `tokens`, and `items`, those that say something.

    What the question `asked` names need not be said again, unless nothing else is claimed.
    """

    def __init__(self, claim: str, asked: str = "") -> None:
        self.text = without_frames(claim).strip()
        self.tokens: list[Token] = []
        asked_keys, self.asked_words = _read_question(asked)
        if is_spaceless(self.text):
            word, keys = LexicalWord("", ""), dict.fromkeys(spaceless_keys(self.text))
            self.items = [ClaimItem(0, Token(word, ""), k, 1.0) for k in keys if k != NUMERIC]
            for value in find_values(self.text):  # a text may write its numbers otherwise: 十冊
                token = Token(word, self.text[value.start : value.end], value)
                self.items.append(ClaimItem(value.start, token, NUMERIC, _VALUE, counts=True))
            return
        self.tokens = read(self.text, 0, len(self.text), find_values(self.text))
        every = self._items()
        self.items = [i for i in every if i.value or i.key not in asked_keys] or every

    def _items(self) -> list[ClaimItem]:
        items: list[ClaimItem] = []
        for at, token in enumerate(self.tokens):
            if token.value is not None:
                before = self.tokens[at - 1].word.lower if at else ""
                small = token.value.kind == "number" and not token.spelling[0].isdigit()
                counts = small and token.value.unit is None and (token.value.amount or 0) <= _FEW
                about = before in signs_of("rounded")
                items.append(ClaimItem(at, token, NUMERIC, _VALUE, False, about, counts))
            elif token.word.content:
                name = token.word.capital and (at > 0 or self._opens_name())
                weight = rarity_of(token.key) * (_LIGHT if token.word.light else 1.0)
                items.append(ClaimItem(at, token, token.key, weight, name))
        return items

    def _opens_name(self) -> bool:
        """Whether the first word is a name, though every first word has a capital."""
        first, rest = self.tokens[0], self.tokens[1:2]
        if not rest or (first.spelling.isupper() and len(first.spelling) > 1):
            return True
        return (rest[0].word.capital and rest[0].word.content) or not is_common(first.key)

    @cached_property
    def values(self) -> list[ClaimItem]:
        """The items that are numbers or dates."""
        return [item for item in self.items if item.value is not None]

    @cached_property
    def telling(self) -> list[Token]:
        """The tokens that say something."""
        return [token for token in self.tokens if is_telling(token)]

    @cached_property
    def positions(self) -> dict[int, int]:
        """The `id` of a token → where it is among the tokens."""
        return {id(token): position for position, token in enumerate(self.tokens)}

    def spelled(self, without: Sequence[Value]) -> dict[str, int]:
        """How often each word occurs, without these values and the words of the question."""
        text = list(self.text)
        for value in without:
            text[value.start : value.end] = " " * (value.end - value.start)
        found = spellings("".join(text))
        return {w: n for w, n in found.items() if w not in self.asked_words} or found


@lru_cache(64)
def _read_question(question: str) -> tuple[frozenset[str], frozenset[str]]:
    """Keys and words that say something; claims about one question follow each other."""
    content = [t for t in read(question, 0, len(question), []) if t.word.content]
    return frozenset(t.key for t in content), frozenset(t.word.lower for t in content)


_NAMED = 4  # words in a line
_PARTS = 2  # reasons in a line
_HALF = 0.5
_ORDER = list(ReasonKind)


class Reason(NamedTuple):
    """Why a claim is not supported.

    `about` are the words of the claim that it speaks of; `rival` says that it names what the
    context has in their place.
    """

    kind: ReasonKind
    text: str
    about: frozenset[str] = frozenset()
    rival: bool = False


def contradicts(text: str, *about: str) -> Reason:
    """The context says something else."""
    return Reason(ReasonKind.CONTRADICTED, text, frozenset(about))


def differs(mine: str, theirs: str, where: str = "in the context") -> Reason:
    """The context has another word where the claim has its own."""
    text = f"{mine!r} in the claim, {theirs!r} {where}"
    return Reason(ReasonKind.CONTRADICTED, text, frozenset((mine,)), rival=True)


def join_reasons(reasons: Sequence[Reason]) -> Reason:
    """One reason of several: the first kind of the set, and a line of the first texts.

    Of two that speak of the same words the first is left; before a missing name goes its rival.
    """
    ordered = sorted(reasons, key=lambda one: _ORDER.index(one.kind))
    kind, about = ordered[0].kind, ordered[0].about
    if kind is ReasonKind.NAME:
        ordered.sort(key=lambda one: not (one.rival and one.about >= about))
    spoken: set[str] = set()
    texts: list[str] = []
    for one in ordered:
        if one.text not in texts and not (one.about and one.about <= spoken):
            texts.append(one.text)
            spoken |= one.about
    return Reason(kind, "; ".join(texts[:_PARTS]))


def explain_missing(
    claim: ClaimView,
    values: Sequence[ClaimItem],
    names: Sequence[ClaimItem],
    text: TextView,
) -> Iterator[Reason]:
    """The values and names of the claim that no text has, together; `text` is the nearest one."""
    if values or names:
        numbers = (_with_nearest(claim, item, text) for item in _different(claim, values))
        written: dict[str, None] = {}
        for phrase in chain(numbers, _phrases(names)):
            written[phrase] = None
            if len(written) > _NAMED:
                break  # each number is compared with all of the text, and the rest is not shown
        kind = ReasonKind.NUMBER if values else ReasonKind.NAME
        about = frozenset(item.token.spelling for item in (*values, *names))
        yield Reason(kind, f"not in the context: {_listed(list(written), len(written))}", about)


def explain_weak(
    claim: ClaimView, said: Sequence[bool], there: Sequence[bool], sentences: int
) -> Reason:
    """Why too little speaks for a claim against which nothing speaks: its words, heaviest first.

    `said` in the best place, which has so many `sentences`, and `there` in any text, by item.
    """
    lacking = [item for item, here in zip(claim.items, said, strict=True) if not here]
    absent = [item for item, here in zip(claim.items, there, strict=True) if not here]
    words = _spelled(absent or lacking)
    if absent:
        every = math.fsum(item.weight for item in claim.items) or 1.0
        share = 1 - math.fsum(item.weight for item in lacking) / every
        kind = ReasonKind.WORDS if share >= _HALF else ReasonKind.LOW_OVERLAP
        only = f"only {int(100 * share)}% of the claim is in the context"
        return Reason(kind, f"not in the context: {words}" if words else only)
    if words:
        text = f"elsewhere in the context, not with the rest of the claim: {words}"
    else:
        how = "spread over several sentences" if sentences > 1 else "not as the claim has them"
        text = f"its words are in the context, but {how}"
    return Reason(ReasonKind.APART, text)


def explain_support(claim: ClaimView, there: Sequence[bool]) -> str:
    """How much of a supported claim is in the context."""
    absent = [item for item, here in zip(claim.items, there, strict=True) if not here]
    words = _spelled(absent)
    if words:
        return f"in the context, except {words}"
    if absent and not claim.tokens:  # a script without spaces has no words to name
        share = 1 - len(absent) / len(claim.items)
        return f"{int(100 * share)}% of the claim is in the context"
    return "all its words are in the context"


def _spelled(items: Sequence[ClaimItem]) -> str:
    """The heaviest words, in the claim's order, without those that say little."""
    heaviest: dict[str, ClaimItem] = {}
    for item in sorted(items, key=lambda item: -item.weight):
        if item.token.spelling and not item.token.word.light and not item.counts:
            heaviest.setdefault(item.token.spelling, item)
    shown = sorted(list(heaviest.values())[:_NAMED], key=lambda item: item.at)
    return _listed([repr(item.token.spelling) for item in shown], len(heaviest))


def _listed(words: Sequence[str], of: int) -> str:
    return ", ".join(words[:_NAMED]) + (" …" if of > _NAMED else "")


def _phrases(names: Sequence[ClaimItem]) -> Iterator[str]:
    """Names that follow each other in the claim are one: 'Silicon Valley'."""
    for _, run in groupby(enumerate(names), key=lambda pair: pair[1].at - pair[0]):
        yield repr(" ".join(item.token.spelling for _, item in run))


def _different(claim: ClaimView, items: Sequence[ClaimItem]) -> Iterator[ClaimItem]:
    """The first of the values that are written alike and mean the same."""
    seen = set()
    for item in items:
        value = item.value
        if value is not None:
            key = (claim.text[value.start : value.end], identify(value))
            if key not in seen:
                seen.add(key)
                yield item


def _with_nearest(claim: ClaimView, item: ClaimItem, text: TextView) -> str:
    """The value as it is written, with the nearest of its kind and size in the text."""
    value = item.value
    if value is None:
        return repr(item.token.spelling)
    written = claim.text[value.start : value.end]
    nearest = text.nearest.find(value)
    noun = "date" if value.kind == "date" else "number"
    return written if nearest is None else f"{written} (nearest {noun} {nearest})"
