"""Answers in the published notation, and which of them it can hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trueground.benchmarks.truly_ground.source import parse_references
from trueground.builders.checks import same_answer

BETWEEN = " | "


def forms(answers: Iterable[str]) -> tuple[str, ...]:
    """The forms that can be written down, each once; `|` and `&` have a meaning of their own."""
    found: list[str] = []
    for answer in answers:
        form = " ".join(answer.split())
        if form and form not in found and _readable([form]) and _readable([*found, form]):
            found.append(form)
    return tuple(found)


def written(answers: Sequence[str]) -> str:
    """All forms as the files write them; empty for a free-form question."""
    return BETWEEN.join(answers)


def matches(answer: str, answers: Iterable[str]) -> bool:
    """Is it one of these answers?"""
    return any(same_answer(answer, form) for form in answers)


def _readable(answers: list[str]) -> bool:
    try:
        return parse_references(written(answers)) == answers
    except ValueError:
        return False
