"""Verdicts and scores in replies of language models: closed sets of forms, nothing is guessed."""

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
# What dresses a word up: tags, emphasis, code, quotes, brackets, and the boxes of mathematics.
_MARKUP = re.compile(r"</?[A-Za-z_]+>|\\boxed|\\text(?:bf)?|[*_`#\"'“”‘’«»()\[\]{}<>$]")
_WORD = re.compile(r"(?:\b(?P<not>not|isnt)(?: \w+ly)? )?\b(?P<word>true|false)\b")

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


class ScoreInReply(NamedTuple):
    """A score from 1 to 5, and where its digit stands in the reply."""

    value: int
    at: int


def read_verdict(reply: str) -> bool | None:
    """Whether the reply says True or False; None where it says neither, or both.

    A verdict is one of the words true, false, yes, no (in any case), quoted, in bold or with a full
    stop, or behind a label such as "Answer:". It is looked for

    1. on the first and on the last line, where such a line holds nothing else;
    2. at the beginning of the first line, where a full stop, comma, colon, semicolon or dash ends
       it ("No, it contradicts the context.") or a clause about the answer begins ("Yes the response
       is correct"), unless what follows takes it back ("Yes, but …", "True, partly");
    3. at the end of the last line, as a sentence "The answer (statement, verdict) is …", or behind
       what it rests on ("Based on the context, yes.");
    4. on a first or last line that is a sentence about the answer and then a verdict that agrees
       ("It is correct: Yes", "The answer is wrong. No."). Behind a colon the sentence must approve:
       "It is not correct: No" may mean either.

    All that are found must agree, with each other and with every true and false in the reply, where
    "not true" says false; and a verdict of the form 2 with what its line says of the answer: "No,
    the response is correct." is none.
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
    """The verdict of a sentence about the answer and the word after it; both if they disagree."""
    match = _STATED.fullmatch(line)
    about = _OF_THE_ANSWER.fullmatch(match["about"]) if match else None
    if match is None or about is None:
        return set()
    approves = (about[1] is None) == bool(about[2])
    if match["mark"] == ":" and not approves:
        return {True, False}
    return {approves, _VERDICTS[match[3]]}


def read_score(reply: str) -> ScoreInReply | None:
    """The score of a reply; None where there is none, or more than one.

    A score is a line that holds nothing but a whole number from 1 to 5: "4", "4.", "4/5", "4 out of
    5", "Fluency: 4", "**Fluency (1-5):** 4". It is looked for on the first and on the last line of
    the reply; where both hold one, they must agree.
    """
    lines = [line for line in _LINE.finditer(reply) if not line[0].isspace()]
    scores = []
    for line in lines[:1] + lines[1:][-1:]:
        short = line.end() - line.start() <= _LONGEST
        if short and (match := _FORM.fullmatch(reply, *line.span())):
            scores.append(ScoreInReply(int(match[1]), match.start(1)))
    return scores[0] if len({score.value for score in scores}) == 1 else None


def expected_score(reply: str, score: ScoreInReply, tokens: list[TokenLogprob]) -> float | None:
    """Mean of 1 … 5 under the probabilities at the token of the score, made to sum to 1.

    None where no token is the score's digit alone, so that its alternatives cannot be known.
    """
    begin = "".join(one.token for one in tokens).rfind(reply)
    passed = 0
    for token in tokens if begin >= 0 else ():
        passed += len(token.token)
        if passed > begin + score.at:
            if token.token.strip() != str(score.value):
                return None
            logprobs = {token.token: token.logprob, **token.top}
            scale = {str(k): k for k in SCALE}
            mass = [(scale[t.strip()], exp(p)) for t, p in logprobs.items() if t.strip() in scale]
            total = math.fsum(p for _, p in mass)
            return math.fsum(k * p for k, p in mass) / total if total > 0 else None
    return None
