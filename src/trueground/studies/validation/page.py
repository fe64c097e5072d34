"""A validation as blocks: what it says first, every measure, what to read of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from trueground.reports import (
    Block,
    Bullets,
    Cell,
    Estimate,
    Fold,
    Grid,
    Head,
    Menu,
    Only,
    Page,
    Part,
    Rich,
    Row,
    Span,
    Table,
    Text,
)
from trueground.studies.calibration.page import (
    draw_confusion,
    draw_histogram,
    draw_reliability,
    short,
)
from trueground.studies.validation.sentences import (
    CALIBRATION,
    MEASURES,
    MeasureWords,
    Raw,
    best_first,
    between,
    by_chance,
    caution,
    format_verdict,
    four,
    headline,
    lead,
    measure_of,
    method,
    names,
    unused,
    worst_disagreements,
)
from trueground.text import number, percent, several

MARK = "trueground-validation-1"  # what tells our pages from other people's files
_LEADING = (
    "auroc",
    "spearman",
    "balanced_accuracy",
    CALIBRATION,
    "false_negative_rate",
    "false_positive_rate",
)
_MAX_READ_AS_TEXT = 3  # records of all sets that text output lists
_NO_CI = (None, None)
_MAX_COLUMNS = 6  # metrics of a table of sets, as text
_SPREAD = {"mean": "Mean", "median": "Median", "sd": "Deviation"}


def write_validation(path: Path, raw: Mapping[str, Any]) -> None:
    """Write the page of `Validation.raw` (format trueground-validation-1)."""
    validation_page(raw).write(path)


def validation_page(raw: Raw) -> Page:
    """Return the result, every measure, each set, and records to read as a page."""
    sets, pairs = raw["sets"], raw["preferences"] or ()
    ranked = best_first(raw["mean"], "auroc" if sets else "sign_agreement")
    metrics = dict.fromkeys(ranked)
    metrics |= dict.fromkeys(m for entry in (*sets, *pairs) for m in entry["metrics"])
    agree = "agrees" if len(metrics) == 1 else "agree"
    title = f"How well {several(len(metrics), 'metric')} {agree} with people"
    blocks: list[Block] = [*_introduction(raw)]
    if raw["notes"]:
        blocks.append(Fold(several(len(raw["notes"]), "note"), [Bullets(raw["notes"])], open=True))
    if sets:
        blocks += _measures(raw, list(metrics))
        blocks += _each_set(raw, ranked)
        blocks.append(Only("page", [*worst_disagreements(sets)]))
    if raw["published"]:
        intro = f"What papers print of the label {raw['label']}, of their own records, and in "
        intro += "brackets what was measured here."
        tables = map(_published, raw["published"])
        blocks.append(Part("Compared with papers", [Text(intro), *tables], "papers"))
    blocks += _people([*sets, *pairs])
    if pairs:
        blocks.append(Part("Which of two answers people prefer", _preferences(raw), "pairs"))
    blocks.append(Only("text", [*worst_disagreements(sets, _MAX_READ_AS_TEXT)]))
    method_part = Part("How the numbers are made", _made(raw, metrics), "made")
    blocks.append(Only("page", [method_part]))
    return Page("validation", MARK, title, blocks, lead(raw), version=raw["trueground"])


def _introduction(raw: Raw) -> Iterator[Block]:
    """Yield which metric leads; on the page with how to read that, in texts with the judge."""
    sentences = [part for line in headline(raw) for part in (*line, " ")]
    yield Only("page", [Text([*sentences, Span.quiet(caution(raw))], "note")])
    yield Only("text", [Text(sentences), Text(lead(raw))])
    if raw["judge"] is not None:
        judge = f"judge  {raw['judge']}; verdict: {format_verdict(raw)}"
        yield Only("text", [Text(judge)])


def _each_set(raw: Raw, metrics: Sequence[str]) -> Iterator[Block]:
    """Yield the charts of each set; of several sets texts have the AUROC of some metrics."""
    sets = raw["sets"]
    if len(sets) > 1:
        yield Only("text", [_sets_by_metric(raw, metrics[:_MAX_COLUMNS])])
    else:
        yield Only("text", [*islice(_of_set(raw, sets[0]), 2)])
    title = "Metric by metric" if len(sets) == 1 else "Each set"
    yield Only("page", [Part(title, [b for set_ in sets for b in _of_set(raw, set_)], "each")])


def _sets_by_metric(raw: Raw, metrics: Sequence[str]) -> Table:
    """Return the AUROC of some metrics, set by set."""
    columns = [Head("AUROC by set"), Head("records", "number")]
    columns.append(Head("positive", "number", digits=0, percent=True))
    columns += [Head(name, "number", digits=4) for name in metrics]
    rows = []
    for set_ in raw["sets"]:
        entries = [set_["metrics"].get(name) for name in metrics]
        cells = [e and e["measures"]["auroc"]["value"] for e in entries]
        rows.append(Row([set_["name"], set_["n"], set_["positives"] / set_["n"], *cells]))
    return Table(columns, rows)


# ---- measures as tables ----


def _measures(raw: Raw, metrics: Sequence[str]) -> Iterator[Block]:
    """Yield metric × measure over the sets, and set by set if there are several."""
    sets = raw["sets"]
    many = len(sets) > 1
    rows = {m: dict(raw["mean"].get(m) or {}) for m in metrics}
    for m, measures in rows.items():
        if CALIBRATION in measures:
            measures[CALIBRATION] = {**measures[CALIBRATION], "by_chance": by_chance(sets, m)}
        pooled = (raw.get("pooled") or {}).get(m)
        if many and pooled:
            chance = (pooled.get("by_chance") or {}).get("mean")
            measures["pooled"] = {**pooled[CALIBRATION], "by_chance": chance}
    means_note = (
        "Unweighted means over the sets that have a value; a mean over fewer sets than others "
    )
    intro = f"{means_note}is not called best. " if many else ""
    intro += (
        "A number in bold is the best of its column, or equals it to four decimals; a low rate "
    )
    intro += "of one kind of error is bought with the other kind."
    title = "All measures, mean over sets" if many else "All measures"
    measure_names = list(dict.fromkeys(name for measures in rows.values() for name in measures))
    measure_names.sort(key=lambda name: _LEADING.index(name) if name in _LEADING else len(_LEADING))
    first, rest = (
        [n for n in measure_names if (n in _LEADING) is leads] for leads in (True, False)
    )
    leading = _table(raw, rows, first, of=len(sets))
    _add_coverage(leading[0], rows, sets)
    tables: list[Block] = [Text(intro, "quiet"), *leading]
    if rest:
        more = several(len(rest), "more measure")
        tables.append(Fold(more, _table(raw, rows, rest, of=len(sets))))
    yield Part(title, tables, "measures")
    if many:
        single_measures = [name for name in measure_names if name != "pooled"]
        options = [
            (measure_of(name).title, _by_set(raw, metrics, name)) for name in single_measures
        ]
        yield Only("page", [Part("Set by set", [Menu("Measure", options)], "sets")])


def _add_coverage(table: Block, metrics: Iterable[str], sets: Sequence[Raw]) -> None:
    """Add how many records each metric scored, their share, and the mean score."""
    assert isinstance(table, Table)
    table.columns += [Head("Scored", "number"), Head("Of all", "number", digits=1, percent=True)]
    table.columns.append(Head("Mean", "number", digits=4))
    for row, metric in zip(table.rows, metrics, strict=True):
        having = [entry for entry in sets if metric in entry["metrics"]]
        entries = [entry["metrics"][metric] for entry in having]
        n, means = (
            sum(entry["n"] for entry in entries),
            [entry["mean"] for entry in entries if entry["n"]],
        )
        of_all = n / (sum(entry["n"] for entry in having) or 1)
        row.cells += [n, of_all, fmean(means) if means else None]


def _by_set(raw: Raw, metrics: Sequence[str], name: str) -> list[Block]:
    """Return metric × set of one measure, with the mean first."""
    sets, nothing = raw["sets"], {name: {"value": None, "why": "not measured on this set"}}
    rows: dict[str, dict[str, Raw]] = {}
    for m in metrics:
        each = {set_["name"]: set_["metrics"].get(m, {"measures": nothing}) for set_ in sets}
        mean = raw["mean"].get(m, nothing)[name]
        rows[m] = {"mean": mean} | {key: entry["measures"][name] for key, entry in each.items()}
    measure = measure_of(name)
    set_names = {"mean": "mean", **{set_["name"]: set_["name"] for set_ in sets}}
    titles = {key: measure._replace(title=title) for key, title in set_names.items()}
    description = [Text(f"{measure.title}: {measure.words}.", "quiet")] if measure.words else []
    return [*description, *_table(raw, rows, list(set_names), of=len(sets), titles=titles)]


def _table(
    raw: Raw,
    rows: Mapping[str, Mapping[str, Raw]],
    names: Sequence[str],
    caption: str = "",
    of: int = 0,
    *,
    titles: Mapping[str, MeasureWords] | None = None,
    head: str = "Metric",
) -> list[Block]:
    """Return estimates by row and measure, and below them why some are missing.

    A mean over fewer sets isn't marked as best, because its sets may be easier.

    Args:
        of: The number of sets, if the estimates are means over sets.
    """
    notes: dict[str, str] = {}
    columns = [Head(head)]
    higher = raw.get("higher_is_better", {})
    turned = {
        name: [] if higher.get(name, True) else [Span.quiet(" turned round")] for name in rows
    }
    is_by_metric = head == "Metric"
    table_rows = [
        Row([[Span.code(name), *turned[name]] if is_by_metric else name]) for name in rows
    ]
    for name in names:
        measure = titles[name] if titles else measure_of(name)
        scale = Head(
            measure.title, "estimate", measure.words, 4, low=measure.low, high=measure.high
        )
        if is_by_metric:
            scale.better = "low" if measure.lower else "high"
        columns.append(scale)
        column = [
            measures.get(name) or {"value": None, "why": "not measured"}
            for measures in rows.values()
        ]
        most = max((e.get("sets") or 0 for e in column), default=0)
        for row, measures in zip(table_rows, column, strict=True):
            row.cells.append(_cell(measures, most, of, notes))
    reasons: list[Rich] = [[Span.quiet(f"({mark}) {reason}")] for reason, mark in notes.items()]
    tail = [Bullets(reasons)] if reasons else []
    return [Table(columns, table_rows, caption or None, sortable=len(table_rows) > 1), *tail]


def _cell(estimate: Raw, most: int, of: int, notes: dict[str, str]) -> Estimate:
    value, ci, sets = estimate["value"], estimate.get("ci"), estimate.get("sets")
    extra = []
    if value is None or (not ci and estimate.get("why")):
        mark = notes.setdefault(str(estimate.get("why")), str(len(notes) + 1))
        extra.append(f"({mark})" if value is None else f"no interval ({mark})")
    if value is not None and sets is not None and sets < of:
        extra.append(f"{sets:,} of {of:,} sets")
    if estimate.get("by_chance") is not None:
        extra.append(f"by chance {four(estimate['by_chance'])}")
    # Rounding makes values that are equal to four decimals share the best mark.
    value, low, high = (None if x is None else round(x, 4) + 0.0 for x in (value, *(ci or _NO_CI)))
    return Estimate(value, low, high, "; ".join(extra) or None, apart=(sets or 0) < most)


# ---- one set ----


def _of_set(raw: Raw, set_: Raw) -> Iterator[Block]:
    """Yield a set's measures, and the charts of each metric."""
    many = len(raw["sets"]) > 1
    measures_of = {m: entry["measures"] for m, entry in set_["metrics"].items()}
    area = {m: e["auroc"]["value"] for m, e in measures_of.items()}
    metrics = sorted(measures_of, key=lambda m: (area[m] is None, -(area[m] or 0.0)))
    first = [m for m in metrics if area[m] is not None and four(area[m]) == four(area[metrics[0]])]
    positive = percent(set_["positives"], set_["n"], digits=0)
    summary: list[str | Span] = [
        f" {several(set_['n'], 'record')}, {positive} positive; ",
        f"people say {four(set_['people_mean'])} on average",
    ]
    if first:
        more = f" and {len(first) - 3} more" if len(first) > 3 else ""
        summary += ["; highest AUROC: ", *names(first[:3]), f"{more} {four(area[first[0]])}"]
    groups = "No groups: records are resampled one by one"
    if set_["groups"] is not None:
        groups = f"{several(set_['groups'], 'group')}, resampled as clusters"
    if set_.get("models"):
        groups += f"; answers of {several(set_['models'], 'model')}"
    blocks: list[Block] = [Text(f"{groups}{unused(set_)}.", "quiet")]
    if many:
        rows = {m: dict(measures_of[m]) for m in metrics}
        for m, row in rows.items():
            row[CALIBRATION] = {**row[CALIBRATION], "by_chance": by_chance([set_], m)}
        blocks += _table(
            raw, rows, list(measures_of[metrics[0]]), f"All measures on {set_['name']}"
        )
    blocks += [_of_metric(raw, m, set_["metrics"][m]) for m in metrics]
    if many:
        yield Fold([Span.strong(set_["name"]), *summary], blocks)
    else:
        yield Text([Span.strong(set_["name"]), *summary])
        yield from blocks


