"""What a sentence says in the place of what a claim says: another number, name, word, a denial.

The telling words of the two are laid beside each other in their order. Between two words that both
have, the claim has something (perhaps nothing) and the sentence something else: that is a gap.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import NamedTuple

import msgspec

from trueground.judges.lexical.claim import ClaimItem, ClaimView
from trueground.judges.lexical.lexicon import (
    OppositeWords,
    Token,
    has_sign,
    level_of,
    may_be_same,
    rarity_of,
)
from trueground.judges.lexical.reasons import Reason, contradicts, differs
from trueground.judges.lexical.texts import PartWords, SentenceView, TextView
from trueground.judges.lexical.values import Value, same_kind
from trueground.text import WORD_LISTS
from trueground.types import ReasonKind

_SAID = 0.5  # share of the claim's telling words that the sentence must have in their order
_FEWEST = 2  # such words
_SHORT = 3  # telling words in a gap that one thing fills
_STRONG, _WEAKEST = 3, 1  # "many" against "few"
_HEAVY = 1.2  # rarities of words: more than one of them can have
_NEAR = 2  # telling words on each side of a word
_AIMED = 4  # tokens behind a negator among which its target is
_BOUND = 3  # tokens before a number that make it a bound


class Gap(msgspec.Struct):
    """What stands between two pairs: `mine` in the claim, `theirs` in the sentence.

    `closes`: no word of the claim follows.
    """

    mine: list[Token]
    theirs: list[Token]
    closes: bool


def find_rival(claim: ClaimView, text: TextView, number: int) -> tuple[Reason | None, bool]:
    """(what the sentence `number` says instead of the claim, whether that is a sure sign).

    Sure signs were right clearly more often than other doubts on labeled answers, the others
    where a writer has changed one thing.
    """
    sentence = text.sentence(number)
    mine, theirs = claim.telling, sentence.telling
    named = {id(item.token) for item in claim.items if item.name}
    pairs = _align(mine, sentence, named)
    compared = any(has_sign(t, "comparison") for t in claim.tokens)
    turned = compared and _has_moved(mine, theirs, pairs)
    laid = len(pairs) >= max(_FEWEST, _SAID * len(mine))
    gaps = list(_gaps(mine, theirs, pairs)) if laid else []
    reason = (
        _denial(claim.tokens, sentence.tokens)
        or _bound(claim, sentence)
        or (None if turned else _opposite(mine, sentence, text))
        or _first(_value(gap, sentence) for gap in gaps)
        or _first(map(_quantity, gaps))
        or (None if turned else _first(_name(gap, named, sentence, text) for gap in gaps))
    )
    if reason:
        return reason, True
    weak = (
        _only(claim, sentence.tokens)
        or _first(map(_hedge, gaps))
        or _first(_replaced(gap, claim, sentence, text) for gap in gaps)
        or _exchange(claim.tokens, sentence)
        or _direction(claim, sentence)
        or _misplaced(claim, text, number)
    )
    return weak, False


def _first(found: Iterable[Reason | None]) -> Reason | None:
    return next(filter(None, found), None)


def _align(mine: list[Token], sentence: SentenceView, named: set[int]) -> list[tuple[int, int]]:
    """Pairs of equal words, ascending in both: first those that are no names, then names between.

    So a name that has changed places does not put a verb aside.
    """
    one = [f"#{i}" if t.value else t.key for i, t in enumerate(mine)]
    other = ["#" if t.value else t.key for t in sentence.telling]
    for i, token in enumerate(mine):
        if token.value:
            for position in sentence.values.positions(token.value):
                other[sentence.telling_numbers[position]] = one[i]
    plain = [i for i, t in enumerate(mine) if id(t) not in named]
    anchors = [(plain[i], j) for i, j in _matches([one[i] for i in plain], other)]
    found: list[tuple[int, int]] = []
    for (i, j), (k, m) in pairwise([(-1, -1), *anchors, (len(one), len(other))]):
        inside = _matches(one[i + 1 : k], other[j + 1 : m]) if k - i > 1 and m - j > 1 else ()
        found += [(i + 1 + a, j + 1 + b) for a, b in inside]
        found.append((k, m))
    return found[:-1]


def _matches(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """A longest common subsequence, as pairs of places."""
    from rapidfuzz.distance import Indel

    return [
        (op.src_start + k, op.dest_start + k)
        for op in Indel.opcodes(one, other)
        if op.tag == "equal"
        for k in range(op.src_end - op.src_start)
    ]


def _gaps(mine: list[Token], theirs: list[Token], pairs: list[tuple[int, int]]) -> Iterator[Gap]:
    """The gaps that one thing may fill."""
    for (i, j), (k, m) in pairwise([(-1, -1), *pairs, (len(mine), len(theirs))]):
        if 1 < max(k - i, m - j) <= _SHORT + 1:
            yield Gap(mine[i + 1 : k], theirs[j + 1 : m], k == len(mine))


def _has_moved(mine: list[Token], theirs: list[Token], pairs: list[tuple[int, int]]) -> bool:
    """Whether a word stands in both, but not in the same order."""
    paired, there = {i for i, _ in pairs}, {j for _, j in pairs}
    left = {t.key for i, t in enumerate(mine) if i not in paired}
    return any(t.key in left for j, t in enumerate(theirs) if j not in there)


def _instead(mine: Token, theirs: Token) -> Reason:
    return differs(mine.spelling, theirs.spelling, "in its place in the context")


def _value(gap: Gap, sentence: SentenceView) -> Reason | None:
    """Another number or date of the same kind; the claim's own is nowhere in the sentence."""
    rivals = [t for t in gap.theirs if t.value]
    for token in gap.mine if rivals else ():
        value = token.value
        if value is None or sentence.values.positions(value, about=True):
            continue
        if all(r.value and same_kind(value, r.value) for r in rivals):
            return _instead(token, rivals[0])
    return None


