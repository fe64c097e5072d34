"""A calibration as a page and as text: the judge's accuracy, threshold and probabilities.

A stack of judges as text: its accuracy next to each judge's.
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
_MEASURES = ("f1", "precision", "recall", "specificity", "kappa", "matthews")
_OVER_THRESHOLDS = ("balanced_accuracy", "precision", "recall", "specificity")
_CURVES = {"platt": "Platt", "isotonic": "isotonic"}
_LABELS = {"1": ("positive", "supported"), "0": ("negative", "unsupported")}


def write_calibration(path: Path, raw: Raw) -> None:
    """Write the page of `Calibration.raw`. Raises WriteError."""
    calibration_page(raw).write(path)


def calibration_page(raw: Raw) -> Page:
    """Return the page, which depends on nothing but the calibration."""
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
    unscored = "".join(f", {count:,} {reason}" for reason, count in raw["unscored"].items())
    label = (" that people labeled ", Span.strong(raw["label"]))
    return [
        several(raw["n"], "record"),
        *label,
        f", {raw['positives']:,} positive{groups}{unscored}.",
    ]


def _opening(raw: Raw) -> list[Any]:
    """Return the accuracy of the calibrated judge: verdicts, probabilities, ranking."""
    held, error, area = raw["chosen"]["cross_validated"], raw["calibration_error"], raw["auroc"]
    result, records = held, "records held out"
    if held["balanced_accuracy"] is None:
        result, records = raw["chosen"], "these very records"
    by_default = ""
    if raw["of"] == "score":
        threshold, accuracy = raw["default"]["threshold"], raw["default"]["balanced_accuracy"]
        by_default = f" ({number(accuracy)} with its default threshold, {threshold:g})"
    error_now, error_records = error["cross_validated"], "records held out"
    if error_now is None:
        error_now, error_records = error["after"], "these very records"
    error_before = "" if error["before"] is None else f", before {number(error['before'])}"
    reason = f"; {area['reason']}" if area.get("reason") else ""
    ends = "" if area["ci"] is None else f" [{', '.join(map(number, area['ci']))}]"
    return [
        "On ",
        records,
        " ",
        Span.strong(raw["judge"]),
        f" calls {percent(result['recall'])} of the positive and "
        f"{percent(result['specificity'])} of the other answers rightly: balanced accuracy ",
        Span.strong(number(result["balanced_accuracy"])),
        f"{by_default}; 0.5 is guessing. Its probabilities are off by {number(error_now)} on "
        f"{error_records}{error_before}. AUROC {number(area['value'])}{ends}{reason}.",
    ]


def _blocks(raw: Raw) -> Iterator[Block]:
    """Yield the blocks that page and text share."""
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
    rows = []
    for name, result in entries.items():
        accuracy = result["balanced_accuracy"]
        if accuracy is not None:
            threshold = [] if raw["of"] == "verdict" else [result.get("threshold")]
            estimate = Estimate(accuracy, *(result.get("balanced_accuracy_ci") or ()))
            measures = [result[measure] for measure in _MEASURES]
            rows.append(Row([name, *threshold, estimate, *measures]))
    columns = [
        Head("verdicts"),
        Head("threshold", "number", digits=4),
        Head(f"balanced accuracy, {level}", "estimate"),
    ]
    if raw["of"] == "verdict":
        del columns[1]
        text = "The judge gives no scores: its verdicts stay as they are, and get probabilities."
    else:
        text = f"Chosen for {(raw['objective'] or 'precision').replace('_', ' ')}."
        if raw["precision"]:
            target = raw["precision"]["wanted"]
            text = f"Chosen for a precision of {target:g}, the lowest that reaches it."
        if held["thresholds"]:
            ends = f"{min(held['thresholds']):.4g} to {max(held['thresholds']):.4g}"
            text += f" On held-out records: {held['folds']} folds, each judged by the threshold "
            text += f"that the others choose ({ends})."
    columns[-1].low, columns[-1].digits = 0.5, 4
    columns += [Head(name.replace("_", " "), "number", digits=4) for name in _MEASURES]
    yield Text(text)
    yield Table(columns, rows)
    if raw["precision"]:
        yield from _precision(raw, raw["precision"])
    marks = []
    for word in ("default", "chosen") if raw["of"] == "score" else ():
        threshold_of_word = raw[word]["threshold"]
        marks.append((threshold_of_word, f"{word} {short(threshold_of_word)}"))
    charts: list[Block] = [draw_histogram(raw["histogram"], marks)] if "histogram" in raw else []
    if marks:
        points = [point for point in raw["curve"] if math.isfinite(point["threshold"])]
        x = [point["threshold"] for point in points]
        series = []
        for name in _OVER_THRESHOLDS:
            y = [point[name] for point in points]
            series.append(Series(name.replace("_", " "), x, y))
        axes = Axis("threshold", marks=marks), Axis("share", 0, 1)
        charts.append(Chart("lines", "What each threshold would give", *axes, series))
    if charts:
        yield Grid(charts, least=24)


def _precision(raw: Raw, precision: Raw) -> Iterator[Block]:
    entries = {"on these records": precision, "on records held out": precision["cross_validated"]}
    columns = [Head("precision"), *(Head(name, "number", digits=4) for name in ("", "at least"))]
    columns.append(Head("called supported", "number"))
    rows = []
    for name, result in entries.items():
        rows.append(Row([name, result["value"], result["lower"], result["n"]]))
    yield Table(columns, rows, f"At least: with {raw['ci_level']:.0%} confidence, one-sided")
    for name, result in entries.items():
        if result["lower"] is None and result.get("lower_reason"):
            yield Text(f"No bound {name}: {result['lower_reason']}.")


def _probabilities(raw: Raw) -> Iterator[Block]:
    """Yield the curve, a comparison of the methods, and the bins of the kept one."""
    error = raw["calibration_error"]
    before = "the judge gives none" if error["before"] is None else number(error["before"])
    held = error["cross_validated"]
    tail = "" if held is None else f", on items that the curve was not fitted on {number(held)}"
    yield Text(
        f"{_formula(raw)}. Calibration error before {before}, after {number(error['after'])}{tail}."
    )
    rows = [] if raw["own"] is None else [Row(["the judge's own", *_errors(raw["own"])])]
    for name, result in raw["methods"].items():
        kept = " (kept)" if name == raw["method"] else ""
        rows.append(Row([_CURVES[name] + kept, *_errors(result["cross_validated"])]))
    heads = (Head(name, "number", digits=4) for name in ("calibration error", "Brier score"))
    yield Table([Head("cross-validated"), *heads], rows)
    key_of = {"calibrated, held out": "cross_validated", "the judge's own": "own"}
    bins = {name: raw["reliability"][key] for name, key in key_of.items()}
    if chart := draw_reliability({name: curve for name, curve in bins.items() if curve}):
        yield Grid([chart], least=24)


def _errors(result: Raw) -> list[Cell]:
    return [result["calibration_error"], result["brier"]]


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
    rows = []
    for file in files:
        name, share = PurePath(file["path"]).name, None
        if file["n"]:
            share = file["positives"] / file["n"]
        left_out = file["left_out"]
        accuracies = (file["auroc"], file["default"], file["chosen"], left_out["balanced_accuracy"])
        others = (left_out["threshold"], left_out["calibration_error"])
        rows.append(Row([name, file["n"], share, *accuracies, *others]))
    yield Table(columns, rows, sortable=True)
    yield Text(
        "Balanced accuracy at the default threshold, at the chosen one, and at the one that the "
        "other files choose; calibration error of the curve of the other files.",
        "quiet",
    )


def _settings(raw: Raw) -> Iterator[Block]:
    settings = {
        "judge": raw["signature"],
        "decomposer": raw["decomposer"] or "none: answers as a whole",
        "label": f"{raw['label']}, positive above {raw['positive_above']:g}",
        "method": raw["method"],
        "objective": raw["objective"],
        "resamples, seed": f"{raw['resamples']:,}, {raw['seed']}",
        **{file["path"]: file["sha256"] for file in raw["files"]},
    }
    rows = [Row([name, value]) for name, value in settings.items() if value is not None]
    yield Fold("Settings and files", [Table([Head("What", "code"), Head("Value", "code")], rows)])


def draw_histogram(histogram: Raw, marks: list[tuple[float, str]]) -> Block:
    """Return the scores by label, as shares of each label's records so that rare ones show."""
    edges, counts = histogram["edges"], histogram["counts"]
    if not any(sum(bin_counts) for bin_counts in counts.values()):
        return Text("– Nothing was scored.", "quiet")
    series = []
    for label, bin_counts in sorted(counts.items(), reverse=True):
        word, tone = _LABELS.get(label, (f"label {label}", None))
        bins = []
        for k, n in enumerate(bin_counts):
            bins.append(f"{short(edges[k])} to {short(edges[k + 1])}: {n:,}")
        shares = [n / (sum(bin_counts) or 1) for n in bin_counts]
        name = f"{word}, {sum(bin_counts):,}"
        series.append(Series(name, edges[:-1], shares, labels=bins, tone=tone))
    inside = [(value, name) for value, name in marks if edges[0] <= value <= edges[-1]]
    x, y = Axis("score", marks=inside), Axis("share of the label's records")
    return Chart("bars", "Scores by label", x, y, series)