def _of_metric(raw: Raw, name: str, entry: Raw) -> Fold:
    measures = entry["measures"]
    area = measures["auroc"]
    ends = f" ({between(area['ci'])})" if area["ci"] else ""
    missing = "".join(f", {n:,} {status}" for status, n in entry["unscored"].items() if n)
    summary = (
        f" AUROC {four(area['value'])}{ends}; {entry['n']:,} scored{missing.replace('_', ' ')}"
    )
    thresholds = {"default": raw["threshold"] if entry["confusion"] else None}
    thresholds["best"] = entry["best_threshold"]
    marks = [(x, f"{name} threshold {short(x)}") for name, x in thresholds.items() if x is not None]
    verdict = f"Verdict: {format_verdict(raw)}"
    best = f"At the best threshold of these records ({short(entry['best_threshold'])})"
    blocks: list[Block] = [
        draw_histogram(entry["histogram"], marks),
        draw_reliability({"bins": entry["reliability"] or ()})
        or Text(f"Calibration: – {measures[CALIBRATION]['why'] or 'no bins'}", "quiet"),
        draw_confusion(verdict, entry["confusion"], measures["balanced_accuracy"]),
        draw_confusion(best, entry["confusion_best"], measures["balanced_accuracy_best"]),
    ]
    edges = entry["histogram"]["edges"] or [0.0, 1.0]
    columns = [Head("Label"), Head("n", "number")]
    columns += [
        Head(word, "estimate", digits=4, low=edges[0], high=edges[-1]) for word in _SPREAD.values()
    ]
    rows = []
    for group in entry.get("by_grade") or entry["by_label"]:
        cells: list[Cell] = [short(group["label"]), group["n"]]
        for statistic in _SPREAD:
            estimate = group[statistic]
            low, high = estimate["ci"] or _NO_CI
            reason = estimate["why"] if estimate["value"] is None else None
            cells.append(Estimate(estimate["value"], low, high, reason))
        rows.append(Row(cells))
    table = Table(columns, rows, "Mean, median and deviation by label")
    return Fold([Span.code(name), Span.quiet(summary)], [Grid(blocks), table])


