"""Reading a score out of a model's reply, or out of the log-probabilities of its tokens.

A score is a line that holds nothing but a whole number from 1 to 5: "4", "4.", "4/5", "4 out of 5",
"Fluency: 4", "**Fluency (1-5):** 4". It is looked for on the first and on the last line of the
reply; where both hold one, they must agree.
"""

from __future__ import annotations

import re
from math import exp
from typing import NamedTuple

from trueground.models.base import TokenLogprob

SCALE = range(1, 6)
_LINE = re.compile(r"[^\r\n]+")
_LONGEST = 200  # characters of a line that may be a form that was filled in
_DRESS = r"[\s*_`#\"'“”()\[\]{}]*"
_LABEL = r"(?:the\s+)?[a-z][a-z ]{0,40}?(?:\s*\(\s*1\s*(?:-|–|to)\s*5\s*\))?"
_FORM = re.compile(
    rf"{_DRESS}(?:[-•]\s)?{_DRESS}(?:{_LABEL}(?:{_DRESS}[:=]|\s+is\s){_DRESS})?"
    rf"([1-5]){_DRESS}(?:(?:/|out\s+of)\s*5)?{_DRESS}(?:points?|stars?)?[.!]?{_DRESS}",
    re.IGNORECASE,
)


class Score(NamedTuple):
    """A score from 1 to 5, and where its digit stands in the reply."""

    value: int
    at: int


def read_score(reply: str) -> Score | None:
    """The score of a reply; None where there is none, or more than one."""
    lines = [line for line in _LINE.finditer(reply) if not line[0].isspace()]
    found = [score for line in lines[:1] + lines[1:][-1:] if (score := _form(reply, line))]
    return found[0] if len({score.value for score in found}) == 1 else None


def _form(reply: str, line: re.Match[str]) -> Score | None:
    start, end = line.span()
    match = _FORM.fullmatch(reply, start, end) if end - start <= _LONGEST else None
    return Score(int(match[1]), match.start(1)) if match else None


def expectation(reply: str, score: Score, tokens: list[TokenLogprob]) -> float | None:
    """Mean of 1 … 5 under the probabilities at the token of the score, made to sum to 1.

    None where no token is the score's digit alone, so that its alternatives cannot be known.
    """
    begin = "".join(one.token for one in tokens).rfind(reply)
    if begin < 0:
        return None
    passed = 0
    for one in tokens:
        passed += len(one.token)
        if passed > begin + score.at:
            return _mean(one) if one.token.strip() == str(score.value) else None
    return None


def _mean(token: TokenLogprob) -> float | None:
    scores = {str(k): k for k in SCALE}
    said = {token.token: token.logprob, **token.top}
    mass = [(scores[t.strip()], exp(p)) for t, p in said.items() if t.strip() in scores]
    total = sum(p for _, p in mass)
    return sum(k * p for k, p in mass) / total if total > 0 else None
