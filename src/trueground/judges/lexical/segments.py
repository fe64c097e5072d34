"""The statements inside a sentence, finer than clauses, and who each of them is about."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trueground.judges.lexical.tokens import Token

_RELATIVE = frozenset(("who", "which", "where", "whose"))
_JOINS = _RELATIVE | {";", "and", "but", "while", "whereas", "although", "though", "because"}
_PREPOSITIONS = frozenset(("in", "on", "at", "to", "for", "from", "with", "by", "into"))
_DEFINITE = frozenset(("The", "the", "This", "this"))
_AHEAD = 6


class Segment(msgspec.Struct):
    """A run of tokens with one verb of its own.

    `keys` are its own content and `about` adds what its pronouns, or a missing or general subject
    ("the company"), refer to. `subject` and `names` are the keys of its own subject and names; a
    segment without a subject goes on with those of the one before. An empty `subject` never speaks
    of somebody else.
    """

    tokens: list[Token]
    keys: set[str]
    about: set[str]
    subject: set[str]
    names: set[str]


def segments(sentences: Sequence[list[Token]]) -> list[Segment]:
    """Cut the tokens of neighbouring sentences into segments."""
    found: list[Segment] = []
    for tokens in filter(None, sentences):
        for number, run in enumerate(_runs(tokens)):
            found.append(_segment(run, found[-1] if found else None, continued=number > 0))
    return found


def _runs(tokens: list[Token]) -> list[list[Token]]:
    runs: list[list[Token]] = [[]]
    for i, token in enumerate(tokens):
        if token.spelling in _JOINS and runs[-1] and _opens(tokens, i, runs[-1]):
            runs.append([])
        runs[-1].append(token)
    return runs


def _opens(tokens: list[Token], at: int, run: list[Token]) -> bool:
    """Whether the joining word or mark at `at` opens a statement of its own."""
    if not any(token.verb for token in run):
        return tokens[at].spelling in _RELATIVE
    for i, token in enumerate(tokens[at + 1 : at + 1 + _AHEAD]):
        if token.verb:
            return True
        if token.spelling in _JOINS or token.word.role == "mark":
            return False
        if i and token.spelling in _PREPOSITIONS:
            return any(old.spelling == token.spelling for old in run)  # "and Bob in 1960"
    return False


def _segment(run: list[Token], before: Segment | None, continued: bool) -> Segment:
    keys: set[str] = set()
    subject: set[str] = set()
    names: set[str] = set()
    refers = acted = False
    for token in run:
        acted = acted or token.verb
        refers = refers or token.word.role == "pronoun"
        if not (token.content and token.key):
            continue
        keys.add(token.key)
        if not acted:
            subject.add(token.key)
        if token.word.capital and not (token is run[0] and token.verb):
            names.add(token.key)
    segment = Segment(run, keys, set(keys), subject, names)
    general = run[0].spelling in _DEFINITE and names.isdisjoint(subject)
    goes_on = continued and not subject
    if before is not None and (refers or general or goes_on):
        segment.about |= {token.key for token in before.tokens if token.key and not token.verb}
        segment.about |= before.about - before.keys
        segment.subject = set(before.subject) if goes_on else set()
        if goes_on:
            segment.names |= before.names
    return segment
