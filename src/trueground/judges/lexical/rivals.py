"""What a sentence says in the place of what a claim says: another number, name, word, a denial.

The telling words of the two are laid beside each other in their order. Between two words that both
have, the claim has something (perhaps nothing) and the sentence something else: that is a gap.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from trueground.claims.rules import is_finite
from trueground.judges.lexical.claim import ClaimItem, ClaimView, Reason, contradicts, differs
from trueground.judges.lexical.reading import (
    TextView,
    Token,
    is_common,
    may_be_same,
    opposed,
    rarity_of,
    signs_of,
)
from trueground.text.values import agrees, same_kind
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

    Sure signs were right clearly more often than other doubts on labelled answers, the others
    where a writer has changed one thing.
    """
    sentence = text.tokens(number)
    mine = [t for t in claim.tokens if _is_telling(t)]
    theirs = [t for t in sentence if _is_telling(t)]
    named = {id(item.token) for item in claim.items if item.name}
    pairs = _align(mine, theirs, named)
    compared = any(has_sign(t, "comparison") for t in claim.tokens)
    turned = compared and _has_moved(mine, theirs, pairs)
    laid = len(pairs) >= max(_FEWEST, _SAID * len(mine))
    gaps = list(_gaps(mine, theirs, pairs)) if laid else []
    reason = (
        _denial(claim.tokens, sentence)
        or _bound(claim, sentence)
        or (None if turned else _opposite(mine, theirs, text))
        or _first(_value(gap, theirs) for gap in gaps)
        or _first(map(_quantity, gaps))
        or (None if turned else _first(_name(gap, named, sentence, text) for gap in gaps))
    )
    if reason:
        return reason, True
    weak = (
        _only(claim, sentence)
        or _first(map(_hedge, gaps))
        or _first(_replaced(gap, claim.tokens, sentence, text) for gap in gaps)
        or _exchange(claim.tokens, sentence)
        or _direction(claim, sentence)
        or _misplaced(claim, text, number)
    )
    return weak, False


def _first(found: Iterable[Reason | None]) -> Reason | None:
    return next(filter(None, found), None)


def has_sign(token: Token, kind: str) -> bool:
    """Whether the token's word is of this kind in signs.txt."""
    return token.word.lower in signs_of(kind)


def _is_telling(token: Token) -> bool:
    word = token.word
    if word.content or token.value is not None or word.role in ("negator", "hedge"):
        return True
    return _level_of(token) is not None


def _align(mine: list[Token], theirs: list[Token], named: set[int]) -> list[tuple[int, int]]:
    """Pairs of equal words, ascending in both: first those that are no names, then names between.

    So a name that has changed places does not put a verb aside.
    """
    one = [f"#{i}" if t.value else t.key for i, t in enumerate(mine)]
    other = ["#" if t.value else t.key for t in theirs]
    for i, token in enumerate(mine):
        for j, there in enumerate(theirs if token.value else ()):
            if there.value and token.value and agrees(token.value, there.value):
                other[j] = one[i]
    plain = [i for i, t in enumerate(mine) if id(t) not in named]
    anchors = [(plain[i], j) for i, j in _matches([one[i] for i in plain], other)]
    found: list[tuple[int, int]] = []
    for (i, j), (k, m) in pairwise([(-1, -1), *anchors, (len(one), len(other))]):
        inside = _matches(one[i + 1 : k], other[j + 1 : m])
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
    left = {t.key for i, t in enumerate(mine) if i not in {i for i, _ in pairs}}
    return any(t.key in left for j, t in enumerate(theirs) if j not in {j for _, j in pairs})


def _instead(mine: Token, theirs: Token) -> Reason:
    return differs(mine.spelling, theirs.spelling, "in its place in the context")


def _value(gap: Gap, sentence: Sequence[Token]) -> Reason | None:
    """Another number or date of the same kind; the claim's own is nowhere in the sentence."""
    rivals = [t for t in gap.theirs if t.value]
    for token in gap.mine if rivals else ():
        value = token.value
        if value is None or any(t.value and agrees(value, t.value, True) for t in sentence):
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
    for at in mine or theirs:
        behind = tokens[at + 1 :]
        partly = any(has_sign(t, "denies a part") for t in behind[:2])
        if partly or any(has_sign(t, "taken back") for t in behind):
            continue
        end = next((i for i, t in enumerate(behind) if t.word.role == "mark"), _AIMED)
        target = next((t for t in behind[: min(end, _AIMED)] if t.word.content), None)
        if target and target.key in known:
            return contradicts(f"the {who} denies {target.spelling!r}, the {rest} does not")
    return None


