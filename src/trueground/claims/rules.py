"""Claims by rules: sentences, then clauses, then what a clause says in passing.

Sentences, and parts of them, that talk to the reader instead of stating something are left out.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import cache

from trueground.claims.base import Fact, clean_facts
from trueground.claims.statements import statements
from trueground.claims.view import data_lines
from trueground.text.sentences import split_sentences
from trueground.types import Claim

_TAIL = string.whitespace + ",;:"
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


class RuleDecomposer:
    """Offline decomposer: word lists and patterns, no model.

    A claim's text may repeat the subject that its clause goes on with; `start` and `end` are the
    part of the sentence that it came from.
    """

    name = "rules"
    signature = "rules-2"

    def decompose(self, texts: Sequence[str]) -> list[list[Claim]]:
        """Return the claims of each text, in order of appearance; repeated claims count once."""
        return [_claims(text) for text in texts]


def _claims(text: str) -> list[Claim]:
    spans = split_sentences(text)
    stating = [span for span in spans if not is_chatter(text[slice(*span)])]
    if not stating:
        return []
    facts = [_facts(text, *span) for span in stating]
    claims = clean_facts(stating, text, facts)
    if len(stating) == len(spans):
        return claims
    number = {start: i for i, (start, _) in enumerate(spans)}
    at = [number[start] for start, _ in stating]
    return [Claim(c.text, c.start, c.end, at[c.sentence]) for c in claims]


def _facts(text: str, start: int, end: int) -> list[Fact]:
    """The facts of the sentence `text[start:end]`."""
    start = skip_boilerplate(text, start, end)
    piece = text[start:end]
    found: list[Fact] = []
    for head, begin, stop, tail in statements(piece):
        stated = piece[begin:stop].rstrip(_TAIL) if not tail else piece[begin:stop]
        stop = begin + len(stated)
        begin = stop - len(stated.lstrip())
        if begin < stop:
            head = head[:1].upper() + head[1:] if head else head
            found.append(Fact(head + piece[begin:stop] + tail, start + begin, start + stop))
    return found


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
    lines = data_lines("not_claims.txt")
    whole = frozenset(line[:-1] for line in lines if line.endswith("!"))
    return whole, tuple(line for line in lines if not line.endswith("!"))