# ---- papers, people, how it was made ----


def _published(study: Raw) -> Table:
    """Return a paper's table, each number with that of this validation in brackets."""
    measures = list(dict.fromkeys(name for row in study["rows"] for name in row["paper"]))
    columns = [Head("Printed"), *(Head(measure_of(name).title) for name in measures)]
    rows = []
    for row in study["rows"]:
        paper, measured = row["paper"], row["here"]
        name: Cell = [row["name"], f" {row['judge']}" if row["judge"] else ""]
        pairs = [(paper.get(measure), measured.get(measure)) for measure in measures]
        numbers = [f"{number(a)} ({number(b)})" if a is not None else "" for a, b in pairs]
        rows.append(Row([name, *numbers]))
    return Table(columns, rows, f"{study['benchmark']}, {study['place']}; {study['source']}")


def _people(sets: Sequence[Raw]) -> Iterator[Part]:
    """Yield each annotator against the others, for sets with several annotators."""
    blocks: list[Block] = []
    for set_ in sets:
        if not (ceiling := set_["ceiling"]):
            continue
        name = set_.get("name") or set_["set"]
        rows = {
            annotator["annotator"]: annotator["measures"] for annotator in ceiling["annotators"]
        }
        rows["mean of the annotators"] = ceiling["mean"]
        if all(e["value"] is None for row in rows.values() for e in row.values()):
            reasons = (e["why"] for e in ceiling["mean"].values() if e["why"])
            reason = next(reasons, "there is nothing to compare")
            blocks.append(Text(f"{name}: no number, for {reason}."))
        else:
            caption = f"{name}: one annotator against the others."
            blocks += _table({}, rows, list(ceiling["mean"]), caption, head="Annotator")
    if blocks:
        intro = "Each annotator against the rest of them: a metric that comes near to this agrees "
        intro += "with people as well as they do with each other."
        yield Part("What people reach", [Text(intro), *blocks], "people")


