"""A calibration as a page, and as text: how good the judge is, its threshold, its probabilities.

A stack of judges as text: how good it is beside each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from trueground.judges import CalibrationFile
from trueground.reports import (
    Axis,
    Block,
    Cell,
    Chart,
    Estimate,
    Fold,
    Grid,
    Head,
    Only,
    Page,
    Part,
    Row,
    Series,
    Span,
    Table,
    Text,
)
from trueground.stats import exp
from trueground.text import number, percent, several

Raw = Mapping[str, Any]
_SHOWN = ("f1", "precision", "recall", "specificity", "kappa", "matthews")
_OVER_THRESHOLDS = ("balanced_accuracy", "precision", "recall", "specificity")
_CURVES = {"platt": "Platt", "isotonic": "isotonic"}
_LABELS = {"1": ("positive", "supported"), "0": ("negative", "unsupported")}


def write_calibration(path: Path, raw: Raw) -> None:
    """Write the page of `Calibration.raw`. Raises WriteError."""
    calibration_page(raw).write(path)


def calibration_page(raw: Raw) -> Page:
    """The page; the same calibration gives the same."""
    title = f"How good {raw['judge']} is, calibrated on labels"
    blocks: list[Block] = [
        Only("text", [Text(_opening(raw))]),
        Text(_lead(raw), "quiet"),
        *_blocks(raw),
        Only("page", [*_settings(raw)]),
    ]
    return Page(
        "calibration",
        CalibrationFile.PAGE_MARK,
        title,
        blocks,
        _opening(raw),
        version=raw["trueground"],
    )


def _lead(raw: Raw) -> list[Any]:
    groups = "" if raw["groups"] is None else f", {raw['groups']:,} groups taken as clusters"
    unscored = "".join(f", {count:,} {why}" for why, count in raw["unscored"].items())
    label = (" that people labeled ", Span.strong(raw["label"]))
    return [
        several(raw["n"], "record"),
        *label,
        f", {raw['positives']:,} positive{groups}{unscored}.",
    ]


def _opening(raw: Raw) -> list[Any]:
    """How good the judge is after calibration: its verdicts, its probabilities, its ranking."""
    held, error, area = raw["chosen"]["cross_validated"], raw["calibration_error"], raw["auroc"]
    known = held["balanced_accuracy"] is not None
    one, where = (held, "records held out") if known else (raw["chosen"], "these very records")
    before = ""
    if raw["of"] == "score":
        at, was = raw["default"]["threshold"], raw["default"]["balanced_accuracy"]
        before = f" ({number(was)} with its default threshold, {at:g})"
    off, on = error["cross_validated"], "records held out"
    if off is None:
        off, on = error["after"], "these very records"
    was = "" if error["before"] is None else f", before {number(error['before'])}"
    reason = f"; {area['reason']}" if area.get("reason") else ""
    ends = "" if area["ci"] is None else f" [{', '.join(map(number, area['ci']))}]"
    return [
        "On ",
        where,
        " ",
        Span.strong(raw["judge"]),
        f" calls {percent(one['recall'])} of the positive and {percent(one['specificity'])} of "
        "the other answers rightly: balanced accuracy ",
        Span.strong(number(one["balanced_accuracy"])),
        f"{before}; 0.5 is guessing. Its probabilities are off by {number(off)} on {on}{was}. "
        f"AUROC {number(area['value'])}{ends}{reason}.",
    ]


def _blocks(raw: Raw) -> Iterator[Block]:
    """What page and text have alike."""
    yield from (Text(note, "note") for note in raw["notes"])
    yield Part("The threshold, and what it costs", [*_thresholds(raw)], "threshold")
    yield Part("Probabilities", [*_probabilities(raw)], "probabilities")
    if len(raw["files"]) > 1:
        yield Part("File by file", [*_files(raw["files"])], "files")


def _thresholds(raw: Raw) -> Iterator[Block]:
    held, level = raw["chosen"]["cross_validated"], f"{100 * raw['ci_level']:.4g} % interval"
    entries = {
        "default": raw["default"],
        "chosen": raw["chosen"],
        "chosen, on records held out": held,
    }
    if raw["of"] == "verdict":
        entries = {"True or False": raw["chosen"]}
    rows = [
        Row(
            [
                name,
                *([] if raw["of"] == "verdict" else [told.get("threshold")]),
                Estimate(told["balanced_accuracy"], *(told.get("balanced_accuracy_ci") or ())),
                *(told[name] for name in _SHOWN),
            ]
        )
        for name, told in entries.items()
        if told["balanced_accuracy"] is not None
    ]
    columns = [
        Head("verdicts"),
        Head("threshold", "number", digits=4),
        Head(f"balanced accuracy, {level}", "estimate"),
    ]
    if raw["of"] == "verdict":
        del columns[1]
        told = "The judge gives no scores: its verdicts stay as they are, and get probabilities."
    else:
        told = f"Chosen for {(raw['objective'] or 'precision').replace('_', ' ')}."
        if raw["precision"]:
            wanted = raw["precision"]["wanted"]
            told = f"Chosen for a precision of {wanted:g}, the lowest that reaches it."
        if held["thresholds"]:
            ends = f"{min(held['thresholds']):.4g} to {max(held['thresholds']):.4g}"
            told += f" On held-out records: {held['folds']} folds, each judged by the threshold "
            told += f"that the others choose ({ends})."
    columns[-1].low, columns[-1].digits = 0.5, 4
    columns += [Head(name.replace("_", " "), "number", digits=4) for name in _SHOWN]
    yield Text(told)
    yield Table(columns, rows)
    if raw["precision"]:
        yield from _precision(raw, raw["precision"])
    named = [
        (raw[word]["threshold"], f"{word} {short(raw[word]['threshold'])}")
        for word in ("default", "chosen")
        if raw["of"] == "score"
    ]
    charts: list[Block] = [draw_histogram(raw["histogram"], named)] if "histogram" in raw else []
    if named:
        points = [one for one in raw["curve"] if math.isfinite(one["threshold"])]
        x = [one["threshold"] for one in points]
        series = [
            Series(name.replace("_", " "), x, [one[name] for one in points])
            for name in _OVER_THRESHOLDS
        ]
        axes = Axis("threshold", marks=named), Axis("share", 0, 1)
        charts.append(Chart("lines", "What each threshold would give", *axes, series))
    if charts:
        yield Grid(charts, least=24)


def _precision(raw: Raw, wanted: Raw) -> Iterator[Block]:
    entries = {"on these records": wanted, "on records held out": wanted["cross_validated"]}
    columns = [Head("precision"), *(Head(name, "number", digits=4) for name in ("", "at least"))]
    columns.append(Head("called supported", "number"))
    rows = [Row([name, one["value"], one["lower"], one["n"]]) for name, one in entries.items()]
    yield Table(columns, rows, f"At least: with {raw['ci_level']:.0%} confidence, one-sided")
    for name, told in entries.items():
        if told["lower"] is None and told.get("lower_reason"):
            yield Text(f"No bound {name}: {told['lower_reason']}.")


def _probabilities(raw: Raw) -> Iterator[Block]:
    """The curve, the methods side by side, and the bins of the one that is kept."""
    error = raw["calibration_error"]
    before = "the judge gives none" if error["before"] is None else number(error["before"])
    held = error["cross_validated"]
    tail = "" if held is None else f", on items that the curve was not fitted on {number(held)}"
    yield Text(
        f"{_formula(raw)}. Calibration error before {before}, after {number(error['after'])}{tail}."
    )
    rows = [] if raw["own"] is None else [Row(["the judge's own", *_errors(raw["own"])])]
    for name, told in raw["methods"].items():
        kept = " (kept)" if name == raw["method"] else ""
        rows.append(Row([_CURVES[name] + kept, *_errors(told["cross_validated"])]))
    heads = (Head(name, "number", digits=4) for name in ("calibration error", "Brier score"))
    yield Table([Head("cross-validated"), *heads], rows)
    named = {"calibrated, held out": "cross_validated", "the judge's own": "own"}
    bins = {name: raw["reliability"][key] for name, key in named.items()}
    if chart := draw_reliability({name: own for name, own in bins.items() if own}):
        yield Grid([chart], least=24)


def _errors(told: Raw) -> list[Cell]:
    return [told["calibration_error"], told["brier"]]


def _formula(raw: Raw) -> str:
    knots = raw["knots"]
    if raw["of"] == "verdict":
        low, high = (knots[0][1], knots[-1][1]) if knots else (_platt(raw, 0), _platt(raw, 1))
        return f"Probability of True {high:.4f}, of False {low:.4f}"
    if raw["method"] == "isotonic":
        (start, low), (end, high) = knots[0], knots[-1]
        ends = f"from {low:.4f} at {start:.4g} to {high:.4f} at {end:.4g}"
        return f"Probability: isotonic, {len(knots)} knots {ends}"
    exponent = f"{raw['slope']:.4g} * score {raw['intercept']:+.4g}"
    return f"probability = 1 / (1 + exp(-({exponent})))"


def _platt(raw: Raw, score: float) -> float:
    return 1.0 / (1.0 + exp(-(raw["slope"] * score + raw["intercept"])))


def _files(files: Iterable[Raw]) -> Iterator[Block]:
    names = ("positive", "AUROC", "default", "chosen", "others choose")
    columns = [Head("file"), Head("records", "number")]
    columns += [Head(name, "number", digits=4) for name in names]
    columns[2].percent, columns[2].digits = True, 0
    columns += [Head("at", "number", digits=4), Head("calibration error", "number", digits=4)]
    rows = [
        Row(
            [
                PurePath(file["path"]).name,
                file["n"],
                file["positives"] / file["n"] if file["n"] else None,
                *(file[name] for name in ("auroc", "default", "chosen")),
                *(
                    file["left_out"][name]
                    for name in ("balanced_accuracy", "threshold", "calibration_error")
                ),
            ]
        )
        for file in files
    ]
    yield Table(columns, rows, sortable=True)
    yield Text(
        "Balanced accuracy at the default threshold, at the chosen one, and at the one that the "
        "other files choose; calibration error of the curve of the other files.",
        "quiet",
    )


def _settings(raw: Raw) -> Iterator[Block]:
    told = {
        "judge": raw["signature"],
        "decomposer": raw["decomposer"] or "none: answers as a whole",
        "label": f"{raw['label']}, positive above {raw['positive_above']:g}",
        "method": raw["method"],
        "objective": raw["objective"],
        "resamples, seed": f"{raw['resamples']:,}, {raw['seed']}",
        **{file["path"]: file["sha256"] for file in raw["files"]},
    }
    rows = [Row([name, value]) for name, value in told.items() if value is not None]
    yield Fold("Settings and files", [Table([Head("What", "code"), Head("Value", "code")], rows)])


# What the page of a validation draws too


def draw_histogram(found: Raw, marks: list[tuple[float, str]]) -> Block:
    """Scores by label: shares of each label's records, so that a rare label is seen as well."""
    edges, counts = found["edges"], found["counts"]
    if not any(sum(own) for own in counts.values()):
        return Text("– Nothing was scored.", "quiet")
    series = []
    for label, own in sorted(counts.items(), reverse=True):
        word, tone = _LABELS.get(label, (f"label {label}", None))
        bins = [f"{short(edges[k])} to {short(edges[k + 1])}: {n:,}" for k, n in enumerate(own)]
        shares = [n / (sum(own) or 1) for n in own]
        series.append(Series(f"{word}, {sum(own):,}", edges[:-1], shares, labels=bins, tone=tone))
    inside = [(value, name) for value, name in marks if edges[0] <= value <= edges[-1]]
    x, y = Axis("score", marks=inside), Axis("share of the label's records")
    return Chart("bars", "Scores by label", x, y, series)


