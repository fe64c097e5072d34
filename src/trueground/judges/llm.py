"""A language model as a judge: is all information of a statement in these texts, True or False?

Source: Lee et al. 2024, appendix B.2, with a prompt in our own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trueground.judges.replies import read_verdict
from trueground.models.asker import OPTIONS, Asker, Asks, model_of, params_of, shortened
from trueground.models.base import ChatRequest, Reply
from trueground.models.marks import block, blocks, mark_for
from trueground.models.prompts import PromptFile, packaged_prompt, user_prompt
from trueground.plugins import PartSpec
from trueground.text.sentences import sentences
from trueground.types import JudgeRequest, Status, Verdict

_PACKAGE = "trueground.judges"
_OWN = ("prompt", "shown", "temperature", "max_tokens")
# One word is enough, but models that think before they answer do so within the limit too.
MAX_TOKENS = 512


class LLMJudge(Asks):
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

    def __init__(self, given: PartSpec) -> None:
        given.check((*OPTIONS, *_OWN))
        self._each = given.text("shown", "all", ("all", "each")) == "each"
        self._params = params_of(given, MAX_TOKENS)
        path = given.options.get("prompt")
        self._asked = packaged_prompt(_PACKAGE, "asked-1")
        self._prompt = packaged_prompt(_PACKAGE, "contains-1")
        if path is not None:
            places = ("context", "statement")
            self._prompt = user_prompt(
                Path(path), places, ("question", "mark"), plain=(*places, "question")
            )
        self._asker = Asker(model_of(given), cache=given.cache)

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The prompts that are asked with."""
        asked = (self._asked.file,) if self._prompt.has("question") else ()
        return (self._prompt.file, *asked)

    @property
    def signature(self) -> str:
        """Model, prompts by id and hash, and the options that can change a verdict."""
        prompts = "+".join(f"{p.id}:{p.sha256[:12]}" for p in self.prompts)
        cold, limit = self._params.temperature, self._params.max_tokens
        shown = "each" if self._each else "all"
        return (
            f"llm-2/{self._asker.model.signature}/{prompts}/shown={shown}"
            f"/temperature={'none' if cold is None else f'{cold:g}'}/max_tokens={limit}"
        )

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """One verdict for each request; UnreachableError where the model is not reached."""
        cases = [_Case.of(request, self._each) for request in requests]
        while pieces := [(case, piece) for case in cases for piece in case.take()]:
            replies = self._asker.ask([self._request(case, piece) for case, piece in pieces])
            for (case, piece), reply in zip(pieces, replies, strict=True):
                case.hear(piece, reply)
        return [case.verdict() for case in cases]

    def _request(self, case: _Case, piece: _Piece) -> ChatRequest:
        claim, asked = case.request.claim, case.request.asked
        texts = [case.request.texts[text][start:end] for text, start, end in piece]
        mark = mark_for(texts, (claim, asked))
        question = ""
        if asked.strip():
            messages = self._asked.fill({"question": block("QUESTION", asked, mark)})
            question = messages[-1].content
        places = {
            "context": blocks("CONTEXT", texts, mark),
            "statement": block("STATEMENT", claim, mark),
            "question": question,
            "mark": mark,
            "plain_context": "\n".join(texts),
            "plain_statement": claim,
            "plain_question": asked,
        }
        return ChatRequest(self._prompt.fill(places), self._params)


# Windows (text, start, end) that are shown together.
_Piece = tuple[tuple[int, int, int], ...]


@dataclass
class _Case:
    """One request on its way: what is to be shown yet, and what was heard."""

    request: JudgeRequest
    waiting: list[_Piece]
    true: list[_Piece] = field(default_factory=list)
    failed: list[tuple[Status, Reply]] = field(default_factory=list)
    asked: int = 0

    @classmethod
    def of(cls, request: JudgeRequest, each: bool) -> _Case:
        windows = [(i, 0, len(t)) for i, t in enumerate(request.texts) if t.strip()]
        if not request.claim.strip() or not windows:
            return cls(request, [])
        return cls(request, [(w,) for w in windows] if each else [tuple(windows)])

    def take(self) -> list[_Piece]:
        """What is to be asked now; nothing once a piece has been found to support the claim."""
        taken = [] if self.true else self.waiting
        self.waiting = []
        self.asked += len(taken)
        return taken

    def hear(self, piece: _Piece, reply: Reply) -> None:
        """Take the reply to a piece: a verdict, a failure, or smaller pieces to show."""
        if reply.status is Status.TOO_LONG and (smaller := self._split(piece)):
            self.waiting += smaller
            self.asked -= 1
        elif reply.status is not None:
            self.failed.append((reply.status, reply))
        else:
            verdict = read_verdict(reply.text)
            if verdict is None:
                self.failed.append((Status.UNPARSEABLE, reply))
            elif verdict:
                self.true.append(piece)

    def _split(self, piece: _Piece) -> list[_Piece]:
        if len(piece) > 1:
            return [(window,) for window in piece]
        return [(window,) for window in _halves(self.request.texts, piece[0])]

    def verdict(self) -> Verdict:
        pieces = f" of {self.asked} parts of the context" if self.asked > 1 else ""
        if self.true:
            why = f"the model says True{f' for one{pieces}' if pieces else ''}"
            place = self.true[0] if len(self.true[0]) == 1 else ()
            for text, start, end in place:
                return Verdict(True, text=text, start=start, end=end, reasons=(why,))
            return Verdict(True, reasons=(why,))
        if self.failed:
            status, reply = self.failed[0]
            raw = reply.text if status in (Status.UNPARSEABLE, Status.TRUNCATED) else None
            shown = None if raw is None else shortened(raw)
            return Verdict(status=status, reasons=(_why(status, reply),), reply=shown)
        if self.asked:
            why = f"the model says False{f' for each{pieces}' if pieces else ''}"
        else:
            why = "no context" if self.request.claim.strip() else "the claim is empty"
        return Verdict(False, reasons=(why,))


def _halves(texts: Sequence[str], window: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """The window in two, between sentences; the second begins with the first one's last sentence
    where that leaves it shorter than the whole. Nothing where it is one sentence.
    """
    text, start, end = window
    spans = [(start + a, start + b) for a, b in sentences(texts[text][start:end])]
    if len(spans) < 2:
        return []
    middle = (start + end) / 2
    cut = min(range(1, len(spans)), key=lambda i: abs(spans[i][0] - middle))
    again = cut - 1 if cut > 1 else cut
    return [(text, start, spans[cut][0]), (text, spans[again][0], end)]


def _why(status: Status, reply: Reply) -> str:
    if status is Status.UNPARSEABLE:
        return "the model's reply holds no verdict: neither True nor False, or both"
    if status is Status.TRUNCATED:
        return "the model's reply was cut off at the token limit before its verdict"
    if status is Status.TOO_LONG:
        return f"a sentence of the context is too long for the model: {reply.error}"
    return f"the call failed: {reply.error}"
