"""A validation as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from trueground.reports.terminal import table
from trueground.reports.validation_cells import HEADS, cells, interval, three, unused, verdict
from trueground.reports.validation_people_text import ceiling, pairs
from trueground.reports.validation_tables import by_chance

Entry = Mapping[str, Any]
_MOST_METRICS = 6
_MOST_WORST = 3
_WIDTH = 96


def render(raw: Mapping[str, Any], out: Path | None = None) -> str:
    """Metrics by their AUROC, sets one by one, the worst disagreements of the best metric."""
    blocks = [_head(raw)]
    sets = raw["sets"]
    if sets:
        blocks.append(_metrics(raw))
        if len(sets) > 1:
            blocks.append(_by_set(raw))
        blocks += [ceiling(one["name"], one["ceiling"]) for one in sets if one["ceiling"]]
        blocks += filter(None, [_worst(raw)])
    blocks += pairs(raw)
    blocks += map(_published, raw["published"])
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
        lines[0] += unused(sets[0])
        lines[0] += f"; people say {sets[0]['people_mean']:.4f} on average"
        if sets[0]["groups"] is not None:
            lines[0] += f"; {sets[0]['groups']:,} groups taken as clusters"
    if raw["judge"] is not None:
        lines.append(f"judge  {raw['judge']}")
    return "\n".join(lines)


def _metrics(raw: Mapping[str, Any]) -> str:
    """One line a metric; of several sets their unweighted mean."""
    several = len(raw["sets"]) > 1
    level = f"{raw['ci_level']:.0%} interval"
    first, *rest = HEADS
    counted = "sets" if several else "scored"
    rows = [
        (
            "metric",
            counted,
            "of all",
            "mean",
            HEADS[first],
            level,
            *(HEADS[name] for name in rest),
            "",
        )
    ]
    uneven = False
    for key in best_first(raw):
        found = raw["mean"][key]
        only = raw["sets"][0]["metrics"].get(key) if not several else None
        counts = found[first]["sets"] if only is None else only["n"]
        numbers = [three(found[name]["value"]) for name in rest]
        if several:  # a mean over fewer sets, or over more, than that of the AUROC
            numbers = [_of_sets(found[name], counts) for name in rest]
        uneven |= any("/" in number for number in numbers)
        row = (
            key,
            f"{counts:,}",
            _coverage(raw, key),
            three(_mean_of(raw, key)),
            three(found[first]["value"]),
            interval(found[first]["ci"]),
        )
        rows.append((*row, *numbers, ""))
    told = "means over the sets that have it; " if several else ""
    if uneven:
        told += "a number after / is how many sets have it\nwhere they are not those of the AUROC; "
    return (
        f"{table(rows)}\n{told}of all: share of records with a score; verdict: "
        f"{verdict(raw)};\nbest: balanced accuracy at the threshold that suits these labels "
        f"best{_chance(raw)}"
    )


def _chance(raw: Mapping[str, Any]) -> str:
    """What the calibration error of the first metric would be by chance alone."""
    for key in best_first(raw):
        if (value := by_chance(raw["sets"], key)) is not None:
            return f";\ncal.err: {three(value)} by chance alone, were {key} calibrated"
    return ""


def _of_sets(found: Entry, counts: int) -> str:
    """A mean, with the number of sets behind it where that is not `counts`."""
    same = found["value"] is None or found["sets"] == counts
    return three(found["value"]) + ("" if same else f"/{found['sets']}")


def _coverage(raw: Mapping[str, Any], key: str) -> str:
    """The share of the labelled records that has a score, in the sets in which any has one."""
    sets = [one for one in raw["sets"] if key in one["metrics"]]
    share = sum(one["metrics"][key]["n"] for one in sets) / sum(one["n"] for one in sets)
    return f"{share:.1%}"


def _published(told: Entry) -> str:
    """One table of a paper: its numbers, and in brackets those of this validation."""
    measures = list(dict.fromkeys(name for row in told["rows"] for name in row["paper"]))
    rows = [
        (row["name"] + (f" ({row['judge']})" if row["judge"] else ""), *cells(row, measures), "")
        for row in told["rows"]
    ]
    head = f"{told['benchmark']}, {told['place']}\n{told['source']}; in brackets: here\n"
    return head + table([("printed", *(name.replace("_", " ") for name in measures), ""), *rows])


def _mean_of(raw: Mapping[str, Any], key: str) -> float:
    """A metric's mean over the scored records; of several sets the mean of these."""
    return fmean(one["metrics"][key]["mean"] for one in raw["sets"] if key in one["metrics"])


def _by_set(raw: Mapping[str, Any]) -> str:
    """AUROC and mean set by set of the metrics that have the highest AUROC."""
    keys = best_first(raw)[:_MOST_METRICS]
    rows = [("AUROC by set", "records", "positive", *keys, "")]
    means = [("mean by set", "records", "people", *keys, "")]
    for one in raw["sets"]:
        found = [one["metrics"].get(key) for key in keys]
        cells = ("–" if e is None else three(e["measures"]["auroc"]["value"]) for e in found)
        own = ("–" if e is None else three(e["mean"]) for e in found)
        share = f"{one['positives'] / one['n']:.0%}"
        rows.append((one["name"], f"{one['n']:,}", share, *cells, ""))
        means.append((one["name"], f"{one['n']:,}", three(one["people_mean"]), *own, ""))
    more = len(raw["mean"]) - len(keys)
    return (
        table(rows)
        + "\n\n"
        + table(means)
        + (f"\n… and {more} more metrics, in the JSON output" if more > 0 else "")
    )


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


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
