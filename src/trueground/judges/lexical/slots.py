"""A sentence that is nearly the claim, with something else in one of its places.

"Wilson gave the Penguins a lead" and "The Penguins gave Wilson a lead" share every word. Laid
beside each other they have another name before "gave": the claim is not what the text says.
"""

from __future__ import annotations

from collections.abc import Callable

from trueground.judges.lexical.agreement import agrees, same_kind
from trueground.judges.lexical.alignment import Alignment, Gap, align
from trueground.judges.lexical.coverage import Coverage
from trueground.judges.lexical.opposed import opposed
from trueground.judges.lexical.reasons import Reason, contradicts, differs
from trueground.judges.lexical.rivals import rival_name, turned_round
from trueground.judges.lexical.tokens import Token

_SAID = 0.5  # share of the claim's content words that a sentence must have in their order
_FEWEST = 2  # such words
_SHORT = 4  # words in a gap that one thing fills
_TRIED = 2  # sentences
_NEAR = 3  # words between two reversals that cancel out
_PARTLY = (  # what follows a "not" that denies only a part, or nothing
    "only just merely simply necessarily until yet all every everyone doubt wonder surprisingly "
    "least longer later matter one more"
)
_WEAK = frozenset(_PARTLY.split())
_LEVELS = {
    word: level
    for level, words in (
        (4, "all every each always everyone everybody entire entirely both"),
        (3, "most mostly usually generally majority often frequently many much lot lots"),
        (2, "some several sometimes certain"),
        (1, "few rarely seldom little hardly minority"),
        (0, "no none never neither nobody nothing"),
    )
    for word in words.split()
}
_STRONG, _WEAKEST = 3, 1  # "many" against "few"


def contradicted(found: Coverage) -> Reason | None:
    """Say what the sentence that comes nearest to the claim has in a place of the claim."""
    laid = _nearest(found)
    if laid is None:
        return None
    for check in _CHECKS:
        if why := check(laid, found):
            return why
    return None


def _nearest(found: Coverage) -> Alignment | None:
    """The claim beside the sentence of the window that has most of it in its order."""
    view, tokens = found.view, found.view.tokens
    scores = []
    for number in range(found.first, found.end):
        bit = 1 << number
        pairs = zip(view.items, found.said, strict=True)
        total = sum([item.weight for item, said in pairs if said & bit])
        if total >= _SAID * view.weight:
            scores.append((-total, number))
    laid = [align(tokens, found.text.tokens(number)) for _, number in sorted(scores)[:_TRIED]]
    best = max(laid, key=lambda one: one.said, default=None)
    content = sum([token.content for token in tokens])
    if best is None or best.said < max(_FEWEST, _SAID * content):
        return None
    return best


def _values(laid: Alignment, found: Coverage) -> Reason | None:
    for gap in laid.gaps:
        if max(len(gap.mine), len(gap.theirs)) > _SHORT:
            continue
        for token in gap.mine:
            value = token.value
            rivals = [t for t in gap.theirs if t.value is not None]
            if value is None or not rivals:
                continue
            if all(r.value and same_kind(value, r.value) for r in rivals) and not any(
                r.value and agrees(value, r.value) for r in rivals
            ):
                return _instead(token, rivals[0])
    return None


def _instead(mine: Token, theirs: Token) -> Reason:
    return differs(mine.spelling, theirs.spelling, "in its place in the context")


def _reversals(laid: Alignment, found: Coverage) -> Reason | None:
    """One side denies, or has the opposite word; two such changes close together cancel out."""
    turns: list[tuple[int, Reason]] = []
    known = _known(laid, found)
    turned = turned_round(laid)
    for gap in laid.gaps:
        whys = (_denial(gap, laid), None if turned else _contrast(gap, known))
        turns += [(_place(gap, laid), why) for why in whys if why]
    for i, j in laid.pairs:
        mine, theirs = laid.mine[i], laid.theirs[j]
        opposite = mine.word.sign and mine.word.sign == -theirs.word.sign
        if opposite and not turned and _bare(mine) not in known:
            turns.append((i, _instead(mine, theirs)))
    turns.sort()
    if len(turns) == 2 and turns[1][0] - turns[0][0] <= _NEAR:
        return None
    return turns[0][1] if turns else None


