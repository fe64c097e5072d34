"""How much of a claim a text says, and where."""

from __future__ import annotations

import msgspec

from trueground.judges.lexical.agreement import agrees
from trueground.judges.lexical.reading import (
    TextView,
    is_spaceless,
    spaceless_keys,
    without_citations,
)
from trueground.judges.lexical.tokens import Token, read
from trueground.judges.lexical.words import LIGHT, NUMERIC, LexicalWord, small_key
from trueground.text.values import Value, find_values

VALUE, NAME, LAST = 2.0, 1.5, 1.5
SMALL, SELF = 0.1, 0.5  # words without content; "I" and "my" claim what no source can say
_NO_TOKEN = Token(LexicalWord(""), "", "", True)
_PLURAL = frozenset(("are", "were", "have", "do"))
_LARGEST = 3  # sentences in a window
_BEST = 3  # single sentences from which larger windows grow
_SMALLER = 0.02  # share of the claim that each further sentence must add


class CoverageItem(msgspec.Struct, gc=False):
    """One thing that the claim says: a word (`key`) or a value, with its weight and its place.

    `at` counts the tokens of the claim; `plain` is what is neither a name nor a value.
    """

    at: int
    token: Token
    key: str
    value: Value | None
    weight: float
    name: bool = False
    plain: bool = True


class ClaimView:
    """A claim as the judge reads it: `items` with content, and `small` words without.

    `small` holds keys and weights, `asked` and `asked_words` the keys and spellings of the question
    that need not be said again. The weights are sums over all items (`weight`), over those that
    are neither names nor values (`plain_weight`), and over all items and small words
    (`full_weight`).
    """

    def __init__(self, claim: str, asked: str = "") -> None:
        self.text = statement(claim)
        self.tokens: list[Token] = []
        self.small: list[tuple[str, float]] = []
        self.asked, self.asked_words = _asked(asked)
        if is_spaceless(self.text):
            found = sorted(set(spaceless_keys(self.text)))
            self.items = [CoverageItem(0, _NO_TOKEN, key, None, 1.0) for key in found]
        else:
            self.tokens = read(self.text, 0, len(self.text), find_values(self.text))
            items = self._items()
            # The names and words of the question count where nothing else is claimed.
            own = [item for item in items if item.value or item.key not in self.asked]
            self.items = own or items
        self.keys = {item.key for item in self.items if item.key}
        self.weight = sum([item.weight for item in self.items])
        self.plain_weight = sum([item.weight for item in self.items if item.plain])
        self.full_weight = sum([weight for _, weight in self.small], self.weight)

    def _items(self) -> list[CoverageItem]:
        items: list[CoverageItem] = []
        for at, token in enumerate(self.tokens):
            if token.content:
                items.append(self._item(at, token))
            elif not token.key and token.word.role != "mark":
                weight = SELF if token.word.role == "self" else SMALL
                self.small.append((small_key(token.spelling), weight))
        if items and items[-1].weight == 1.0 and len(items) > 1:
            items[-1].weight = LAST  # what is new stands last
        return items

    def _item(self, at: int, token: Token) -> CoverageItem:
        if token.value is not None:
            return CoverageItem(at, token, "", token.value, VALUE, False, False)
        name = token.word.capital and (at > 0 or self._opens_name())
        weight = NAME if name else token.word.weight or LIGHT
        return CoverageItem(at, token, token.key, None, weight, name, not name)

    def _opens_name(self) -> bool:
        """Whether the first word is a name, though every first word has a capital."""
        first = self.tokens[0]
        if len(self.tokens) == 1 or first.spelling.isupper():
            return True
        after = self.tokens[1]
        if after.word.capital and after.content:
            return True
        if not after.verb or first.key.endswith("~") or first.spelling.endswith("ing"):
            return False
        return not (first.spelling.endswith("s") and after.spelling in _PLURAL)  # "Dogs are"


def _asked(question: str) -> tuple[frozenset[str], frozenset[str]]:
    """The keys and the spellings of the content words of a question."""
    if not question:
        return frozenset(), frozenset()
    tokens = read(question, 0, len(question), find_values(question))
    said = [token for token in tokens if token.content and token.key]
    return frozenset(t.key for t in said), frozenset(t.spelling.lower() for t in said)


def statement(claim: str) -> str:
    """The claim without citation marks and outer white space."""
    return without_citations(claim).strip()


class Coverage(msgspec.Struct):
    """Which items of a claim a text says, and the window of sentences that says most of them.

    `said[i]` is a bit mask over sentences for `view.items[i]`; the window is `first`…`end`-1.
    """

    view: ClaimView
    text: TextView
    said: list[int]
    first: int
    end: int

    @property
    def window(self) -> int:
        """Bit mask of the window."""
        return (1 << self.end) - (1 << self.first)

    def share(self) -> float:
        """Share of the claim's weight that the window says."""
        window = self.window
        items = zip(self.view.items, self.said, strict=True)
        covered = sum(item.weight for item, said in items if said & window)
        return covered / self.view.weight if self.view.weight else 1.0


def cover(view: ClaimView, text: TextView) -> Coverage:
    """Find the one to three neighbouring sentences of `text` that say most of the claim."""
    index = text.index
    said = [
        index.get(item.key, 0) if item.value is None else _with_value(item.value, text)
        for item in view.items
    ]
    scores = [0.0] * len(text.spans)
    for item, mask in zip(view.items, said, strict=True):
        weight = item.weight
        while mask:
            low = mask & -mask
            scores[low.bit_length() - 1] += weight
            mask ^= low
    best = max(scores)
    at = scores.index(best)
    found = Coverage(view, text, said, at, at + 1)
    if len(scores) > 1 and best < view.weight - 1e-9:
        _widen(found, scores, best)
    return found


def _widen(found: Coverage, scores: list[float], best: float) -> None:
    """Take more sentences into the window where they add enough."""
    pairs = zip(found.view.items, found.said, strict=True)
    items = [(item.weight, said) for item, said in pairs if said]
    most = sum(weight for weight, _ in items)
    order = sorted(range(len(scores)), key=lambda i: -scores[i])[:_BEST]
    for size in range(2, min(_LARGEST, len(scores)) + 1):
        penalty = _SMALLER * found.view.weight * (size - 1)
        if most - penalty <= best + 1e-9:
            return
        starts = {min(max(0, i - k), len(scores) - size) for i in order for k in range(size)}
        for first in sorted(starts):
            if sum(scores[first : first + size]) - penalty <= best + 1e-9:
                continue  # not even if no two of the sentences said the same
            mask = (1 << first + size) - (1 << first)
            total = sum([weight for weight, said in items if said & mask]) - penalty
            if total > best + 1e-9:
                best, found.first, found.end = total, first, first + size


def _with_value(claimed: Value, text: TextView) -> int:
    mask = 0
    numeric = text.index.get(NUMERIC, 0)
    while numeric:
        low = numeric & -numeric
        if any(agrees(claimed, v) for v in text.values(low.bit_length() - 1)):
            mask |= low
        numeric ^= low
    return mask
