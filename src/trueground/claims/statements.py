"""The parts of a text that state something: what a decomposer takes apart.

Left out are sentences that talk to the reader, and what only says that the sources lack something:
"While the recipe does not mention fresh yeast, it uses 7 g of dry yeast." states the second half.
"""

from __future__ import annotations

import re
import string
from functools import cache
from typing import NamedTuple

from trueground.text import REFUSAL_RULES, WORD_LISTS, data_lines, split_sentences

_SOURCE = (
    r"(?:provided|given|available|retrieved|supplied|above|following)?\s*(?:context|passage|document|text"
    r"|article|source|paragraph|excerpt|information|snippet|search result|knowledge)s?"
    r"(?:\s+(?:provided|given|above|available))?"
)
_BOILERPLATE = re.compile(
    rf"(?:(?:based (?:up)?on|according to|as (?:stated|mentioned|noted|described|indicated) in"
    rf"|from|per|given|in)\s+(?:the|this|these|your)\s+{_SOURCE}\s*,\s*"
    rf"|(?:the|this)\s+{_SOURCE}\s+(?:states?|says?|mentions?|indicates?|notes?|explains?)\s+that\s+)",
    re.I,
)
_OPENER = re.compile(
    r"(?:sure|certainly|of course|absolutely|great question|good question)[,!.]\s+"
    r"|(?:\w+\s*[,!.]\s+)?(?:did|do) you know,?\s+(?:that\s+)?"
    r"(?!(?:what|who|how|why|where|when|which|if|of|about)\b|any|a\s|the\s+\w+\s*\?)",
    re.I,
)
_EDGES = string.punctuation + string.whitespace + "“”‘’…"
# Where a sentence may be cut into what it states and what it says is lacking.
_JOINT = re.compile(
    r"\s*[,\u2013\u2014-]*\s+"
    r"(?:but|however|although|though|even though|while|whereas|yet|and)\b,?\s*"
    r"|\s*;\s*(?:(?:but|however|yet)\b,?\s*)?",
    re.I,
)
_CONCEDING = re.compile(r"(?:while|although|though|even though|whereas)\b", re.I)
_COMMA = re.compile(r",\s+")
_WORD = re.compile(r"[\w'’]+")
_NEGATION = re.compile(r"\s+(?:(?:do|does|did)(?:\s+not|n['’]t)|never|fails?\s+to)\b", re.I)
# A second predicate, whose subject is that of the first: "The text praises him but does not …".
_LACKING_PREDICATE = re.compile(r"(?:\b(?:but|and|yet)|;)\s+(?:do|does|did|never|fails?)\b", re.I)
# What may follow "and" if a new clause, and not another member of a list, says what is lacking.
_NEW_CLAUSE = re.compile(r"(?:i|we|it|there|no|nothing|this|that)\b", re.I)
_MAX_JOINTS = 8  # of a sentence; each costs a look at both of its sides
_SENTENCES_BEFORE = 3  # in which "it" may be the sources
_VERB_WITHIN = 12  # words in which a clause has its verb


class Statement(NamedTuple):
    """A part of a text that states something.

    Attributes:
        number: The number of its sentence.
        sentence: The span of the whole sentence.
        start: Where the stated part begins.
        end: Where it ends.
        subject: The subject to repeat before it, with a space, if it begins with its verb.
    """

    number: int
    sentence: tuple[int, int]
    start: int
    end: int
    subject: str = ""


class _Part(NamedTuple):
    """A part of a sentence, and the subject to repeat before it."""

    start: int
    end: int
    subject: str = ""


def find_statements(text: str) -> list[Statement]:
    """Return what each sentence of a text states, without openings such as "In the passage, "."""
    statements: list[Statement] = []
    spans = split_sentences(text)
    with_cue = REFUSAL_RULES.has_cue(text)
    after_lack = False
    for number, (start, end) in enumerate(spans):
        sentence = text[start:end]
        part: _Part | None = _Part(0, len(sentence))
        if with_cue and (REFUSAL_RULES.may_lack(sentence) or _LACKING_PREDICATE.search(sentence)):
            before = spans[max(0, number - _SENTENCES_BEFORE) : number]
            after_source = after_lack or any(
                REFUSAL_RULES.describes_sources(text[i:j]) for i, j in before
            )
            part = _stated_part(sentence, after_source)
            after_lack = after_lack or part != (0, len(sentence), "")
        if part is not None and not is_chatter(sentence):
            begin = skip_boilerplate(text, start + part.start, start + part.end)
            statement = Statement(number, (start, end), begin, start + part.end, part.subject)
            statements.append(statement)
    return statements


