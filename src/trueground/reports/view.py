"""summary.json and manifest.json → what the page's template shows. No file is read here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.reports.charts import (
    ChartScale,
    Distribution,
    Interval,
    distribution,
    interval,
    scale_for,
)
from trueground.reports.leaderboard.runs import REPEAT
from trueground.reports.manifest import asked, input_names, notices, refusal_rules, signatures
from trueground.reports.verdicts import judges
from trueground.types import Status

VALUES_SHOWN = 30
SKIPPED_SHOWN = 200

STATUS_WORDS = {
    Status.SCORED: "scored",
    Status.ABSTAINED: "declined to answer",
    Status.NO_CLAIMS: "nothing to check",
    Status.MISSING_FIELD: "a needed field is missing",
    Status.TOO_LONG: "too long for the window",
    Status.UNPARSEABLE: "no verdict in the judge's reply",
    Status.TRUNCATED: "reply cut at the token limit",
    Status.ERROR: "the call failed",
    Status.NOT_APPLICABLE: "does not apply",
}

_ABSTENTION_WORDS = {
    "p_ir": "declines where the context does not hold the answer (higher is better)",
    "p_g": "declines where the context holds the answer (lower is better)",
    "precision": "precision of declining",
    "recall": "recall of declining",
    "f1": "F1 of declining",
}


@dataclass(frozen=True)
class MetricRow:
    """One mean with its interval and its coverage, in words and in positions.

    `spread` is the standard deviation over repeats, or over the values that an average is of.
    """

    name: str
    mean: str
    ci: str
    drawing: Interval | None
    scored: str
    why_not: list[str]
    spread: str = ""


@dataclass(frozen=True)
class Breakdown:
    """One metric by the values of one field; `more` says what is left out."""

    field: str
    metric: str
    rows: list[MetricRow]
    scale: ChartScale
    more: str | None
    average: MetricRow | None = None


def number(value: float | None) -> str:
    """Four decimals, or a dash for no value."""
    return "–" if value is None else f"{value:.4f}"


def row(name: str, entry: dict[str, Any], scale: ChartScale) -> MetricRow:
    """One entry of the summary as a row."""
    ci = entry.get("ci")
    unscored = {k: v for k, v in (entry.get("unscored") or {}).items() if v}
    total = entry.get("n")
    scored = entry.get("scored")
    return MetricRow(
        name=name,
        mean=number(entry.get("mean")),
        ci=f"{ci[0]:.4f} to {ci[1]:.4f}" if ci else "",
        drawing=interval(entry, scale),
        scored="" if scored is None or total is None else f"{scored:,} of {total:,}",
        why_not=[f"{count:,}: {STATUS_WORDS.get(k, k)}" for k, count in unscored.items()],
        spread="" if entry.get("sd") is None else f"± {number(entry['sd'])}",
    )


def repeated(name: str, averages: Mapping[str, Mapping[str, Any]]) -> str:
    """How far the means of repeated answers lie apart, as papers report it."""
    entry = averages.get(REPEAT, {}).get(name) or {}
    if entry.get("sd") is None:
        return ""
    return f"± {number(entry['sd'])} over {entry['values']} repeats"


def breakdowns(
    by: dict[str, dict[str, dict[str, Any]]],
    averages: dict[str, dict[str, dict[str, Any]]],
    scales: dict[str, ChartScale],
) -> list[Breakdown]:
    """Every field with every metric, the most frequent VALUES_SHOWN values of each field."""
    found = []
    for field, values in by.items():
        kept = _most_frequent(values)
        more = None
        if len(kept) < len(values):
            more = f"{len(kept)} of {len(values):,} values: those with the most answers."
        for metric, scale in scales.items():
            rows = [row(v, values[v][metric], scale) for v in kept if metric in values[v]]
            if any(r.drawing for r in rows):
                entry = averages.get(field, {}).get(metric)
                average = row(_average_name(entry), entry, scale) if entry else None
                found.append(Breakdown(field, metric, rows, scale, more, average))
    return found


def _average_name(entry: dict[str, Any]) -> str:
    """`average of 10`; where nothing was scored in some values, of how many."""
    values, of = entry["values"], entry.get("of", entry["values"])
    return f"average of {values}" + (f" of {of}" if of > values else "")


def _most_frequent(values: dict[str, dict[str, Any]]) -> list[str]:
    """The names of the most frequent values, in the order of the summary."""

    def count(name: str) -> int:
        return max((entry.get("n") or 0 for entry in values[name].values()), default=0)

    kept = set(sorted(values, key=count, reverse=True)[:VALUES_SHOWN])
    return [name for name in values if name in kept]


def abstention(summary: dict[str, Any]) -> dict[str, Any] | None:
    """The abstention box: the rate, named rates in words, and the confusion table's rows."""
    if summary.get("abstention_rate") is None:
        return None
    found = summary.get("abstention") or {}
    confusion: dict[str, dict[str, int]] = found.get("confusion") or {}
    columns = list(dict.fromkeys(name for cells in confusion.values() for name in cells))
    return {
        "rate": f"{summary['abstention_rate']:.1%}",
        "rates": [
            (name, words, number(found[name]))
            for name, words in _ABSTENTION_WORDS.items()
            if name in found
        ],
        "rules": refusal_rules(summary),
        "columns": columns,
        "confusion": [
            (name, [f"{cells.get(column, 0):,}" for column in columns])
            for name, cells in confusion.items()
        ],
    }


def page_view(
    summary: dict[str, Any], manifest: dict[str, Any], scores: Mapping[str, NDArray[np.float32]]
) -> dict[str, Any]:
    """Everything that the template shows above the list of items."""
    metrics, averages = summary.get("metrics") or {}, summary.get("averages") or {}
    scales: dict[str, ChartScale] = {}
    spreads: list[Distribution | None] = []
    for name, entry in metrics.items():  # one column in memory at a time
        column = scores.get(name)
        values = None if column is None else column[~np.isnan(column)]
        scales[name] = scale_for(values, entry)
        if values is not None:
            spreads.append(distribution(name, values, scales[name]))
    tables = breakdowns(summary.get("by") or {}, averages, scales)
    rows = [
        replace(row(name, entry, scales[name]), spread=repeated(name, averages))
        for name, entry in metrics.items()
    ]
    return {
        "n": summary.get("n", 0),
        "notices": notices(manifest),
        "run_level": [name for name in metrics if scores and name not in scores],
        "inputs": input_names(manifest.get("input")),
        "asked": asked(manifest),
        "judges": judges(manifest),
        "version": manifest.get("trueground"),
        "resamples": manifest.get("resamples"),
        "clusters": summary.get("clusters"),
        "seed": manifest.get("seed"),
        "signatures": signatures(manifest),
        "rows": list(zip(rows, scales.values(), strict=True)),
        "levels": sorted({e["ci_level"] for e in metrics.values() if e.get("ci_level")}),
        "distributions": [spread for spread in spreads if spread],
        "breakdowns": tables,
        "breakdown_metrics": list(dict.fromkeys(table.metric for table in tables)),
        "fields": list(dict.fromkeys(table.field for table in tables)),
        "abstention": abstention(summary),
        "empty_responses": summary.get("empty_responses") or 0,
        "skipped": summary.get("skipped") or len(summary.get("skipped_rows") or []),
        "skipped_rows": (summary.get("skipped_rows") or [])[:SKIPPED_SHOWN],
    }
