"""Claims by rules: sentences, their clauses where these are simply joined, members of plain lists.

Sentences, and parts of them, that talk to the reader or say what the sources lack are left out.
Careful on purpose: a sentence is cut only where both sides can stand alone.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import NamedTuple

from trueground.claims.base import Decomposer, Fact, clean_facts
from trueground.claims.statements import Statement, find_statements
from trueground.text import WORD_LISTS, View, Word
from trueground.types import Claim

_TAIL = string.whitespace + ",;:"
_CONTRAST = frozenset(("but", "while", "whereas", "although"))
_JOINS = _CONTRAST | {"and"}
_JOINTS = ("and", "but", ";", "while", "whereas", "although")  # a sentence with none is one clause
_LONGEST = 8  # words of a subject that is said again
_NEAR = 6  # words among which the verb of a clause must stand
_AHEAD = 8  # words behind a joint that are looked at
_LEFT = 12  # words before a joint that are looked at
_MEMBER = 5  # words of a member of a list


class RuleDecomposer(Decomposer):
    """Sentences, joined clauses and plain lists by word lists, without a model.

    A claim's text may repeat the subject that its clause goes on with; `start` and `end` are the
    part of the sentence that it came from.
    """

    name = "rules"
    signature = "rules-4"

    def decompose(self, texts: Sequence[str]) -> list[list[Claim]]:
        """Return the claims of each text, in order of appearance; repeated claims count once."""
        return [_claims(text) for text in texts]


def _claims(text: str) -> list[Claim]:
    statements = find_statements(text)
    if not statements:
        return []
    facts = [_facts(text, statement) for statement in statements]
    claims = clean_facts([statement.sentence for statement in statements], text, facts)
    at = [statement.number for statement in statements]
    return [Claim(c.text, c.start, c.end, at[c.sentence]) for c in claims]


def _facts(text: str, statement: Statement) -> list[Fact]:
    """The facts of a statement."""
    start, end = statement.start, statement.end
    subject = statement.subject
    piece = text[start:end]
    facts: list[Fact] = []
    for head, begin, stop in split_statements(piece):
        stop = begin + len(piece[begin:stop].rstrip(_TAIL))
        begin = stop - len(piece[begin:stop].lstrip())
        if begin < stop:
            facts.append(Fact(subject + head + piece[begin:stop], start + begin, start + stop))
        subject = ""
    return facts


class Clause(NamedTuple):
    """Words `first` to `last` (exclusive), and the subject that is said again before them."""

    first: int
    last: int
    subject: str


def split_statements(sentence: str) -> list[tuple[str, int, int]]:
    """The statements of a sentence: what is said again before them, and where they stand."""
    if not _may_divide(sentence):
        return [("", 0, len(sentence))]
    view = View(sentence)
    if not view.balanced or len(view.words) < 4:
        return [("", 0, len(sentence))]
    found: list[tuple[str, int, int]] = []
    for clause in _clauses(view):
        begin = view.start_of(clause.first) if clause.first else 0
        stop = view.stop_before(clause.last)
        cuts = _members(view, clause)
        if not cuts:
            found.append((clause.subject, begin, stop))
            continue
        again = clause.subject + view.of(clause.first, cuts[0]) + " "
        ends = [*(_before_joint(view, cut) for cut in cuts[1:]), stop]
        found.append((clause.subject, begin, ends[0]))
        pairs = zip(cuts[1:], ends[1:], strict=True)
        found += [(again, view.start_of(cut), end) for cut, end in pairs]
    return found


def _may_divide(sentence: str) -> bool:
    """Whether a sentence has what joins clauses or members; much quicker than its words."""
    lowered = sentence.lower()
    for joint in _JOINTS:  # noqa: SIM110 - any() over a generator takes twice as long
        if joint in lowered:
            return True
    return False


def _clauses(view: View) -> list[Clause]:
    """Cut at ";", "and", "but", "while" … where the right side has its own verb."""
    words = view.words
    found: list[Clause] = []
    begin, subject, seen, nested, listed = 0, "", False, False, False
    for at, word in enumerate(words):
        joined = word.lower in _JOINS
        first = at + joined
        if seen and not nested and (joined or ";" in word.gap) and len(words) - first > 1:
            right = words[first : first + _AHEAD]
            own = _has_own_subject(right, word, joined, listed)
            again = "" if own else None
            if (
                again is None
                and joined
                and not listed
                and _goes_on(words[max(begin, at - _LEFT) : at], right)
            ):
                again = _subject(view, begin, at)
            if again is not None:
                found.append(Clause(begin, at, subject))
                begin, subject, seen, listed = first, again, False, False
        opens = (word.name or word.value) and at > begin
        # It reports, denies or supposes something, or has a clause inside.
        nested = nested or (
            word.doubt or ":" in word.gap or (WORD_LISTS.among(word.lower, "stop") and not opens)
        )
        listed = listed or (seen and "," in word.gap and not joined)
        seen = seen or (word.verb and at >= begin)
    found.append(Clause(begin, len(words), subject))
    return found


def _has_own_subject(right: Sequence[Word], joint: Word, joined: bool, listed: bool) -> bool:
    """Whether a clause begins with a subject and then its verb; `listed`: a comma stood before."""
    first = right[0]
    if joint.lower == "while" and "," not in joint.gap:
        return False  # "while" = during
    owner = WORD_LISTS.among(first.lower, "determiner")
    pronoun = WORD_LISTS.among(first.lower, "pronoun") and not owner
    if not (first.name or owner or pronoun) or first.verb or WORD_LISTS.among(first.lower, "stop"):
        return False
    if listed and joined and not pronoun:
        return False  # "has two gills, a tail, and a fin placed low"
    for word in right[1:_NEAR]:
        if word.gap or word.lower in (*_JOINS, "or") or WORD_LISTS.among(word.lower, "stop"):
            return False
        if word.verb:
            # "Ecuador, Chile and Panama are represented" is one clause.
            return (
                not joined or pronoun or "," in joint.gap or joint.lower != "and" or not first.name
            )
    return False


def _goes_on(left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Whether the right side is a verb with what belongs to it, and no second verb of one object.

    "was designed in Turin and built by brothers" and "a frame and designed wheels" are not cut: the
    form in -ed may be a participle.
    """
    verb = next((i for i, word in enumerate(right) if not WORD_LISTS.is_adverb(word.lower)), 0)
    behind = right[verb + 1 : verb + 2]
    if not right[verb].verb or left[-1].verb or not behind or behind[0].gap:
        return False
    certain = WORD_LISTS.among(right[verb].lower, "auxiliary|intransitive") or right[
        verb
    ].lower.endswith("s")
    passive = any(WORD_LISTS.among(word.lower, "be") for word in left)
    return certain or not (verb or passive or WORD_LISTS.among(behind[0].lower, "preposition"))