def _deniers(tokens: Sequence[Token]) -> Iterator[int]:
    """Where words deny; "No, it is", "No it is" and "No 1" do not."""
    for at, token in enumerate(tokens):
        after = tokens[at + 1 : at + 2]
        aims = bool(after) and not after[0].value and after[0].word.role != "mark"
        spoken = at == 0 and token.word.lower == "no" and not (aims and after[0].word.content)
        if token.word.role == "negator" and aims and not spoken:
            yield at


def _bound(claim: ClaimView, sentence: Sequence[Token]) -> Reason | None:
    """ "At least" in the claim is "at most" in the sentence."""
    for item in claim.values:
        mine = _bound_of(claim.tokens, item.at)
        theirs = {_bound_of(sentence, i) for i, t in enumerate(sentence) if _is_item(t, item)}
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


def _is_item(token: Token, item: ClaimItem) -> bool:
    """Whether a token says the item."""
    if item.value is None:
        return token.key == item.key
    return token.value is not None and agrees(item.value, token.value, item.about)


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


def _replaced(
    gap: Gap, claim: Sequence[Token], sentence: Sequence[Token], text: TextView
) -> Reason | None:
    """Words of weight that the text has nowhere, and other words in their place."""
    mine = [t for t in gap.mine if t.word.content and t.key not in text.index]
    weight = math.fsum(rarity_of(t.key) for t in mine if not t.word.light)
    theirs = [t for t in gap.theirs if t.word.content and not t.word.light]
    opens = bool(mine) and not any(map(_is_telling, claim[: _place(claim, mine[0])]))
    if weight < _HEAVY or len(mine) < len(gap.mine) or not theirs or opens:
        return None
    words, others = _written(claim, mine), _written(sentence, theirs)
    return differs(words, others, "in its place in the context")


def _place(tokens: Sequence[Token], token: Token) -> int:
    return next(i for i, t in enumerate(tokens) if t is token)


def _written(tokens: Sequence[Token], part: Sequence[Token]) -> str:
    """The words from the first to the last of a part."""
    first, last = _place(tokens, part[0]), _place(tokens, part[-1])
    return " ".join(token.spelling for token in tokens[first : last + 1])


def _direction(claim: ClaimView, sentence: Sequence[Token]) -> Reason | None:
    """ "To" in the claim is "from" in the sentence."""
    for item in claim.items:
        mine = claim.tokens[item.at - 1].word.lower if item.at else ""
        places = [i for i, t in enumerate(sentence) if i and _is_item(t, item)]
        theirs = {sentence[i - 1].word.lower for i in places}
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
    found = [(level, t) for t in tokens if (level := _level_of(t)) is not None]
    if len(found) != 1:
        return None
    level, token = found[0]
    nearly = any(t.word.lower in ("almost", "nearly") for t in tokens)
    return (3, token) if level == 4 and nearly else (level, token)


def _level_of(token: Token) -> int | None:
    """From 4 ("all") to 0 ("none")."""
    return next((level for level in range(5) if has_sign(token, f"level {level}")), None)


def _opposite(mine: Sequence[Token], theirs: Sequence[Token], text: TextView) -> Reason | None:
    """A word of the claim that the text has not, and its opposite beside the same words."""
    spoken = {t.key for t in mine}
    for i, one in enumerate(mine):
        if one.key in text.index or not one.word.content:
            continue
        for j, other in enumerate(theirs):
            if other.key in spoken or not opposed(one.word.lower, other.word.lower):
                continue
            if _around(mine, i) & _around(theirs, j):
                return _instead(one, other)
    return None


def _around(tokens: Sequence[Token], at: int) -> set[str]:
    """Keys of the nearest telling words on each side."""
    near = [*tokens[max(0, at - _NEAR) : at], *tokens[at + 1 : at + 1 + _NEAR]]
    return {t.key for t in near if not t.value}


def _exchange(claim: Sequence[Token], sentence: Sequence[Token]) -> Reason | None:
    """The same words in one voice, but the two sides of a verb or of "than" are exchanged."""
    mine, theirs = Counter(t.key for t in claim), Counter(t.key for t in sentence)
    by = any(t.word.lower == "by" for t in (*claim, *sentence))
    if by or any(t.word.content and t.key not in theirs for t in claim):
        return None
    words = {t.word.lower for t in claim} ^ {t.word.lower for t in sentence}
    less = any(has_sign(t, "less") and t.word.lower in words for t in (*claim, *sentence))
    for at, token in enumerate(claim):
        compares = has_sign(token, "comparison")
        verb = token.word.content and not token.word.capital
        if not (compares or verb) or mine[token.key] > 1 or theirs[token.key] != 1:
            continue
        there = next(j for j, t in enumerate(sentence) if t.key == token.key)
        if not compares and _is_passive(claim, at) != _is_passive(sentence, there):
            continue
        left, right = _content(claim[:at]), _content(claim[at + 1 :])
        before, after = _content(sentence[:there]), _content(sentence[there + 1 :])
        crossed = left & after - before and right & before - after
        if crossed and (less or any(opposed(a, b) for a in words for b in words)):
            return None  # a comparison that is turned round says the same
        if crossed and (compares or not left & before):
            return contradicts(f"the two sides of {token.spelling!r} have changed places")
    return None


