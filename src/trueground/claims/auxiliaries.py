"""What a clause without a subject needs to go on with the one before."""

from __future__ import annotations

from typing import NamedTuple

from trueground.claims.verbs import is_finite
from trueground.claims.view import View, Word, among, is_adverb, is_noun

PASSIVE = frozenset(
    [
        "by",
        "in",
        "on",
        "at",
        "for",
        "to",
        "as",
        "with",
        "from",
        "near",
        "into",
        "through",
        "under",
        "during",
    ]
)


class Clause(NamedTuple):
    """Words `first` to `last` (exclusive); `bare`: it lacks a subject and goes on with the last."""

    first: int
    last: int
    bare: bool


def auxiliary_for(view: View, verb: int, finite: int, last: int, clause: Clause) -> str | None:
    """What a bare clause needs between the subject and itself: "", or "was " as in "was built".

    `verb`, `finite` and `last` are the beginning, the verb and the end of the predicate that has
    the subject. None: it cannot be told which word the bare clause goes with.
    """
    words = view.words
    if any(among(word.lower, "hedge") and not word.name for word in words[verb:last]):
        return None
    if any(words[i].lower == "well" and words[i + 1].lower == "as" for i in range(verb, last - 1)):
        return None  # "and hundreds of soldiers as well as deserters and escaped prisoners"
    at = clause.first
    while is_adverb(words[at].lower):
        at += 1
    own, ruling = words[at].lower, words[finite].lower
    following = words[at + 1] if at + 1 < clause.last else None
    after = following.lower if following else ""
    if among(own, "auxiliary"):
        if own in ("is", "has", "does", "was") and among(ruling, "plural"):
            return None  # "These firms have …, and only has": the subject is another
        return "" if not among(own, "plural") or _is_plural(words[finite]) else None
    if own.endswith("s") and not own.endswith("ss"):
        present = ruling.endswith("s") and ruling != "was"
        noun = after in ("of", "by", "and", "or") or among(after, "event participle")
        return "" if present and not noun else None  # "depends on the menu and drinks chosen"
    if among(ruling, "be"):
        participle = _participle(view, finite, last)
        passive = participle is not None and not any(w.verb for w in words[participle + 1 : last])
        if among(own, "either") or _has_infinitive(words[at + 1 : clause.last]):
            return None  # "was expected to leave but asked for time"
        if after == "by" or (passive and after in PASSIVE and not among(own, "active")):
            return f"{words[finite].spelling} " if passive else None
        if ruling not in ("was", "were") or among(own, "giving"):
            return None  # "was listed and awarded the status"
        transitive = among(own, "event participle")  # "was released in 1987 and sold only in Japan"
        if among(after, "determiner"):
            return ""
        return "" if among(own, "active") and not (passive and transitive) else None
    if among(ruling, "auxiliary") and ruling not in ("had", "has", "have", "did"):
        return None
    if own.endswith("ed") and not among(own, "active") and following and is_noun(following):
        return None  # "a barrel and specifically designed munition"
    if after == "by" or (among(own, "state participle") and after in PASSIVE):
        return None
    return ""


def _has_infinitive(after: list[Word]) -> bool:
    """Whether "to" and a bare verb come first: "managed to escape"."""
    return len(after) > 1 and after[0].lower == "to" and is_noun(after[1]) and not after[1].value


def _is_plural(word: Word) -> bool:
    return among(word.lower, "plural") or not among(word.lower, "auxiliary")


def _participle(view: View, finite: int, last: int) -> int | None:
    """The number of the participle behind "is" ("is annually held"); None for other predicates."""
    for i in range(finite + 1, last):
        word = view.words[i].lower
        if is_adverb(word):
            continue
        known = among(word, "event participle") or among(word, "state participle")
        return i if known or word == "born" or is_finite(word) else None
    return None
