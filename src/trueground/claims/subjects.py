"""Who a clause is about: its subject, its main verb, and what is said in passing between them."""

from __future__ import annotations

from trueground.claims.insertions import Subject, bracketed, next_gap, with_insertions
from trueground.claims.verbs import is_finite
from trueground.claims.view import YEAR, View, Word, among, is_adverb, is_noun

_LONGEST = 10  # words of a subject
_ALONE = frozenset(("he", "she", "it", "they", "we", "i"))
_AHEAD = 12  # words in which the verb must come


def find_subject(view: View, first: int, last: int) -> Subject | None:
    """Return the subject of the clause in words `first` to `last`; None where it is not plain."""
    for _ in range(2):  # "However, in 1990, "
        first = _past_intro(view, first, last)
    words = view.words
    if first + 1 >= last or not _may_open(view, first):
        return None
    comma = next_gap(view, first + 1, last)
    finite = _find_verb(view, first, min(last, comma))
    if finite is not None:
        verb = _before_adverbs(view, first, finite)
        if verb > first + 1 and words[first].lower in _ALONE:
            return None  # "They operate like executive orders"
        if verb == first or verb - first > _LONGEST or _is_apposition(view, finite, comma, last):
            return None
        return Subject(
            view.of(first, verb), first, verb, finite, *bracketed(view, first, verb, finite)
        )
    if comma >= last or comma - first > 8 or words[comma].gap != ",":
        return None
    return with_insertions(view, first, comma, last)


def _is_apposition(view: View, finite: int, comma: int, last: int) -> bool:
    """Whether the real subject comes after the comma: "One of the settled areas, Kerno was …"."""
    words = view.words
    if among(words[finite].lower, "auxiliary") or comma >= last or words[comma].gap != ",":
        return False
    for i in range(comma, min(last, comma + 8)):
        if (i > comma and words[i].gap) or among(words[i].lower, "stop"):
            return False
        if words[i].lower in ("and", "but", "or"):
            return False
        if words[i].verb and i > comma:
            return among(words[i].lower, "auxiliary") or not words[i].lower.endswith("ed")
    return False


def _past_intro(view: View, first: int, last: int) -> int:
    """The number of the first word after "In 1990, " and the like."""
    if first + 2 >= last or view.words[first].doubt:
        return first
    opening, following = view.words[first].lower, view.words[first + 1]
    if not (among(opening, "intro") or (opening.endswith("ly") and following.gap == ",")):
        return first
    if opening == "in" and YEAR.match(following.lower) and not view.words[first + 2].gap:
        return first + 2  # "In 2006 he won"
    at = next_gap(view, first + 1, last)
    words = view.words
    if at < last and YEAR.match(words[at].lower) and words[at - 1].lower.isdigit():
        at = next_gap(view, at + 1, last)  # "On April 5, 2008, "
    if at >= last or at - first > 12 or words[at].gap != ",":
        return last
    if any(word.verb and not word.lower.endswith("ed") for word in words[first:at]):
        return last
    return at


def _may_open(view: View, first: int) -> bool:
    word = view.words[first]
    if among(view.words[first + 1].lower, "time noun") and first + 2 < len(view.words):
        third = view.words[first + 2]
        if third.name or (among(third.lower, "pronoun") and not among(third.lower, "stop")):
            return False  # "The night Mara won, …"
    if among(word.lower, "determiner") or among(word.lower, "pronoun"):
        return word.lower not in ("that", "which", "who", "no")
    lower = word.lower
    if lower in ("one", "last") and among(view.words[first + 1].lower, "time noun"):
        return False  # "One day he left"
    if any(among(lower, kind) for kind in ("auxiliary", "nothing", "whole", "intro")):
        return False
    if among(lower, "preposition") or lower in ("and", "but", "or", "to"):
        return False
    return not (lower.endswith(("ing", "ed")) or is_adverb(lower))


def _find_verb(view: View, first: int, last: int) -> int | None:
    """The number of the main verb of a clause whose subject begins at `first`."""
    words = view.words
    for i in range(first + 1, min(last, first + _AHEAD)):
        word = words[i]
        if among(word.lower, "stop"):
            return None
        if not word.verb:
            continue
        if among(word.lower, "auxiliary"):
            return i
        before = words[i - 1].lower
        if among(before, "determiner") and before not in (
            "this",
            "that",
            "some",
            "each",
            "another",
        ):
            continue
        if before.endswith(("'s", "s'")) or among(before, "preposition"):
            continue
        if word.lower.endswith(("ed", "s")) and i > first + 1:
            counted = words[i - 1].value and not YEAR.match(before)
            counted = counted or (among(before, "elliptic") and not is_adverb(before))
            if counted or (word.lower.endswith("ed") and _is_attribute(view, i, last)):
                continue  # "the sale of seven marketed products infused …"
        return i if _is_main(view, i, last) else None
    return None


def _is_attribute(view: View, at: int, last: int) -> bool:
    """Whether a word in -ed belongs to the noun after it, which a verb follows."""
    words = view.words
    if at + 2 >= last or words[at + 1].gap or words[at + 2].gap or not is_noun(words[at + 1]):
        return False
    return words[at + 2].verb and not words[at + 1].verb


def _is_main(view: View, at: int, last: int) -> bool:
    """Whether a full verb is not the participle or noun of a longer subject."""
    words = view.words
    if at + 1 < last and words[at + 1].lower == "by":
        return False
    if is_adverb(words[at - 1].lower) and words[at].lower.endswith("ed"):
        plain = at + 1 >= last or not is_noun(words[at + 1])
        return plain or among(words[at].lower, "active")  # "the earliest permanently settled area"
    for word in words[at + 1 : min(last, at + 9)]:
        if among(word.lower, "stop") or word.lower in ("and", "but", "to"):
            return True
        if among(word.lower, "pronoun") and not among(word.lower, "determiner"):
            return True
        if among(word.lower, "auxiliary") and not word.name:
            return False
    following = words[at + 1].lower if at + 1 < last else ""
    if words[at].lower.endswith("s") and is_finite(following + "s"):
        return False  # "executive orders take precedence"
    return not (at + 1 < last and words[at + 1].verb)


def _before_adverbs(view: View, first: int, finite: int) -> int:
    while finite - 1 > first and _is_adverb(view.words[finite - 1]):
        finite -= 1
    return finite


def _is_adverb(word: Word) -> bool:
    return not word.name and is_adverb(word.lower)
