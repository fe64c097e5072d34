"""Correlations printed in the papers beside ours, which are of other labels."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from training.trust.measuring import LeftOut
from training.trust.tables import NONE, Raw, grid, number, plain

_FILE = Path(__file__).with_name("papers.toml")
_MEASURES = ("spearman", "kendall")


class Printed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of a paper's table, times 100 as there; `metric` is ours, "" where we have none."""

    name: str
    metric: str = ""
    spearman: float | None = None
    kendall: float | None = None


def printed() -> dict[str, list[Printed]]:
    """The tables of papers.toml, by label."""
    table = tomllib.loads(_FILE.read_text("utf-8"))
    return msgspec.convert(table, dict[str, list[Printed]])


def correct(raw: Raw) -> str:
    """Table 3 of Adlakha et al. beside ours of the sets of answers."""
    sets = raw["sets"]
    rows = []
    for one in printed()["correct"]:
        cells = [_ours(found["metrics"], one.metric) for found in sets]
        if one.spearman is not None or any(cell != NONE for cell in cells):
            rows.append((*_theirs(one), *cells))
    head = ("in the paper", "metric", "paper ρ / τ", *(f"`{found['name']}`" for found in sets))
    return grid(head, rows, 2)


def faithful(raw: Raw, left_out: LeftOut) -> str:
    """Table 5 of Adlakha et al. beside ours: mean over the sets, lowest and highest."""
    rows, sets = [], len(raw["sets"])
    for one in printed()["faithful"]:
        own = [found["metrics"].get(one.metric, {}).get("measures") for found in raw["sets"]]
        if one.metric == "support":
            own, mean = list(left_out.sets.values()), left_out.mean
        else:
            mean = raw["mean"].get(one.metric, {})
        known = [m["spearman"]["value"] for m in own if m and m["spearman"]["value"] is not None]
        reach = f"{_hundred(min(known))} … {_hundred(max(known))}" if known else NONE
        name, metric, theirs = _theirs(one)
        label = f"{metric}, left out" if one.metric == "support" else metric
        few = f" ({len(known)} sets)" if 0 < len(known) < sets else ""
        rows.append((name, label, theirs, _both(mean) + few, reach))
    head = ("in the paper", "metric", "paper ρ / τ", f"ours ρ / τ, mean of {sets} sets")
    return grid((*head, "ours ρ, lowest … highest set"), rows, 2)


def _theirs(one: Printed) -> tuple[str, str, str]:
    metric = f"`{one.metric}`" if one.metric else NONE
    if one.spearman is None or one.kendall is None:
        return one.name or NONE, metric, NONE
    return one.name, metric, f"{_shown(one.spearman)} / {_shown(one.kendall)}"


def _ours(entries: Raw, metric: str) -> str:
    found = next((entries[key] for key in entries if plain(key) == metric), None)
    return NONE if found is None else _both(found["measures"])


def _both(found: Mapping[str, Any]) -> str:
    cells = [number(_times(found.get(name)), 1, ci=False) for name in _MEASURES]
    return NONE if NONE in cells else " / ".join(cells)


def _times(found: Raw | None) -> Raw | None:
    if found is None or found["value"] is None:
        return None
    return {"value": 100 * found["value"]}


def _hundred(value: float) -> str:
    return _shown(100 * value)


def _shown(value: float) -> str:
    return number({"value": value}, 1, ci=False)
