"""Which prompt a task sends, and its messages for one question."""

from __future__ import annotations

from pathlib import Path

from trueground.models.prompts import Prompt, packaged_prompt, user_prompt

_PACKAGE = "trueground.benchmarks.truly_ground"


def make_prompt(closed_book: bool, path: Path | None) -> Prompt:
    """The user's prompt, or the task's own. UsageError, InputError.

    Places are {question} and, where contexts are shown, {context}.
    """
    if path is not None:
        return user_prompt(path, ["question"] + ["context"] * (not closed_book))
    return packaged_prompt(_PACKAGE, "closed-book-1" if closed_book else "grounded-1")
