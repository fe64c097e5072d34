"""People against people, and which of two answers they prefer, as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.reports.terminal import table
from trueground.reports.validation_cells import HEADS, interval, three, unused

Entry = Mapping[str, Any]
_CEILING = ("auroc", "spearman", "balanced_accuracy", "cohen_kappa")
_CEILING_HEADS = {**{name: HEADS[name] for name in _CEILING}, "raw_agreement": "agree"}
_PAIRS = {"sign_agreement": "sign", "accuracy": "no ties", "spearman": "rho", "kendall": "tau"}


def ceiling(name: str, found: Entry, heads: Mapping[str, str] = _CEILING_HEADS) -> str:
    """One annotator against the rest; why there is no number where there is none."""
    head, mean = f"{name}: one against the rest", found["mean"]
    rows = [*found["annotators"], {"annotator": "mean", "measures": mean}]
    if not any(one["measures"][key]["value"] is not None for one in rows for key in heads):
        why = next((mean[key]["why"] for key in heads if mean[key]["why"]), "nothing to compare")
        return f"{head}: no number, for {why}"
    lines = [
        (one["annotator"], *(three(one["measures"][key]["value"]) for key in heads), "")
        for one in rows
    ]
    return table([(head, *heads.values(), ""), *lines])


def pairs(raw: Entry) -> list[str]:
    """How far metrics prefer what people prefer: mean over sets, each set, its annotators."""
    found, blocks = raw["preferences"] or (), []
    if len(found) > 1:
        told = f"mean over {len(found)} sets, each counting as much"
        blocks.append(_table(told, raw["mean"], "sets", raw["ci_level"]))
    for one in found:
        ties = "1 tie" if one["ties"] == 1 else f"{one['ties']:,} ties"
        head = f"{one['set']}: {one['n']:,} pairs, {ties}{unused(one)}"
        blocks.append(_table(head, one["metrics"], "pairs", raw["ci_level"]))
        if one["ceiling"]:
            blocks.append(ceiling(one["set"], one["ceiling"], _PAIRS))
    if found:
        blocks.append(
            "sign: the metric prefers what people prefer, its ties count half; no ties: over those "
            "that are none"
        )
    return blocks


def _table(head: str, metrics: Mapping[str, Entry], counted: str, level: float) -> str:
    """One line a metric, the highest agreement of signs first."""
    first, *rest = _PAIRS
    rows = [
        ("metric", counted, _PAIRS[first], f"{level:.0%} interval", *(_PAIRS[r] for r in rest), "")
    ]

    def place(item: tuple[str, Entry]) -> float:
        return -(item[1][first]["value"] or 0.0)

    for key, found in sorted(metrics.items(), key=place):
        numbers = (three(found[name]["value"]) for name in rest)
        told = (three(found[first]["value"]), interval(found[first]["ci"]))
        n = found[first]["sets" if counted == "sets" else "n"]
        rows.append((key, f"{n:,}", *told, *numbers, ""))
    return f"{head}\n\n{table(rows)}"
