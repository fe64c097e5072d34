"""Whether a column was asked as its benchmark's paper asked, so that numbers compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.reports.leaderboard.board import BoardColumn

# FaithEval, section 3.3: direct answers; both documents; every question.
_DEFAULTS = {
    "scheme": "direct",
    "documents": "both",
    "only-phrase-filtered": "off",
    "closed-book": False,
}
# Truly-Ground, appendix C: 2,048 tokens; the gold contexts anywhere among the distractors.
_BUDGET, _POSITION = "2048", "random"
# Adlakha et al. 2023, section 3.3: how many passages are retrieved.
_PASSAGES = {"nq": "8", "hotpotqa": "8", "topiocqa": "4"}
_RANK = "1000"  # section 5.3: the irrelevant passage is the first one after it
# KaLMA, section 5: the graphs that were retrieved, temperature 0.5, nothing taken away.
_AS_RETRIEVED = {
    "knowledge": "given", "remove": "0", "retrieval-accuracy": "100", "at-temperature": "0.5",
}  # fmt: skip
_OWN_SETS = {"2k_distractor": "2048", "4k_distractor": "4096"}


def asked_as_published(column: BoardColumn, given: Mapping[str, Any]) -> bool:
    """Whether the column's options are `given`, and the paper's where `given` says nothing."""
    if column.benchmark == "truly-ground":
        return _distracted_as_published(column, given)
    if column.benchmark == "instruct-qa":
        return _retrieved_as_published(column, given)
    if column.benchmark == "kalma":
        return _cited_as_published(column, given)
    wanted = {**_DEFAULTS, **given}
    told = column.task in ("unanswerable", "inconsistent") and wanted["documents"] == "both"
    wanted.setdefault("task-instruction", "on" if told else "off")
    return all(
        column.options.get(name, value if name not in given else None) == value
        for name, value in wanted.items()
    )


def _distracted_as_published(column: BoardColumn, given: Mapping[str, Any]) -> bool:
    """The same length and position; without distractors there is nothing to differ in.

    Mined distractors count as well as the paper's file, whose sets are named for their length.
    """
    if not (column.task or "").endswith("-dist"):
        return not given
    budget, position = given.get("budget", _BUDGET), given.get("gold-position", _POSITION)
    asked = column.options.get("budget", _BUDGET)
    if asked == "all":
        asked = _OWN_SETS.get(str(column.options.get("distractors")))
    return bool(asked == budget and column.options.get("gold-position", _POSITION) == position)


def _cited_as_published(column: BoardColumn, given: Mapping[str, Any]) -> bool:
    """The same graphs, as much of them taken away, the same temperature; any minimum set.

    The study of retrieval accuracy is beside its own figure only, not beside a table of another.
    """
    if column.options.get("retrieval-accuracy") and "retrieval-accuracy" not in given:
        return False
    told = {name: value for name, value in column.options.items() if value is not None}
    asked, wanted = {**_AS_RETRIEVED, **told}, {**_AS_RETRIEVED, **given}
    return all(str(asked[name]) == value for name, value in wanted.items())


def _retrieved_as_published(column: BoardColumn, given: Mapping[str, Any]) -> bool:
    """The same setting and instruction, passages as many or from as far down; any retriever."""
    usual = _PASSAGES.get(column.task or "")
    asked = {"passages": usual, "irrelevant-rank": _RANK, **column.options}
    printed: dict[str, dict[str, Any]] = {
        "retrieved": {"passages": usual},
        "irrelevant": {"irrelevant-rank": _RANK},
    }
    wanted = {**printed.get(str(given.get("setting")), {}), **given}
    return all(str(asked.get(name)) == value for name, value in wanted.items())
