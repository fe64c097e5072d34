"""What a predicate says besides its main statement: relative clauses, apposition, dates, places."""

from __future__ import annotations

from typing import NamedTuple

from trueground.claims.subjects import copula
from trueground.claims.view import MONTHS, YEAR, View, Word, among, skip_adverbs

_WHO = frozenset(("by", "with", "to", "as", "named"))
_CLAUSAL = frozenset(
    ("means", "meant", "led", "made", "allowed", "caused", "resulted", "causes", "leads", "makes")
)
_DATE_WORDS = frozenset(("early", "late", "mid", "the"))
_AFTER_DATE = frozenset(("in", "at", "by", "with", "near", "as", "to"))
_PLACED = frozenset(("in", "within", "near", "on", "at"))
_A = frozenset(("a", "an"))


class Statement(NamedTuple):
    """A statement: `head`, the text from `start` to `end`, and `tail`."""

    head: str
    start: int
    end: int
    tail: str = ""


class Range(NamedTuple):
    """Words `first` to `last` (exclusive) and the character where they end."""

    first: int
    last: int
    end: int


def split_tail(view: View, finite: int, part: Range) -> tuple[Range, list[Statement]]:
    """Cut ", who was …" or ", a …" after the last name off; return the rest and what was cut."""
    words = view.words
    for at in range(part.last - 1, part.first + 1, -1):
        if words[at].gap == ",":
            break
    else:
        return part, []
    head = _antecedent(view, part.first, at, words[at].lower)
    if head is None or part.last - at < 3:
        return part, []
    word, following = words[at], words[at + 1]
    if word.lower in ("who", "which"):
        verb = skip_adverbs(words, at + 1, part.last - 1)
        if not words[verb].verb or words[verb].lower in _CLAUSAL:
            return part, []
        stated = Statement(f"{head} ", following.start, part.end)
    elif word.lower in ("a", "an") and not among(following.lower, "time noun"):
        tail = words[at : part.last]
        if any(w.lower in ("and", "or") or among(w.lower, "auxiliary") for w in tail):
            return part, []
        stated = Statement(f"{head} {copula(view, finite)} ", word.start, part.end)
    else:
        return part, []
    return Range(part.first, at, view.end_of(at - 1)), [stated]


def _antecedent(view: View, first: int, at: int, word: str) -> str | None:
    """The name right before word `at`, when it is plain that the insertion speaks of it."""
    words = view.words
    begin = at
    while begin > first and words[begin - 1].name and not words[begin - 1].value:
        begin -= 1
        if words[begin].gap:
            break
    if begin in (at, first) or words[begin].gap or at - begin > 6:
        return None
    before = words[begin - 1].lower
    if word != "which":
        ruled = before == "named" or (begin - 2 >= first and _is_verbal(words[begin - 2]))
        allowed = (before in _WHO and ruled) or (words[begin - 1].verb and not _is_be(before))
        return view.of(begin, at) if allowed and at - begin > 1 else None
    if before == "the":
        begin -= 1
        before = words[begin - 1].lower
    if before in ("in", "to", "at") and begin - 2 >= first and words[begin - 2].verb:
        return view.of(begin, at)
    return view.of(begin, at) if words[begin - 1].verb and not _is_be(before) else None


def _is_verbal(word: Word) -> bool:
    """Whether a word is a verb or a participle: "written by"."""
    return word.verb or among(word.lower, "event participle|state participle")


def _is_be(word: str) -> bool:
    return among(word, "be")


def split_noun(
    view: View, name: str, finite: int, part: Range
) -> tuple[Range, list[tuple[str, Range]]]:
    """Cut "is a town that lies in …" after the noun; the second part comes with its head."""
    words = view.words
    if words[finite].lower not in ("is", "was") or is_hedged(view, part):
        return part, []
    noun = skip_adverbs(words, finite + 1, part.last)
    if noun + 1 >= part.last or words[noun].lower not in ("a", "an"):
        return part, []
    for at in range(noun + 2, min(part.last - 2, noun + 9)):
        word, following = words[at], words[at + 1]
        if word.gap not in ("", ",") or among(word.lower, "preposition"):
            return part, []
        short = at - 1 if words[at - 1].lower in ("best", "better", "well") else at
        rest = Range(part.first, short, view.end_of(short - 1))
        if word.lower in ("that", "which", "who"):
            verb = skip_adverbs(words, at + 1, part.last - 1)
            if not words[verb].verb or among(words[verb].lower, "plural"):
                return part, []
            return rest, [(f"{name} ", Range(at + 1, part.last, part.end))]
        state = among(word.lower, "state participle")
        placed = following.lower in ("in", "on", "at", "near", "by", "for", "as")
        if placed and (state or word.lower in ("born", "founded", "established")):
            be = words[finite].lower if state else "was"
            return rest, [(f"{name} {be} ", Range(short, part.last, part.end))]
        if word.gap or word.verb:
            return part, []
    return part, []


def is_hedged(view: View, part: Range) -> bool:
    """Whether something in these words denies, weakens or reports what is said."""
    return any(word.doubt for word in view.words[part.first : part.last])


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
    ends = (i for i in range(verb_end + 2, part.last - 1) if _date(view, i, part.last) == part.last)
    at = next(ends, None)
    if at is None or at - verb_end > 10:
        return None
    if any(w.gap not in ("", ",") for w in words[verb_end + 1 : at]):
        return None
    if words[verb_end].lower not in ("in", "at", "by", "near") or words[at].gap:
        return None
    if any(w.verb or w.lower in ("and", "who", "which", "that") for w in words[verb_end:at]):
        return None
    if any(w.value or (w.gap and not w.name) for w in words[verb_end:at]):
        return None  # "were sold by 2021, having two million players in 2017"
    first = Statement(head, begin, view.end_of(at - 1))
    return [first, Statement(again, words[at].start, part.end)]


def _bare_verb(view: View, part: Range) -> int | None:
    """Where "was founded", "died" or "was due to start" ends; None for other predicates."""
    words = view.words[part.first : part.first + 5]
    at = skip_adverbs(words, 0, len(words))
    if at < len(words) and words[at].lower == "died":
        return part.first + at + 1
    if at + 2 >= len(words) or words[at].lower not in ("is", "was", "were", "are"):
        return None
    at += 1
    if words[at].lower == "due" and words[at + 1].lower == "to":
        return part.first + at + 3
    at = skip_adverbs(words, at, len(words) - 1)
    participle = words[at].lower
    known = participle in ("born", "held", "built") or among(participle, "event participle")
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
    near = range(at + 2, min(part.last, at + 9))
    place = next((i for i in near if words[i].lower in _PLACED), None)
    if place is None:
        return None
    noun = words[at + 2 : place]
    if any(among(w.lower, "preposition") or w.gap or w.lower == "and" for w in noun):
        return None
    inner = range(place + 1, part.last)
    cuts = [i for i in inner if words[i].gap == "," and words[i].lower in _PLACED]
    loose = any(
        w.verb or among(w.lower, "nesting") or w.gap not in ("", ",") or w.lower in ("and", "but")
        for w in words[place : part.last]
    )
    if not cuts or loose:
        return None
    again = f"{name} {view.of(at, place)} "
    ends = [view.stop_before(i) for i in cuts] + [part.end]
    more = zip(cuts, ends[1:], strict=True)
    first = Statement(head, begin, ends[0])
    return [first, *(Statement(again, words[i].start, end) for i, end in more)]
