"""What is said of a subject between it and its verb: in commas and in brackets."""

from __future__ import annotations

import re
from typing import NamedTuple

from trueground.claims.guards import is_singular
from trueground.claims.view import YEAR, View, among, is_adverb, is_noun

_INSERTED = 16  # words of one insertion
_OPENS_ASIDE = re.compile(
    r"(?:(?:also|formerly|originally|previously|commonly|better|sometimes|often|popularly|locally"
    r"|officially|widely)\s+)?(?:known|called|nicknamed|named|born|founded|established|located)\s"
)
_BE = {(False, False): "is", (False, True): "are", (True, False): "was", (True, True): "were"}
_PAST = re.compile(r"born|founded|established|formerly|originally|previously")
_BRACKET = re.compile(r"\s*\(([^()]+)\)")
_PASSIVE = frozenset(("by", "in", "on", "at", "for", "to", "as", "with", "from", "near", "into"))


class Aside(NamedTuple):
    """What an insertion says of the subject: `head` and then the text from `start` to `end`."""

    head: str
    start: int
    end: int


class Subject(NamedTuple):
    """The subject of a clause.

    `text` is how it is named again, `first` the number of its first word, `verb` that of the first
    word of the predicate (adverbs included) and `finite` that of its verb. `asides` are the
    statements made in passing; where there are some, the clause itself goes on from `verb`, and
    `brackets` are the others that stood behind the subject ("(IPL)").
    """

    text: str
    first: int
    verb: int
    finite: int
    asides: tuple[Aside, ...]
    brackets: tuple[str, ...] = ()


def copula(view: View, finite: int) -> str:
    """The form of "be" that agrees with the tense of the verb."""
    word = view.words[finite].lower
    return "is" if among(word, "present") or (word.endswith("s") and word != "was") else "was"


def next_gap(view: View, first: int, last: int) -> int:
    """The number of the next word that has a mark before it, `last` where there is none."""
    for i in range(first, last):
        if view.words[i].gap:
            return i
    return last


def bracketed(
    view: View, first: int, verb: int, finite: int
) -> tuple[tuple[Aside, ...], tuple[str, ...]]:
    """What brackets behind the subject say ("(also known as …)"), and those that say nothing."""
    at = view.end_of(verb - 1)
    found: list[Aside] = []
    others: list[str] = []
    while match := _BRACKET.match(view.text, at):
        opening = _OPENS_ASIDE.match(match[1])
        plural = among(view.words[finite].lower, "plural")
        born = match[1].startswith("born")
        known = plural or born or is_singular(view, first, verb, finite)
        known = known and not _is_loose(view, first, verb, of=born)
        if opening and ";" not in match[1] and known:
            past = _PAST.search(opening[0])
            be = _BE[past is not None, plural]
            head = f"{view.of(first, verb)} {be} "
            start, end = match.span(1)
            if re.match(r"born\s+\d{4}\b", match[1]):
                start, head = start + 5, head + "born in "
            elif re.match(r"born\s+(?:\d|[A-Z][a-z]+ \d)", match[1]):
                start, head = start + 5, head + "born on "
            found.append(Aside(head, start, end))
        else:
            others.append(match[1])
        at = match.end()
    return tuple(found), tuple(others)


def _is_loose(view: View, first: int, last: int, *, of: bool) -> bool:
    """Whether what follows the words may speak of a noun inside them: "the wife of the king"."""
    return any(
        among(word.lower, "preposition") and not word.name and (of or word.lower != "of")
        for word in view.words[first:last]
    )


