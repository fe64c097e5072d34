"""Estimates → tables: which cells are best, how dark they are, and why some are empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

from trueground.reports.validation_said import Estimate, Measure, four, measure, overall

CALIBRATION = "calibration_error"
_SHADES = 10
_NOTHING: Estimate = {"value": None, "ci": None, "why": "not measured on this set"}


@dataclass(frozen=True)
class ValidationCell:
    """One number; `shade` is 0 to 10. `note` is the letter of why it or its interval is absent."""

    value: float | None
    ci: Sequence[float] | None
    best: bool
    note: str | None
    extra: str
    shade: int


@dataclass(frozen=True)
class ValidationTable:
    """Rows of cells under columns (key, title, lower is better), and the reasons by letter."""

    columns: list[tuple[str, str, bool]]
    rows: list[tuple[str, list[ValidationCell]]]
    notes: list[tuple[str, str]]


def over_sets(raw: Mapping[str, Any], metrics: Sequence[str]) -> ValidationTable:
    """Metric × measure, mean over sets; of several sets the pooled calibration error as well."""
    names = measures(raw)
    table_of = {(m, name): overall(raw, m, name) for m in metrics for name in names}
    for m in metrics if CALIBRATION in names else ():
        chance = by_chance(raw["sets"], m)
        table_of[m, CALIBRATION] = {**table_of[m, CALIBRATION], "by_chance": chance}
    columns = [(name, measure(name).title, measure(name)) for name in names]
    pooled = raw.get("pooled") or {}
    if len(raw["sets"]) > 1 and pooled:
        told = measure(CALIBRATION)
        beside = names.index(CALIBRATION) + 1 if CALIBRATION in names else len(names)
        columns.insert(beside, ("pooled", f"{told.title}, pooled", told))
        for m in metrics:
            found = pooled.get(m) or {}
            table_of[m, "pooled"] = {
                **(found.get(CALIBRATION) or {**_NOTHING, "why": "its score is no probability"}),
                "by_chance": (found.get("by_chance") or {}).get("mean"),
            }
    of = len(raw["sets"])
    return _table(metrics, columns, lambda m, key: table_of[m, key], of)


def of_one_set(
    raw: Mapping[str, Any], of_set: Mapping[str, Any], metrics: Sequence[str]
) -> ValidationTable:
    """Metric × measure on one set."""
    columns = [(name, measure(name).title, measure(name)) for name in measures(raw)]
    return _table(metrics, columns, lambda m, name: _found(of_set, m, name), 0)


def by_set(raw: Mapping[str, Any], metrics: Sequence[str], name: str) -> ValidationTable:
    """Metric × set of one measure, with the mean first."""
    told = measure(name)
    columns = [("mean", "mean", told)]
    columns += [(str(k), str(of_set["name"]), told) for k, of_set in enumerate(raw["sets"])]

    def estimate(metric: str, key: str) -> Estimate:
        if key == "mean":
            return overall(raw, metric, name)
        return _found(raw["sets"][int(key)], metric, name)

    return _table(metrics, columns, estimate, len(raw["sets"]))


def of_estimates(
    rows: Mapping[str, Mapping[str, Estimate]], *, mark: bool = True, of: int = 0
) -> ValidationTable:
    """Any rows of estimates by measure; `mark` the best of each column. `of` sets, if means."""
    names = list(dict.fromkeys(name for found in rows.values() for name in found))
    columns = [(name, measure(name).title, measure(name)) for name in names]
    return _table(list(rows), columns, lambda row, name: rows[row].get(name, _NOTHING), of, mark)


def by_chance(sets: Sequence[Mapping[str, Any]], metric: str) -> float | None:
    """The calibration error that calibrated scores would have: the mean over sets that tell it."""
    entries = [s["metrics"][metric] for s in sets if metric in s["metrics"]]
    told = [e["calibration_by_chance"]["mean"] for e in entries if e.get("calibration_by_chance")]
    return sum(told) / len(told) if told else None


def measures(raw: Mapping[str, Any]) -> list[str]:
    """The measures of this validation, in the order in which they were measured."""
    every = (m["measures"] for s in raw["sets"] for m in s["metrics"].values())
    return list(dict.fromkeys(name for found in every for name in found))


def _table(
    metrics: Sequence[str],
    columns: Sequence[tuple[str, str, Measure]],
    estimate: Callable[[str, str], Estimate],
    of: int,
    mark: bool = True,
) -> ValidationTable:
    notes: dict[str, str] = {}
    found = {(m, key): estimate(m, key) for m in metrics for key, _, _ in columns}
    best = {
        key: _best([found[m, key] for m in metrics], told) if mark else None
        for key, _, told in columns
    }
    rows = [
        (m, [_cell(found[m, key], best[key], told, notes, of) for key, _, told in columns])
        for m in metrics
    ]
    shown = [(key, title, told.lower) for key, title, told in columns]
    return ValidationTable(shown, rows, [(letter, why) for why, letter in notes.items()])


def _cell(
    found: Estimate, best: tuple[float, int] | None, told: Measure, notes: dict[str, str], of: int
) -> ValidationCell:
    value = found["value"]
    sets, why = found.get("sets"), found.get("why")
    share = 0.0 if value is None else (value - told.low) / (told.high - told.low)
    share = min(max(share, 0.0), 1.0)
    return ValidationCell(
        value=value,
        ci=found.get("ci"),
        best=value is not None and (round(value, 4), sets or 1) == best,
        note=_noted(why, notes) if value is None or (why and not found.get("ci")) else None,
        extra=_extra(found, sets, of),
        shade=round(_SHADES * (1 - share if told.lower else share)),
    )


def _extra(found: Estimate, sets: int | None, of: int) -> str:
    """How many sets a mean is over, where not all; what chance alone would make of the number."""
    told = [f"{sets:,} of {of:,} sets"] if sets is not None and 0 < sets < of else []
    if found.get("by_chance") is not None:
        told.append(f"by chance {four(found['by_chance'])}")
    return "; ".join(told)


def _best(found: Sequence[Estimate], told: Measure) -> tuple[float, int] | None:
    """The best value of a column, to four decimals; None where there is nothing to choose.

    A mean over fewer sets is no rival of those over more: its sets may be the easier ones.
    """
    have = [e for e in found if e["value"] is not None]
    if len(found) < 2 or not have:
        return None
    most = max(int(e.get("sets") or 1) for e in have)
    values = [round(e["value"], 4) for e in have if (e.get("sets") or 1) == most]
    return (min(values) if told.lower else max(values)), most


def _found(of_set: Mapping[str, Any], metric: str, name: str) -> Estimate:
    entry = of_set["metrics"].get(metric)
    found: Estimate = entry["measures"].get(name, _NOTHING) if entry else _NOTHING
    return {**found, "by_chance": by_chance([of_set], metric)} if name == CALIBRATION else found


def _noted(why: str | None, notes: dict[str, str]) -> str:
    """The letter of a reason; a new reason gets the next one."""
    return notes.setdefault(why or "no reason is given", _letter(len(notes)))


def _letter(number: int) -> str:
    first, last = divmod(number, len(ascii_lowercase))
    return (ascii_lowercase[first - 1] if first else "") + ascii_lowercase[last]
