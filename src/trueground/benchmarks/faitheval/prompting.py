"""Which prompt a task sends, and its messages for one question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks.faitheval.settings import FaithEvalSettings
from trueground.models.base import Message
from trueground.models.prompts import Prompt, PromptFile, packaged_prompt, user_prompt
from trueground.types import Choice

_PACKAGE = "trueground.benchmarks.faitheval"
_SCHEMES = {"direct": "direct-1", "sampling": "direct-1", "cot": "cot-1"}
_CLOSED_BOOK = {"direct": "closed-book-1", "sampling": "closed-book-1", "cot": "closed-book-cot-1"}
_INSTRUCTIONS = {"unanswerable": "unknown-1", "inconsistent": "conflict-1"}


@dataclass(frozen=True)
class FaithEvalPrompts:
    """`messages(question, context, choices)`, and the prompt files that they are made of.

    `instruction` is False where the task's instruction is on, but the prompt has no place for it.
    """

    files: tuple[PromptFile, ...]
    instruction: bool
    messages: Callable[[str, str, Sequence[Choice]], tuple[Message, ...]]


def make_prompting(settings: FaithEvalSettings, path: Path | None) -> FaithEvalPrompts:
    """The user's prompt, or the scheme's; with the task's instruction where it is on."""
    prompt = _prompt(settings, path)
    extra = None
    if settings.instruction and prompt.has("instruction"):
        extra = packaged_prompt(_PACKAGE, _INSTRUCTIONS[settings.of])

    def messages(question: str, context: str, choices: Sequence[Choice]) -> tuple[Message, ...]:
        return prompt.fill(
            {
                "question": question,
                "context": context,
                "instruction": extra.user if extra else "",
                "options": "\n".join(f"{choice.label}. {choice.text}" for choice in choices),
            }
        )

    files = (prompt.file, extra.file) if extra else (prompt.file,)
    return FaithEvalPrompts(files, settings.instruction == (extra is not None), messages)


def _prompt(settings: FaithEvalSettings, path: Path | None) -> Prompt:
    if path is not None:
        needed = ["question"] + ["context"] * (not settings.closed_book)
        needed += ["options"] * settings.choices  # without them the answer would be a guess
        return user_prompt(path, needed, ("instruction", *["options"] * (not settings.choices)))
    names = _CLOSED_BOOK if settings.closed_book else _SCHEMES
    return packaged_prompt(_PACKAGE, names[settings.scheme])
