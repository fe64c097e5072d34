"""A language model as a judge: is all information of a statement in these texts, True or False?

Also the reading of verdicts and scores out of replies: closed sets of forms, nothing is guessed.

Source: Lee et al. 2024, appendix B.2, with a prompt in our own words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from trueground.components import ComponentSpec
from trueground.judges.base import Judge
from trueground.models import (
    ChatRequest,
    LLMComponent,
    Prompt,
    Reply,
    TextMarks,
    TokenLogprob,
    describe_failure,
    shorten_reply,
)
from trueground.stats import exp
from trueground.text import split_sentences
from trueground.types import JudgeRequest, PromptFile, Status, Verdict

_PACKAGE = "trueground.judges"
# Windows (text, start, end) that are shown together.
_Piece = tuple[tuple[int, int, int], ...]


class LLMJudge(LLMComponent, Judge):
    """`llm:MODEL(base_url=URL,…)`: asks a chat model once for each claim.

    `shown=all` (default) shows the texts of a request together. Where that is too long for the
    model, and with `shown=each`, each text is shown alone; one that is too long by itself is cut
    into halves between sentences. Any True wins. A reply without a verdict, one that was cut off
    and a call that failed leave the claim unscored with that status. The constructor raises
    UsageError and, for a prompt that cannot be read, InputError.
    """

    name = "llm"
    threshold = 0.5
    scores = False

    def __init__(self, given: ComponentSpec) -> None:
        super().__init__(given, ("prompt", "shown"))
        self._each = given.text("shown", "all", ("all", "each")) == "each"
        path = given.options.get("prompt")
        self._asked = Prompt.packaged(_PACKAGE, "asked-1")
        self._prompt = Prompt.packaged(_PACKAGE, "contains-1")
        if path is not None:
            places = ("context", "statement")
            self._prompt = Prompt.read(
                Path(path), places, ("question", "mark"), plain=(*places, "question")
            )

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The prompts that are asked with."""
        asked = (self._asked.file,) if self._prompt.has("question") else ()
        return (self._prompt.file, *asked)

    @property
    def signature(self) -> str:
        """Model, prompts by id and hash, and the options that can change a verdict."""
        prompts = "+".join(prompt.signature for prompt in self.prompts)
        return self._sign("llm-2", prompts, f"shown={'each' if self._each else 'all'}")

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """One verdict for each request; UnreachableError where the model is not reached."""
        cases = [_Case(request, _windows(request, self._each)) for request in requests]
        while pieces := [(case, piece) for case in cases for piece in case.take()]:
            replies = self.ask([self._request(case.request, p) for case, p in pieces])
            for (case, piece), reply in zip(pieces, replies, strict=True):
                case.read(piece, reply)
        return [case.verdict() for case in cases]

    def _request(self, request: JudgeRequest, piece: _Piece) -> ChatRequest:
        claim, asked = request.claim, request.asked
        texts = [request.texts[text][start:end] for text, start, end in piece]
        marks = TextMarks.of(texts, (claim, asked))
        question = ""
        if asked.strip():
            messages = self._asked.fill({"question": marks.surround("QUESTION", asked)})
            question = messages[-1].content
        places = marks.fields({"context": texts, "statement": claim, "question": asked})
        return ChatRequest(self._prompt.fill(places | {"question": question}), self._params)


@dataclass
class _Case:
    """One request on its way: the pieces that are yet to be shown, and what was replied."""

    request: JudgeRequest
    waiting: list[_Piece]
    true: list[_Piece] = field(default_factory=list)
    failed: list[tuple[Status, Reply]] = field(default_factory=list)
    asked: int = 0

    def take(self) -> list[_Piece]:
        """What is to be asked now; nothing once a piece supports the claim."""
        taken = [] if self.true else self.waiting
        self.waiting = []
        self.asked += len(taken)
        return taken

    def read(self, piece: _Piece, reply: Reply) -> None:
        """Take the reply to a piece: a verdict, a failure, or smaller pieces to show."""
        smaller = list(piece)
        if reply.status is Status.TOO_LONG and len(piece) == 1:
            smaller = _halves(self.request.texts, piece[0])
        if reply.status is Status.TOO_LONG and smaller:
            self.waiting += [(window,) for window in smaller]
            self.asked -= 1
        elif reply.status is not None:
            self.failed.append((reply.status, reply))
        elif (verdict := read_verdict(reply.text)) is None:
            self.failed.append((Status.UNPARSEABLE, reply))
        elif verdict:
            self.true.append(piece)

    def verdict(self) -> Verdict:
        pieces = f" of {self.asked} parts of the context" if self.asked > 1 else ""
        if self.true:
            why = f"the model says True{f' for one{pieces}' if pieces else ''}"
            text, start, end = (None, None, None) if len(self.true[0]) > 1 else self.true[0][0]
            return Verdict(True, text=text, start=start, end=end, reasons=(why,))
        if self.failed:
            status, reply = self.failed[0]
            if status is Status.UNPARSEABLE:
                why = "the model's reply holds no verdict: neither True nor False, or both"
            else:
                why = describe_failure(reply, "a sentence of the context")
            raw = None
            if status in (Status.UNPARSEABLE, Status.TRUNCATED):
                raw = shorten_reply(reply.text)
                why += " before its verdict" if status is Status.TRUNCATED else ""
            return Verdict(status=status, reasons=(why,), reply=raw)
        if self.asked:
            why = f"the model says False{f' for each{pieces}' if pieces else ''}"
        else:
            why = "no context" if self.request.claim.strip() else "the claim is empty"
        return Verdict(False, reasons=(why,))


def _windows(request: JudgeRequest, each: bool) -> list[_Piece]:
    """What is shown first: all texts together or each alone; nothing of a blank claim."""
    windows = [(i, 0, len(t)) for i, t in enumerate(request.texts) if t.strip()]
    if not request.claim.strip() or not windows:
        return []
    return [(window,) for window in windows] if each else [tuple(windows)]


def _halves(texts: Sequence[str], window: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """The window in two, between sentences; the second begins with the first one's last sentence
    where that leaves it shorter than the whole. Nothing where it is one sentence.
    """
    text, start, end = window
    spans = [(start + a, start + b) for a, b in split_sentences(texts[text][start:end])]
    if len(spans) < 2:
        return []
    middle = (start + end) / 2
    cut = min(range(1, len(spans)), key=lambda i: abs(spans[i][0] - middle))
    again = cut - 1 if cut > 1 else cut
    return [(text, start, spans[cut][0]), (text, spans[again][0], end)]


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
