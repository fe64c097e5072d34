"""The tasks that annotators found hardest: most disagreement, then longest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from trueground.annotation.answers import Answer
from trueground.annotation.base import Field, TaskKind
from trueground.annotation.importing import median


class Hard(msgspec.Struct):
    """One task: how far annotators disagree, from 0 to 1, and who said what where they do.

    `seconds` is the median of the annotators; `comments` are what they wrote.
    """

    id: str
    disagreement: float
    seconds: float | None
    answers: dict[str, dict[str, Any]]
    comments: dict[str, str]


def hardest(kind: TaskKind, tasks: Mapping[str, Sequence[Answer]], most: int) -> list[Hard]:
    """The `most` hardest tasks on which annotators do not agree, hardest first.

    Disagreement is the mean over the fields that are counted of the share of pairs of annotators
    who differ; of two sets, the share of their values that only one of them has.
    """
    found = [_hard(kind, id_, answers) for id_, answers in tasks.items()]
    differing = [each for each in found if each.disagreement > 0]
    differing.sort(key=lambda hard: (-hard.disagreement, -(hard.seconds or 0.0), hard.id))
    return differing[:most]


def _hard(kind: TaskKind, id_: str, answers: Sequence[Answer]) -> Hard:
    apart = {
        field.name: share
        for field in kind.fields
        if field.measure is not None and (share := _apart(field, answers)) is not None
    }
    differ = [name for name, share in apart.items() if share]
    return Hard(
        id=id_,
        disagreement=sum(apart.values()) / len(apart) if apart else 0.0,
        seconds=median([answer.seconds for answer in answers]),
        answers={
            a.annotator: {name: a.values[name] for name in differ if name in a.values}
            for a in answers
        },
        comments={a.annotator: a.comment for a in answers if a.comment},
    )


def _apart(field: Field, answers: Sequence[Answer]) -> float | None:
    """The mean distance of the pairs of answers; None where there is no pair."""
    values = [a.values[field.name] for a in answers if field.name in a.values]
    distances = [_distance(a, b) for a, b in combinations(values, 2)]
    return sum(distances) / len(distances) if distances else None


def _distance(a: Any, b: Any) -> float:
    if a == b:
        return 0.0
    if not isinstance(a, tuple):
        return 1.0
    one, other = set(a), set(b)
    return len(one ^ other) / len(one | other)
