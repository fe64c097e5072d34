"""A comparison of runs as one page that opens from disk and asks nothing of the network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueground.reports.charts import ChartScale
from trueground.reports.comparison import (
    heading,
    of_whole_runs,
    p_value,
    remarks,
    signed,
    test_words,
)
from trueground.reports.comparison_sizes import (
    EFFECTS,
    effect_words,
    planning_basis,
    planning_heading,
    planning_words,
    shown_effects,
    with_sizes,
)
from trueground.reports.item_links import way_to
from trueground.reports.shell import draw
from trueground.reports.terminal import number
from trueground.runs.directory import check_page_file, replacing

MARK = "trueground-comparison-1"


def check_writable(path: Path) -> None:
    """See that the page may be written there, before any work is done.

    An earlier comparison is replaced, no other file. UsageError: the name does not end in .html.
    OutputError: another file is there; the folder is missing or may not be written.
    """
    check_page_file(path, MARK, overwrite=True)


def write_comparison(path: Path, comparison: Mapping[str, Any]) -> None:
    """Draw what `RunComparison.as_dict` gives. Raises WriteError."""
    with replacing(path) as out:
        out.write(render_page(comparison, path.parent).encode("utf-8", "replace"))


def render_page(comparison: Mapping[str, Any], folder: Path | None = None) -> str:
    """The page, with its style inside and the style's hash in its policy; it has no script.

    Its links to the runs' pages are relative to `folder`, where it will lie; without it there are
    none.
    """
    bases = {
        run["label"]: None if folder is None else way_to(Path(run["path"]), folder)
        for run in comparison["runs"]
    }
    view = {
        **comparison,
        "mark": MARK,
        "notices": _notices(comparison),
        "heading": heading,
        "remarks": lambda pair: list(remarks(pair)),
        "test_words": test_words,
        "signed": signed,
        "p_value": p_value,
        "four": number,
        "whole_runs": any(
            of_whole_runs(m) for pair in comparison["pairs"] for m in pair["metrics"].values()
        ),
        "drawing": _drawing,
        "scale": _scale,
        "link": lambda label, link: bases[label] + link if link and bases[label] else None,
        "effect_names": EFFECTS,
        "effect_words": effect_words,
        "patterns": max(
            (
                m["result"]["patterns"] or 0
                for pair in comparison["pairs"]
                for m in pair["metrics"].values()
                if m["result"]["test"] == "sign-flip"
            ),
            default=0,
        ),
        "shown_effects": shown_effects,
        "with_sizes": with_sizes,
        "planning_basis": planning_basis,
        "planning_heading": planning_heading(comparison),
        "planning_words": planning_words,
    }
    return draw("comparison.html.j2", (), ["report.css", "comparison.css"], view)


def _notices(comparison: Mapping[str, Any]) -> dict[str, list[str]]:
    """Notice → the runs that carry it."""
    found: dict[str, list[str]] = {}
    for run in comparison["runs"]:
        for notice in run["notices"]:
            found.setdefault(notice, []).append(run["label"])
    return found


def _scale(pair: Mapping[str, Any]) -> ChartScale:
    """One axis for all differences of a pair, with 0 in its middle."""
    results = [metric["result"] for metric in pair["metrics"].values()]
    seen = [abs(r["difference"]) for r in results if r["difference"] is not None]
    seen += [abs(end) for r in results for end in r["ci"] or ()]
    most = max(seen, default=0.0) or 1.0
    return ChartScale(-most, most)


def _drawing(result: Mapping[str, Any], scale: ChartScale) -> dict[str, float | None]:
    """Where the difference and its interval lie, in percent of the width."""
    low, high = result["ci"] or (None, None)
    return {
        "at": scale.at(result["difference"]),
        "low": None if low is None else scale.at(low),
        "high": None if high is None else scale.at(high),
    }
