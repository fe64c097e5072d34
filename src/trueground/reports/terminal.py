"""The summary as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.runs.directory import REPORT

_MOST_VALUES = 6


def render(summary: Mapping[str, Any], path: Path | None) -> str:
    """Headline table, breakdowns, abstention, and where the page lies."""
    n = summary["n"]
    blocks = [f"{n:,} item{'' if n == 1 else 's'}{_side_notes(summary)}"]
    level = next((m["ci_level"] for m in summary["metrics"].values()), 0.95)
    head = ("metric", "mean", f"{level:.0%} interval", "scored", "not scored")
    blocks.append(_table([head, *(_row(k, m) for k, m in summary["metrics"].items())]))
    blocks += [_breakdown(field, values) for field, values in summary["by"].items()]
    blocks.append(_abstention(summary))
    if path is not None:
        blocks.append(f"page   {path / REPORT}\nfiles  {path}/")
    return "\n\n".join(blocks)


def number(value: float | None) -> str:
    """Four digits on screen; a dash where there is no value."""
    return "–" if value is None else f"{value:.4f}"


def _side_notes(summary: Mapping[str, Any]) -> str:
    notes = []
    if summary.get("skipped"):
        count = summary["skipped"]
        notes.append(f"{count:,} bad row{'' if count == 1 else 's'} skipped")
    if summary["empty_responses"]:
        count = summary["empty_responses"]
        notes.append(f"{count:,} empty response{'' if count == 1 else 's'}")
    if summary["clusters"]:
        notes.append(f"{summary['clusters']:,} groups, resampled as clusters")
    return f" ({'; '.join(notes)})" if notes else ""


def _row(key: str, metric: Mapping[str, Any]) -> tuple[str, ...]:
    ci = metric["ci"]
    interval = f"{number(ci[0])} … {number(ci[1])}" if ci else "–"
    why = ", ".join(f"{count:,} {status}" for status, count in metric["unscored"].items())
    return key, number(metric["mean"]), interval, f"{metric['scored']:,}", why


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Columns: names and reasons to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i in (0, len(row) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _breakdown(field: str, values: Mapping[str, Any]) -> str:
    shown = list(values.items())[:_MOST_VALUES]
    keys = list(next(iter(values.values()), {}))
    head = ("by " + field, *(_shorten(name) for name, _ in shown), "")
    rows = [(k, *(number(metrics[k]["mean"]) for _, metrics in shown), "") for k in keys]
    counts = ("items", *(f"{next(iter(m.values()))['n']:,}" for _, m in shown), "")
    more = len(values) - len(shown)
    tail = f"\n… and {more} more values, in summary.json" if more else ""
    return _table([head, counts, *rows]) + tail


def _shorten(name: str, most: int = 16) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _abstention(summary: Mapping[str, Any]) -> str:
    rate = summary["abstention_rate"]
    text = f"abstention rate {number(rate)}"
    found = summary["abstention"]
    if found is None:
        return text
    counts = found["confusion"]
    rows = [
        ("", "abstained", "answered", ""),
        *(
            (f"  {kind}", f"{c['abstained']:,}", f"{c['answered']:,}", "")
            for kind, c in counts.items()
        ),
    ]
    rates = f"p_ir {number(found['p_ir'])}, p_g {number(found['p_g'])}"
    return f"{text}; {rates}\n{_table(rows)}"