def _stated_part(sentence: str, after_source: bool) -> _Part | None:
    """The part of a sentence that states something; None if there is none."""
    whole = _Part(0, len(sentence))
    states = False
    joints = _joints(sentence)
    for number, joint in enumerate(joints):
        first, second = sentence[: joint.start()], sentence[joint.end() :]
        contrasting = _contrasts(joint)
        if REFUSAL_RULES.says_lack(first, after_source=after_source):
            if not contrasting or REFUSAL_RULES.says_lack(second, after_source=True):
                continue
            states = True
            if REFUSAL_RULES.says_lack(first, after_source=after_source, unsure=False):
                stated = _complete(first, second, joint.end())
                if stated is not None:
                    return stated
        elif _lacks_after(first, second, contrasting):
            later = [sentence[j.end() :] for j in joints[number + 1 :] if _contrasts(j)]
            if not all(REFUSAL_RULES.says_lack(rest, after_source=True) for rest in later):
                return whole  # what is lacking is in the middle
            return None if REFUSAL_RULES.is_courtesy(first) else _Part(0, joint.start())
    if states or not REFUSAL_RULES.says_lack(sentence, after_source=after_source):
        return whole
    return None


def _contrasts(joint: re.Match[str]) -> bool:
    return joint.group().strip(" ,").lower() != "and"


def _joints(sentence: str) -> list[re.Match[str]]:
    """The joints of a sentence outside quotations, and the commas behind a concession."""
    joints = [joint for joint in _JOINT.finditer(sentence) if joint.start() > 0]
    if _CONCEDING.match(sentence):
        joints = [*filter(_has_subject_behind, _COMMA.finditer(sentence)), *joints]
    return [j for j in joints[:_MAX_JOINTS] if sentence.count('"', 0, j.start()) % 2 == 0]


def _has_subject_behind(comma: re.Match[str]) -> bool:
    """Whether a subject may begin behind a comma, and not another member of a list."""
    word = _WORD.match(comma.string, comma.end())
    if word is None:
        return True
    first = word.group()
    return (
        not first[0].islower()
        or WORD_LISTS.among(first, "determiner|pronoun|preposition")
        or first == "there"
    )


def _complete(lacking: str, stated: str, start: int) -> _Part | None:
    """The stated part, with the subject of the lacking one if it has none; None if in doubt."""
    words = [word.group().lower().replace("’", "'") for word in _WORD.finditer(stated)]
    verbs = [i for i, word in enumerate(words[:_VERB_WITHIN]) if WORD_LISTS.is_finite(word)]
    part = _Part(start, start + len(stated))
    if not verbs:
        has_subject = bool(words) and WORD_LISTS.among(words[0], "pronoun")
        return part if has_subject else None
    first = words[verbs[0]]
    if "'" in first or not all(WORD_LISTS.is_adverb(word) for word in words[: verbs[0]]):
        return part
    negation = _NEGATION.search(lacking)
    if negation is None or WORD_LISTS.among(first, "auxiliary"):
        return None
    subject = _CONCEDING.sub("", lacking[: negation.start()], count=1).strip()
    return part._replace(subject=f"{subject} ")


def _lacks_after(stated: str, lacking: str, contrasting: bool) -> bool:
    """Whether the second part says what is lacking, maybe with the subject of the first."""
    if not stated.strip(_EDGES):
        return False
    about_sources = REFUSAL_RULES.describes_sources(stated)
    if about_sources and _NEGATION.match(f" {lacking}"):
        return REFUSAL_RULES.says_lack(f"the text {lacking}")
    if (
        not contrasting
        and not _NEW_CLAUSE.match(lacking)
        and not REFUSAL_RULES.describes_sources(lacking)
    ):
        return False
    return REFUSAL_RULES.says_lack(lacking, after_source=about_sources, unsure=False)


def skip_boilerplate(text: str, start: int, end: int) -> int:
    """Return where the statement in `text[start:end]` begins, past "Based on the context, "."""
    for pattern in (_OPENER, _BOILERPLATE):
        match = pattern.match(text, start, end)
        if match:
            start = match.end()
    return start


def is_chatter(sentence: str) -> bool:
    """Whether a sentence is a question, a greeting, an offer or another courtesy."""
    if sentence.rstrip("\"'”’)* ").endswith("?"):
        return not _OPENER.match(sentence)  # "Did you know that …?" states something
    plain = sentence.replace("’", "'").lower().strip(_EDGES)
    whole, openings = _courtesies()
    return plain in whole or plain.startswith(openings)


@cache
def _courtesies() -> tuple[frozenset[str], tuple[str, ...]]:
    lines = data_lines("trueground.claims", "not_claims.txt")
    whole = frozenset(line[:-1] for line in lines if line.endswith("!"))
    return whole, tuple(line for line in lines if not line.endswith("!"))
