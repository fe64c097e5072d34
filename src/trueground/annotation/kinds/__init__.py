"""The kinds of tasks, by name."""

from __future__ import annotations

from trueground.annotation.base import TaskKind
from trueground.annotation.kinds import (
    alignment,
    candidate,
    contains,
    contains_list,
    correctness,
    gold_facts,
    quality,
    relevance,
    revision,
    support,
    validity,
)
from trueground.errors import unknown_name

KINDS: dict[str, TaskKind] = {
    module.KIND.name: module.KIND
    for module in (
        validity,
        candidate,
        gold_facts,
        revision,
        contains,
        contains_list,
        relevance,
        correctness,
        support,
        alignment,
        quality,
    )
}


def get_kind(name: str) -> TaskKind:
    """The kind of that name. UsageError where there is none."""
    if name not in KINDS:
        raise unknown_name("kind of task", name, KINDS)
    return KINDS[name]
