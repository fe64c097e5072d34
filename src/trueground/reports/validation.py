"""A validation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from trueground.reports.terminal import number, table

Entry = Mapping[str, Any]
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
_OF_PEOPLE = ("auroc", "spearman", "balanced_accuracy", "cohen_kappa")
_CEILING = {**{name: _HEADS[name] for name in _OF_PEOPLE}, "raw_agreement": "agree"}
_PAIRS = {"sign_agreement": "sign", "accuracy": "no ties", "spearman": "rho", "kendall": "tau"}
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
        blocks += [_ceiling(s["name"], s["ceiling"], _CEILING) for s in sets if s["ceiling"]]
        blocks += filter(None, [_worst(raw)])
    blocks += _pairs(raw)
    blocks += map(_published, raw["published"])
    if raw["notes"]:
        blocks.append("\n".join(f"note: {note}" for note in raw["notes"]))
    if out is not None:
        blocks.append(f"out    {out}")
    return "\n\n".join(blocks)


def best_first(mean: Mapping[str, Entry], measure: str = "auroc") -> list[str]:
    """The metrics by their mean, those that have it in more sets first."""
    found = {key: entry[measure] for key, entry in mean.items()}
    return sorted(found, key=lambda key: (-found[key]["sets"], -(found[key]["value"] or 0.0)))


def by_chance(sets: Sequence[Entry], metric: str) -> float | None:
    """The calibration error that calibrated scores would have: the mean over sets that tell it."""
    entries = [one["metrics"][metric] for one in sets if metric in one["metrics"]]
    told = [e["calibration_by_chance"]["mean"] for e in entries if e.get("calibration_by_chance")]
    return fmean(told) if told else None


def format_verdict(raw: Entry) -> str:
    """Which scores are a yes."""
    return f"score {raw['verdict'].replace('-', ' ')} {raw['threshold']:g}"


def beside_papers(told: Entry) -> tuple[list[str], list[tuple[str, str, list[str]]]]:
    """The measures of a paper's table; for each row its name, its judge, and for each measure the
    paper's number with that of this validation in brackets.
    """
    measures = list(dict.fromkeys(name for row in told["rows"] for name in row["paper"]))
    rows = []
    for row in told["rows"]:
        paper, here = row["paper"], row["here"]
        cells = [
            f"{number(paper[name])} ({number(here.get(name))})" if name in paper else ""
            for name in measures
        ]
        rows.append((row["name"], row["judge"] or "", cells))
    return measures, rows


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"[{ends[0]:.3f}, {ends[1]:.3f}]"


def _unused(one: Entry) -> str:
    """The records of a set that were not measured, with why."""
    return "".join(f", {count:,} {why}" for why, count in one["unused"].items())


def _head(raw: Entry) -> str:
    sets = raw["sets"]
    if not sets:
        n = sum(one["n"] for one in raw["preferences"] or ())
        return f"{n:,} pairs, label {raw['label']!r}"
    n, positives = sum(one["n"] for one in sets), sum(one["positives"] for one in sets)
    name = sets[0]["name"] if len(sets) == 1 else f"{len(sets)} sets"
    lines = [f"{name}, label {raw['label']!r}: {n:,} records, {positives / n:.0%} positive"]
    if len(sets) == 1:
        lines[0] += f"{_unused(sets[0])}; people say {sets[0]['people_mean']:.4f} on average"
        if sets[0]["groups"] is not None:
            lines[0] += f"; {sets[0]['groups']:,} groups taken as clusters"
    if raw["judge"] is not None:
        lines.append(f"judge  {raw['judge']}")
    return "\n".join(lines)


def _metrics(raw: Entry) -> str:
    """One line a metric; of several sets their unweighted mean."""
    sets = raw["sets"]
    several = len(sets) > 1
    first, *rest = _HEADS
    heads = (_HEADS[first], f"{raw['ci_level']:.0%} interval", *(_HEADS[name] for name in rest))
    rows = [("metric", "sets" if several else "scored", "of all", "mean", *heads, "")]
    order = best_first(raw["mean"])
    uneven = False
    for key in order:
        found = raw["mean"][key]
        having = [one for one in sets if key in one["metrics"]]
        own = [one["metrics"][key] for one in having]
        coverage = sum(one["n"] for one in own) / sum(one["n"] for one in having)
        counts = found[first]["sets"] if several else own[0]["n"]
        numbers = [_three(found[name]["value"]) for name in rest]
        if several:  # a mean over fewer sets, or over more, than that of the AUROC
            numbers = [_of_sets(found[name], counts) for name in rest]
        uneven |= any("/" in shown for shown in numbers)
        mean = _three(fmean(one["mean"] for one in own))
        lead = (_three(found[first]["value"]), _interval(found[first]["ci"]))
        rows.append((key, f"{counts:,}", f"{coverage:.1%}", mean, *lead, *numbers, ""))
    told = "means over the sets that have it; " if several else ""
    if uneven:
        told += "a number after / is how many sets have it\nwhere they are not those of the AUROC; "
    chances = ((key, by_chance(sets, key)) for key in order)
    key, chance = next((one for one in chances if one[1] is not None), ("", None))
    calibrated = f";\ncal.err: {_three(chance)} by chance alone, were {key} calibrated"
    return (
        f"{table(rows)}\n{told}of all: share of records with a score; verdict: "
        f"{format_verdict(raw)};\nbest: balanced accuracy at the threshold that suits these labels "
        f"best{'' if chance is None else calibrated}"
    )


def _of_sets(found: Entry, counts: int) -> str:
    """A mean, with the number of sets behind it where that is not `counts`."""
    same = found["value"] is None or found["sets"] == counts
    return _three(found["value"]) + ("" if same else f"/{found['sets']}")


def _published(told: Entry) -> str:
    measures, rows = beside_papers(told)
    head = f"{told['benchmark']}, {told['place']}\n{told['source']}; in brackets: here\n"
    lines = [(f"{name} ({judge})" if judge else name, *cells, "") for name, judge, cells in rows]
    return head + table([("printed", *(name.replace("_", " ") for name in measures), ""), *lines])


def _by_set(raw: Entry) -> str:
    """AUROC and mean set by set of the metrics that have the highest AUROC."""
    keys = best_first(raw["mean"])[:_MOST_METRICS]
    rows = [("AUROC by set", "records", "positive", *keys, "")]
    means = [("mean by set", "records", "people", *keys, "")]
    for one in raw["sets"]:
        found = [one["metrics"].get(key) for key in keys]
        areas = (_three(e and e["measures"]["auroc"]["value"]) for e in found)
        own = (_three(e and e["mean"]) for e in found)
        lead = (one["name"], f"{one['n']:,}")
        rows.append((*lead, f"{one['positives'] / one['n']:.0%}", *areas, ""))
        means.append((*lead, _three(one["people_mean"]), *own, ""))
    more = len(raw["mean"]) - len(keys)
    tail = f"\n… and {more} more metrics, in the JSON output" if more > 0 else ""
    return f"{table(rows)}\n\n{table(means)}{tail}"


def _worst(raw: Entry) -> str | None:
    """What to read first: the best metric's most confident mistakes, over all sets."""
    for key in best_first(raw["mean"]):
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
            lines += [f"    {_short(text)}" for text in (item["response"], *item["reasons"][:1])]
        return "\n".join(lines)
    return None


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _ceiling(name: str, found: Entry, heads: Mapping[str, str]) -> str:
    """One annotator against the rest; why there is no number where there is none."""
    head, mean = f"{name}: one against the rest", found["mean"]
    rows = [*found["annotators"], {"annotator": "mean", "measures": mean}]
    if not any(one["measures"][key]["value"] is not None for one in rows for key in heads):
        why = next((mean[key]["why"] for key in heads if mean[key]["why"]), "nothing to compare")
        return f"{head}: no number, for {why}"
    lines = [
        (one["annotator"], *(_three(one["measures"][key]["value"]) for key in heads), "")
        for one in rows
    ]
    return table([(head, *heads.values(), ""), *lines])