def _known(laid: Alignment, found: Coverage) -> set[str]:
    """Words of the claim in doubt that the window has at least as often as the claim."""
    doubtful = {_bare(t) for gap in laid.gaps for t in gap.mine if gap.theirs}
    doubtful |= {_bare(t) for t in laid.mine if t.word.sign}
    if not doubtful:
        return doubtful
    window = [t for i in range(found.first, found.end) for t in found.text.tokens(i)]
    words = [_bare(t) for t in window]
    mine = [_bare(t) for t in laid.mine]
    return {word for word in doubtful if words.count(word) >= mine.count(word)}


def _place(gap: Gap, laid: Alignment) -> int:
    """Where in the claim the gap lies."""
    if gap.after is None:
        return len(laid.mine)
    return next(i for i, token in enumerate(laid.mine) if token is gap.after)


def _denial(gap: Gap, laid: Alignment) -> Reason | None:
    mine = [t for t in gap.mine if t.word.role == "negator"]
    theirs = [t for t in gap.theirs if t.word.role == "negator"]
    if bool(mine) == bool(theirs) or gap.after is None:
        return None
    side, denier = (gap.mine, mine[0]) if mine else (gap.theirs, theirs[0])
    other = gap.theirs if mine else gap.mine
    if max(len(side), len(other)) > _SHORT or any(t.content for t in other):
        return None
    if sum(t.content for t in side if t is not denier):
        return None
    behind = [*side[side.index(denier) + 1 :], gap.after]
    if any(t.spelling.lower() in _WEAK for t in behind[:2]) or _corrected(denier, laid):
        return None
    who = "the claim" if mine else "the context"
    rest = "the context" if mine else "the claim"
    return contradicts(f"{who} denies {gap.after.spelling!r}, {rest} does not")


def _corrected(denier: Token, laid: Alignment) -> bool:
    """Whether the denial is taken back behind it: "not in Oslo but in Rome", "not until 1830"."""
    for tokens in (laid.mine, laid.theirs):
        at = next((i for i, t in enumerate(tokens) if t is denier), None)
        if at is not None:
            other = laid.theirs if tokens is laid.mine else laid.mine
            words = {t.spelling.lower() for t in tokens[at:]}
            known = {t.spelling.lower() for t in other}
            return bool({"but", "until", "unless", "rather", "instead"} & words - known)
    return False


def _bare(token: Token) -> str:
    """The word in lower case without a possessive ending."""
    word = token.spelling.lower()
    return word[:-2] if word.endswith(("'s", "’s")) else word


def _contrast(gap: Gap, known: set[str]) -> Reason | None:
    """A word of the claim that the window has not, and its opposite in the same gap."""
    if max(len(gap.mine), len(gap.theirs)) > _SHORT:
        return None
    spoken = {_bare(t) for t in gap.mine}
    for mine in gap.mine:
        for theirs in gap.theirs:
            one, other = _bare(mine), _bare(theirs)
            if other not in spoken and one not in known and opposed(one, other):
                return _instead(mine, theirs)
    return None


def _quantities(laid: Alignment, found: Coverage) -> Reason | None:
    """The claim says "few", "never" or "all" where the text says "many", "often" or "five"."""
    for gap in laid.gaps:
        if max(len(gap.mine), len(gap.theirs)) > _SHORT:
            continue
        mine, theirs = _level(gap.mine), _level(gap.theirs)
        if mine is None:
            continue
        one, token = mine
        if theirs is None:
            counts = [t for t in gap.theirs if t.value is not None and t.value.kind == "number"]
            if one == 4 and counts and not gap.closes:
                return _instead(token, counts[0])
            continue
        other, rival = theirs
        apart = min(one, other) <= _WEAKEST and max(one, other) >= _STRONG
        if apart or (one == 4 and other < 4) or (one == 0) != (other == 0):
            return _instead(token, rival)
    return None


def _level(tokens: list[Token]) -> tuple[int, Token] | None:
    words = [t.spelling.lower() for t in tokens]
    found = [(_LEVELS[word], t) for word, t in zip(words, tokens, strict=True) if word in _LEVELS]
    if len(found) != 1:
        return None
    level, token = found[0]
    return (2, token) if level == 1 and "a" in words else (level, token)


def _names(laid: Alignment, found: Coverage) -> Reason | None:
    rival = rival_name(laid, found)
    return _instead(*rival) if rival else None


_CHECKS: tuple[Callable[[Alignment, Coverage], Reason | None], ...] = (
    _values,
    _reversals,
    _quantities,
    _names,
)
