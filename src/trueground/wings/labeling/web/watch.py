"""Annotators who differ from the others, by simple rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations
from statistics import median

import msgspec

from trueground.stats import clopper_pearson
from trueground.wings.labeling.answers import Answers

_MIN_TIMED_TASKS = 10
_TIME_RATIO = 3
_MIN_COMPARISONS = 20
_MIN_SAME_TASKS = 20
_MIN_SAME_SHARE = 0.95
_MAX_OTHERS_SHARE = 0.75
RULES = {
    "fast": f"takes less than a third of the others' time for a task (both medians, "
    f"{_MIN_TIMED_TASKS} tasks or more)",
    "slow": f"takes more than three times the others' time for a task (both medians, "
    f"{_MIN_TIMED_TASKS} tasks or more)",
    "apart": f"agrees with others less often than they agree with each other, by more than "
    f"chance (95 %, {_MIN_COMPARISONS} comparisons or more)",
    "same": f"gives the same answer in 95 of 100 tasks, but it is the answer of others in "
    f"less than 75 of 100 ({_MIN_SAME_TASKS} tasks or more)",
}


class Watched(msgspec.Struct):
    """How often an annotator agrees with others, and the rules that apply.

    Attributes:
        agreement: The share of equal answers, of all comparisons with another annotator of the
            same task. None if there are no comparisons.
        compared: The number of comparisons.
        flags: Names of RULES.
    """

    agreement: float | None
    compared: int
    flags: list[str]


def watch(answers: Answers) -> dict[str, Watched]:
    """Compare each annotator with the others."""
    same: dict[str, list[bool]] = defaultdict(list)
    pairs: list[tuple[str, str, bool]] = []
    texts: dict[str, list[str]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    for each in answers.tasks.values():
        for answer in each:
            texts[answer.annotator].append(repr(sorted(answer.values.items())))
            if answer.seconds is not None:
                seconds[answer.annotator].append(answer.seconds)
        for a, b in combinations(each, 2):
            alike = a.values == b.values
            pairs.append((a.annotator, b.annotator, alike))
            same[a.annotator].append(alike)
            same[b.annotator].append(alike)
    watched = {}
    for annotator in answers.annotators:
        equal, flags = same[annotator], _time_flags(annotator, seconds)
        equal_of_others = [alike for a, b, alike in pairs if annotator not in (a, b)]
        if len(equal) >= _MIN_COMPARISONS and len(equal_of_others) >= _MIN_COMPARISONS:
            upper = clopper_pearson(sum(equal), len(equal))[1]
            if upper < sum(equal_of_others) / len(equal_of_others):
                flags.append("apart")
        if _is_same(annotator, texts):
            flags.append("same")
        agreement = sum(equal) / len(equal) if equal else None
        watched[annotator] = Watched(agreement, len(equal), flags)
    return watched


def _time_flags(annotator: str, seconds: Mapping[str, list[float]]) -> list[str]:
    """Return "fast" or "slow" if the annotator's median differs from the others' by a factor."""
    times = seconds.get(annotator, [])
    others = [median(each) for name, each in seconds.items() if name != annotator and each]
    if len(times) < _MIN_TIMED_TASKS or not others:
        return []
    typical, typical_of_others = median(times), median(others)
    if _TIME_RATIO * typical < typical_of_others:
        return ["fast"]
    if typical > _TIME_RATIO * typical_of_others:
        return ["slow"]
    return []


def _is_same(annotator: str, answers: Mapping[str, list[str]]) -> bool:
    """Whether the annotator nearly always gives the same answer, unlike the others."""
    own_answers = answers.get(annotator, [])
    others: list[str] = []
    for name, texts in answers.items():
        if name != annotator:
            others += texts
    if len(own_answers) < _MIN_SAME_TASKS or len(others) < _MIN_SAME_TASKS:
        return False
    usual = max(set(own_answers), key=own_answers.count)
    share = own_answers.count(usual) / len(own_answers)
    share_of_others = others.count(usual) / len(others)
    return share >= _MIN_SAME_SHARE and share_of_others < _MAX_OTHERS_SHARE