def draw_reliability(found: Mapping[str, Iterable[Raw]]) -> Chart | None:
    """A calibration curve each: mean score and share of positives of each bin with records."""
    series = []
    for name, bins in found.items():
        some = [
            (one, one.get("mean_score", one.get("mean_probability"))) for one in bins if one["n"]
        ]
        some.sort(key=lambda pair: pair[1])
        labels = [
            f"{short(one['low'])} to {short(one['high'])}, {several(one['n'], 'record')}"
            for one, _ in some
        ]
        shares = [one["share_positive"] for one, _ in some]
        if some:
            series.append(Series(name, [x for _, x in some], shares, labels=labels))
    note = "Bins of equally many records, but for ties; calibrated scores lie on the line."
    axes = Axis("mean score of the bin", 0, 1), Axis("share positive", 0, 1)
    return Chart("lines", "Calibration", *axes, series, note, diagonal=True) if series else None


def draw_confusion(caption: str, counts: Raw | None, measure: Raw) -> Block:
    if not counts:
        return Text(f"{caption}: – {measure['why'] or 'there is no threshold'}", "quiet")
    columns = [Head("People say"), Head("metric: yes"), Head("metric: no")]
    rows = []
    for label, right, wrong in (("positive", "tp", "fn"), ("negative", "tn", "fp")):
        both = counts[right] + counts[wrong]
        true: Cell = [
            Span.strong(f"{counts[right]:,}"),
            Span.quiet(f" {percent(counts[right], both, digits=0)}"),
        ]
        what = "negatives" if wrong == "fn" else "positives"
        false: Cell = [
            f"{counts[wrong]:,} ",
            Span.quiet(f"{percent(counts[wrong], both, digits=0)}, false {what}"),
        ]
        rows.append(Row([label, true, false] if right == "tp" else [label, false, true]))
    return Table(columns, rows, caption)


