"""What a predicate says besides its main statement: relative clauses, apposition, lists, dates."""

from __future__ import annotations

from typing import NamedTuple

from trueground.claims.insertions import copula
from trueground.claims.view import View, Word, among, is_adverb

_WHO = frozenset(("by", "with", "to", "as", "named"))
_CLAUSAL = frozenset(
    ("means", "meant", "led", "made", "allowed", "caused", "resulted", "causes", "leads", "makes")
)


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
        verb = at + 1
        while is_adverb(words[verb].lower) and verb < part.last - 1:
            verb += 1
        if not words[verb].verb or words[verb].lower in _CLAUSAL:
            return part, []
        told = Statement(f"{head} ", following.start, part.end)
    elif word.lower in ("a", "an") and not among(following.lower, "time noun"):
        if any(
            w.lower in ("and", "or") or among(w.lower, "auxiliary") for w in words[at : part.last]
        ):
            return part, []
        told = Statement(f"{head} {copula(view, finite)} ", word.start, part.end)
    else:
        return part, []
    return Range(part.first, at, view.end_of(at - 1)), [told]


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
    known = among(word.lower, "event participle") or among(word.lower, "state participle")
    return word.verb or known


def _is_be(word: str) -> bool:
    return among(word, "be")


def split_noun(
    view: View, name: str, finite: int, part: Range
) -> tuple[Range, list[tuple[str, Range]]]:
    """Cut "is a town that lies in …" after the noun; the second part comes with its head."""
    words = view.words
    if words[finite].lower not in ("is", "was") or is_hedged(view, part):
        return part, []
    noun = finite + 1
    while noun < part.last and is_adverb(words[noun].lower):
        noun += 1
    if noun + 1 >= part.last or words[noun].lower not in ("a", "an"):
        return part, []
    for at in range(noun + 2, min(part.last - 2, noun + 9)):
        word, following = words[at], words[at + 1]
        if word.gap not in ("", ",") or among(word.lower, "preposition"):
            return part, []
        short = at - 1 if words[at - 1].lower in ("best", "better", "well") else at
        rest = Range(part.first, short, view.end_of(short - 1))
        if word.lower in ("that", "which", "who"):
            verb = at + 1
            while verb < part.last - 1 and is_adverb(words[verb].lower):
                verb += 1
            if not words[verb].verb or among(words[verb].lower, "plural"):
                return part, []
            return rest, [(f"{name} ", Range(at + 1, part.last, part.end))]
        if following.lower in ("in", "on", "at", "near", "by", "for", "as") and (
            among(word.lower, "state participle")
            or word.lower in ("born", "founded", "established")
        ):
            be = "was" if not among(word.lower, "state participle") else words[finite].lower
            return rest, [(f"{name} {be} ", Range(short, part.last, part.end))]
        if word.gap or word.verb:
            return part, []
    return part, []


def is_hedged(view: View, part: Range) -> bool:
    """Whether something in these words denies, weakens or reports what is said."""
    return any(word.doubt for word in view.words[part.first : part.last])
