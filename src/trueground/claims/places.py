"""Dates and places beside each other in one predicate."""

from __future__ import annotations

from trueground.claims.splits import Range, Statement
from trueground.claims.view import MONTHS, YEAR, View, among, is_adverb

_DATE_WORDS = frozenset(("early", "late", "mid", "the"))
_AFTER_DATE = frozenset(("in", "at", "by", "with", "near", "as", "to"))
_PLACED = frozenset(("in", "within", "near", "on", "at"))
_A = frozenset(("a", "an"))


def dated(view: View, name: str, head: str, part: Range, begin: int) -> list[Statement] | None:
    """ "was born in 1867 in Warsaw" → "was born in 1867", "was born in Warsaw"."""
    words = view.words
    verb_end = _bare_verb(view, part)
    if verb_end is None or verb_end >= part.last - 3:
        return None
    again = f"{name} {view.of(part.first, verb_end)} "
    date_end = _date(view, verb_end, part.last)
    if date_end is not None:
        following = words[date_end] if date_end < part.last - 1 else None
        if following is None or following.gap or following.lower not in _AFTER_DATE:
            return None
        if any(w.lower in MONTHS or YEAR.match(w.lower) for w in words[date_end : part.last]):
            return None  # which date goes with which place?
        cut = view.end_of(date_end - 1)
        return [Statement(head, begin, cut), Statement(again, following.start, part.end)]
    at = next(
        (i for i in range(verb_end + 2, part.last - 1) if words[i].lower in ("in", "on")), None
    )
    while at is not None and _date(view, at, part.last) != part.last:
        at = next((i for i in range(at + 1, part.last - 1) if words[i].lower in ("in", "on")), None)
    if (
        at is None
        or at - verb_end > 10
        or any(w.gap for w in words[verb_end:at][1:] if w.gap != ",")
    ):
        return None
    if words[verb_end].lower not in ("in", "at", "by", "near") or words[at].gap:
        return None
    if any(w.verb or w.lower in ("and", "who", "which", "that") for w in words[verb_end:at]):
        return None
    if any(w.value or (w.gap and not w.name) for w in words[verb_end:at]):
        return None  # "were sold by 2021, having two million players in 2017"
    return [
        Statement(head, begin, view.end_of(at - 1)),
        Statement(again, words[at].start, part.end),
    ]


def _bare_verb(view: View, part: Range) -> int | None:
    """Where "was founded", "died" or "was due to start" ends; None for other predicates."""
    words = [word.lower for word in view.words[part.first : part.first + 5]]
    at = 0
    while at < len(words) and is_adverb(words[at]):
        at += 1
    if at < len(words) and words[at] == "died":
        return part.first + at + 1
    if at + 2 >= len(words) or words[at] not in ("is", "was", "were", "are"):
        return None
    at += 1
    if words[at] == "due" and words[at + 1] == "to":
        return part.first + at + 3
    while at < len(words) - 1 and is_adverb(words[at]):
        at += 1
    known = (
        words[at] == "born"
        or among(words[at], "event participle")
        or words[at] in ("held", "built")
    )
    return part.first + at + 1 if known else None


def _date(view: View, at: int, last: int) -> int | None:
    """Where the date that begins with "in" or "on" at word `at` ends; None for other words."""
    words = view.words
    if words[at].lower not in ("in", "on"):
        return None
    end = at + 1
    year = False
    while end < last and end - at < 5 and not year:
        word = words[end]
        year = bool(YEAR.match(word.lower))
        if not (year or word.value or word.lower in _DATE_WORDS):
            return None
        if word.gap and not (year and word.gap == ","):
            return None
        end += 1
    return end if year else None


def places(view: View, name: str, head: str, part: Range, begin: int) -> list[Statement] | None:
    """ "is a village in A, within B, in C" → one statement for each place."""
    words = view.words
    at = part.first
    if at + 4 > part.last or words[at].lower not in ("is", "was") or words[at + 1].lower not in _A:
        return None
    place = next(
        (i for i in range(at + 2, min(part.last, at + 9)) if words[i].lower in _PLACED), None
    )
    if place is None or any(
        among(w.lower, "preposition") or w.gap or w.lower == "and" for w in words[at + 2 : place]
    ):
        return None
    cuts = [
        i for i in range(place + 1, part.last) if words[i].gap == "," and words[i].lower in _PLACED
    ]
    loose = any(
        w.verb or among(w.lower, "nesting") or w.gap not in ("", ",") or w.lower in ("and", "but")
        for w in words[place : part.last]
    )
    if not cuts or loose:
        return None
    again = f"{name} {view.of(at, place)} "
    ends = [view.stop_before(i) for i in cuts] + [part.end]
    found = [Statement(head, begin, ends[0])]
    return found + [
        Statement(again, words[i].start, end) for i, end in zip(cuts, ends[1:], strict=True)
    ]
