"""People against people: what one annotator reaches, and which of two answers they prefer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.reports.validation_said import PAIRS_FIRST, Estimate
from trueground.reports.validation_tables import Table, of_estimates

MEAN = "mean of the annotators"


def ceiling(of_set: Mapping[str, Any]) -> Table | None:
    """Annotator × measure of one set, the mean last; None where there are no annotators."""
    found = of_set.get("ceiling")
    if not found:
        return None
    rows: dict[str, dict[str, Estimate]] = {}
    for number, one in enumerate(found.get("annotators") or (), 1):
        name = str(one.get("annotator") or one.get("name") or f"annotator {number}")
        rows[name] = estimates(one)
    if average := estimates(found.get("mean") or {}):
        rows[MEAN] = average
    return of_estimates(rows, mark=False) if any(rows.values()) else None


def preferences(raw: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Table]]:
    """Metric × measure for each set of pairs, best first."""
    found = []
    for one in raw.get("preferences") or ():
        rows = {metric: estimates(entry) for metric, entry in one["metrics"].items()}
        values = {m: (e.get(PAIRS_FIRST) or {}).get("value") for m, e in rows.items()}
        order = sorted(rows, key=lambda m: (values[m] is None, -(values[m] or 0.0)))
        found.append((one, of_estimates({m: rows[m] for m in order})))
    return found


def estimates(entry: Mapping[str, Any]) -> dict[str, Estimate]:
    """The estimates of an entry by measure, whether they stand in it or one level below."""
    inner = entry.get("measures") or entry.get("estimates") or entry
    return {k: e for k, e in inner.items() if isinstance(e, Mapping) and "value" in e}