def _denial(claim: Sequence[Token], sentence: Sequence[Token]) -> Reason | None:
    """Only one side denies, and the word that the denial is aimed at stands in both."""
    mine, theirs = list(_deniers(claim)), list(_deniers(sentence))
    if bool(mine) == bool(theirs):
        return None
    who, rest = ("claim", "context") if mine else ("context", "claim")
    tokens, other = (claim, sentence) if mine else (sentence, claim)
    known = {t.key for t in other if t.word.content}
    retracted = max((i for i, t in enumerate(tokens) if has_sign(t, "taken back")), default=-1)
    for at in mine or theirs:
        behind = tokens[at + 1 : at + 1 + _AIMED]
        partly = any(has_sign(t, "denies a part") for t in behind[:2])
        if partly or retracted > at:
            continue
        end = next((i for i, t in enumerate(behind) if t.word.role == "mark"), _AIMED)
        target = next((t for t in behind[:end] if t.word.content), None)
        if target and target.key in known:
            return contradicts(f"the {who} denies {target.spelling!r}, the {rest} does not")
    return None


def _deniers(tokens: Sequence[Token]) -> Iterator[int]:
    """Where words deny; "No, it is", "No it is" and "No 1" do not."""
    for at, token in enumerate(tokens):
        if token.word.role != "negator" or at + 1 == len(tokens):
            continue
        after = tokens[at + 1]
        aims = not after.value and after.word.role != "mark"
        spoken = at == 0 and token.word.lower == "no" and not (aims and after.word.content)
        if aims and not spoken:
            yield at


def _bound(claim: ClaimView, sentence: SentenceView) -> Reason | None:
    """ "At least" in the claim is "at most" in the sentence."""
    for item in claim.values:
        mine = _bound_of(claim.tokens, item.at)
        positions = _find(item, sentence) if mine else ()
        theirs = {_bound_of(sentence.tokens, i) for i in positions}
        if mine and theirs == {-mine}:
            low, high = ("a lower", "an upper")[::mine]
            number = item.token.spelling
            return contradicts(f"{number} is {low} bound in the claim, {high} one in the context")
    return None


def _bound_of(tokens: Sequence[Token], at: int) -> int:
    """1 where the number at `at` is a lower bound, -1 for an upper one, 0 for none."""
    before = tokens[max(0, at - _BOUND) : at]
    lower = any(has_sign(t, "lower bound") for t in before)
    upper = any(has_sign(t, "upper bound") for t in before)
    sign = lower - upper
    return -sign if any(t.word.role == "negator" for t in before) else sign


def _find(item: ClaimItem, sentence: SentenceView) -> Sequence[int]:
    """Where the sentence says the item."""
    return sentence.find(item.key, item.value, item.about)


def _only(claim: ClaimView, sentence: Sequence[Token]) -> Reason | None:
    """The claim says "only", the sentence does not."""
    mine = [t for t in claim.tokens if t.word.role == "only"]
    if not mine or any(t.word.role == "only" for t in sentence):
        return None
    return Reason(ReasonKind.WORDS, f"{mine[0].spelling!r} is not in the context")