def with_insertions(view: View, first: int, comma: int, last: int) -> Subject | None:
    """The subject of "Ann, a baker, who was born in Leeds, left": each insertion is known."""
    words = view.words
    if any(word.verb for word in words[first:comma]):
        return None
    if among(words[comma - 1].lower, "time noun"):
        return None  # "Every year, the centre, which …"
    name = view.of(first, comma)
    parts: list[tuple[int, int]] = []
    at = comma
    while at < last and words[at].gap == "," and len(parts) < 4:
        verb = at
        while verb < last - 1 and is_adverb(words[verb].lower) and not words[verb + 1].gap:
            verb += 1
        if words[verb].verb and parts and not _is_participle(view, verb, last):
            after = words[min(verb + 1, last - 1)].lower
            if words[verb].lower.endswith("ed") and after in ("by", "with"):
                return None  # "…, later adopted by": no predicate
            return _told(view, first, comma, name, parts, at, verb, last)
        end = next_gap(view, at + 1, last)
        if end - at > _INSERTED:
            return None
        if all(word.name for word in words[at:end]):  # "Paris, France,"
            if parts:
                parts[-1] = (parts[-1][0], end)
            elif end - at <= 2 and not name.lower().startswith(("the ", "a ")):
                name, comma = view.of(first, end), end
                parts = []
                if end < last and words[end].verb and words[end].gap == ",":
                    return Subject(name + ",", first, end, end, ())
            else:
                return None
        else:
            parts.append((at, end))
        at = end
    return None


def _is_participle(view: View, at: int, last: int) -> bool:
    """Whether a word in -ed opens an insertion ("located in …,") and no predicate."""
    word = view.words[at].lower
    if among(word, "auxiliary"):
        return False
    known = among(word, "state participle") or among(word, "event participle")
    following = view.words[at + 1].lower if at + 1 < last else ""
    return known and following in _PASSIVE and next_gap(view, at + 1, last) < last


def _told(
    view: View,
    first: int,
    comma: int,
    name: str,
    parts: list[tuple[int, int]],
    verb: int,
    finite: int,
    last: int,
) -> Subject | None:
    """The subject with what its insertions say; None if one of them is of an unknown kind."""
    words = view.words
    if words[finite].lower.endswith("ed") and finite + 1 < last and is_noun(words[finite + 1]):
        return None  # "which teaches mathematics, applied science, …"
    if among(words[finite].lower, "plural") or words[first].lower in ("they", "we", "these"):
        return None
    in_brackets, others = bracketed(view, first, comma, finite)
    asides = list(in_brackets)
    if any(word.lower == "and" for word in words[first:comma]):
        return None  # "he and his wife, a dentist, …"
    one = is_singular(view, first, comma, finite)
    loose = _is_loose(view, first, comma, of=True)
    for begin, end in parts:
        opening = words[begin]
        start = begin
        while start < end - 1 and is_adverb(words[start].lower):
            start += 1
        told = words[start].lower
        if any(among(w.lower, "report") and not w.name for w in words[begin:end]):
            return None
        if not (one or opening.lower in ("who", "which", "a", "an")):
            return None
        if loose and opening.lower in ("who", "which", "a", "an", "the"):
            return None  # "The wife of the king, who …": which of the two?
        if opening.lower not in ("who", "which") and _is_loose(view, first, comma, of=False):
            return None  # "The decision to extract molars, also known as …"
        if opening.lower in ("who", "which"):
            if begin + 1 >= end or not (words[begin + 1].verb or is_adverb(words[begin + 1].lower)):
                return None
            head, start = f"{name} ", words[begin + 1].start
        elif opening.lower in ("a", "an", "the", "his", "her", "its", "their"):
            if any(word.verb and among(word.lower, "auxiliary") for word in words[begin:end]):
                return None
            if end - begin < 2 or among(words[begin + 1].lower, "time noun"):
                return None
            head, start = f"{name} {copula(view, finite)} ", opening.start
        elif any(word.verb and among(word.lower, "auxiliary") for word in words[begin:end]):
            return None
        elif among(told, "state participle"):
            dated = any(YEAR.match(word.lower) for word in words[start:end])
            be = "was" if dated or _PAST.match(opening.lower) else "is"
            head, start = f"{name} {be} ", opening.start
        elif told == "sold" and words[start + 1].lower == "under":
            head, start = f"{name} {copula(view, finite)} ", opening.start
        elif told == "born" or (among(told, "event participle") and start == begin):
            head, start = f"{name} was ", opening.start
        else:
            return None
        asides.append(Aside(head, start, view.stop_before(end)))
    return Subject(name, first, verb, finite, tuple(asides), others)
