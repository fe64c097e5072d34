"""Names: shortened (supported), put for another, or made to change places (unsupported)."""

from __future__ import annotations

import itertools
import random
import re

from training.offline_judge.names import Name, lists, names, related
from training.offline_judge.sources import Pool, Source, content
from training.offline_judge.writing import Changed, drop, put
from trueground.text.words import WORD_LISTS

_ONE_WAY = frozenset(lists()["verbs"]["one_way"].split())
_MOVING = frozenset(lists()["verbs"]["moving"].split())
_SAID = frozenset(("said", "says", "told", "added", "believes", "thinks"))
_BROKEN = re.compile(r"[,;:()]|['’]s\b|\b(?:and|or|with|between|both)\b")


def name_shortened(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """A person by the last name only, where the text has no other of that name."""
    people = [n for n in names(claim) if n.kind == "person" and len(n.spelling.split()) == 2]
    rng.shuffle(people)
    for name in people:
        first, last = name.spelling.split()
        others = re.findall(rf"(\S+) {re.escape(last)}\b", source.text)
        if all(o == first or not o[0].isupper() for o in others) and len(last) > 2:
            changed = drop(claim, name.start, name.start + len(first) + 1)
            return Changed(changed.claim, name.spelling, last)
    return None


def name_same_text(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Another name of the same kind, from the same text."""
    said = set(content(claim))
    for name in _once(claim, rng):
        alike = {other.spelling for other in source.names if other.kind == name.kind}
        others = sorted(other for other in alike if not set(content(other)) & said)
        if others and not _listed(claim, name):
            return put(claim, name.start, name.end, rng.choice(others))
    return None


def name_other_text(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Another name of the same kind, from another text."""
    for name in _once(claim, rng):
        other = pool.foreign_name(source, name.kind, rng)
        if other is not None:
            return put(claim, name.start, name.end, other)
    return None


def _once(claim: str, rng: random.Random) -> list[Name]:
    """The names that stand once in the claim, in random order; no part of a longer title."""
    found = [n for n in names(claim) if claim.count(n.spelling) == 1]
    rng.shuffle(found)
    return found


def _listed(claim: str, name: Name) -> bool:
    """Whether the name is one of a list: what is said of one is often said of all."""
    before, after = claim[: name.start].rstrip(), claim[name.end :].lstrip()
    return before.endswith((" and", " or", ",")) or after.startswith((",", "and ", "or "))


def roles_swapped(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Two names of one kind change places around what goes one way only: A beat B → B beat A."""
    found = list(names(claim, unknown=True))
    places = [
        (one, other)
        for one, other in itertools.pairwise(found)
        if not related(one.spelling, other.spelling)
        and "people" not in (one.kind, other.kind)
        and claim.count(one.spelling) == claim.count(other.spelling) == 1
        and _one_way(claim, one.end, other.start)
        and _stands_free(claim, one, other)
        and _known(source, one)
        and _known(source, other)
    ]
    if not places:
        return None
    one, other = rng.choice(places)
    between = claim[one.end : other.start]
    new = claim[: one.start] + other.spelling + between + one.spelling + claim[other.end :]
    return Changed(new, f"{one.spelling} … {other.spelling}", f"{other.spelling} … {one.spelling}")


def _one_way(claim: str, start: int, end: int) -> bool:
    """Whether the words between two names go from one to the other."""
    between = claim[start:end]
    words = between.split()
    if not words or len(words) > 5 or _BROKEN.search(between):
        return False
    if words == ["to"]:
        return "from " in claim[:start] and bool(_MOVING & set(claim[:start].split()))
    if words[-1] in ("by", "than"):
        return any(WORD_LISTS.is_finite(word) for word in words)
    return words[0] in _ONE_WAY and words[1:] in ([], ["the"])


def _stands_free(claim: str, one: Name, other: Name) -> bool:
    """Whether neither name is a part of a longer phrase of names: "Smith's", "X and Y"."""
    behind = claim[other.end : other.end + 6]
    before = claim[: one.start].split()[-1:]
    follows = re.match(r"['’]|-| (?:and|or|of|[A-Z]|[a-z]+(?<!s)er\b)| ?\(", behind)
    return not follows and before not in (["and"], ["or"], ["of"])


def subject_swapped(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """What one sentence says of its subject, said of the subject of another of the same text."""
    mine = _subject(claim)
    if mine is None or not _known(source, mine):
        return None
    others = []
    for sentence in source.sentences:
        other = _subject(sentence)
        if other is None or other.kind != mine.kind or related(other.spelling, mine.spelling):
            continue
        if not _known(source, other) or sentence[: other.start] != claim[: mine.start]:
            continue
        if other.spelling.endswith("s") != mine.spelling.endswith("s"):  # "The Cowboys was …"
            continue
        if mine.spelling.split()[-1] not in sentence and other.spelling.split()[-1] not in claim:
            others.append(other.spelling)
    return put(claim, mine.start, mine.end, rng.choice(others)) if others else None


def _known(source: Source, name: Name) -> bool:
    """Whether it is a name: of a known kind, or with a capital within a sentence of the text."""
    if name.kind != "other":
        return True
    return re.search(rf"[a-z,] {re.escape(name.spelling)}\b", source.text) is not None


def _subject(sentence: str) -> Name | None:
    """The name that opens the sentence, where a finite verb follows it at once."""
    name = next(iter(names(sentence, unknown=True)), None)
    if name is None or sentence[: name.start] not in ("", "The "):
        return None
    rest = sentence[name.end :].split()
    if not rest or rest[0] in _SAID or not rest[0].islower() or not WORD_LISTS.is_finite(rest[0]):
        return None
    return name
