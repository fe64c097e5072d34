"""Comparers that ask a chat model a question with a closed set of answers.

`llm-correctness` asks whether a response answers the question as a reference does (Adlakha et al.
2023, section 4.1, GPT-4-Eval), `llm-faithfulness` whether all of it is in the texts that it was
given (section 5.1, LLMCritic), `llm-abstention` whether it declines to answer for lack of
information (definition: section 5.3), and `error-category` why a correct response shares so few
words with its references (section 4.2). All prompts are in our own words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from trueground.components import ComponentSpec
from trueground.judges.comparing import Comparer
from trueground.judges.replies import read_verdict
from trueground.models import ChatRequest, LLMComponent, Prompt, Reply
from trueground.types import Comparison, ComparisonRequest, PromptFile, Status

_CATEGORY = "category"
NONE = "none"
_CATEGORIES = (
    "semantic_equivalence/multinominal_entities",
    "semantic_equivalence/more_elaborate_answers",
    "semantic_equivalence/synonymous_answers",
    "symbolic_equivalence",
    "intrinsic_ambiguity",
    "granularity/temporal",
    "granularity/spatial",
    "incomplete_reference/list_of_named_entities",
    "incomplete_reference/open_ended_questions",
    "enumeration_of_references",
    "satisfactory_subset",
    NONE,
)
_BY_NAME = {name: c for c in _CATEGORIES for name in (c, c.rpartition("/")[2])}
_LABEL = re.compile(r"^\s*(?:the\s+)?(?:category|answer)\s*[:=]\s*", re.IGNORECASE)
_DRESS = " \t*`\"'“”.[](){}<>"
_BESIDE = ("conversation", "question", "mark")


class _Question(NamedTuple):
    """The value of a comparer, the prompt that ships, and the places that a user's must have."""

    value: str
    prompt: str
    places: tuple[str, ...]


_QUESTIONS = {
    "llm-correctness": _Question("correct", "correctness-1", ("response", "reference")),
    "llm-faithfulness": _Question("faithful", "faithfulness-1", ("response", "context")),
    "llm-abstention": _Question("abstained", "abstention-1", ("response",)),
    "error-category": _Question(_CATEGORY, "error-category-1", ("response", "reference")),
}


class LLMComparer(LLMComponent, Comparer):
    """`llm-faithfulness`, `llm-abstention`, …: 1 for yes, 0 for no, with all texts shown together.

    Where that is too long the status is `too_long`: what the whole response needs may lie in
    several texts, so no part of them can be judged alone. A prompt of the user's own
    (`prompt=FILE`) may have {conversation}, {question} and {mark} besides what it must have. A
    reply in which nothing can be read, one that was cut off and a call that failed give that
    status. The constructor raises UsageError and, for a prompt that cannot be read, InputError.
    """

    name: str
    values: tuple[str, ...]

    def __init__(self, spec: ComponentSpec) -> None:
        super().__init__(spec, ("prompt",))
        self.name = spec.name
        value, file, self._places = _QUESTIONS[spec.name]
        self.values = (value,)
        path = spec.options.get("prompt")
        if path is None:
            self._prompt = Prompt.packaged("trueground.judges.comparing", file)
        else:
            plain = (*self._places, *_BESIDE[:-1])
            self._prompt = Prompt.read(Path(path), self._places, _BESIDE, plain=plain)

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The prompt that is asked with."""
        return (self._prompt.file,)

    @property
    def signature(self) -> str:
        """Model, prompt by id and hash, and the options that can change a value."""
        return self._sign(f"{self.name}-2", self._prompt.file.signature)

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; UnreachableError where the model is not reached."""
        calls = [self._call(request, request.texts) for request in requests]
        return [self._read(reply) for reply in self.ask(calls)]

    def _call(self, request: ComparisonRequest, texts: Sequence[str]) -> ChatRequest:
        """The call about a response and these texts: its references, or its contexts."""
        marks = Prompt.marks((request.history, request.question, request.response), texts)
        contents = {
            "conversation": request.history,
            "question": request.question,
            "response": request.response,
            "reference" if "reference" in self._places else "context": texts,
        }
        fields = marks.fields(contents, keep=("response",))
        return ChatRequest(self._prompt.fill(fields), self._params)

    def _read(self, reply: Reply) -> Comparison:
        """What the reply says, or why it says nothing."""
        if reply.status is None:
            return self._read_answer(reply)
        reason = reply.describe_failure("what is to be shown together")
        raw = reply.shortened_text() if reply.status is Status.TRUNCATED else None
        return Comparison(status=reply.status, reply=raw, reason=reason)

    def _read_answer(self, reply: Reply) -> Comparison:
        verdict = read_verdict(reply.text)
        if verdict is None:
            return _unparseable(reply, "neither yes nor no, or both")
        return Comparison({self.values[0]: float(verdict)})


class LLMCorrectness(LLMComparer):
    """`llm-correctness`: 1 if the response says all that some reference says, and nothing against.

    One call for each reference, the next one only while the answer is no. One that failed is no
    answer: without any yes the item then has the status of the first that failed.
    """

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; UnreachableError where the model is not reached."""
        (value,) = self.values
        waiting = [[t for t in dict.fromkeys(r.texts) if t.strip()] for r in requests]
        results = [
            Comparison({value: 0.0})
            if texts
            else Comparison(status=Status.NOT_APPLICABLE, reason="the references are blank")
            for texts in waiting
        ]
        while open_ := [i for i, texts in enumerate(waiting) if texts]:
            calls = [self._call(requests[i], waiting[i][:1]) for i in open_]
            for i, reply in zip(open_, self.ask(calls), strict=True):
                reference, answer = waiting[i].pop(0), self._read(reply)
                if answer.values.get(value):
                    results[i] = Comparison({value: 1.0}, detail={"reference": reference})
                    waiting[i].clear()
                elif answer.status is not Status.SCORED and results[i].status is Status.SCORED:
                    results[i] = answer
        return results


class ErrorCategory(LLMComparer):
    """`error-category`: one of NAMES; its place there is the value, its name in `detail`."""

    NAMES: ClassVar = _CATEGORIES
    DETAIL: ClassVar = _CATEGORY

    def _read_answer(self, reply: Reply) -> Comparison:
        category = read_category(reply.text)
        if category is None:
            return _unparseable(reply, "none of the categories, or several")
        number = float(_CATEGORIES.index(category))
        return Comparison({_CATEGORY: number}, detail={_CATEGORY: category})


def read_category(reply: str) -> str | None:
    """The category that stands alone on the first or the last line; None where they disagree.

    The part behind the slash is enough, and so are its words apart ("More elaborate answers").
    """
    lines = [line for line in reply.splitlines() if line.strip()]
    categories = set()
    for line in (*lines[:1], *lines[-1:]):
        plain = _LABEL.sub("", line.strip(_DRESS)).strip(_DRESS).lower()
        categories.add(_BY_NAME.get(re.sub(r"[\s_-]+", "_", plain)))
    categories.discard(None)
    return categories.pop() if len(categories) == 1 else None


def _unparseable(reply: Reply, lacking: str) -> Comparison:
    reason = f"the model's reply cannot be read: {lacking}"
    return Comparison(status=Status.UNPARSEABLE, reply=reply.shortened_text(), reason=reason)