def _hedge(gap: Gap) -> Reason | None:
    """The context only plans or believes what the claim states as a fact."""
    hedges = [t for t in gap.theirs if t.word.role == "hedge" and not has_sign(t, "hedged softly")]
    if not hedges or gap.closes or any(t.word.role in ("hedge", "negator") for t in gap.mine):
        return None
    return contradicts(f"the context only says {hedges[0].spelling!r}")


def _replaced(gap: Gap, claim: ClaimView, sentence: SentenceView, text: TextView) -> Reason | None:
    """Words of weight that the text has nowhere, and other words in their place."""
    mine = [t for t in gap.mine if t.word.content and t.key not in text.index]
    weight = math.fsum(rarity_of(t.key) for t in mine if not t.word.light)
    theirs = [t for t in gap.theirs if t.word.content and not t.word.light]
    opens = bool(mine) and mine[0] is claim.telling[0]
    if weight < _HEAVY or len(mine) < len(gap.mine) or not theirs or opens:
        return None
    words, others = _written(claim, mine), _written(sentence, theirs)
    return differs(words, others, "in its place in the context")


def _written(view: ClaimView | SentenceView, part: Sequence[Token]) -> str:
    """The words from the first to the last of a part."""
    first, last = view.positions[id(part[0])], view.positions[id(part[-1])]
    return " ".join(token.spelling for token in view.tokens[first : last + 1])


def _direction(claim: ClaimView, sentence: SentenceView) -> Reason | None:
    """ "To" in the claim is "from" in the sentence."""
    for item in claim.items:
        mine = claim.tokens[item.at - 1].word.lower if item.at else ""
        if mine not in ("to", "from"):
            continue
        theirs = {sentence.tokens[i - 1].word.lower for i in _find(item, sentence) if i}
        if mine not in theirs and {mine, *theirs} == {"to", "from"}:
            word = item.token.spelling
            return differs(f"{mine} {word}", f"{theirs.pop()} {word}")
    return None


def _quantity(gap: Gap) -> Reason | None:
    """The claim says "few", "never" or "all" where the text says "many", "often" or "five"."""
    mine, theirs = _level(gap.mine), _level(gap.theirs)
    if mine is None:
        return None
    one, token = mine
    if theirs is None:
        counts = [t for t in gap.theirs if t.value and t.value.kind == "number"]
        return _instead(token, counts[0]) if one == 4 and counts and not gap.closes else None
    other, rival = theirs
    apart = min(one, other) <= _WEAKEST and max(one, other) >= _STRONG
    differ = apart or (one == 4 and other < 4) or (one == 0) != (other == 0)
    return _instead(token, rival) if differ else None


def _level(tokens: Sequence[Token]) -> tuple[int, Token] | None:
    found = [(level, t) for t in tokens if (level := level_of(t)) is not None]
    if len(found) != 1:
        return None
    level, token = found[0]
    nearly = any(t.word.lower in ("almost", "nearly") for t in tokens)
    return (3, token) if level == 4 and nearly else (level, token)


def _opposite(mine: Sequence[Token], sentence: SentenceView, text: TextView) -> Reason | None:
    """A word of the claim that the text has not, and its opposite next to the same words."""
    theirs = sentence.telling
    spoken = {t.key for t in mine}
    absent = [i for i, t in enumerate(mine) if t.word.content and t.key not in text.index]
    for i in absent:
        for j in sentence.opposites.find(mine[i].word.lower):
            if theirs[j].key not in spoken and _around(mine, i) & _around(theirs, j):
                return _instead(mine[i], theirs[j])
    return None


def _around(tokens: Sequence[Token], at: int) -> set[str]:
    """Keys of the nearest telling words on each side."""
    near = [*tokens[max(0, at - _NEAR) : at], *tokens[at + 1 : at + 1 + _NEAR]]
    return {t.key for t in near if not t.value}


def _exchange(claim: Sequence[Token], sentence: SentenceView) -> Reason | None:
    """The same words in one voice, but the two sides of a verb or of "than" are exchanged."""
    theirs, tokens = sentence.by_key, sentence.tokens
    if any(t.word.content and t.key not in theirs for t in claim):
        return None
    if any(t.word.lower == "by" for t in (*claim, *tokens)):
        return None
    mine = Counter(t.key for t in claim)
    said, heard = _extents(claim, mine), _extents(tokens, mine)
    for at, token in enumerate(claim):
        compares = has_sign(token, "comparison")
        verb = token.word.content and not token.word.capital
        there = theirs.get(token.key, ())
        if not (compares or verb) or mine[token.key] > 1 or len(there) != 1:
            continue
        if not compares and _is_passive(claim, at) != _is_passive(tokens, there[0]):
            continue
        left, right = said.around(at)
        before, after = heard.around(there[0])
        if not (left & after - before and right & before - after):
            continue
        if _is_turned_round(claim, tokens):
            return None  # a comparison that is turned round says the same
        if compares or not left & before:
            return contradicts(f"the two sides of {token.spelling!r} have changed places")
    return None


