"""Claims by rules: sentences, then clauses."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from trueground.claims.clauses import clauses, has_finite
from trueground.claims.phrases import is_chatter, skip_boilerplate
from trueground.text.sentences import sentences
from trueground.types import Claim

_ASIDE = re.compile(r"\(([^()]+)\)[.!]?$")
_WORDS = re.compile(r"\w+(?:['’.,-]\w+)*")
_SPACELESS = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_TAIL = string.whitespace + ",;:"


class RuleDecomposer:
    """Offline decomposer: every claim is a stretch of its text, `text[start:end] == claim.text`."""

    name = "rules"
    signature = "rules-1"

    def decompose(self, texts: Sequence[str]) -> list[list[Claim]]:
        """Return the claims of each text, in order of appearance; repeated claims count once."""
        return [_claims(text) for text in texts]


def _claims(text: str) -> list[Claim]:
    spans = sentences(text)
    claims: list[Claim] = []
    seen: set[str] = set()
    for number, (start, end) in enumerate(spans):
        for begin, stop in _statements(text, start, end, alone=len(spans) == 1):
            piece = text[begin:stop]
            key = " ".join(piece.casefold().split()).rstrip(".!;,")
            if key not in seen:
                seen.add(key)
                claims.append(Claim(piece, begin, stop, number))
    return claims


def _statements(text: str, start: int, end: int, alone: bool) -> list[tuple[int, int]]:
    """Return the spans of the statements of one sentence; `alone`: it is the whole response."""
    if is_chatter(text[start:end]):
        return []
    start = skip_boilerplate(text, start, end)
    if start >= end or not (alone or _is_long(text, start, end)):
        return []
    found: list[tuple[int, int]] = []
    for begin, stop in clauses(text, start, end):
        aside = _ASIDE.search(text, begin, stop) if text.find("(", begin, stop) >= 0 else None
        if aside and aside.start() > begin and has_finite(text, *aside.span(1)):
            found += [(begin, aside.start()), aside.span(1)]
        else:
            found.append((begin, stop))
    return [_trim(text, *span) for span in found]


def _is_long(text: str, start: int, end: int) -> bool:
    """Whether there is more than one word; in scripts without spaces one run is many words."""
    first = _WORDS.search(text, start, end)
    if first is None:
        return False
    if _WORDS.search(text, first.end(), end) is not None:
        return True
    return len(first.group()) > 2 and _SPACELESS.search(first.group()) is not None


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end].rstrip(_TAIL)
    return start + len(piece) - len(piece.lstrip()), start + len(piece)
