"""What makes a sentence, or a part of one, too risky to take apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trueground.claims.view import YEAR, View, Word, among, is_adverb

_WHOLE = re.compile(
    r"\bnot (?:only|just|merely|simply)\b|\brespectively\b|\bin that order\b|;\s*or\b"
    r"|\b(?:if|unless|provided that|as long as|lest)\b"
    # an abbreviation that ended a sentence: two sentences stand here as one
    r"|\.\s+(?:The|This|These|It|He|She|They|Its|His|Her|In|On|As|Founded|Established|Born|Located"
    r"|Built|Based|Launched|Created|Originally|Formerly)\s",
    re.I,
)
_UNTIL = frozenset(("when", "whenever", "until", "till", "once", "whilst"))
_FAR = 40  # words in which a condition is looked for
_ORDERED = frozenset(("followed", "preceded", "then", "first", "next", "finally"))
_MANY = frozenset(("people", "men", "women", "children", "police", "media", "data", "folk", "ones"))
_ONE = frozenset(("is", "was", "has", "does"))


def stays_whole(view: View) -> bool:
    """Whether a condition, an order, alternatives or a lost sentence end rule a whole sentence."""
    return any(
        not (match[0].startswith(".") and match[0].split()[-1].islower())
        for match in _WHOLE.finditer(view.masked)
    )


def is_conditional(view: View, first: int) -> bool:
    """Whether a condition at the end rules both clauses: "he sings and dances when it rains"."""
    words = view.words
    for i in range(first, min(len(words), first + _FAR)):
        if ";" in words[i].gap or (i > first and among(words[i].lower, "joint")):
            return False
        if words[i].lower in _UNTIL and not words[i].gap:
            return any(word.verb for word in words[i + 1 : i + 7])  # not "until 1990"
    return False


def is_ordered(words: Sequence[Word]) -> bool:
    """Whether a list gives an order, which its members alone would lose."""
    return any(word.lower in _ORDERED and not word.name for word in words)


def is_elliptic(subject: Sequence[Word]) -> bool:
    """Whether a subject lacks its noun: "eight", "the other", "some"."""
    words = [word for word in subject if not is_adverb(word.lower)]
    while words and words[0].lower in ("the", "at", "least", "all", "only", "about"):
        words = words[1:]
    if not words:
        return True
    last = words[-1]
    bound = len(words) > 1 and among(words[1].lower, "preposition") and words[1].lower != "of"
    if bound and among(words[0].lower, "elliptic"):
        return True  # "one without semitones"
    if last.lower in ("ones", "one"):
        return True
    number = last.value and not YEAR.match(last.lower)
    if len(words) == 1 and number:
        return True
    return all(among(word.lower, "elliptic") for word in words)


def is_singular(view: View, first: int, last: int, finite: int) -> bool:
    """Whether the subject in words `first` to `last` is surely one thing."""
    ruling = view.words[finite].lower
    if ruling in _ONE:
        return True
    if among(ruling, "present") or among(ruling, "plural"):
        return False
    words = view.words[first:last]
    lowers = [word.lower for word in words]
    if "and" in lowers or "or" in lowers:
        return False
    head = next((i for i, w in enumerate(lowers) if i and among(w, "preposition")), len(lowers))
    noun = lowers[head - 1]
    if noun in _MANY:
        return False
    if ruling.endswith("s") and not ruling.endswith("ss"):
        return True
    return not noun.endswith("s") or noun.endswith(("ss", "us"))


def verbs_after_commas(view: View, first: int, last: int) -> list[int]:
    """The words at which ", made …" goes on with the subject: the middle of a list of verbs."""
    found = []
    for i in range(first, last - 1):
        if view.words[i].gap != ",":
            continue
        verb = i
        while verb < last - 1 and is_adverb(view.words[verb].lower):
            verb += 1
        if view.words[verb].verb:
            found.append(i)
    return found
