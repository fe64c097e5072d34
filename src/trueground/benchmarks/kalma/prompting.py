"""The prompt: instruction, a worked demonstration, the graphs in one line each, the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from trueground.benchmarks.kalma import NO_DEMONSTRATION
from trueground.benchmarks.kalma.rows import refused, wrong
from trueground.errors import InputError
from trueground.models.base import Message
from trueground.models.prompts import Prompt, PromptFile, packaged_prompt, user_prompt
from trueground.records.jsonl import decode_row
from trueground.records.problems import Problem
from trueground.records.schema import to_record
from trueground.text.triples import format_graph
from trueground.types import Graph

_PACKAGE = "trueground.benchmarks.kalma"
_OWN = "demonstration-2"
_PLACES = ("question", "knowledge")
_EXPECTED = (
    '{"question": "…", "knowledge": [{"qid": "Q1", …}], "answer": "… [Q1, property: value]"}'
)
_NOTHING = "(no information)"


@dataclass(frozen=True)
class GraphDemonstration:
    """A question with its graphs and the answer that a model should give."""

    file: PromptFile
    question: str
    knowledge: tuple[Graph, ...]
    answer: str


@dataclass(frozen=True)
class KalmaPrompt:
    """What is sent for a question."""

    prompt: Prompt
    demonstration: GraphDemonstration | None

    @property
    def files(self) -> tuple[PromptFile, ...]:
        """The prompt and the demonstration, as a manifest names them."""
        shown = self.demonstration
        return (self.prompt.file,) if shown is None else (self.prompt.file, shown.file)

    def messages(self, question: str, graphs: Sequence[Graph]) -> tuple[Message, ...]:
        """System message, demonstration as an earlier turn of the conversation, the question."""
        asked = self._filled(question, graphs)
        if self.demonstration is None:
            return asked
        *system, user = self._filled(self.demonstration.question, self.demonstration.knowledge)
        return (*system, user, Message("assistant", self.demonstration.answer), asked[-1])

    def _filled(self, question: str, graphs: Sequence[Graph]) -> tuple[Message, ...]:
        lines = "\n".join(" ".join(format_graph(graph).split()) for graph in graphs)
        return self.prompt.fill({"question": question, "knowledge": lines or _NOTHING})


def make_prompt(path: Path | None, demonstration: str | None) -> KalmaPrompt:
    """The user's prompt and demonstration, or the task's own. UsageError, InputError."""
    prompt = packaged_prompt(_PACKAGE, "answer-2") if path is None else user_prompt(path, _PLACES)
    if demonstration == NO_DEMONSTRATION:
        return KalmaPrompt(prompt, None)
    if demonstration is None:
        data = (files(_PACKAGE) / "prompts" / f"{_OWN}.json").read_bytes()
        return KalmaPrompt(prompt, _read(f"kalma/{_OWN}", data))
    file = Path(demonstration)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"the demonstration {file} cannot be read: {error.strerror or error}; name a file with "
            f"{_EXPECTED}, or {NO_DEMONSTRATION}"
        ) from error
    return KalmaPrompt(prompt, _read(file.name, data))


def _read(name: str, data: bytes) -> GraphDemonstration:
    place = f"the demonstration {name}"
    try:
        row = decode_row(data.removeprefix(b"\xef\xbb\xbf"), _EXPECTED)
        answer = row.pop("answer", None)
        record = to_record({**row, "response": answer}, None, 0)
    except Problem as problem:
        field = "answer" if problem.field == "response" else problem.field
        told = Problem(field, problem.found, problem.expected)
        raise refused(place, told) from None
    if not (record.question and record.response.strip()) or record.knowledge is None:
        raise wrong(place, row, _EXPECTED)
    file = PromptFile(name, sha256(data).hexdigest())
    return GraphDemonstration(file, record.question, tuple(record.knowledge), record.response)
