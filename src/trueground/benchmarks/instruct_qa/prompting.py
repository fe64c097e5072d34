"""Which prompt a question is asked with, and its messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueground.benchmarks.instruct_qa import QaOptions, history
from trueground.benchmarks.instruct_qa.items import QaQuestion
from trueground.errors import UsageError
from trueground.models.base import Message
from trueground.models.prompts import Prompt, PromptFile, packaged_prompt, user_prompt
from trueground.types import Passage

# In the place of passages, so that no prompt speaks of passages and shows none.
_NOTHING = "(The search found no passage.)"
_PACKAGE = "trueground.benchmarks.instruct_qa"


class QaPrompts:
    """The prompts of a task: one for single questions and one for conversations, or the user's."""

    def __init__(self, settings: QaOptions, path: Path | None) -> None:
        """UsageError, InputError for a prompt of the user's that cannot be used."""
        self._settings = settings
        self._single = self._conversation = None
        if path is not None:
            needed = ["question"] + ["passages"] * (not settings.closed_book)
            needed += ["history"] * (settings.task == "topiocqa")
            optional = ["history"] * (settings.task == "questions")
            self._single = self._conversation = user_prompt(path, needed, optional)
            self._own = str(path)
            return
        self._own = ""
        version = "closed-book{}-1" if settings.closed_book else f"{{}}-{settings.instruction}-1"
        if settings.task != "topiocqa":
            name = version.format("" if settings.closed_book else "qa")
            self._single = packaged_prompt(_PACKAGE, name)
        if settings.task in ("topiocqa", "questions"):
            name = version.format("-conversation" if settings.closed_book else "conversation")
            self._conversation = packaged_prompt(_PACKAGE, name)

    @property
    def files(self) -> tuple[PromptFile, ...]:
        """The prompts that may be sent."""
        found = (self._single, self._conversation)
        return tuple(dict.fromkeys(prompt.file for prompt in found if prompt is not None))

    @property
    def instruction(self) -> str:
        """What the instruction is, for the run's identity."""
        if self._own:
            return "none but what the prompt says"
        return "none" if self._settings.closed_book else self._settings.instruction

    def messages(self, item: QaQuestion, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """UsageError where there are earlier turns and no place for them."""
        prompt = self._prompt(item)
        places = {"question": item.question, "passages": listed(passages)}
        if item.history:
            if not prompt.has("history"):
                raise UsageError(
                    f"{item.place}: the question has a history, and the prompt {self._own} has no "
                    "place {history}; add it to the prompt"
                )
            places["history"] = history.written(item.history, self._settings.history_turns)
        return prompt.fill(places)

    def _prompt(self, item: QaQuestion) -> Prompt:
        talks = self._settings.task == "topiocqa" or bool(item.history)
        prompt = self._conversation if talks else self._single
        assert prompt is not None
        return prompt


def listed(passages: Sequence[Passage]) -> str:
    """The passages as a titled list, a free line between them; one without a title is its text.

    Where there are none, it says so.
    """
    if not passages:
        return _NOTHING
    return "\n\n".join(
        f"- Title: {one.title}\n{one.text.strip()}" if one.title else f"- {one.text.strip()}"
        for one in passages
    )