def short(value: float | str | None) -> str:
    """A threshold, a label or an edge of a bin, with no more digits than it needs."""
    if not isinstance(value, int | float):
        return "–" if value is None else value
    return f"{value:.3g}".replace("-", "−")


def show_stack(raw: Raw) -> list[Block]:
    """Return a stack and each of its judges, on records left out, and its weights.

    `raw` is as in JSON.
    """
    held = raw["left_out"]
    rows = [Row(["stack", _area(held["auroc"]), None, *_errors(held)])]
    rows += [
        Row([name, _area(one["auroc"]), _apart(one["difference"]), *_errors(one)])
        for name, one in raw["alone"].items()
    ]
    columns = [
        Head("left out"),
        Head("AUROC", "estimate"),
        Head("stack less this"),
        Head("calibration error", "number", digits=4),
        Head("Brier score", "number", digits=4),
    ]
    weights = [
        Row([f"{label} {name}", weight])
        for label, one in zip(raw["alone"], raw["judges"], strict=True)
        for name, weight in one["weights"].items()
        if weight > 0
    ]
    threshold = (
        f"Threshold {raw['threshold']:.4g}; balanced accuracy {number(held['balanced_accuracy'])} "
        "on records that neither weights nor threshold were chosen on."
    )
    notes = [Text(note, "note") for note in raw["notes"]]
    named = [Head("feature"), Head("weight", "number", digits=4)]
    tables: tuple[Block, ...] = (Table(columns, rows), Table(named, weights))
    return [Text(_lead(raw)), *tables, Text(threshold), *notes]


def _area(one: Raw) -> Estimate:
    return Estimate(one["value"], *(one["ci"] or ()))


def _apart(one: Raw) -> str:
    ends = "" if one["ci"] is None else f" [{one['ci'][0]:+.4f}, {one['ci'][1]:+.4f}]"
    return f"{one['value']:+.4f}{ends}"
