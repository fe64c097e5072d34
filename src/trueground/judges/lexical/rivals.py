"""Another name in the place of a name, where a claim and a sentence are nearly the same."""

from __future__ import annotations

from functools import cache

from trueground.judges.lexical.alignment import Alignment, Gap
from trueground.judges.lexical.coverage import Coverage
from trueground.judges.lexical.reading import TextView
from trueground.judges.lexical.tokens import Token
from trueground.judges.lexical.words import lines_of

_TITLES = 0.7  # share of words with a capital from which these tell nothing
_SHORT = 4  # words in a gap that one name fills
_LONG = 8  # words before the verb
_LISTED = frozenset(("and", "or", "nor", "with", "between"))


def rival_name(laid: Alignment, found: Coverage) -> tuple[Token, Token] | None:
    """The name of the claim and another that the sentence has in its place."""
    for side in (laid.mine, laid.theirs):
        capital = [t.word.capital for t in side if t.content]
        if sum(capital) > _TITLES * len(capital):
            return None
    signs = [(laid.mine[i].word.sign, laid.theirs[j].word.sign) for i, j in laid.pairs]
    reversed_ = pivots(laid.mine) != pivots(laid.theirs) or any(a == -b != 0 for a, b in signs)
    if reversed_ and turned_round(laid):
        return None
    named = {id(item.token) for item in found.view.items if item.name}
    for gap in laid.gaps:
        mine = [t for t in gap.mine if t.content and t.value is None]
        opens = gap.opens and len(mine) == 1 and mine[0].key.endswith("~")
        if not mine or not all(id(t) in named or (opens and _is_name(t, found.text)) for t in mine):
            continue
        theirs = _rivals(gap, laid, found.text)
        if (
            theirs
            and not _in_list(mine, theirs, laid)
            and not _same(mine, theirs, laid, found.text)
        ):
            return mine[-1], theirs[-1]
    return None


def _rivals(gap: Gap, laid: Alignment, text: TextView) -> list[Token]:
    """The name in the sentence's gap, where the gap holds what the claim's holds but for names."""
    theirs = [t for t in gap.theirs if t.content]
    names = [t for t in theirs if t.word.capital and t.key and not t.verb]
    if gap.opens and _is_verb(gap.after):
        starts = bool(names) and names[0] in gap.theirs[:2] and _is_name(names[0], text)
        return names if starts and len(gap.theirs) <= _LONG else []
    plain = [t.spelling.lower() for t in gap.mine if not t.content and not _article(t)]
    there = [t.spelling.lower() for t in gap.theirs if not t.content and not _article(t)]
    listed = _LISTED & set(plain + there)
    if listed or plain != there or len(names) != len(theirs) or len(theirs) > _SHORT:
        return []
    described = any(map(_article, gap.theirs)) and not any(map(_article, gap.mine))
    known = {t.key for t in laid.mine}
    return [] if described and not any(t.key in known for t in names) else names


def _in_list(mine: list[Token], theirs: list[Token], laid: Alignment) -> bool:
    """Whether the claim has both names side by side: "Tess and Ole" is "Ole and Tess"."""
    keys = [t.key for t in laid.mine]
    if theirs[0].key not in keys:
        return False
    ends = sorted((keys.index(theirs[0].key), keys.index(mine[0].key)))
    between = [t for t in laid.mine[slice(*ends)] if t.content and not t.word.capital]
    linked = {t.spelling.lower() for t in laid.mine[slice(*ends)]}
    return not between and bool(linked & _LISTED)


def _article(token: Token) -> bool:
    return token.spelling.lower() in ("a", "an", "the")


def _is_verb(token: Token | None) -> bool:
    return token is not None and (token.verb or token.word.role == "plain")


def _is_name(token: Token, text: TextView) -> bool:
    """Whether a word with a capital is a name: every first word of a sentence has one."""
    if not token.word.capital:
        return False
    if not token.key.endswith("~") and not token.spelling.endswith("ing"):
        return True
    mask = text.index.get(token.key, 0)
    while mask:
        low = mask & -mask
        mask ^= low
        later = text.tokens(low.bit_length() - 1)[1:]
        if any(t.key == token.key and t.word.capital for t in later):
            return True
    return False


def _same(mine: list[Token], theirs: list[Token], laid: Alignment, text: TextView) -> bool:
    """Whether two names may be one: a shared word, a form of it, initials, or side by side."""
    if {t.key for t in mine} & {t.key for t in theirs}:
        return True
    for one in mine:
        for other in theirs:
            if _alike(one.spelling.lower(), other.spelling.lower()):
                return True
            if _beside(one.key, other.key, text):
                return True
    return _short(mine, theirs) or _short(theirs, mine)


def _alike(one: str, other: str) -> bool:
    groups = _aliases()
    return one[:4] == other[:4] or bool(groups.get(one, set()) & groups.get(other, set()))


def _short(one: list[Token], other: list[Token]) -> bool:
    """Whether one name is made of the initials of the other."""
    initials = "".join(t.spelling[0] for t in other)
    return len(one) == 1 and one[0].spelling.replace(".", "").upper() == initials.upper()


def _beside(one: str, other: str, text: TextView) -> bool:
    """Whether two names stand side by side somewhere: "Hugh Dixson", "Acme (the Firm)"."""
    both = text.index.get(one, 0) & text.index.get(other, 0)
    while both:
        low = both & -both
        both ^= low
        tokens = [t for t in text.tokens(low.bit_length() - 1) if not _article(t)]
        for i, token in enumerate(tokens):
            if token.key not in (one, other):
                continue
            wanted = other if token.key == one else one
            if i + 1 < len(tokens) and tokens[i + 1].key == wanted:
                return True
            bracket = i + 2 < len(tokens) and tokens[i + 1].spelling in '(“"'
            if bracket and tokens[i + 2].key == wanted:
                return True
    return False


def turned_round(laid: Alignment) -> bool:
    """Whether a comparison may be turned round: its sides have changed places."""
    paired = {i for i, _ in laid.pairs}
    moved = {t.key for i, t in enumerate(laid.mine) if i not in paired and t.key}
    return bool(pivots(laid.mine)) and any(t.key in moved for t in laid.theirs)


def pivots(tokens: list[Token]) -> set[str]:
    return {t.spelling.lower() for t in tokens} & {"than", "before", "after"}


@cache
def _aliases() -> dict[str, set[int]]:
    """Word → the lines of data/aliases.txt that it stands in."""
    table: dict[str, set[int]] = {}
    for number, line in enumerate(lines_of("aliases.txt")):
        for word in line.split():
            table.setdefault(word, set()).add(number)
    return table