def _pairs(raw: Entry) -> Iterator[str]:
    """How far metrics prefer what people prefer: mean over sets, each set, its annotators."""
    found = raw["preferences"] or ()
    if len(found) > 1:
        told = f"mean over {len(found)} sets, each counting as much"
        yield _preferences(told, raw["mean"], "sets", raw["ci_level"])
    for one in found:
        ties = "1 tie" if one["ties"] == 1 else f"{one['ties']:,} ties"
        head = f"{one['set']}: {one['n']:,} pairs, {ties}{_unused(one)}"
        yield _preferences(head, one["metrics"], "pairs", raw["ci_level"])
        if one["ceiling"]:
            yield _ceiling(one["set"], one["ceiling"], _PAIRS)
    if found:
        yield (
            "sign: the metric prefers what people prefer, its ties count half; no ties: over those "
            "that are none"
        )


def _preferences(head: str, metrics: Mapping[str, Entry], counted: str, level: float) -> str:
    """One line a metric, the highest agreement of signs first."""
    first, *rest = _PAIRS
    heads = (_PAIRS[first], f"{level:.0%} interval", *(_PAIRS[name] for name in rest))
    rows = [("metric", counted, *heads, "")]
    for key, found in sorted(metrics.items(), key=lambda each: -(each[1][first]["value"] or 0.0)):
        n = f"{found[first]['sets' if counted == 'sets' else 'n']:,}"
        told = (_three(found[first]["value"]), _interval(found[first]["ci"]))
        rows.append((key, n, *told, *(_three(found[name]["value"]) for name in rest), ""))
    return f"{head}\n\n{table(rows)}"