def _is_passive(tokens: Sequence[Token], at: int) -> bool:
    return any(has_sign(t, "be") for t in tokens[max(0, at - 2) : at])


def _content(tokens: Sequence[Token]) -> set[str]:
    return {t.key for t in tokens if t.word.content and not t.value}


def _misplaced(claim: ClaimView, text: TextView, number: int) -> Reason | None:
    """A number, or who it is about, stands elsewhere; with all other words there is another."""
    around = range(max(0, number - 1), min(len(text.spans), number + 2))
    parts = [part for i in around for part in _parts(text.tokens(i))]
    plain = [i for i in claim.items if not i.name and i.value is None]
    names = {i.key for i in claim.items if i.name}
    for item in claim.items:
        after = [i for i in plain if i.at > item.at]
        before = [i for i in plain if i.at < item.at]
        values = [i for i in claim.values if i is not item]
        if item.value and not item.counts and after and after[0].at == item.at + 1:
            others = after[:1]  # "6 tables"
        elif item.value and not item.counts and before:
            others = [before[-1], *after, *values]  # who it is about may stand in the part before
            if any(_says(part, [item, before[-1]]) for part in parts):
                others = [*plain, *values]
        elif item.name and before and is_finite(before[-1].token.word.lower):
            others = [before[-1], *after, *values]
        elif item.name and len(plain) + len(values) >= _FEWEST:
            others = [*plain, *values]
        else:
            continue
        homes = [part for part in parts if _says(part, [item])]
        if max([len(_content(part)) for part in homes], default=0) < _FEWEST:
            continue  # it is nowhere, or a member of a list
        if any(_says(part, others) for part in homes):
            continue
        for part in parts:
            if not _says(part, others) or (item.name and names & {t.key for t in part}):
                continue
            for place, token in enumerate(part):
                strange = token.word.capital and token.word.content and not token.value
                strange = strange and (place > 0 or not is_common(token.key))
                value = token.value and item.value and same_kind(item.value, token.value)
                ahead = part[:place]
                if before:  # "in Lisbon" and "in Porto"; "its Lisbon factory"
                    led = ahead and ahead[-1].word.lower == claim.tokens[item.at - 1].word.lower
                    led = led or is_finite(before[-1].token.word.lower)
                    strange = strange and (led or any(i.at == item.at + 1 for i in plain))
                    strange = strange and any(_is_item(t, i) for t in ahead for i in others)
                elif _says(ahead, others):  # "closed in Porto" does not say who, "by Anna" does
                    strange = strange and ahead[-1].word.lower == "by"
                if value or (item.name and strange):
                    return _instead(item.token, token)
    return None


def _says(part: Sequence[Token], items: Sequence[ClaimItem]) -> bool:
    return all(any(_is_item(token, item) for token in part) for item in items)


def _parts(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """A sentence cut at marks and joining words."""
    part: list[Token] = []
    for token in tokens:
        if (token.word.role == "mark" and not token.value) or has_sign(token, "joins"):
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _name(gap: Gap, named: set[int], sentence: Sequence[Token], text: TextView) -> Reason | None:
    """Another name where the claim has its own, unless the two may be one."""
    mine, theirs = gap.mine, gap.theirs
    if not mine or not theirs or not all(id(t) in named for t in mine):
        return None
    if not all(t.word.capital and t.word.content and not t.value for t in theirs):
        return None
    at = _place(sentence, theirs[0])
    if at and sentence[at - 1].word.lower in ("the", "a", "an"):
        return None  # "the German" may be he
    known = {t.key for t in sentence}
    both = [(one, other) for one in mine for other in theirs]
    if (
        any(t.key in known for t in mine)
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
    both = text.index.get(one, 0) & text.index.get(other, 0)
    numbers = (i for i in range(len(text.spans)) if both >> i & 1)
    return any({a, b} == {one, other} for i in numbers for a, b in pairwise(text.sentences[i]))
