"""A claim as the judge reads it: what it says, item by item."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec

from trueground.judges.lexical.reading import (
    TextView,
    Token,
    is_spaceless,
    read,
    spaceless_keys,
    spellings,
    without_frames,
)
from trueground.judges.lexical.words import NUMERIC, LexicalWord, is_common, rarity_of, signs_of
from trueground.text.agreement import agrees
from trueground.text.values import Value, find_values

_LIGHT = 0.5  # what a word of little meaning weighs beside others of its rarity
_VALUE = 1.0
_FEW = 12  # "two singers": a count of the claim's own, which no text need spell out


class ClaimItem(msgspec.Struct, gc=False):
    """A word or value that the claim says, with its weight and its place among the tokens.

    A value's weight and key do not depend on how it is written. `about`: it says that it is
    rounded; `counts`: a small number in words, which may count what the claim lists, or
    one in a script without spaces; such a one is missing only where the place has another.
    """

    at: int
    token: Token
    key: str
    weight: float
    name: bool = False
    about: bool = False
    counts: bool = False

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
        said = [t for t in read(asked, 0, len(asked), []) if t.word.content]
        known = {t.key for t in said}
        self.asked_words = {t.word.lower for t in said}
        if is_spaceless(self.text):
            word, keys = LexicalWord("", ""), dict.fromkeys(spaceless_keys(self.text))
            self.items = [ClaimItem(0, Token(word, ""), k, 1.0) for k in keys if k != NUMERIC]
            for value in find_values(self.text):  # a text may write its numbers otherwise: 十冊
                token = Token(word, self.text[value.start : value.end], value)
                self.items.append(ClaimItem(value.start, token, NUMERIC, _VALUE, counts=True))
            return
        self.tokens = read(self.text, 0, len(self.text), find_values(self.text))
        every = self._items()
        self.items = [i for i in every if i.value or i.key not in known] or every

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

    def spelled(self, without: Sequence[Value]) -> dict[str, int]:
        """How often each word occurs, without these values and the words of the question."""
        text = list(self.text)
        for value in without:
            text[value.start : value.end] = " " * (value.end - value.start)
        found = spellings("".join(text))
        return {w: n for w, n in found.items() if w not in self.asked_words} or found


def sentences_with(value: Value, text: TextView, about: bool) -> int:
    """Bit mask of the sentences of a text that have the value, perhaps written otherwise."""
    mask, numeric = 0, text.index.get(NUMERIC, 0)
    while numeric:
        low = numeric & -numeric
        if any(agrees(value, v, about) for v in text.values(low.bit_length() - 1)):
            mask |= low
        numeric ^= low
    return mask
