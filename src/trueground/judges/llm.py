"""A language model as a judge: is all information of a statement in these texts, True or False?

Source: Lee et al. 2024, appendix B.2, with a prompt in our own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trueground.components import ComponentSpec
from trueground.judges.base import Judge
from trueground.judges.replies import read_verdict
from trueground.models import (
    ChatRequest,
    LLMComponent,
    Prompt,
    Reply,
)
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
        marks = Prompt.marks(texts, (claim, asked))
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
                why = reply.describe_failure("a sentence of the context")
            raw = None
            if status in (Status.UNPARSEABLE, Status.TRUNCATED):
                raw = reply.shortened_text()
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
