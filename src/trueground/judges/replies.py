"""Verdicts and scores in replies of language models.

Only fixed forms of a reply count. Nothing is guessed.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from trueground.models import TokenLogprob
from trueground.stats import exp

_VERDICTS = {"true": True, "yes": True, "false": False, "no": False}
_VERDICT = r"(true|false|yes|no)"
_VERDICT_LABEL = (
    r"(?:(?:the\s+)?(?:final\s+|correct\s+)?(?:answer|verdict|judge?ment|output|result)\s*[:=]\s*)?"
)
_ALONE = re.compile(rf"{_VERDICT_LABEL}{_VERDICT}[.!]?")
_BEGINS = re.compile(
    rf"{_VERDICT_LABEL}{_VERDICT}"
    r"(?:\s*(?:[.:;,]|\s[-–—]|[–—])(?=\s|$)|(?=\s(?:the|it|this|that|because)\s))"
)
_TAKEN_BACK = re.compile(
    r"\W*(?:(?:but|however|although|though|except|partly|partially|mostly|somewhat|in part|only)\b"
    r"|(?:and |or )?(?:yes|no)\b(?! \w))"
)
_OF_THE_ANSWER = re.compile(
    r"\b(?:response|answer|statement|claim|it|this|that) (?:is|was)(nt| not)?(?: \w+ly)? "
    r"(?:(correct|accurate|supported|true)|incorrect|inaccurate|unsupported|wrong|false)\b"
)
_ENDS = re.compile(
    r"(?:.*[.:;!?]\s+)?(?:(?:so|therefore|thus|hence|overall|in conclusion),?\s+)?"
    r"(?:the\s+(?:final\s+|correct\s+)?(?:answer|statement|verdict|judge?ment)\s+is\s*:?\s+"
    rf"|(?:based on|according to|given)\s[^.:;,]*,\s+){_VERDICT}[.!]?"
)
# "It is correct: Yes", "The answer is supported by the context. Yes."
_STATED = re.compile(
    r"(?:(?:so|therefore|thus),? )?(?:the )?(?P<about>[a-z]+ (?:is|was).{1,40}?)"
    rf"(?: by (?:the )?[a-z ]{{1,30}})?\s*+(?P<mark>[:.])\s++{_VERDICT}[.!]?"
)
# Markup around a word: tags, emphasis, code, quotes, brackets, and the boxes of mathematics.
_MARKUP = re.compile(r"</?[A-Za-z_]+>|\\boxed|\\text(?:bf)?|[*_`#\"'“”‘’«»()\[\]{}<>$]")
_WORD = re.compile(r"(?:\b(?P<not>not|isnt)(?: \w+ly)? )?\b(?P<word>true|false)\b")

SCALE = range(1, 6)
_LINE = re.compile(r"[^\r\n]+")
MAX_FORM_CHARS = 200  # of a line that may be a filled-in form
_MARKS = r"[\s*_`#\"'“”()\[\]{}]*"
_LABEL = r"(?:the\s+)?[a-z][a-z ]{0,40}?(?:\s*\(\s*1\s*(?:-|–|to)\s*5\s*\))?"
_FORM = re.compile(
    rf"{_MARKS}(?:[-•]\s)?{_MARKS}(?:{_LABEL}(?:{_MARKS}[:=]|\s+is\s){_MARKS})?"
    rf"([1-5]){_MARKS}(?:(?:/|out\s+of)\s*5)?{_MARKS}(?:points?|stars?)?[.!]?{_MARKS}",
    re.IGNORECASE,
)


class ScoreInReply(NamedTuple):
    """A score from 1 to 5, and the position of its digit in the reply."""

    value: int
    position: int


def read_verdict(reply: str) -> bool | None:
    """Return whether a reply says True or False, None if it says neither or both.

    A verdict is one of the words true, false, yes, no in any case. It may be quoted, in bold, end
    with a full stop, or follow a label such as "Answer:". These forms count:

    1. The first or the last line is only a verdict.
    2. The first line begins with a verdict. A punctuation mark ends it ("No, it contradicts the
       context."), or a clause about the answer follows ("Yes the response is correct"). It doesn't
       count if the next words withdraw it ("Yes, but …", "True, partly").
    3. The last line ends with a verdict: "The answer (statement, verdict) is …", or "Based on the
       context, yes."
    4. The first or the last line is a sentence about the answer, and then a verdict that agrees
       ("It is correct: Yes", "The answer is wrong. No."). Before a colon the sentence must approve,
       because "It is not correct: No" may mean either.

    All verdicts must agree with each other and with every true and false in the reply ("not true"
    means false). A verdict of form 2 must also agree with the rest of its line: "No, the response
    is correct." isn't a verdict.
    """
    text = _MARKUP.sub("", reply).strip().lower()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    first, last = lines[0], lines[-1]
    matches = [_ALONE.fullmatch(first), _ALONE.fullmatch(last), _ENDS.fullmatch(last)]
    begins = None if matches[0] else _BEGINS.match(first)
    if begins and _TAKEN_BACK.match(first, begins.end()):
        return None
    verdicts = {_VERDICTS[match[1]] for match in (*matches, begins) if match}
    verdicts |= _read_statement(first) | _read_statement(last)
    if not verdicts:
        return None
    if begins:
        about = _OF_THE_ANSWER.finditer(first, begins.end())
        verdicts |= {(m[1] is None) == bool(m[2]) for m in about}
    verdicts |= {(m["word"] == "true") == (m["not"] is None) for m in _WORD.finditer(text)}
    return verdicts.pop() if len(verdicts) == 1 else None


def _read_statement(line: str) -> set[bool]:
    """Return the verdict of a sentence about the answer, and both verdicts if it is unclear."""
    match = _STATED.fullmatch(line)
    about = _OF_THE_ANSWER.fullmatch(match["about"]) if match else None
    if match is None or about is None:
        return set()
    approves = (about[1] is None) == bool(about[2])
    if match["mark"] == ":" and not approves:
        return {True, False}
    return {approves, _VERDICTS[match[3]]}


def read_score(reply: str) -> ScoreInReply | None:
    """Return the score of a reply, None if there is none or more than one.

    A score is a line with only a whole number from 1 to 5: "4", "4.", "4/5", "4 out of 5",
    "Fluency: 4", "**Fluency (1-5):** 4". Only the first and the last line count. If both are
    scores, they must agree.
    """
    lines = [line for line in _LINE.finditer(reply) if not line[0].isspace()]
    scores: list[ScoreInReply] = []
    for line in lines[:1] + lines[1:][-1:]:
        if line.end() - line.start() > MAX_FORM_CHARS:
            continue
        match = _FORM.fullmatch(reply, *line.span())
        if match:
            scores.append(ScoreInReply(int(match[1]), match.start(1)))
    return scores[0] if len({score.value for score in scores}) == 1 else None


def expected_score(reply: str, score: ScoreInReply, tokens: list[TokenLogprob]) -> float | None:
    """Return the mean score under the probabilities of 1 … 5 at the token of the score.

    The probabilities are scaled to sum to 1. The result is None if no token is the digit of the
    score alone.
    """
    begin = "".join(token.token for token in tokens).rfind(reply)
    if begin < 0:
        return None
    end = 0
    for token in tokens:
        end += len(token.token)
        if end > begin + score.position:
            return _mean_score(token) if token.token.strip() == str(score.value) else None
    return None


def _mean_score(token: TokenLogprob) -> float | None:
    digits = {str(value): value for value in SCALE}
    mass: list[tuple[int, float]] = []
    for text, logprob in {token.token: token.logprob, **token.top}.items():
        if text.strip() in digits:
            mass.append((digits[text.strip()], exp(logprob)))
    total = math.fsum(share for _, share in mass)
    return math.fsum(value * share for value, share in mass) / total if total > 0 else None
