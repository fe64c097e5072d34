"""What the comparers share that ask a chat model a question with a closed set of answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from trueground.judges.llm import MAX_TOKENS
from trueground.judges.replies import read_verdict
from trueground.models.asker import OPTIONS, Asker, Asks, model_of, params_of, shortened
from trueground.models.base import ChatRequest, Reply
from trueground.models.marks import block, blocks, mark_for
from trueground.models.prompts import PromptFile, packaged_prompt, user_prompt
from trueground.plugins import PartSpec
from trueground.types import Comparison, ComparisonRequest, Status

_PACKAGE = "trueground.judges.comparing"
_OWN = ("prompt", "temperature", "max_tokens")
_BESIDE = ("conversation", "question", "mark")


class LanguageModelComparer(Asks):
    """A comparer that asks a chat model; a subclass names its prompt and its values.

    `file` is the prompt that ships, and `places` are those that a prompt of the user's own must
    have (`prompt=FILE`); it may have {conversation}, {question} and {mark} besides. A reply in
    which nothing can be read, one that was cut off and a call that failed give that status. The
    constructor raises UsageError and, for a prompt that cannot be read, InputError.
    """

    name: ClassVar[str]
    values: ClassVar[tuple[str, ...]]
    file: ClassVar[str]
    places: ClassVar[tuple[str, ...]]

    def __init__(self, given: PartSpec) -> None:
        given.check((*OPTIONS, *_OWN))
        self._params = params_of(given, MAX_TOKENS)
        path = given.options.get("prompt")
        if path is None:
            self._prompt = packaged_prompt(_PACKAGE, self.file)
        else:
            self._prompt = user_prompt(
                Path(path), self.places, _BESIDE, plain=(*self.places, *_BESIDE[:-1])
            )
        self._asker = Asker(model_of(given), cache=given.cache)

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The prompt that is asked with."""
        return (self._prompt.file,)

    @property
    def signature(self) -> str:
        """Model, prompt by id and hash, and the options that can change a value."""
        file, cold = self._prompt.file, self._params.temperature
        return (
            f"{self.name}-2/{self._asker.model.signature}/{file.id}:{file.sha256[:12]}"
            f"/temperature={'none' if cold is None else f'{cold:g}'}"
            f"/max_tokens={self._params.max_tokens}"
        )

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; UnreachableError where the model is not reached."""
        calls = [self._call(request, request.texts) for request in requests]
        return [self._read(reply) for reply in self._asker.ask(calls)]

    def _read(self, reply: Reply) -> Comparison:
        """What the reply says: yes or no, unless a subclass asks for something else."""
        return read_yes(reply, self.values[0])

    def _call(self, request: ComparisonRequest, texts: Sequence[str]) -> ChatRequest:
        """The call about a response and these texts: its references, or its contexts."""
        shared = (request.history, request.question, request.response)
        mark = mark_for(shared, texts)
        name = "REFERENCE" if "reference" in self.places else "CONTEXT"
        told, asked = request.history.strip(), request.question.strip()
        places = {
            "conversation": block("CONVERSATION", request.history, mark) if told else "",
            "question": block("QUESTION", request.question, mark) if asked else "",
            "response": block("RESPONSE", request.response, mark),
            name.lower(): blocks(name, texts, mark) if texts else "",
            "mark": mark,
            "plain_conversation": request.history,
            "plain_question": request.question,
            "plain_response": request.response,
            f"plain_{name.lower()}": "\n".join(texts),
        }
        return ChatRequest(self._prompt.fill(places), self._params)


def read_yes(reply: Reply, value: str) -> Comparison:
    """1 for yes and 0 for no, under the name `value`."""
    return read_reply(
        reply,
        lambda text: None if (said := read_verdict(text)) is None else {value: float(said)},
        "neither yes nor no, or both",
    )


def read_reply(
    reply: Reply, read: Callable[[str], dict[str, float] | None], lacking: str
) -> Comparison:
    """What `read` finds in the reply, or why there is nothing; `lacking` says what is missing."""
    if reply.status is None:
        values = read(reply.text)
        if values is not None:
            return Comparison(values)
        why = f"the model's reply cannot be read: {lacking}"
        return Comparison(status=Status.UNPARSEABLE, reply=shortened(reply.text), reason=why)
    if reply.status is Status.TRUNCATED:
        why = "the model's reply was cut off at the token limit"
        return Comparison(status=reply.status, reply=shortened(reply.text), reason=why)
    if reply.status is Status.TOO_LONG:
        why = f"what is to be shown together is too long for the model: {reply.error}"
        return Comparison(status=reply.status, reason=why)
    return Comparison(status=reply.status, reason=f"the call failed: {reply.error}")
