"""How the items divide among the categories, and the paper's own division beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.benchmarks.published import published
from trueground.judges.comparing.error_category import CATEGORIES
from trueground.reports.terminal import number, table
from trueground.studies.errors.file import Line
from trueground.types import Status

SOURCE = "Adlakha et al. 2023, Figure 3"
_BENCHMARK, _FIGURE = "instruct-qa", "fig3"
# The runs whose questions are the paper's.
_TASKS = ("nq", "hotpotqa", "topiocqa")
_PREFIX = "error_category."


def distribution(lines: Sequence[Line]) -> dict[str, Any]:
    """Counts and shares by category and by group, over the items that are selected.

    `published`, a share too, stands beside them where all items are of the paper's datasets.
    """
    chosen = [line for line in lines if line.selected]
    n = len(chosen)
    counts = Counter(line.counts for line in chosen)
    people = [line for line in chosen if line.category]
    paper = bool(chosen) and all(_of_the_paper(line) for line in chosen)
    shares = figure_3() if paper else {}
    categories: dict[str, dict[str, float | None]] = {}
    for name in _names():
        found = sum(k for c, k in counts.items() if c and (c == name or c.startswith(f"{name}/")))
        categories[name] = {"n": found, "share": found / n if n else None}
        if paper:
            categories[name]["published"] = shares.get(name)
    unread = Counter(line.status for line in chosen if line.counts is None)
    return {
        "n": n,
        "categories": categories,
        "without": {Status(s).value: k for s, k in sorted(unread.items())},
        "correct_by": dict(sorted(Counter(line.correct_by for line in chosen).items())),
        "by": dict(sorted(Counter(line.by for line in chosen).items())),
        "corrected": len(people),
        "corrected_as_proposed": sum(line.category == line.proposed for line in people),
        "left_out": len(lines) - n,
        "source": SOURCE if paper else None,
    }


def figure_3() -> dict[str, float]:
    """The paper's shares by category and group; it prints none for the others."""
    [table] = [table for table in published(_BENCHMARK) if table.id == _FIGURE]
    return {one.name.removeprefix(_PREFIX): one.value for one in table.numbers}


def _names() -> list[str]:
    """Every category after its group."""
    names: list[str] = []
    for category in CATEGORIES:
        group = category.partition("/")[0]
        names += [name for name in (group, category) if name not in names]
    return names


def _of_the_paper(line: Line) -> bool:
    benchmark, _, task = (line.task or "").partition("/")
    return benchmark.replace("_", "-") == _BENCHMARK and task in _TASKS


def render(found: Mapping[str, Any], path: Path) -> str:
    """The distribution as text for a terminal."""
    n, of = found["n"], found.get("of")
    noun = "item" if (n if of is None else of) == 1 else "items"
    among = f" of {of:,}" if of is not None else ""
    limit = f" with {_metric(found)} of at most {found['at_most']:g}" if "at_most" in found else ""
    head = [f"{n:,}{among} {noun} {found.get('label', 'correct')}{limit}"]
    head.append(f"correct by   {_counted(found['correct_by'])}")
    head.append(f"proposed by  {_counted(found['by'])}")
    if found["corrected"]:
        same = f"{found['corrected_as_proposed']:,} as proposed"
        head.append(f"by people    {found['corrected']:,} ({same})")
    if found["left_out"]:
        head.append(f"left out     {found['left_out']:,} kept for people, not selected any more")
    blocks = ["\n".join(head)]
    if found.get("by_label"):
        blocks += [label_table(found), disagreements(found)]
    if n:
        blocks.append(_table(found))
    return "\n\n".join([*blocks, f"file   {path}"])


def _metric(found: Mapping[str, Any]) -> str:
    return "an F1" if found["metric"] == "f1" else found["metric"]


def label_table(found: Mapping[str, Any]) -> str:
    """The metric by what people said."""
    told = found["by_label"]
    level = f"{100 * told['ci_level']:.4g}% interval"
    rows = [
        (f"{found['metric']} by human.{found['label']}", "items", "mean", level, "median", "sd")
    ]
    for row in told["rows"]:
        ci = f"{row['ci'][0]:.4f} … {row['ci'][1]:.4f}" if row["ci"] else "–"
        values = (number(row["mean"]), ci, number(row["median"]), number(row["sd"]))
        rows.append((str(row["label"]), f"{row['n']:,}", *values))
    return table([(*row, "") for row in rows])


def disagreements(found: Mapping[str, Any]) -> str:
    """How many items people and metric see apart, each way."""
    told, limit = found["by_label"]["table"], f"{found['at_most']:g}"
    positive = told["positive_low"] + told["positive_high"]
    negative = told["negative_low"] + told["negative_high"]
    return (
        f"{told['positive_low']:,} of {positive:,} that people call {found['label']} have at most "
        f"{limit}; {told['negative_high']:,} of {negative:,} that they do not have more"
    )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {k:,}" for name, k in counts.items()) or "–"


def _table(found: Mapping[str, Any]) -> str:
    paper = found["source"] is not None
    rows = [("category", "items", "share", *(["paper"] if paper else []))]
    for name, one in found["categories"].items():
        group, _, kind = name.partition("/")
        shown = f"  {kind}" if kind else group
        share = one.get("published")
        told = ["–" if share is None else f"{100 * share:.2f} %"] if paper else []
        rows.append((shown, f"{one['n']:,}", f"{100 * one['share']:.2f} %", *told))
    for status, k in found["without"].items():
        row = (f"({status})", f"{k:,}", f"{100 * k / found['n']:.2f} %")
        rows.append((*row, *(["–"] if paper else [])))
    return table(rows) + (f"\npaper: {found['source']}" if paper else "")
