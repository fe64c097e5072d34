"""Who a clause is about: its subject, its verb, and what commas and brackets between them say."""

from __future__ import annotations

import re
from typing import NamedTuple

from trueground.claims.view import (
    PASSIVE,
    YEAR,
    View,
    among,
    holds,
    is_adverb,
    is_finite,
    is_noun,
    skip_adverbs,
)

_LONGEST = 10  # words of a subject
_ALONE = frozenset(("he", "she", "it", "they", "we", "i"))
_SOLE = frozenset(("this", "that", "some", "each", "another"))  # they stand without a noun too
_AHEAD = 12  # words in which the verb must come
_INSERTED = 16  # words of one insertion
_OPENS_ASIDE = re.compile(
    r"(?:(?:also|formerly|originally|previously|commonly|better|sometimes|often|popularly|locally"
    r"|officially|widely)\s+)?(?:known|called|nicknamed|named|born|founded|established|located)\s"
)
_BE = {(False, False): "is", (False, True): "are", (True, False): "was", (True, True): "were"}
_PAST = re.compile(r"born|founded|established|formerly|originally|previously")
_BRACKET = re.compile(r"\s*\(([^()]+)\)")
_MANY = frozenset(("people", "men", "women", "children", "police", "media", "data", "folk", "ones"))
_ONE = frozenset(("is", "was", "has", "does"))


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
    comma = next_gap(view, first + 1, last)
    finite = _find_verb(view, first, min(last, comma))
    if finite is not None:
        verb = finite
        while verb - 1 > first and is_adverb(words[verb - 1].lower) and not words[verb - 1].name:
            verb -= 1
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
    if among(word.lower, "determiner|pronoun"):
        return word.lower not in ("that", "which", "who", "no")
    lower = word.lower
    if lower in ("one", "last") and among(view.words[first + 1].lower, "time noun"):
        return False  # "One day he left"
    if lower in ("and", "but", "or", "to") or is_adverb(lower):
        return False
    if among(lower, "auxiliary|nothing|whole|intro|preposition"):
        return False
    return not lower.endswith(("ing", "ed"))


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
        if among(before, "determiner") and before not in _SOLE:
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


def copula(view: View, finite: int) -> str:
    """The form of "be" that agrees with the tense of the verb."""
    word = view.words[finite].lower
    return "is" if among(word, "present") or (word.endswith("s") and word != "was") else "was"


def next_gap(view: View, first: int, last: int) -> int:
    """The number of the next word that has a mark before it, `last` where there is none."""
    return next((i for i in range(first, last) if view.words[i].gap), last)


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
    return holds((w for w in view.words[first:last] if of or w.lower != "of"), "preposition")


def with_insertions(view: View, first: int, comma: int, last: int) -> Subject | None:
    """The subject of "Ann, a baker, who was born in Leeds, left": each insertion is known."""
    words = view.words
    if any(w.verb for w in words[first:comma]) or among(words[comma - 1].lower, "time noun"):
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
            return _with_asides(view, first, comma, name, parts, at, verb, last)
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
    known = among(word, "state participle|event participle")
    following = view.words[at + 1].lower if at + 1 < last else ""
    return known and following in PASSIVE and next_gap(view, at + 1, last) < last


def _with_asides(
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
        start = skip_adverbs(words, begin, end - 1)
        kind = words[start].lower
        if holds(words[begin:end], "report"):
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
        elif among(kind, "state participle"):
            dated = any(YEAR.match(word.lower) for word in words[start:end])
            be = "was" if dated or _PAST.match(opening.lower) else "is"
            head, start = f"{name} {be} ", opening.start
        elif kind == "sold" and words[start + 1].lower == "under":
            head, start = f"{name} {copula(view, finite)} ", opening.start
        elif kind == "born" or (among(kind, "event participle") and start == begin):
            head, start = f"{name} was ", opening.start
        else:
            return None
        asides.append(Aside(head, start, view.stop_before(end)))
    return Subject(name, first, verb, finite, tuple(asides), others)


def is_singular(view: View, first: int, last: int, finite: int) -> bool:
    """Whether the subject in words `first` to `last` is surely one thing."""
    ruling = view.words[finite].lower
    if ruling in _ONE:
        return True
    if among(ruling, "present|plural"):
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
