"""People against people: what one annotator reaches, and which of two answers they prefer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.reports.validation_said import PAIRS_FIRST, Estimate
from trueground.reports.validation_tables import ValidationTable, of_estimates

MEAN = "mean of the annotators"


def ceiling(of_set: Mapping[str, Any]) -> ValidationTable | None:
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


def nothing(of_set: Mapping[str, Any]) -> str | None:
    """Why no annotator can be held against the rest, where that is so; else None."""
    found = of_set.get("ceiling")
    if not found:
        return None
    every = [estimates(one) for one in (*found["annotators"], found["mean"])]
    told = [one for each in every for one in each.values()]
    if any(one["value"] is not None for one in told):
        return None
    mean = estimates(found["mean"]).values()
    return next((str(one["why"]) for one in mean if one.get("why")), "there is nothing to compare")


def people(raw: Mapping[str, Any]) -> list[tuple[str, ValidationTable | None, str | None]]:
    """(name, table, why there is none) of each set with annotators, those of pairs too."""
    named = [(str(s["name"]), s) for s in raw["sets"]]
    named += [(str(s["set"]), s) for s in raw.get("preferences") or ()]
    return [
        (name, None if (why := nothing(one)) else found, why)
        for name, one in named
        if (found := ceiling(one))
    ]


def over_pairs(raw: Mapping[str, Any]) -> ValidationTable | None:
    """Metric × measure, mean over several sets of pairs, best first; None of a single one."""
    sets = raw.get("preferences") or ()
    if len(sets) < 2:
        return None
    rows = {metric: estimates(entry) for metric, entry in raw["mean"].items()}
    return of_estimates(_best_first(rows), of=len(sets))


def preferences(raw: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], ValidationTable]]:
    """Metric × measure for each set of pairs, best first."""
    found = []
    for one in raw.get("preferences") or ():
        rows = {metric: estimates(entry) for metric, entry in one["metrics"].items()}
        found.append((one, of_estimates(_best_first(rows))))
    return found


def _best_first(rows: Mapping[str, dict[str, Estimate]]) -> dict[str, dict[str, Estimate]]:
    values = {m: (e.get(PAIRS_FIRST) or {}).get("value") for m, e in rows.items()}
    order = sorted(rows, key=lambda m: (values[m] is None, -(values[m] or 0.0)))
    return {m: rows[m] for m in order}


def estimates(entry: Mapping[str, Any]) -> dict[str, Estimate]:
    """The estimates of an entry by measure, whether they stand in it or one level below."""
    inner = entry.get("measures") or entry.get("estimates") or entry
    return {k: e for k, e in inner.items() if isinstance(e, Mapping) and "value" in e}
