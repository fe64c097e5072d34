"""Lines of errors.jsonl: how they divide among categories, and the metric by label beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trueground.benchmarks.published import published
from trueground.judges.comparing.llm import CATEGORIES
from trueground.reports.terminal import number, table
from trueground.stats.bootstrap import intervals
from trueground.studies.finished import NO_HASH
from trueground.types import Status

SOURCE = "Adlakha et al. 2023, Figure 3"
_BENCHMARK, _FIGURE, _PREFIX = "instruct-qa", "fig3", "error_category."
_TASKS = ("nq", "hotpotqa", "topiocqa")  # the runs whose questions are the paper's
NOT_SORTED = Status.NOT_APPLICABLE.value  # nobody has given or proposed a category


class Line(msgspec.Struct, kw_only=True):
    """One item. `category` is a person's; while it is null, what was `proposed` counts.

    `by` is who proposed, null where nobody did (`status` is then `not_applicable`). `proposed` is
    null where `status` is not `scored`; `reply` is then the model's raw reply. `correct_by` is who
    found the response correct. `selected` is False for an item that a person wrote something into,
    and that is no longer among the correct ones with a low score.
    """

    id: str
    question: str | None
    references: list[str]
    response: str
    f1: float | None
    recall: float | None
    correct_by: str
    proposed: str | None
    by: str | None
    reason: str | None
    evidence: str | None = None
    category: str | None = None
    status: Status = Status.SCORED
    reply: str | None = None
    history: list[str] = []
    task: str | None = None
    selected: bool = True
    metric: str = "f1"
    score: float | None = None

    @property
    def counts(self) -> str | None:
        """The category that counts: a person's, else the proposed one."""
        return self.category or self.proposed


def compute_by_label(
    labelled: Sequence[tuple[float, bool, int]],
    *,
    at_most: float,
    resamples: int,
    seed: int,
    level: float,
) -> dict[str, Any] | None:
    """Mean with its interval, median and deviation of the metric by label; None without labels.

    `labelled` has score, whether the label is positive, and hash of the group of each item. Where
    items name groups, whole groups are resampled. `median` and `sd` (n - 1; null of a single item)
    are plain: `trueground validate` gives them intervals. `table` counts the items by label and by
    whether the metric is at most `at_most`.
    """
    if not labelled:
        return None
    scores, positive, groups = map(np.array, zip(*labelled, strict=True))
    lone = groups == NO_HASH
    # An item without a group is one of its own: it gets a number that no other has.
    _, codes = np.unique(groups, return_inverse=True)
    clusters = None if lone.all() else np.where(lone, len(groups) + np.arange(len(groups)), codes)
    draws: dict[str, Any] = {"resamples": resamples, "seed": seed, "level": level}
    rows: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    for label, name, chosen in ((1, "positive", positive), (0, "negative", ~positive)):
        values = scores[chosen]
        low = int((values <= at_most).sum())
        counts |= {f"{name}_low": low, f"{name}_high": len(values) - low}
        if not len(values):
            continue
        mine = None if clusters is None else clusters[chosen]
        rows.append(
            {
                "label": label,
                "n": len(values),
                "mean": float(values.mean()),
                "ci": intervals(values[:, None], mine, **draws)[0],
                "median": float(np.median(values)),
                "sd": float(values.std(ddof=1)) if len(values) > 1 else None,
            }
        )
    drawn = {"ci_level": level, "resamples": resamples, "seed": seed}
    return {"rows": rows, "table": counts, **drawn}


def count_categories(lines: Sequence[Line]) -> dict[str, Any]:
    """Counts and shares by category and by group, over the items that are selected.

    `published`, a share too, stands beside them where all items are of the paper's datasets.
    `without` counts the items without a category, by status.
    """
    chosen = [line for line in lines if line.selected]
    n = len(chosen)
    counts = Counter(line.counts for line in chosen)
    people = [line for line in chosen if line.category]
    paper = bool(chosen) and all(_is_of_the_paper(line.task) for line in chosen)
    shares = figure_3() if paper else {}
    categories: dict[str, dict[str, float | None]] = {}
    # Every category stands after its group.
    for name in dict.fromkeys(x for c in CATEGORIES for x in (c.partition("/")[0], c)):
        k = sum(k for c, k in counts.items() if c and (c == name or c.startswith(f"{name}/")))
        categories[name] = {"n": k, "share": k / n if n else None}
        if paper:
            categories[name]["published"] = shares.get(name)
    without = Counter(line.status for line in chosen if line.counts is None)
    return {
        "n": n,
        "categories": categories,
        "without": {Status(s).value: k for s, k in sorted(without.items())},
        "correct_by": dict(sorted(Counter(line.correct_by for line in chosen).items())),
        "by": dict(sorted(Counter(line.by for line in chosen if line.by).items())),
        "corrected": len(people),
        "corrected_as_proposed": sum(line.category == line.proposed for line in people),
        "left_out": len(lines) - n,
        "source": SOURCE if paper else None,
    }