class _Extents(NamedTuple):
    """Where words with content begin and cease to occur: key → position."""

    first: dict[str, int]
    last: dict[str, int]

    def around(self, at: int) -> tuple[set[str], set[str]]:
        """The words before and behind a position."""
        before = {key for key, position in self.first.items() if position < at}
        return before, {key for key, position in self.last.items() if position > at}


def _extents(tokens: Sequence[Token], keys: Container[str]) -> _Extents:
    extents = _Extents({}, {})
    for position, token in enumerate(tokens):
        if token.word.content and not token.value and token.key in keys:
            extents.first.setdefault(token.key, position)
            extents.last[token.key] = position
    return extents


def _is_turned_round(claim: Sequence[Token], sentence: Sequence[Token]) -> bool:
    """Whether only one of the two says "less", or one has a word and the other its opposite."""
    words = {t.word.lower for t in claim} ^ {t.word.lower for t in sentence}
    if any(has_sign(t, "less") and t.word.lower in words for t in (*claim, *sentence)):
        return True
    opposites = OppositeWords(words)
    return any(opposites.find(word) for word in words)


def _is_passive(tokens: Sequence[Token], at: int) -> bool:
    return any(has_sign(t, "be") for t in tokens[max(0, at - 2) : at])


def _misplaced(claim: ClaimView, text: TextView, number: int) -> Reason | None:
    """A number, or who it is about, stands elsewhere; with all other words there is another."""
    around = range(max(0, number - 1), min(len(text.spans), number + 2))
    parts = _Parts([text.sentence(i) for i in around])
    plain = [i for i in claim.items if not i.name and i.value is None]
    names = {i.key for i in claim.items if i.name}
    for item in claim.items:
        if not item.name and item.value is None:
            continue
        split = bisect_left(plain, item.at, key=attrgetter("at"))
        before, after = plain[:split], plain[split:]
        others = _others(item, before, after, claim, parts)
        homes = parts.find([item]) if others else ()
        if max([parts.words(part).content for part in homes], default=0) < _FEWEST:
            continue  # it is nowhere, or a member of a list
        rivals = parts.find(others)
        if not set(homes).isdisjoint(rivals):
            continue
        for part in rivals:
            if item.value:
                rival = parts.value_like(item.value, part)
            elif names & parts.words(part).keys:
                rival = None
            elif before:
                rival = _other_name(item, before[-1], after, claim, parts.ahead(others, part))
            else:
                rival = _other_subject(parts.ahead(others, part))
            if rival:
                return _instead(item.token, rival)
    return None


def _others(
    item: ClaimItem,
    before: list[ClaimItem],
    after: list[ClaimItem],
    claim: ClaimView,
    parts: _Parts,
) -> list[ClaimItem]:
    """What a part must say to be about the same as the item; nothing if that can't be known."""
    values = [i for i in claim.values if i is not item]
    others: list[ClaimItem] = []
    if item.value and not item.counts and after and after[0].at == item.at + 1:
        others = after[:1]  # "6 tables"
    elif item.value and not item.counts and before:
        others = [before[-1], *after, *values]  # who it is about may stand in the part before
        if parts.find([item, before[-1]]):
            others = [*before, *after, *values]
    elif item.name and before and WORD_LISTS.is_finite(before[-1].token.word.lower):
        others = [before[-1], *after, *values]
    elif item.name and len(before) + len(after) + len(values) >= _FEWEST:
        others = [*before, *after, *values]
    return list({other.identity: other for other in others}.values())


class _Ahead(NamedTuple):
    """A name in a part: what precedes it there, if any word does, and how many of the others."""

    name: Token
    previous: Token | None
    some: bool
    every: bool


