"""The options of `build contexts`, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from trueground.benchmarks.base import Value
from trueground.benchmarks.faitheval.source import TASKS
from trueground.errors import UsageError, unknown_name


@dataclass(frozen=True)
class Settings:
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


def read_settings(options: Mapping[str, Value], seed: int) -> Settings:
    """The settings behind the options. UsageError."""
    return Settings(
        tasks=_tasks(options["task"]),
        skip_bad=options["on-bad-row"] == "skip",
        require_answer=options["require-answer"] == "yes",
        max_words=_whole(options, "max-context-words", 1),
        kept={
            "inconsistent": _share(options, "kept"),
            "unanswerable": _share(options, "kept-unanswerable"),
        },
        min_words=_whole(options, "min-words", 0),
        phrase=str(options["phrase"]),
        second_sample=_whole(options, "second-sample", 1),
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


def _whole(options: Mapping[str, Value], name: str, least: int) -> int:
    try:
        number = int(str(options[name]))
    except ValueError:
        number = least - 1
    if number < least:
        raise UsageError(f"--{name} {options[name]}: expected a whole number of {least} or more")
    return number


def _share(options: Mapping[str, Value], name: str) -> float:
    try:
        number = float(str(options[name]))
    except ValueError:
        number = -1.0
    if not (isfinite(number) and 0.0 <= number <= 1.0):
        raise UsageError(f"--{name} {options[name]}: expected a number from 0 to 1")
    return number