def draw_reliability(bins_of: Mapping[str, Iterable[Raw]]) -> Chart | None:
    """Return calibration curves: mean score and share of positives of each bin with records."""
    series = []
    for name, bins in bins_of.items():
        filled = [bin_ for bin_ in bins if bin_["n"]]
        points = [(bin_, bin_.get("mean_score", bin_.get("mean_probability"))) for bin_ in filled]
        points.sort(key=lambda pair: pair[1])
        labels = []
        for bin_, _ in points:
            ends = f"{short(bin_['low'])} to {short(bin_['high'])}"
            labels.append(f"{ends}, {several(bin_['n'], 'record')}")
        shares = [bin_["share_positive"] for bin_, _ in points]
        if points:
            series.append(Series(name, [x for _, x in points], shares, labels=labels))
    note = "Bins of equally many records, but for ties; calibrated scores lie on the line."
    axes = Axis("mean score of the bin", 0, 1), Axis("share positive", 0, 1)
    return Chart("lines", "Calibration", *axes, series, note, diagonal=True) if series else None


def draw_confusion(caption: str, counts: Raw | None, measure: Raw) -> Block:
    """Return the table of true and false verdicts by label."""
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
        kind = "negatives" if wrong == "fn" else "positives"
        false: Cell = [
            f"{counts[wrong]:,} ",
            Span.quiet(f"{percent(counts[wrong], both, digits=0)}, false {kind}"),
        ]
        rows.append(Row([label, true, false] if right == "tp" else [label, false, true]))
    return Table(columns, rows, caption)


