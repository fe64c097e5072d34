"""Where a sentence holds several statements: the one definition of a clause.

Careful on purpose: a sentence is cut only where both sides have a finite verb of their own, and
in doubt it stays whole.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from trueground.claims.verbs import is_finite, word_lists
from trueground.claims.view import View, Word, among, is_adverb, is_noun

__all__ = ["Clause", "auxiliary_for", "clauses", "is_finite"]

_JOINS = frozenset(("and", "but", "while", "whereas", "although", "because"))
_ALONE = frozenset(("he", "she", "they", "we", "i"))
_CONTRAST = frozenset(("but", "while", "whereas", "although"))
_IF = frozenset(("if", "unless", "whether"))
_NEAR = 5  # a verb of the right side must stand among its first words
_PASSIVE = frozenset(
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


def clauses(view: View) -> list[Clause]:
    """Cut a sentence into clauses (conjunctions are left out)."""
    found: list[Clause] = []
    words = view.words
    begin, bare = 0, False
    seen = reported = nested = dated = uncut = False
    verb = 0
    for i, word in enumerate(words):
        if word.idle and not word.gap:
            continue
        semicolon = ";" in word.gap
        if i > begin and (semicolon or word.lower in _JOINS):
            first = i if semicolon and word.lower not in _JOINS else i + 1
            kind = (
                _kind(view, begin, i, first, semicolon)
                if seen and (verb < i - 1 or word.gap)
                else None
            )
            if kind and (semicolon or not reported) and not (kind == "bare" and nested):
                found.append(Clause(begin, i, bare))
                begin, bare = first, kind == "bare"
                seen = reported = nested = dated = uncut = False
                continue
            uncut = uncut or word.lower == "and"
        if seen and i > begin:
            nested = nested or ":" in word.gap or ";" in word.gap
            nested = (
                nested
                or among(word.lower, "nesting")
                or (word.verb and (dated or (uncut and among(word.lower, "auxiliary"))))
            )
            dated = dated or among(word.lower, "stop")
        if not seen and word.verb:
            seen, verb = True, i
        says = i + 1 < len(words) and words[i + 1].lower == "that" and word.verb
        reported = (
            reported or says or word.lower in _IF or (not word.name and among(word.lower, "report"))
        )
    found.append(Clause(begin, len(words), bare))
    return found


def _kind(view: View, begin: int, cut: int, first: int, semicolon: bool) -> str | None:
    """ "own" or "bare" where words `first` … are a clause with or without a subject, else None."""
    words = view.words
    right = words[first : first + 8]
    if len(right) < 2 or right[0].lower in ("that", "who", "which"):
        return None
    joined = words[cut].lower
    if joined == "and" and words[cut - 1].verb and "," not in words[cut].gap:
        return None  # "designed and built the tower": one object for two verbs
    if joined in _CONTRAST and _names_pronoun(right):
        return "own"
    verb = _verb(right, joined)
    if verb is None:
        return "own" if semicolon and any(word.verb for word in right) else None
    if all(is_adverb(word.lower) for word in right[:verb]):
        return "bare" if first > cut and not _goes_on(right, verb) else None
    if joined == "and" and among(right[verb].lower, "plural") and not _has_verb(words, begin, cut):
        return None  # "Ecuador, Chile, and Panama are represented"
    if joined != "and" or semicolon or "," in words[cut].gap:
        return "own" if joined != "and" or semicolon or _plain_subject(right, verb) else None
    if words[cut - 1].lower in _ALONE or not _has_verb(words, begin, cut):
        return None  # "After it was sold, he and his wife left"
    return "own" if _is_subject(right[0]) else None


def _has_verb(words: list[Word], begin: int, cut: int) -> bool:
    """Whether there is a verb between the last comma and the conjunction."""
    for i in range(cut - 1, max(begin, cut - 40) - 1, -1):
        if words[i].verb:
            return True
        if words[i].gap == ",":
            return False
    return True


def _goes_on(right: list[Word], at: int) -> bool:
    """Whether the verb is a participle inside a subject: "and sold in 1950 was large"."""
    if among(right[at].lower, "auxiliary"):
        return False
    for word in right[at + 1 :]:
        if word.gap or among(word.lower, "stop") or word.lower in _JOINS:
            return False
        if among(word.lower, "auxiliary") and not word.name:
            return True
    return False


def _names_pronoun(right: list[Word]) -> bool:
    """Whether a pronoun and its verb are near: "but since 2014 he has lived there"."""
    pairs = itertools.pairwise(right)
    return any(one.lower in _ALONE and after.verb and not after.gap for one, after in pairs)


def _verb(right: list[Word], joined: str) -> int | None:
    """The place of the verb in the opening of a clause."""
    for i, word in enumerate(right[:_NEAR]):
        if among(word.lower, "stop") or (i and word.gap):
            return None
        if not word.verb:
            continue
        if i and right[i - 1].lower in ("the", "a", "an", "his", "her", "its", "their"):
            continue
        following = right[i + 1].lower if i + 1 < len(right) else ""
        plain = among(word.lower, "auxiliary")
        bare = all(is_adverb(before.lower) for before in right[:i])
        if not bare and joined == "and" and not plain and _is_weak(right, i):
            continue  # "and an anal fin placed close to it"
        if not bare and not plain and following in _PASSIVE and not _is_subject(right[0]):
            continue  # "and areas located nearby"
        return i
    return None


def _is_weak(right: list[Word], at: int) -> bool:
    """Whether a word may as well be a participle or a noun."""
    if among(right[0].lower, "pronoun") and not among(right[0].lower, "determiner"):
        return False
    if among(right[at].lower, "intransitive"):
        return False
    if at + 1 >= len(right) or among(right[at].lower, "state participle"):
        return True
    following = right[at + 1]
    return not (following.name or following.value or among(following.lower, "determiner"))


def _plain_subject(right: list[Word], verb: int) -> bool:
    """Whether the words before the verb are no further member of a list ("A, and B which …")."""
    return not any(word.lower in ("of", "or") or word.gap for word in right[1:verb])


def _is_subject(word: Word) -> bool:
    return word.lower in word_lists("clause_words.txt")["subject"]


def auxiliary_for(view: View, verb: int, finite: int, last: int, clause: Clause) -> str | None:
    """What a bare clause needs between the subject and itself: "", or "was " as in "was built".

    `verb`, `finite` and `last` are the beginning, the verb and the end of the predicate that has
    the subject. None: it cannot be told which word the bare clause goes with.
    """
    words = view.words
    if any(among(word.lower, "hedge") and not word.name for word in words[verb:last]):
        return None
    at = clause.first
    while is_adverb(words[at].lower):
        at += 1
    own, ruling = words[at].lower, words[finite].lower
    following = words[at + 1] if at + 1 < clause.last else None
    after = following.lower if following else ""
    if among(own, "auxiliary"):
        return "" if not among(own, "plural") or _is_plural(words[finite]) else None
    if own.endswith("s") and not own.endswith("ss"):
        present = ruling.endswith("s") and ruling != "was"
        return "" if present and after not in ("of", "by", "and", "or") else None
    if among(ruling, "be"):
        participle = _participle(view, finite, last)
        passive = participle is not None and not any(w.verb for w in words[participle + 1 : last])
        if after == "by" or (passive and after in _PASSIVE and not among(own, "active")):
            return f"{words[finite].spelling} " if passive else None
        goes = among(own, "active") or among(after, "determiner")
        return "" if goes and ruling in ("was", "were") else None
    if among(ruling, "auxiliary") and ruling not in ("had", "has", "have", "did"):
        return None
    if own.endswith("ed") and not among(own, "active") and following and is_noun(following):
        return None  # "a barrel and specifically designed munition"
    if after == "by" or (among(own, "state participle") and after in _PASSIVE):
        return None
    return ""


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
