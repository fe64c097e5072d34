"""The options of `build contexts`, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trueground.benchmarks.base import Value
from trueground.benchmarks.faitheval import TASKS
from trueground.benchmarks.values import share_of, whole_of
from trueground.errors import unknown_name


@dataclass(frozen=True)
class ContextsSettings:
    """What holds for the build. `tasks` are those that were named; none: all that are possible.

    `kept` is the least share of a context's words that a changed one must keep, by task.
    """

    tasks: tuple[str, ...]
    skip_bad: bool
    require_answer: bool
    max_words: int
    kept: Mapping[str, float]
    min_words: int
    phrase: str
    second_sample: int
    second_drops: bool
    language: bool
    seed: int


def read_settings(options: Mapping[str, Value], seed: int) -> ContextsSettings:
    """The settings behind the options. UsageError."""
    return ContextsSettings(
        tasks=_tasks(options["task"]),
        skip_bad=options["on-bad-row"] == "skip",
        require_answer=options["require-answer"] == "yes",
        max_words=whole_of(options, "max-context-words", 1),
        kept={
            "inconsistent": share_of(options, "kept"),
            "unanswerable": share_of(options, "kept-unanswerable"),
        },
        min_words=whole_of(options, "min-words", 0),
        phrase=str(options["phrase"]),
        second_sample=whole_of(options, "second-sample", 1),
        second_drops=options["second"] == "drop",
        language=options["language"] == "check",
        seed=seed,
    )


def _tasks(given: object) -> tuple[str, ...]:
    """The tasks in the benchmark's order; from Python they may be given as a list."""
    if given is None:
        return ()
    parts = given if isinstance(given, list | tuple) else str(given).split(",")
    names = [str(part).strip() for part in parts]
    for name in names:
        if name not in TASKS:
            raise unknown_name("task of build contexts", name, TASKS)
    return tuple(task for task in TASKS if task in names)