def _other_name(
    item: ClaimItem,
    previous: ClaimItem,
    after: Sequence[ClaimItem],
    claim: ClaimView,
    candidates: Iterable[_Ahead],
) -> Token | None:
    """ "In Lisbon" and "in Porto"; "its Lisbon factory"."""
    follows = bool(after) and after[0].at == item.at + 1
    led = follows or WORD_LISTS.is_finite(previous.token.word.lower)
    leading = claim.tokens[item.at - 1].word.lower
    for name, token, some, _ in candidates:
        if some and (led or (token is not None and token.word.lower == leading)):
            return name
    return None


def _other_subject(candidates: Iterable[_Ahead]) -> Token | None:
    """ "Closed in Porto" does not say who, "by Anna" does."""
    for name, token, _, every in candidates:
        if not every or (token is not None and token.word.lower == "by"):
            return name
    return None


class _Parts:
    """The parts of neighboring sentences, numbered, and which of them say an item."""

    def __init__(self, sentences: Sequence[SentenceView]) -> None:
        self._sentences = sentences
        self._starts = [0, *accumulate(len(sentence.parts) for sentence in sentences)]
        self._firsts: dict[tuple[object, ...], dict[int, int]] = {}

    def find(self, items: Sequence[ClaimItem]) -> list[int]:
        """Return the parts that say all of the items."""
        common = set(self._find_one(items[0]))
        for item in items[1:]:
            if not common:
                break
            common &= self._find_one(item).keys()
        return sorted(common)

    def words(self, part: int) -> PartWords:
        """Return the words of a part."""
        sentence, number = self._part(part)
        return sentence.part_words[number]

    def value_like(self, value: Value, part: int) -> Token | None:
        """Return the first token of a part with a value of this kind."""
        sentence, number = self._part(part)
        tokens = sentence.tokens[slice(*sentence.parts[number])]
        return next((t for t in tokens if t.value and same_kind(value, t.value)), None)

    def ahead(self, others: Sequence[ClaimItem], part: int) -> Iterator[_Ahead]:
        """Yield the names of a part, with what precedes them, of a part that says all others."""
        sentence, number = self._part(part)
        begin = sentence.parts[number][0]
        names = sentence.part_words[number].names
        firsts = [self._find_one(other)[part] for other in others] if names else []
        for position in names:
            previous = sentence.tokens[position - 1] if position > begin else None
            some, every = min(firsts) < position, max(firsts) < position
            yield _Ahead(sentence.tokens[position], previous, some, every)

    def _part(self, part: int) -> tuple[SentenceView, int]:
        """The sentence that has the part, and the number of the part there."""
        number = bisect_right(self._starts, part) - 1
        return self._sentences[number], part - self._starts[number]

    def _find_one(self, item: ClaimItem) -> dict[int, int]:
        """Number of a part → position of the first token in it that says the item."""
        firsts = self._firsts.get(item.identity)
        if firsts is None:
            firsts = self._firsts[item.identity] = {}
            for start, sentence in zip(self._starts, self._sentences, strict=False):
                for position in sentence.find(item.key, item.value, item.about):
                    number = sentence.part_of(position)
                    if number is not None:
                        firsts.setdefault(start + number, position)
        return firsts


def _name(gap: Gap, named: set[int], sentence: SentenceView, text: TextView) -> Reason | None:
    """Another name where the claim has its own, unless the two may be one."""
    mine, theirs = gap.mine, gap.theirs
    if not mine or not theirs or not all(id(t) in named for t in mine):
        return None
    if not all(t.word.capital and t.word.content and not t.value for t in theirs):
        return None
    at = sentence.positions[id(theirs[0])]
    if at and sentence.tokens[at - 1].word.lower in ("the", "a", "an"):
        return None  # "the German" may be he
    both = [(one, other) for one in mine for other in theirs]
    if (
        any(t.key in sentence.by_key for t in mine)
        or any(may_be_same(one.word.lower, other.word.lower) for one, other in both)
        or _are_initials(mine, theirs)
        or _are_initials(theirs, mine)
        or any(_stand_together(one.key, other.key, text) for one, other in both)
    ):
        return None
    return _instead(mine[-1], theirs[-1])


def _are_initials(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether one name is made of the initials of the other."""
    initials = "".join(t.spelling[0] for t in other).upper()
    return len(one) == 1 and one[0].spelling.replace(".", "").upper() == initials


def _stand_together(one: str, other: str, text: TextView) -> bool:
    """Whether two names follow each other somewhere: "Hugh Dixson" is Hugh, and Dixson too."""
    shared = set(text.index.get(one, ())).intersection(text.index.get(other, ()))
    return bool(shared) and not text.neighbors.isdisjoint(((one, other), (other, one)))
