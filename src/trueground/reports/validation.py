"""A validation as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.reports.terminal import table

Entry = Mapping[str, Any]
_MOST_METRICS = 6
_MOST_WORST = 3
_WIDTH = 96
_HEADS = {
    "auroc": "AUROC",
    "spearman": "rho",
    "balanced_accuracy": "bal.acc",
    "balanced_accuracy_best": "best",
    "matthews": "MCC",
    "cohen_kappa": "kappa",
    "calibration_error": "cal.err",
    "false_negative_rate": "FN",
    "false_positive_rate": "FP",
}
_CEILING = ("auroc", "spearman", "balanced_accuracy", "cohen_kappa")
_PAIRS = {"sign_agreement": "sign", "accuracy": "no ties", "spearman": "rho", "kendall": "tau"}


def render(raw: Mapping[str, Any], out: Path | None = None) -> str:
    """Metrics by their AUROC, sets one by one, the worst disagreements of the best metric."""
    blocks = [_head(raw)]
    sets = raw["sets"]
    if sets:
        blocks.append(_metrics(raw))
        if len(sets) > 1:
            blocks.append(_by_set(raw))
        blocks += [_ceiling(one) for one in sets if one["ceiling"]]
        blocks += filter(None, [_worst(raw)])
    blocks += [_pairs(one, raw["ci_level"]) for one in raw["preferences"] or ()]
    if raw["notes"]:
        blocks.append("\n".join(f"note: {note}" for note in raw["notes"]))
    if out is not None:
        blocks.append(f"out    {out}")
    return "\n\n".join(blocks)


def best_first(raw: Mapping[str, Any]) -> list[str]:
    """The metrics by their mean AUROC, those that have it in more sets first."""

    def place(item: tuple[str, Entry]) -> tuple[int, float]:
        found = item[1]["auroc"]
        return -found["sets"], -(found["value"] or 0.0)

    return [key for key, _ in sorted(raw["mean"].items(), key=place)]


def _head(raw: Mapping[str, Any]) -> str:
    sets = raw["sets"]
    if not sets:
        n = sum(one["n"] for one in raw["preferences"] or ())
        return f"{n:,} pairs, label {raw['label']!r}"
    n, positives = sum(one["n"] for one in sets), sum(one["positives"] for one in sets)
    name = sets[0]["name"] if len(sets) == 1 else f"{len(sets)} sets"
    lines = [f"{name}, label {raw['label']!r}: {n:,} records, {positives / n:.0%} positive"]
    if len(sets) == 1:
        lines[0] += _unused(sets[0])
        if sets[0]["groups"] is not None:
            lines[0] += f"; {sets[0]['groups']:,} groups taken as clusters"
    if raw["judge"] is not None:
        lines.append(f"judge  {raw['judge']}")
    return "\n".join(lines)


def _unused(one: Entry) -> str:
    return "".join(f", {count:,} {why}" for why, count in one["unused"].items())


def _metrics(raw: Mapping[str, Any]) -> str:
    """One line a metric; of several sets their unweighted mean."""
    several = len(raw["sets"]) > 1
    level = f"{raw['ci_level']:.0%} interval"
    first, *rest = _HEADS
    counted = "sets" if several else "scored"
    rows = [
        ("metric", counted, "of all", _HEADS[first], level, *(_HEADS[name] for name in rest), "")
    ]
    for key in best_first(raw):
        found = raw["mean"][key]
        only = raw["sets"][0]["metrics"].get(key) if not several else None
        counts = found[first]["sets"] if only is None else only["n"]
        numbers = (_three(found[name]["value"]) for name in rest)
        row = (
            key,
            f"{counts:,}",
            _coverage(raw, key),
            _three(found[first]["value"]),
            _interval(found[first]["ci"]),
        )
        rows.append((*row, *numbers, ""))
    told = "means over the sets that have it; " if several else ""
    return (
        f"{table(rows)}\n{told}of all: share of records with a score; verdicts at "
        f"{raw['threshold']:g};\nbest: balanced accuracy at the threshold that suits these labels "
        "best"
    )


def _coverage(raw: Mapping[str, Any], key: str) -> str:
    """The share of the labelled records that has a score, in the sets in which any has one."""
    sets = [one for one in raw["sets"] if key in one["metrics"]]
    share = sum(one["metrics"][key]["n"] for one in sets) / sum(one["n"] for one in sets)
    return f"{share:.1%}"


def _by_set(raw: Mapping[str, Any]) -> str:
    """AUROC set by set of the metrics that have the highest mean."""
    keys = best_first(raw)[:_MOST_METRICS]
    rows = [("AUROC by set", "records", "positive", *keys, "")]
    for one in raw["sets"]:
        found = (one["metrics"].get(key) for key in keys)
        cells = ("–" if e is None else _three(e["measures"]["auroc"]["value"]) for e in found)
        share = f"{one['positives'] / one['n']:.0%}"
        rows.append((one["name"], f"{one['n']:,}", share, *cells, ""))
    more = len(raw["mean"]) - len(keys)
    return table(rows) + (f"\n… and {more} more metrics, in the JSON output" if more > 0 else "")


def _ceiling(one: Entry) -> str:
    """One annotator against the rest."""
    names = {**{name: _HEADS[name] for name in _CEILING}, "raw_agreement": "agree"}
    rows = [(f"{one['name']}: one against the rest", *names.values(), "")]
    for each in one["ceiling"]["annotators"]:
        found = each["measures"]
        rows.append((each["annotator"], *(_three(found[name]["value"]) for name in names), ""))
    mean = one["ceiling"]["mean"]
    rows.append(("mean", *(_three(mean[name]["value"]) for name in names), ""))
    return table(rows)


def _worst(raw: Mapping[str, Any]) -> str | None:
    """What to read first: the best metric's most confident mistakes, over all sets."""
    for key in best_first(raw):
        found = [
            (-abs(item["score"] - raw["threshold"]), place, one["name"], item)
            for one in raw["sets"]
            if key in one["metrics"]
            for place, item in enumerate(one["metrics"][key]["worst"])
        ]
        if not found:
            continue
        found.sort(key=lambda each: each[:2])  # of equals the first of each set before its second
        lines = [f"{key} against the label, most confident first"]
        for _, _, name, item in found[:_MOST_WORST]:
            where = f"{name} {item['id']}" if len(raw["sets"]) > 1 else item["id"]
            lines.append(f"  {where}: score {item['score']:.3f}, label {item['label']:g}")
            lines.append(f"    {_short(item['response'])}")
            lines += [f"    {_short(reason)}" for reason in item["reasons"][:1]]
        return "\n".join(lines)
    return None


def _pairs(one: Entry, level: float) -> str:
    """How far metrics prefer what people prefer, the highest agreement of signs first."""
    first, *rest = _PAIRS
    rows = [
        ("metric", "pairs", _PAIRS[first], f"{level:.0%} interval", *(_PAIRS[r] for r in rest), "")
    ]

    def place(item: tuple[str, Entry]) -> float:
        return -(item[1][first]["value"] or 0.0)

    for key, found in sorted(one["metrics"].items(), key=place):
        numbers = (_three(found[name]["value"]) for name in rest)
        told = (_three(found[first]["value"]), _interval(found[first]["ci"]))
        rows.append((key, f"{found[first]['n']:,}", *told, *numbers, ""))
    ties = "1 tie" if one["ties"] == 1 else f"{one['ties']:,} ties"
    head = f"{one['set']}: {one['n']:,} pairs, {ties}{_unused(one)}"
    return (
        f"{head}\n\n{table(rows)}\nsign: the metric prefers what people prefer, its ties count "
        "half; no ties: over those that are none"
    )


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"[{ends[0]:.3f}, {ends[1]:.3f}]"