def _subject(view: View, begin: int, last: int) -> str | None:
    """The subject of the clause in words `begin` to `last`, with a space; None: it is not plain."""
    words = view.words
    if WORD_LISTS.among(words[begin].lower, "preposition"):  # "In 1990, the club …"
        begin = next((i for i in range(begin + 1, last) if words[i].gap), last)
    for at in range(begin, min(last, begin + _LONGEST + 1)):
        word = words[at]
        if at > begin and word.verb:
            if word.lower.endswith("ed") and any(w.verb for w in words[at + 1 : min(at + 4, last)]):
                return None  # "the sale of seven marketed products paid …"
            end = at
            while end - 1 > begin and WORD_LISTS.is_adverb(words[end - 1].lower):
                end -= 1
            opening = view.of(begin, end)
            return opening[:1].upper() + opening[1:] + " "
        if (at > begin and word.gap) or WORD_LISTS.among(word.lower, "stop|joint"):
            return None
    return None


def _members(view: View, clause: Clause) -> list[int]:
    """Where the members of a list behind "includes", "won" or "by" begin; three at least."""
    words = view.words
    opening = next(
        (
            i
            for i in range(clause.first + 1, clause.last)
            if WORD_LISTS.among(words[i].lower, "lister")
        ),
        None,
    )
    joint = next(
        (i for i in range(clause.last - 2, clause.first, -1) if words[i].lower == "and"), None
    )
    if opening is None or joint is None or any(w.doubt for w in words[clause.first : clause.last]):
        return []
    cuts = [opening + 1, *(i for i in range(opening + 2, joint) if words[i].gap == ","), joint + 1]
    ends = [*cuts[1:-1], joint, clause.last]
    for first, last in zip(cuts, ends, strict=True):
        inside = words[first:last]
        own = any(
            w.verb or WORD_LISTS.among(w.lower, "stop|preposition") or w.lower == "or"
            for w in inside
        )
        if own or not 0 < len(inside) <= _MEMBER or any(w.gap for w in inside[1:]):
            return []
    return cuts if len(cuts) > 2 else []


def _before_joint(view: View, cut: int) -> int:
    """Where the member before the one that begins at word `cut` ends."""
    joint = view.words[cut - 1].lower == "and"
    return view.stop_before(cut - 1 if joint else cut)
