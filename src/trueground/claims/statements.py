"""What one sentence states: its clauses, each with its subject, and what they say in passing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from operator import attrgetter

from trueground.claims.clauses import PARTICIPLE_GOES_ON, Clause, auxiliary_for, clauses
from trueground.claims.lists import names, roles, subject_list, things
from trueground.claims.splits import (
    Range,
    Statement,
    dated,
    is_hedged,
    places,
    split_noun,
    split_tail,
)
from trueground.claims.subjects import Subject, find_subject, is_singular
from trueground.claims.view import YEAR, View, Word, among, has_finite, skip_adverbs

_WHOLE = re.compile(
    r"\bnot (?:only|just|merely|simply)\b|\brespectively\b|\bin that order\b|;\s*or\b"
    r"|\b(?:if|unless|provided that|as long as|lest)\b"
    # an abbreviation that ended a sentence: two sentences stand here as one
    r"|\.\s+(?:The|This|These|It|He|She|They|Its|His|Her|In|On|As|Founded|Established|Born|Located"
    r"|Built|Based|Launched|Created|Originally|Formerly)\s",
    re.I,
)

_ASIDE = re.compile(r"\(([^()]+)\)[.!]?$")
_TRIGGER = re.compile(  # without one of these there is nothing to cut
    r"[;(,]|\b(?:and|but|while|whereas|although|because|that|which|who|born"
    r"|(?:in|on|early|late|[A-Z][a-z]+) \d{4}"
    r"|(?:locat|situat|bas|headquarter|found|establish|own|operat|nam|call)ed|known)\b"
)
_LONGEST = 150  # words; a longer sentence is cut into clauses only
_SHE = frozenset(("he", "she", "it"))


def statements(sentence: str) -> list[Statement]:
    """Return what one sentence states, by offsets into it; in doubt the whole sentence."""
    if not _TRIGGER.search(sentence):
        return [Statement("", 0, len(sentence))]
    view = View(sentence)
    whole = not view.words or not view.balanced or among(view.words[0].lower, "whole")
    if whole or stays_whole(view):
        return list(_with_aside(sentence, Statement("", 0, len(sentence))))
    parts = clauses(view)
    plain = len(view.words) <= _LONGEST
    found: list[Statement] = []
    subject: Subject | None = None
    at = 0
    while at < len(parts):
        own, bare = parts[at], at + 1
        while bare < len(parts) and parts[bare].bare:
            bare += 1
        last = parts[bare - 1].last
        before = subject
        subject = find_subject(view, own.first, own.last) if plain else None
        listed = subject_list(view, own.first, own.last) if plain and bare == at + 1 else None
        if listed:
            found += listed
            subject = None
        elif subject is None:
            begin = view.start_of(own.first) if own.first else 0
            found.append(Statement("", begin, view.stop_before(last)))
        else:
            subject = _resolved(view, own, subject, before)
            found += _expand(view, own, parts[at + 1 : bare], subject)
        at = bare
    if "(" in sentence:
        found = [one for statement in found for one in _with_aside(sentence, statement)]
    return sorted(found, key=attrgetter("start"))


def _expand(view: View, own: Clause, bare: Sequence[Clause], subject: Subject) -> list[Statement]:
    """The statements of a clause with a plain subject and of those that go on with it."""
    found = [Statement(*aside) for aside in subject.asides]
    ranges = _ranges(view, own, bare, subject)
    for number, (auxiliary, part) in enumerate(ranges):
        if number:
            head, begin = f"{subject.text} {auxiliary}", view.start_of(part.first)
            finite = part.first
        else:
            head, begin = _opening(view, own, subject)
            finite = subject.finite
        part, cut = split_tail(view, finite, part)
        more: list[tuple[str, Range]] = []
        if number and auxiliary:
            found.append(Statement(head, begin, part.end))
        else:
            part, more = split_noun(view, subject.text, finite, part)
            found += _spread(view, subject.text, head, part, begin)
        for lead, whole in more:
            for auxiliary, rest in _joined(view, whole):
                begin = view.start_of(rest.first)
                found += _spread(view, subject.text, lead + auxiliary, rest, begin)
        found += cut
    return found


def _ranges(
    view: View, own: Clause, bare: Sequence[Clause], subject: Subject
) -> list[tuple[str, Range]]:
    """The predicates of one subject, each with the auxiliary that it lacks."""
    found: list[tuple[str, int, int]] = [("", subject.verb, own.last)]
    for clause in bare:
        added = _continued(view, subject, found[-1], clause)
        if added is None:
            found[-1] = (*found[-1][:2], clause.last)
        else:
            found[-1:] = added
    return [(lead, Range(first, last, view.stop_before(last))) for lead, first, last in found]


def _continued(
    view: View, subject: Subject, before: tuple[str, int, int], clause: Clause
) -> list[tuple[str, int, int]] | None:
    """The predicate before a bare clause and the clause; None where they stay one.

    "has 55 medals, made two films, and won" is cut at every verb or at none.
    """
    lead, first, last = before
    begin = max(first, subject.finite) + 1
    cuts = verbs_after_commas(view, begin, last)
    steps = [Clause(a, b, bare=True) for a, b in itertools.pairwise([*cuts, last])]
    steps.append(clause)
    found = [(lead, first, cuts[0] if cuts else last)]
    for step in steps:
        if cuts and step is not clause and not _goes_on(view, step):
            return None
        auxiliary = auxiliary_for(view, subject.verb, subject.finite, found[-1][2], step)
        if auxiliary is None:
            return None
        found.append((auxiliary, step.first, step.last))
    return found


def _goes_on(view: View, step: Clause) -> bool:
    """Whether ", made two films" is surely a predicate and no participle (", owned by them")."""
    verb = skip_adverbs(view.words, step.first, step.last - 1)
    word = view.words[verb].lower
    if among(word, "auxiliary"):
        return True
    if verb + 1 >= step.last or any(w.gap for w in view.words[verb + 1 : step.last]):
        return False
    after = view.words[verb + 1]
    dated = word.endswith("ed") and after.value  # ", dated 20 February 2002"
    return among(word, "intransitive") or not (dated or among(after.lower, "preposition"))


def _joined(view: View, part: Range) -> list[tuple[str, Range]]:
    """The predicates of a relative clause about the subject: "is held in … and run by …"."""
    words = view.words
    finite = part.first
    while finite < part.last and not words[finite].verb:
        finite += 1
    if verbs_after_commas(view, finite + 1, part.last):
        return [("", part)]
    for i in range(finite + 2, part.last - 2):
        if among(words[i].lower, "stop"):
            break
        if words[i].lower != "and" or words[i - 1].verb or not words[i + 1].verb:
            continue
        clause = Clause(i + 1, part.last, bare=True)
        auxiliary = auxiliary_for(view, part.first, finite, i, clause)
        if auxiliary is not None:
            first = Range(part.first, i, view.stop_before(i))
            return [("", first), (auxiliary, Range(i + 1, part.last, part.end))]
    return [("", part)]


def _opening(view: View, own: Clause, subject: Subject) -> tuple[str, int]:
    """What stands before the first predicate of a subject, and where its text begins."""
    begin = view.start_of(own.first) if own.first else 0
    written = view.text[view.start_of(subject.first) : view.end_of(subject.verb - 1)]
    moved = subject.asides or not written.startswith(subject.text.split(" ")[0])
    if not moved:
        return "", begin
    intro = view.text[begin : view.start_of(subject.first)]
    kept = "".join(f" ({bracket})" for bracket in subject.brackets)
    return f"{intro}{subject.text}{kept} ", view.start_of(subject.verb)


def _resolved(view: View, own: Clause, subject: Subject, before: Subject | None) -> Subject:
    """The subject with "he", "she" or "it" replaced by the subject of the clause before.

    Only where that clause names nothing else that the pronoun could stand for.
    """
    if before is None or subject.text.lower() not in _SHE or subject.asides:
        return subject
    words = view.words
    if any(among(word.lower, "preposition") for word in words[before.first : before.verb]):
        return subject  # "The author of the tune": which of the two?
    if not is_singular(view, before.first, before.verb, before.finite):
        return subject
    if "'s " in before.text or "’s " in before.text or _is_empty(words[subject.verb : own.last]):
        return subject
    named = words[before.first].name and not among(words[before.first].lower, "pronoun")
    between = words[before.finite + 1 : own.first - 1]
    rivals = any(
        (word.name and not word.value and previous.lower not in ("in", "at", "from", "to"))
        or word.lower in ("the", "a", "an", "his", "her", "its", "their")
        or (word.verb and among(word.lower, "report"))
        or (word.value and not word.name and not YEAR.match(word.lower))
        for previous, word in zip(words[before.finite :], between, strict=False)
    )
    if before.text.startswith(("Their ", "Its ", "These ", "This ")):
        return subject  # "Their first season …, although it was not relegated": the team
    if not named or rivals or (subject.text.lower() != "it" and before.text.startswith("The ")):
        return subject
    return subject._replace(text=before.text)


def _is_empty(predicate: Sequence[Word]) -> bool:
    """Whether "it" stands for what comes after: "it is likely that …"."""
    opening = [word.lower for word in predicate[:6]]
    return "that" in opening[1:] or (among(opening[0], "be") and "to" in opening[1:4])


def _with_aside(sentence: str, one: Statement) -> Iterator[Statement]:
    """The statement, and what a bracket with a verb at its end says."""
    piece = sentence[one.start : one.end] if not one.tail else ""
    aside = _ASIDE.search(piece) if "(" in piece else None
    if aside and aside.start() > 0 and has_finite(aside[1]) and _states(aside[1]):
        yield one._replace(end=one.start + aside.start())
        yield Statement("", one.start + aside.start(1), one.start + aside.end(1))
    else:
        yield one


def _states(text: str) -> bool:
    """Whether a text has a plain subject and a verb of its own."""
    view = View(text)
    if len(view.words) < 3 or view.words[0].value:
        return False  # "(897 votes more than the others)"
    if not view.balanced or view.words[0].lower in ("see", "so", "e.g", "i.e"):
        return False
    subject = find_subject(view, 0, len(view.words))
    if subject is None or subject.finite + 1 >= len(view.words):
        return False
    verb, after = view.words[subject.finite], view.words[subject.finite + 1]
    return not (
        verb.lower.endswith("ed") and after.lower in PARTICIPLE_GOES_ON
    )  # "(the text kept in …)"


def _spread(view: View, name: str, head: str, part: Range, begin: int) -> list[Statement]:
    """Split a predicate at its roles, its listed names or its date.

    `name` is the subject, `begin` the character where the statement starts and `head` what stands
    before it.
    """
    listed = things(view, head, part, begin)
    if listed is None and is_hedged(view, part):
        return [Statement(head, begin, part.end)]
    return (
        listed
        or roles(view, name, head, part, begin)
        or names(view, head, part, begin)
        or dated(view, name, head, part, begin)
        or places(view, name, head, part, begin)
        or [Statement(head, begin, part.end)]
    )


def stays_whole(view: View) -> bool:
    """Whether a condition, an order, alternatives or a lost sentence end rule a whole sentence."""
    return any(
        not (match[0].startswith(".") and match[0].split()[-1].islower())
        for match in _WHOLE.finditer(view.masked)
    )


def verbs_after_commas(view: View, first: int, last: int) -> list[int]:
    """The words at which ", made …" goes on with the subject: the middle of a list of verbs."""
    found = []
    for i in range(first, last - 1):
        if view.words[i].gap != ",":
            continue
        if view.words[skip_adverbs(view.words, i, last - 1)].verb:
            found.append(i)
    return found
