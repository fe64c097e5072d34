"""Who a clause is about: its subject, its main verb, and what is said in passing between them."""

from __future__ import annotations

import re
from typing import NamedTuple

from trueground.claims.verbs import is_finite
from trueground.claims.view import YEAR, View, Word, among, is_adverb, is_noun

_LONGEST = 10  # words of a subject
_AHEAD = 12  # words in which the verb must come
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


def find_subject(view: View, first: int, last: int) -> Subject | None:
    """Return the subject of the clause in words `first` to `last`; None where it is not plain."""
    for _ in range(2):  # "However, in 1990, "
        first = _past_intro(view, first, last)
    words = view.words
    if first + 1 >= last or not _may_open(view, first):
        return None
    comma = _next_gap(view, first + 1, last)
    finite = _find_verb(view, first, min(last, comma))
    if finite is not None:
        verb = _before_adverbs(view, first, finite)
        if verb == first or verb - first > _LONGEST:
            return None
        return Subject(
            view.of(first, verb), first, verb, finite, *_bracketed(view, first, verb, finite)
        )
    if comma >= last or comma - first > 8 or words[comma].gap != ",":
        return None
    return _with_insertions(view, first, comma, last)


def copula(view: View, finite: int) -> str:
    """The form of "be" that agrees with the tense of the verb."""
    word = view.words[finite].lower
    return "is" if among(word, "present") or (word.endswith("s") and word != "was") else "was"


def _past_intro(view: View, first: int, last: int) -> int:
    """The number of the first word after "In 1990, " and the like."""
    if first + 2 >= last or view.words[first].doubt:
        return first
    opening, following = view.words[first].lower, view.words[first + 1]
    if not (among(opening, "intro") or (opening.endswith("ly") and following.gap == ",")):
        return first
    if opening == "in" and YEAR.match(following.lower) and not view.words[first + 2].gap:
        return first + 2  # "In 2006 he won"
    at = _next_gap(view, first + 1, last)
    words = view.words
    if at < last and YEAR.match(words[at].lower) and words[at - 1].lower.isdigit():
        at = _next_gap(view, at + 1, last)  # "On April 5, 2008, "
    if at >= last or at - first > 12 or words[at].gap != ",":
        return last
    if any(word.verb and not word.lower.endswith("ed") for word in words[first:at]):
        return last
    return at


def _may_open(view: View, first: int) -> bool:
    word = view.words[first]
    if among(word.lower, "determiner") or among(word.lower, "pronoun"):
        return word.lower not in ("that", "which", "who", "no")
    lower = word.lower
    if lower in ("one", "last") and among(view.words[first + 1].lower, "time noun"):
        return False  # "One day he left"
    if among(lower, "nothing") or among(lower, "whole") or among(lower, "intro"):
        return False
    if among(lower, "preposition") or lower in ("and", "but", "or", "to"):
        return False
    return not (lower.endswith(("ing", "ed")) or is_adverb(lower))


def _next_gap(view: View, first: int, last: int) -> int:
    """The number of the next word that has a mark before it, `last` where there is none."""
    for i in range(first, last):
        if view.words[i].gap:
            return i
    return last


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
        return i if _is_main(view, i, last) else None
    return None


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


def _bracketed(
    view: View, first: int, verb: int, finite: int
) -> tuple[tuple[Aside, ...], tuple[str, ...]]:
    """What brackets behind the subject say ("(also known as …)"), and those that say nothing."""
    at = view.end_of(verb - 1)
    found: list[Aside] = []
    others: list[str] = []
    while match := _BRACKET.match(view.text, at):
        opening = _OPENS_ASIDE.match(match[1])
        if opening and ";" not in match[1]:
            past, plural = _PAST.search(opening[0]), among(view.words[finite].lower, "plural")
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


def _with_insertions(view: View, first: int, comma: int, last: int) -> Subject | None:
    """The subject of "Ann, a baker, who was born in Leeds, left": each insertion is known."""
    words = view.words
    if any(word.verb for word in words[first:comma]):
        return None
    name = view.of(first, comma)
    parts: list[tuple[int, int]] = []
    at = comma
    while at < last and words[at].gap == "," and len(parts) < 4:
        verb = at
        while verb < last - 1 and is_adverb(words[verb].lower) and not words[verb + 1].gap:
            verb += 1
        if words[verb].verb and parts and not _is_participle(view, verb, last):
            return _told(view, first, comma, name, parts, at, verb, last)
        end = _next_gap(view, at + 1, last)
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
    return known and following in _PASSIVE and _next_gap(view, at + 1, last) < last


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
    bracketed, others = _bracketed(view, first, comma, finite)
    asides = list(bracketed)
    for begin, end in parts:
        opening = words[begin]
        start = begin
        while start < end - 1 and is_adverb(words[start].lower):
            start += 1
        told = words[start].lower
        if opening.lower in ("who", "which"):
            if begin + 1 >= end or not (words[begin + 1].verb or is_adverb(words[begin + 1].lower)):
                return None
            head, start = f"{name} ", words[begin + 1].start
        elif opening.lower in ("a", "an", "the"):
            if any(word.verb and among(word.lower, "auxiliary") for word in words[begin:end]):
                return None
            if end - begin < 2 or among(words[begin + 1].lower, "time noun"):
                return None
            head, start = f"{name} {copula(view, finite)} ", opening.start
        elif among(told, "state participle"):
            be = "was" if _PAST.match(opening.lower) else "is"
            head, start = f"{name} {be} ", opening.start
        elif told == "born" or (among(told, "event participle") and start == begin):
            head, start = f"{name} was ", opening.start
        else:
            return None
        asides.append(Aside(head, start, view.stop_before(end)))
    return Subject(name, first, verb, finite, tuple(asides), others)
