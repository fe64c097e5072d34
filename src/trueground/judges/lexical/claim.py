"""A claim as the offline judge reads it, item by item."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import msgspec

from trueground.judges.lexical.lexicon import (
    NUMERIC,
    LexicalWord,
    Token,
    is_common,
    is_telling,
    rarity_of,
    signs_of,
)
from trueground.judges.lexical.reading import (
    is_spaceless,
    read,
    spaceless_keys,
    spellings,
    without_frames,
)
from trueground.judges.lexical.value_index import identify
from trueground.judges.lexical.values import Value, find_values

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
        counts = spellings("".join(text))
        return {w: n for w, n in counts.items() if w not in self.asked_words} or counts


@lru_cache(64)
def _read_question(question: str) -> tuple[frozenset[str], frozenset[str]]:
    """Keys and words that say something; claims about one question follow each other."""
    content = [t for t in read(question, 0, len(question), []) if t.word.content]
    return frozenset(t.key for t in content), frozenset(t.word.lower for t in content)