def short(value: float | str | None) -> str:
    """Format a threshold, a label or an edge of a bin with three digits."""
    if not isinstance(value, int | float):
        return "–" if value is None else value
    return f"{value:.3g}".replace("-", "−")


def show_stack(raw: Raw) -> list[Block]:
    """Return the accuracy of a stack and of its judges on records left out, and its weights."""
    held = raw["left_out"]
    rows = [Row(["stack", _area(held["auroc"]), None, *_errors(held)])]
    for name, alone in raw["alone"].items():
        difference = _format_difference(alone["difference"])
        rows.append(Row([name, _area(alone["auroc"]), difference, *_errors(alone)]))
    columns = [
        Head("left out"),
        Head("AUROC", "estimate"),
        Head("stack less this"),
        Head("calibration error", "number", digits=4),
        Head("Brier score", "number", digits=4),
    ]
    weights = []
    for label, judge in zip(raw["alone"], raw["judges"], strict=True):
        for name, weight in judge["weights"].items():
            if weight > 0:
                weights.append(Row([f"{label} {name}", weight]))
    threshold = (
        f"Threshold {raw['threshold']:.4g}; balanced accuracy {number(held['balanced_accuracy'])} "
        "on records that neither weights nor threshold were chosen on."
    )
    notes = [Text(note, "note") for note in raw["notes"]]
    named = [Head("feature"), Head("weight", "number", digits=4)]
    tables: tuple[Block, ...] = (Table(columns, rows), Table(named, weights))
    return [Text(_lead(raw)), *tables, Text(threshold), *notes]


def _area(area: Raw) -> Estimate:
    return Estimate(area["value"], *(area["ci"] or ()))


def _format_difference(difference: Raw) -> str:
    ends = (
        ""
        if difference["ci"] is None
        else f" [{difference['ci'][0]:+.4f}, {difference['ci'][1]:+.4f}]"
    )
    return f"{difference['value']:+.4f}{ends}"