def _preferences(raw: Raw) -> list[Block]:
    """Return metric × measure for each set of pairs, and their mean if there are several."""
    blocks: list[Block] = []
    sets = raw["preferences"]
    if len(sets) > 1:
        rows = {m: raw["mean"][m] for m in best_first(raw["mean"], "sign_agreement")}
        caption = "Preferences, mean over sets: unweighted, over those that have a value."
        blocks += _table(raw, rows, list(next(iter(rows.values()), ())), caption, len(sets))
    for set_ in sets:
        value = {m: e["sign_agreement"]["value"] for m, e in set_["metrics"].items()}
        order = sorted(value, key=lambda m: (value[m] is None, -(value[m] or 0.0)))
        caption = f"{set_['set']}: {several(set_['n'], 'pair')}"
        if set_["ties"]:
            caption += (
                f", {set_['ties']:,} of them even for people, which count in correlations only"
            )
        caption += f"; {several(set_['annotators'], 'annotator')}{unused(set_)}."
        rows = {m: set_["metrics"][m] for m in order}
        blocks += _table(raw, rows, list(next(iter(rows.values()), ())), caption)
    return blocks


def _made(raw: Raw, metrics: Iterable[str]) -> list[Block]:
    turned = sorted(m for m in metrics if not raw["higher_is_better"].get(m, True))
    measures = [Row([measure.title, f"{measure.words}."]) for measure in MEASURES.values()]
    files = [
        Row([entry.get("name") or entry["set"], entry["path"], entry["sha256"]])
        for entry in (*raw["sets"], *(raw["preferences"] or ()))
    ]
    parts = {"judge": raw["judge"], "decomposer": raw["decomposer"], **raw["signatures"]}
    signatures = [Row([name, signature]) for name, signature in parts.items() if signature]
    tables: list[Block] = [
        Table([Head("Set"), Head("File"), Head("SHA-256", "code")], files),
        Table([Head("What", "code"), Head("Signature", "code")], signatures),
    ]
    return [
        Bullets(method(raw, turned)),
        Fold("The measures", [Table([Head("Measure"), Head("What it says")], measures)]),
        Fold("Files and signatures", tables),
    ]