def figure_3() -> dict[str, float]:
    """The paper's shares by category and group; it prints none for the others."""
    [figure] = [figure for figure in published(_BENCHMARK) if figure.id == _FIGURE]
    return {one.name.removeprefix(_PREFIX): one.value for one in figure.numbers}


def _is_of_the_paper(task: str | None) -> bool:
    benchmark, _, name = (task or "").partition("/")
    return benchmark.replace("_", "-") == _BENCHMARK and name in _TASKS


def format_errors(results: Mapping[str, Any], path: Path) -> str:
    """What `sort_errors` or `read_errors` gives, as text for a terminal; `path` is the file."""
    n, of = results["n"], results.get("of")
    noun = "item" if (n if of is None else of) == 1 else "items"
    among = f" of {of:,}" if of is not None else ""
    limit = ""
    if "at_most" in results:
        metric = "an F1" if results["metric"] == "f1" else results["metric"]
        limit = f" with {metric} of at most {results['at_most']:g}"
    head = [f"{n:,}{among} {noun} {results.get('label', 'correct')}{limit}"]
    head.append(f"correct by   {_format_counts(results['correct_by'])}")
    if results["by"]:
        head.append(f"proposed by  {_format_counts(results['by'])}")
    if results["corrected"]:
        same = f" ({results['corrected_as_proposed']:,} as proposed)" if results["by"] else ""
        head.append(f"by people    {results['corrected']:,}{same}")
    if unsorted := results["without"].get(NOT_SORTED):
        head.append(
            f"not sorted   {unsorted:,}: write a category into the file, or let a language model "
            "propose them with --proposer"
        )
    if results["left_out"]:
        head.append(f"left out     {results['left_out']:,} kept for people, not selected any more")
    blocks = ["\n".join(head)]
    if results.get("by_label"):
        blocks += _label_blocks(results)
    if n > results["without"].get(NOT_SORTED, 0):
        blocks.append(_category_table(results))
    return "\n\n".join([*blocks, f"file   {path}"])


def _label_blocks(results: Mapping[str, Any]) -> list[str]:
    """The metric by what people said, and how many items both see apart, each way."""
    by_label, label = results["by_label"], results["label"]
    level = f"{100 * by_label['ci_level']:.4g}% interval"
    rows = [(f"{results['metric']} by human.{label}", "items", "mean", level, "median", "sd")]
    for row in by_label["rows"]:
        ci = f"{row['ci'][0]:.4f} … {row['ci'][1]:.4f}" if row["ci"] else "–"
        values = (number(row["mean"]), ci, number(row["median"]), number(row["sd"]))
        rows.append((str(row["label"]), f"{row['n']:,}", *values))
    k = by_label["table"]
    apart = (
        f"{k['positive_low']:,} of {k['positive_low'] + k['positive_high']:,} that people call "
        f"{label} have at most {results['at_most']:g}; {k['negative_high']:,} of "
        f"{k['negative_low'] + k['negative_high']:,} that they do not have more"
    )
    return [table([(*row, "") for row in rows]), apart]


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {k:,}" for name, k in counts.items()) or "–"


def _category_table(results: Mapping[str, Any]) -> str:
    paper = results["source"] is not None
    rows = [("category", "items", "share", *(["paper"] if paper else []))]
    for name, one in results["categories"].items():
        group, _, kind = name.partition("/")
        shown = f"  {kind}" if kind else group
        share = one.get("published")
        more = ["–" if share is None else f"{100 * share:.2f} %"] if paper else []
        rows.append((shown, f"{one['n']:,}", f"{100 * one['share']:.2f} %", *more))
    for status, k in results["without"].items():
        shown = "(not sorted)" if status == NOT_SORTED else f"({status})"
        row = (shown, f"{k:,}", f"{100 * k / results['n']:.2f} %")
        rows.append((*row, *(["–"] if paper else [])))
    return table(rows) + (f"\npaper: {results['source']}" if paper else "")
