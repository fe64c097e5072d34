"""Annotators who differ from the others, by rules of one sentence each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations
from statistics import median

import msgspec

from trueground.stats import clopper_pearson
from trueground.wings.labeling.answers import Answers

_LEAST_TIMED, _TIMES = 10, 3
_LEAST_COMPARED = 20
_LEAST_SAME, _SAME, _OTHERS_SAME = 20, 0.95, 0.75
RULES = {
    "fast": f"takes less than a third of the others' time for a task (both medians, "
    f"{_LEAST_TIMED} tasks or more)",
    "slow": f"takes more than three times the others' time for a task (both medians, "
    f"{_LEAST_TIMED} tasks or more)",
    "apart": f"says the same as others less often than these among themselves, by more than "
    f"chance (95 %, {_LEAST_COMPARED} comparisons or more)",
    "same": f"gives the same answer in 95 of 100 tasks, but it is the answer of others in "
    f"less than 75 of 100 ({_LEAST_SAME} tasks or more)",
}


class Watched(msgspec.Struct):
    """One annotator: how often they say the same as others of the same task, and what stands out.

    `agreement` is over the comparisons with another person of the same task; None without any.
    """

    agreement: float | None
    compared: int
    flags: list[str]


def watch(answers: Answers) -> dict[str, Watched]:
    """Every annotator beside the others."""
    same: dict[str, list[bool]] = defaultdict(list)
    pairs: list[tuple[str, str, bool]] = []
    said: dict[str, list[str]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    for each in answers.tasks.values():
        for answer in each:
            said[answer.annotator].append(repr(sorted(answer.values.items())))
            if answer.seconds is not None:
                seconds[answer.annotator].append(answer.seconds)
        for a, b in combinations(each, 2):
            alike = a.values == b.values
            pairs.append((a.annotator, b.annotator, alike))
            same[a.annotator].append(alike)
            same[b.annotator].append(alike)
    found = {}
    for who in answers.annotators:
        own, flags = same[who], _time_flags(who, seconds)
        rest = [alike for a, b, alike in pairs if who not in (a, b)]
        if len(own) >= _LEAST_COMPARED and len(rest) >= _LEAST_COMPARED:
            most = clopper_pearson(sum(own), len(own))[1]
            if most < sum(rest) / len(rest):
                flags.append("apart")
        if _is_same(who, said):
            flags.append("same")
        found[who] = Watched(sum(own) / len(own) if own else None, len(own), flags)
    return found


def _time_flags(who: str, seconds: Mapping[str, list[float]]) -> list[str]:
    own = seconds.get(who, [])
    others = [median(each) for one, each in seconds.items() if one != who and each]
    if len(own) < _LEAST_TIMED or not others:
        return []
    mine, usual = median(own), median(others)
    return ["fast"] * (_TIMES * mine < usual) + ["slow"] * (mine > _TIMES * usual)


def _is_same(who: str, said: Mapping[str, list[str]]) -> bool:
    own = said.get(who, [])
    others = [one for other, each in said.items() if other != who for one in each]
    if len(own) < _LEAST_SAME or len(others) < _LEAST_SAME:
        return False
    usual = max(set(own), key=own.count)
    shares = own.count(usual) / len(own), others.count(usual) / len(others)
    return shares[0] >= _SAME and shares[1] < _OTHERS_SAME
