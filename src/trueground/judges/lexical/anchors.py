"""Who did what: whether the values and names of a claim hang on the same words as in the text.

"Born in Warsaw and died in Paris" uses every word of "died in Warsaw" and does not support it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from trueground.judges.lexical.agreement import agrees, same_kind
from trueground.judges.lexical.contradictions import ContradictionView
from trueground.judges.lexical.coverage import CoverageItem
from trueground.judges.lexical.reasons import Reason, contradicts, differs
from trueground.judges.lexical.segments import Segment
from trueground.judges.lexical.tokens import Token

_Sides = tuple[set[str], set[str]]
_ROLES = frozenset(("to", "from", "by"))
_REACH = 4  # tokens between a preposition and the word that it marks
_REPORTS = frozenset(("say~", "announce~", "show~", "think~"))
_BE = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_MUTUAL = frozenset(("marry~", "meet~", "join~", "connect~", "same~", "fight~"))


def governors(reading: ContradictionView) -> Reason | None:
    """A value or name stands with another verb than in the claim."""
    for at, item in _dependents(reading):
        verb = _verb_before(reading.view.tokens, at)
        if verb is None:
            continue
        hits = list(_hits(reading, item))
        if any(_verb_fits(part, i, verb.key) for part, i in hits):
            continue
        rival = _rival(reading, item, verb.key)
        if rival is not None:
            return contradicts(
                f"in the context {verb.spelling!r} goes with {rival.spelling!r}, "
                f"not with {item.token.spelling!r}",
                item.token.spelling,
            )
        mine = {t.key for t in reading.view.tokens if t.verb and t.key}
        theirs = [_verb_before(part.tokens, i) for part, i in hits]
        if theirs and all(v is not None and v.key in mine for v in theirs):
            return contradicts(
                f"in the context {item.token.spelling!r} does not go with {verb.spelling!r}",
                item.token.spelling,
            )
    return None


def counted(reading: ContradictionView) -> Reason | None:
    """A number counts something else than in the claim."""
    tokens = reading.view.tokens
    for at, item in _dependents(reading, numbers=True):
        noun = tokens[at + 1] if at + 1 < len(tokens) else None
        if noun is None or not noun.key or not noun.content or item.value is None:
            continue
        if item.value.unit:
            continue
        if any(_stands_alone(part.tokens, i) for part, i in _hits(reading, item)):
            continue
        for part in reading.parts:
            for i, token in enumerate(part.tokens):
                if token.key != noun.key or not i:
                    continue
                near = [t for t in part.tokens[max(0, i - 3) : i] if t.value is not None]
                if near and near[-1].value and same_kind(near[-1].value, item.value):
                    if agrees(item.value, near[-1].value):
                        return None
                    return contradicts(
                        f"the context has {near[-1].spelling} {token.spelling}, "
                        f"not {item.token.spelling}",
                        item.token.spelling,
                    )
    return None


def subjects(reading: ContradictionView) -> Reason | None:
    """What the claim says of its subject, the text says of somebody or something else."""
    tokens = reading.view.tokens
    verb = next((i for i, t in enumerate(tokens) if t.verb), None)
    if not verb or tokens[verb].key in _REPORTS:
        return None
    subject = [item for item in reading.view.items if item.at < verb and item.key]
    names = {item.key for item in subject if item.name}
    if names and not any(names & part.keys for part in reading.parts):
        return None
    wanted = names or {item.key for item in subject}
    said = [item for item in reading.view.items if item.at >= verb]
    if not wanted or not said:
        return None
    for item in said:
        if item.value is None and (item is not said[-1] or not names):
            continue
        act = _verb_before(tokens, item.at) if item.value else None
        hits = _hits(reading, item)
        parts = [part for part, i in hits if act is None or _verb_fits(part, i, act.key)]
        if not parts or any(_about(part, wanted, bool(names)) for part in parts):
            continue
        if all(_speaks_of_another(part, reading, wanted, bool(names)) for part in parts):
            return contradicts(
                f"the context says {item.token.spelling!r} of another subject", item.token.spelling
            )
    return None


def directions(reading: ContradictionView) -> Reason | None:
    """ "To" in the claim is "from" or "by" in the context."""
    if not any(token.spelling in _ROLES for token in reading.view.tokens):
        return None
    for item in reading.view.items:
        mine = _role(reading.view.tokens, item.at)
        if mine is None:
            continue
        theirs = [_role(part.tokens, i) for part, i in _hits(reading, item)]
        if theirs and all(role is not None and role != mine for role in theirs):
            return differs(f"{mine} {item.token.spelling}", f"{theirs[0]} {item.token.spelling}")
    return None


def exchanged(reading: ContradictionView) -> Reason | None:
    """Who acted and who was acted upon have changed places."""
    tokens = reading.view.tokens
    if any(t.spelling in ("than", "before", "after") for t in tokens):
        return None  # a comparison may be turned round
    for at, verb in enumerate(tokens):
        if not verb.verb or not verb.key or verb.key in _MUTUAL:
            continue
        if sum(t.key == verb.key for t in tokens) > 1:  # "power lines cause a power outage"
            continue
        for part in reading.parts:
            if verb.key not in part.keys:
                continue
            for i, token in enumerate(part.tokens):
                if token.key == verb.key and _crossed(_sides(tokens, at), _sides(part.tokens, i)):
                    return contradicts(f"who did it and to whom are exchanged ({verb.spelling!r})")
    return None


def _crossed(one: _Sides, other: _Sides) -> bool:
    (doer, done), (other_doer, other_done) = one, other
    crossed = doer & other_done - other_doer and done & other_doer - other_done
    return bool(crossed) and not doer & other_doer


def _sides(tokens: list[Token], verb: int) -> _Sides:
    """Keys of the doer and of what is done to, with "by" turning a passive round."""
    before = {t.key for t in tokens[:verb] if t.key and not t.verb}
    after = {t.key for t in tokens[verb + 1 :] if t.key and not t.verb}
    passive = any(t.spelling in _BE for t in tokens[max(0, verb - 2) : verb])
    by: set[str] = set()
    if any(t.spelling == "by" for t in tokens):
        behind = range(verb + 1, len(tokens))
        by = {tokens[i].key for i in behind if _role(tokens, i) == "by"} - {""}
    if passive and not by:
        return set(), set()
    return (by, before | (after - by)) if by else (before, after)


def _dependents(
    reading: ContradictionView, numbers: bool = False
) -> Iterator[tuple[int, CoverageItem]]:
    """Values and names of the claim behind its first verb, with their place among the tokens."""
    tokens = reading.view.tokens
    for item in reading.view.items:
        if item.value is not None or (item.name and not numbers):
            at = item.at
            if numbers or any(t.verb for t in tokens[:at]):
                yield at, item


def _stands_alone(tokens: list[Token], at: int) -> bool:
    """Whether the number at `at` counts nothing that is written behind it."""
    return at + 1 == len(tokens) or not tokens[at + 1].content


def _hits(reading: ContradictionView, item: CoverageItem) -> Iterator[tuple[Segment, int]]:
    for part in reading.parts:
        for i, token in enumerate(part.tokens):
            if item.value is not None:
                if token.value is not None and agrees(item.value, token.value):
                    yield part, i
            elif token.key == item.key:
                yield part, i


def _verb_before(tokens: list[Token], at: int) -> Token | None:
    """The nearest content verb before `at`."""
    for i in range(at - 1, -1, -1):
        token = tokens[i]
        if token.verb and token.key:
            return token
    return None


def _verb_fits(part: Segment, at: int, key: str) -> bool:
    """Whether the value at `at` may belong to the verb `key`: no other verb is nearer."""
    verb = _verb_before(part.tokens, at)
    return verb is None or verb.key == key


def _rival(reading: ContradictionView, item: CoverageItem, key: str) -> Token | None:
    """A different value or name of the same kind that stands with the verb `key`."""
    for part in reading.parts:
        if key not in part.keys:
            continue
        verb = ""
        for token in part.tokens:
            if verb == key:
                if item.value is not None and token.value is not None:
                    if same_kind(item.value, token.value) and not agrees(item.value, token.value):
                        return token
                elif item.value is None and token.value is None and _stranger(token, reading):
                    return token
            if token.verb and token.key:
                verb = token.key
    return None


def _stranger(token: Token, reading: ContradictionView) -> bool:
    """Whether a token is a name that the claim does not have."""
    return bool(token.word.capital and token.key) and token.key not in reading.view.keys


def _about(part: Segment, wanted: set[str], names: bool) -> bool:
    return bool(wanted & part.about) if names else wanted <= part.about


def _speaks_of_another(
    part: Segment, reading: ContradictionView, wanted: set[str], names: bool
) -> bool:
    """Whether the segment names a subject that the claim does not have.

    Plain subjects must be of one sort: an adult ticket beside a child's ticket.
    """
    if names:
        strange = part.names - reading.view.keys
        return bool(part.subject) and bool(strange) and not _side_by_side(strange, wanted, reading)
    return bool(part.subject & wanted) and not part.subject <= reading.view.keys


def _side_by_side(some: set[str], others: set[str], reading: ContradictionView) -> bool:
    """Whether names of both sets follow each other: "Hugo Dahl" is Hugo, and Dahl too."""
    keys = [token.key for token in reading.window]
    return any(
        (one in some and other in others) or (one in others and other in some)
        for one, other in pairwise(keys)
    )


def _role(tokens: list[Token], at: int) -> str | None:
    """The preposition "to", "from" or "by" that marks the word at `at`."""
    for token in reversed(tokens[max(0, at - _REACH) : at]):
        if token.spelling in _ROLES:
            return token.spelling
        if token.verb or token.word.role == "mark" or token.spelling in ("and", "in", "on", "at"):
            return None
    return None
