"""The judge that asks a chat model whether texts contain all information of a statement.

Source: Lee et al. 2024, appendix B.2. The prompt is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

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


class _Window(NamedTuple):
    """Characters `start` to `end` of a text of the request."""

    text: int
    start: int
    end: int


# Windows that are shown in one prompt.
_Piece = tuple[_Window, ...]


class LLMJudge(LLMComponent, Judge):
    """The judge `llm:MODEL(base_url=URL,…)`, which asks a chat model once for each claim.

    With `shown=all` (default), the prompt contains all texts of a request. If that is too long for
    the model, or with `shown=each`, each text is shown alone. A text that is too long by itself is
    cut into halves between sentences. One reply of True is enough. If a reply has no verdict or is
    cut off, or a call fails, the claim isn't scored and has that status.

    Raises:
        UsageError: An option is invalid.
        InputError: The prompt can't be read.
    """

    name = "llm"
    threshold = 0.5
    scores = False

    def __init__(self, spec: ComponentSpec) -> None:
        super().__init__(spec, ("prompt", "shown"))
        self._each = spec.text("shown", "all", ("all", "each")) == "each"
        path = spec.options.get("prompt")
        self._question_prompt = Prompt.packaged(_PACKAGE, "asked-1")
        self._prompt = Prompt.packaged(_PACKAGE, "contains-1")
        if path is not None:
            required = ("context", "statement")
            self._prompt = Prompt.read(
                Path(path), required, ("question", "mark"), plain=(*required, "question")
            )

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The prompts of its requests."""
        if self._prompt.has("question"):
            return (self._prompt.file, self._question_prompt.file)
        return (self._prompt.file,)

    @property
    def signature(self) -> str:
        """The model, prompts by id and hash, and the options that can change a verdict."""
        prompts = "+".join(prompt.signature for prompt in self.prompts)
        return self._sign("llm-2", prompts, f"shown={'each' if self._each else 'all'}")

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request. Raises UnreachableError."""
        cases = [_Case(request, _first_pieces(request, self._each)) for request in requests]
        while True:
            pieces: list[tuple[_Case, _Piece]] = []
            for case in cases:
                pieces += [(case, piece) for piece in case.take()]
            if not pieces:
                return [case.verdict() for case in cases]
            calls = [self._chat_request(case.request, piece) for case, piece in pieces]
            for (case, piece), reply in zip(pieces, self.ask(calls), strict=True):
                case.read(piece, reply)

    def _chat_request(self, request: JudgeRequest, piece: _Piece) -> ChatRequest:
        claim, question = request.claim, request.asked
        texts = [request.texts[text][start:end] for text, start, end in piece]
        marks = Prompt.marks(texts, (claim, question))
        question_text = ""
        if question.strip():
            marked = marks.surround("QUESTION", question)
            messages = self._question_prompt.fill({"question": marked})
            question_text = messages[-1].content
        fields = marks.fields({"context": texts, "statement": claim, "question": question})
        fields["question"] = question_text
        return ChatRequest(self._prompt.fill(fields), self._params)


@dataclass
class _Case:
    """One request in progress: pieces that wait for their prompt, and the replies so far."""

    request: JudgeRequest
    waiting: list[_Piece]
    supporting: list[_Piece] = field(default_factory=list)
    failures: list[tuple[Status, Reply]] = field(default_factory=list)
    n_asked: int = 0

    def take(self) -> list[_Piece]:
        """Return the pieces to ask about now, none if a piece supports the claim already."""
        taken = [] if self.supporting else self.waiting
        self.waiting = []
        self.n_asked += len(taken)
        return taken

    def read(self, piece: _Piece, reply: Reply) -> None:
        """Record the reply to a piece: a verdict, a failure, or smaller pieces to ask about."""
        smaller = list(piece)
        if reply.status is Status.TOO_LONG and len(piece) == 1:
            smaller = _halve(self.request.texts, piece[0])
        if reply.status is Status.TOO_LONG and smaller:
            self.waiting += [(window,) for window in smaller]
            self.n_asked -= 1
        elif reply.status is not None:
            self.failures.append((reply.status, reply))
        else:
            verdict = read_verdict(reply.text)
            if verdict is None:
                self.failures.append((Status.UNPARSEABLE, reply))
            elif verdict:
                self.supporting.append(piece)

    def verdict(self) -> Verdict:
        if self.supporting:
            reason = f"the model says True{self._describe_pieces('one')}"
            windows = self.supporting[0]
            if len(windows) > 1:
                return Verdict(True, reasons=(reason,))
            text, start, end = windows[0]
            return Verdict(True, text=text, start=start, end=end, reasons=(reason,))
        if self.failures:
            return _failed_verdict(*self.failures[0])
        if self.n_asked:
            reason = f"the model says False{self._describe_pieces('each')}"
        else:
            reason = "no context" if self.request.claim.strip() else "the claim is empty"
        return Verdict(False, reasons=(reason,))

    def _describe_pieces(self, quantity: str) -> str:
        if self.n_asked < 2:
            return ""
        return f" for {quantity} of {self.n_asked} parts of the context"


def _failed_verdict(status: Status, reply: Reply) -> Verdict:
    if status is Status.UNPARSEABLE:
        reason = "the model's reply holds no verdict: neither True nor False, or both"
        return Verdict(status=status, reasons=(reason,), reply=reply.shortened_text())
    reason = reply.describe_failure("a sentence of the context")
    if status is Status.TRUNCATED:
        reason += " before its verdict"
        return Verdict(status=status, reasons=(reason,), reply=reply.shortened_text())
    return Verdict(status=status, reasons=(reason,))


def _first_pieces(request: JudgeRequest, each: bool) -> list[_Piece]:
    """Return all texts together or each alone, nothing if the claim is blank."""
    windows = [_Window(i, 0, len(t)) for i, t in enumerate(request.texts) if t.strip()]
    if not request.claim.strip() or not windows:
        return []
    return [(window,) for window in windows] if each else [tuple(windows)]


def _halve(texts: Sequence[str], window: _Window) -> list[_Window]:
    """Cut a window in two between sentences. Return nothing if it is one sentence.

    The second half begins with the last sentence of the first half, unless it would then be as
    long as the window.
    """
    text, start, end = window
    spans = [(start + a, start + b) for a, b in split_sentences(texts[text][start:end])]
    if len(spans) < 2:
        return []
    middle = (start + end) / 2
    cut = min(range(1, len(spans)), key=lambda i: abs(spans[i][0] - middle))
    overlap = cut - 1 if cut > 1 else cut
    return [_Window(text, start, spans[cut][0]), _Window(text, spans[overlap][0], end)]
