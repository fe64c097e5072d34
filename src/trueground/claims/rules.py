"""Claims by rules: sentences, then clauses, then what a clause says in passing."""

from __future__ import annotations

import string
from collections.abc import Sequence

from trueground.claims.clean import Fact, clean_facts
from trueground.claims.phrases import is_chatter, skip_boilerplate
from trueground.claims.statements import statements
from trueground.text.sentences import sentences
from trueground.types import Claim

_TAIL = string.whitespace + ",;:"


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
    spans = sentences(text)
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
        told = piece[begin:stop].rstrip(_TAIL) if not tail else piece[begin:stop]
        stop = begin + len(told)
        begin = stop - len(told.lstrip())
        if begin < stop:
            head = head[:1].upper() + head[1:] if head else head
            found.append(Fact(head + piece[begin:stop] + tail, start + begin, start + stop))
    return found
