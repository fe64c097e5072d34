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
_FIRST_READ = 3  # of all sets together, as text
_NO_CI = (None, None)
_MAX_COLUMNS = 6  # metrics of a table of sets, as text
_SPREAD = {"mean": "Mean", "median": "Median", "sd": "Deviation"}


def write_validation(path: Path, raw: Mapping[str, Any]) -> None:
    """Draw what `Validation.raw` holds (format trueground-validation-1). Raises WriteError."""
    validation_page(raw).write(path)


def validation_page(raw: Raw) -> Page:
    """Return what it says first, every measure, each set, and what to read of it."""
    sets, pairs = raw["sets"], raw["preferences"] or ()
    ranked = best_first(raw["mean"], "auroc" if sets else "sign_agreement")
    metrics = dict.fromkeys(ranked)
    metrics |= dict.fromkeys(m for one in (*sets, *pairs) for m in one["metrics"])
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
        told = f"What papers print of the label {raw['label']}, of their own records, and in "
        told += "brackets what was measured here."
        tables = map(_published, raw["published"])
        blocks.append(Part("Beside papers", [Text(told), *tables], "papers"))
    blocks += _people([*sets, *pairs])
    if pairs:
        blocks.append(Part("Which of two answers people prefer", _preferences(raw), "pairs"))
    blocks.append(Only("text", [*worst_disagreements(sets, _FIRST_READ)]))
    made = Part("How the numbers are made", _made(raw, metrics), "made")
    blocks.append(Only("page", [made]))
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
    yield Only("page", [Part(title, [b for one in sets for b in _of_set(raw, one)], "each")])


def _sets_by_metric(raw: Raw, metrics: Sequence[str]) -> Table:
    """AUROC of some metrics, set by set."""
    columns = [Head("AUROC by set"), Head("records", "number")]
    columns.append(Head("positive", "number", digits=0, percent=True))
    columns += [Head(name, "number", digits=4) for name in metrics]
    rows = []
    for one in raw["sets"]:
        own = [one["metrics"].get(name) for name in metrics]
        cells = [e and e["measures"]["auroc"]["value"] for e in own]
        rows.append(Row([one["name"], one["n"], one["positives"] / one["n"], *cells]))
    return Table(columns, rows)


# ---- measures as tables ----


def _measures(raw: Raw, metrics: Sequence[str]) -> Iterator[Block]:
    """Metric × measure over the sets; of several sets the tables of the single ones as well."""
    sets = raw["sets"]
    many = len(sets) > 1
    rows = {m: dict(raw["mean"].get(m) or {}) for m in metrics}
    for m, found in rows.items():
        if CALIBRATION in found:
            found[CALIBRATION] = {**found[CALIBRATION], "by_chance": by_chance(sets, m)}
        pooled = (raw.get("pooled") or {}).get(m)
        if many and pooled:
            chance = (pooled.get("by_chance") or {}).get("mean")
            found["pooled"] = {**pooled[CALIBRATION], "by_chance": chance}
    over = "Unweighted means over the sets that have a value; a mean over fewer sets than others "
    told = f"{over}is not called best. " if many else ""
    told += "A number in bold is the best of its column, or equals it to four decimals; a low rate "
    told += "of one kind of error is bought with the other kind."
    title = "All measures, mean over sets" if many else "All measures"
    every = list(dict.fromkeys(name for found in rows.values() for name in found))
    every.sort(key=lambda name: _LEADING.index(name) if name in _LEADING else len(_LEADING))
    first, rest = ([n for n in every if (n in _LEADING) is leads] for leads in (True, False))
    leading = _table(raw, rows, first, of=len(sets))
    _add_coverage(leading[0], rows, sets)
    tables: list[Block] = [Text(told, "quiet"), *leading]
    if rest:
        more = several(len(rest), "more measure")
        tables.append(Fold(more, _table(raw, rows, rest, of=len(sets))))
    yield Part(title, tables, "measures")
    if many:
        each = [name for name in every if name != "pooled"]
        options = [(measure_of(name).title, _by_set(raw, metrics, name)) for name in each]
        yield Only("page", [Part("Set by set", [Menu("Measure", options)], "sets")])


def _add_coverage(table: Block, metrics: Iterable[str], sets: Sequence[Raw]) -> None:
    """How many records each metric scored, of which share, and the mean of its scores."""
    assert isinstance(table, Table)
    table.columns += [Head("Scored", "number"), Head("Of all", "number", digits=1, percent=True)]
    table.columns.append(Head("Mean", "number", digits=4))
    for row, metric in zip(table.rows, metrics, strict=True):
        having = [one for one in sets if metric in one["metrics"]]
        own = [one["metrics"][metric] for one in having]
        n, means = sum(one["n"] for one in own), [one["mean"] for one in own if one["n"]]
        of_all = n / (sum(one["n"] for one in having) or 1)
        row.cells += [n, of_all, fmean(means) if means else None]


def _by_set(raw: Raw, metrics: Sequence[str], name: str) -> list[Block]:
    """Metric × set of one measure, with the mean first."""
    sets, nothing = raw["sets"], {name: {"value": None, "why": "not measured on this set"}}
    rows: dict[str, dict[str, Raw]] = {}
    for m in metrics:
        each = {one["name"]: one["metrics"].get(m, {"measures": nothing}) for one in sets}
        mean = raw["mean"].get(m, nothing)[name]
        rows[m] = {"mean": mean} | {key: entry["measures"][name] for key, entry in each.items()}
    told = measure_of(name)
    of = {"mean": "mean", **{one["name"]: one["name"] for one in sets}}
    titles = {key: told._replace(title=title) for key, title in of.items()}
    words = [Text(f"{told.title}: {told.words}.", "quiet")] if told.words else []
    return [*words, *_table(raw, rows, list(of), of=len(sets), titles=titles)]


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
    """Estimates by row and measure; below them why some are absent. `of` sets, if means.

    A mean over fewer sets is no rival of those over more: its sets may be the easier ones.
    """
    notes: dict[str, str] = {}
    columns = [Head(head)]
    higher = raw.get("higher_is_better", {})
    turned = {
        name: [] if higher.get(name, True) else [Span.quiet(" turned round")] for name in rows
    }
    of_metrics = head == "Metric"
    shown = [Row([[Span.code(name), *turned[name]] if of_metrics else name]) for name in rows]
    for name in names:
        told = titles[name] if titles else measure_of(name)
        scale = Head(told.title, "estimate", told.words, 4, low=told.low, high=told.high)
        if of_metrics:
            scale.better = "low" if told.lower else "high"
        columns.append(scale)
        column = [
            found.get(name) or {"value": None, "why": "not measured"} for found in rows.values()
        ]
        most = max((e.get("sets") or 0 for e in column), default=0)
        for row, found in zip(shown, column, strict=True):
            row.cells.append(_cell(found, most, of, notes))
    why: list[Rich] = [[Span.quiet(f"({mark}) {reason}")] for reason, mark in notes.items()]
    tail = [Bullets(why)] if why else []
    return [Table(columns, shown, caption or None, sortable=len(shown) > 1), *tail]


def _cell(found: Raw, most: int, of: int, notes: dict[str, str]) -> Estimate:
    value, ci, sets = found["value"], found.get("ci"), found.get("sets")
    extra = []
    if value is None or (not ci and found.get("why")):
        mark = notes.setdefault(str(found.get("why")), str(len(notes) + 1))
        extra.append(f"({mark})" if value is None else f"no interval ({mark})")
    if value is not None and sets is not None and sets < of:
        extra.append(f"{sets:,} of {of:,} sets")
    if found.get("by_chance") is not None:
        extra.append(f"by chance {four(found['by_chance'])}")
    # rounded, so that what is equal to four decimals is best together
    value, low, high = (None if x is None else round(x, 4) + 0.0 for x in (value, *(ci or _NO_CI)))
    return Estimate(value, low, high, "; ".join(extra) or None, apart=(sets or 0) < most)


# ---- one set ----


def _of_set(raw: Raw, one: Raw) -> Iterator[Block]:
    """A set's measures, and for each of its metrics the charts."""
    many = len(raw["sets"]) > 1
    own = {m: entry["measures"] for m, entry in one["metrics"].items()}
    area = {m: e["auroc"]["value"] for m, e in own.items()}
    metrics = sorted(own, key=lambda m: (area[m] is None, -(area[m] or 0.0)))
    first = [m for m in metrics if area[m] is not None and four(area[m]) == four(area[metrics[0]])]
    positive = percent(one["positives"], one["n"], digits=0)
    said: list[str | Span] = [
        f" {several(one['n'], 'record')}, {positive} positive; ",
        f"people say {four(one['people_mean'])} on average",
    ]
    if first:
        more = f" and {len(first) - 3} more" if len(first) > 3 else ""
        said += ["; highest AUROC: ", *names(first[:3]), f"{more} {four(area[first[0]])}"]
    groups = "No groups: records are resampled one by one"
    if one["groups"] is not None:
        groups = f"{several(one['groups'], 'group')}, resampled as clusters"
    if one.get("models"):
        groups += f"; answers of {several(one['models'], 'model')}"
    blocks: list[Block] = [Text(f"{groups}{unused(one)}.", "quiet")]
    if many:
        rows = {m: dict(own[m]) for m in metrics}
        for m, found in rows.items():
            found[CALIBRATION] = {**found[CALIBRATION], "by_chance": by_chance([one], m)}
        blocks += _table(raw, rows, list(own[metrics[0]]), f"All measures on {one['name']}")
    blocks += [_of_metric(raw, m, one["metrics"][m]) for m in metrics]
    if many:
        yield Fold([Span.strong(one["name"]), *said], blocks)
    else:
        yield Text([Span.strong(one["name"]), *said])
        yield from blocks


def _of_metric(raw: Raw, name: str, entry: Raw) -> Fold:
    found = entry["measures"]
    area = found["auroc"]
    ends = f" ({between(area['ci'])})" if area["ci"] else ""
    missing = "".join(f", {n:,} {why}" for why, n in entry["unscored"].items() if n)
    told = f" AUROC {four(area['value'])}{ends}; {entry['n']:,} scored{missing.replace('_', ' ')}"
    named = {"default": raw["threshold"] if entry["confusion"] else None}
    named["best"] = entry["best_threshold"]
    marks = [(x, f"{name} threshold {short(x)}") for name, x in named.items() if x is not None]
    verdict = f"Verdict: {format_verdict(raw)}"
    best = f"At the best threshold of these records ({short(entry['best_threshold'])})"
    blocks: list[Block] = [
        draw_histogram(entry["histogram"], marks),
        draw_reliability({"bins": entry["reliability"] or ()})
        or Text(f"Calibration: – {found[CALIBRATION]['why'] or 'no bins'}", "quiet"),
        draw_confusion(verdict, entry["confusion"], found["balanced_accuracy"]),
        draw_confusion(best, entry["confusion_best"], found["balanced_accuracy_best"]),
    ]
    edges = entry["histogram"]["edges"] or [0.0, 1.0]
    columns = [Head("Label"), Head("n", "number")]
    columns += [
        Head(word, "estimate", digits=4, low=edges[0], high=edges[-1]) for word in _SPREAD.values()
    ]
    rows = []
    for one in entry.get("by_grade") or entry["by_label"]:
        cells: list[Cell] = [short(one["label"]), one["n"]]
        for statistic in _SPREAD:
            estimate = one[statistic]
            low, high = estimate["ci"] or _NO_CI
            reason = estimate["why"] if estimate["value"] is None else None
            cells.append(Estimate(estimate["value"], low, high, reason))
        rows.append(Row(cells))
    table = Table(columns, rows, "Mean, median and deviation by label")
    return Fold([Span.code(name), Span.quiet(told)], [Grid(blocks), table])


# ---- papers, people, how it was made ----


def _published(told: Raw) -> Table:
    """A paper's table, each number with that of this validation in brackets."""
    measures = list(dict.fromkeys(name for row in told["rows"] for name in row["paper"]))
    columns = [Head("Printed"), *(Head(measure_of(name).title) for name in measures)]
    rows = []
    for row in told["rows"]:
        paper, here = row["paper"], row["here"]
        name: Cell = [row["name"], f" {row['judge']}" if row["judge"] else ""]
        pairs = [(paper.get(one), here.get(one)) for one in measures]
        numbers = [f"{number(a)} ({number(b)})" if a is not None else "" for a, b in pairs]
        rows.append(Row([name, *numbers]))
    return Table(columns, rows, f"{told['benchmark']}, {told['place']}; {told['source']}")


def _people(sets: Sequence[Raw]) -> Iterator[Part]:
    """Each annotator against the others, where a set has several."""
    blocks: list[Block] = []
    for one in sets:
        if not (found := one["ceiling"]):
            continue
        name = one.get("name") or one["set"]
        rows = {each["annotator"]: each["measures"] for each in found["annotators"]}
        rows["mean of the annotators"] = found["mean"]
        if all(e["value"] is None for row in rows.values() for e in row.values()):
            whys = (e["why"] for e in found["mean"].values() if e["why"])
            why = next(whys, "there is nothing to compare")
            blocks.append(Text(f"{name}: no number, for {why}."))
        else:
            caption = f"{name}: one annotator against the others."
            blocks += _table({}, rows, list(found["mean"]), caption, head="Annotator")
    if blocks:
        told = "Each annotator against the rest of them: a metric that comes near to this agrees "
        told += "with people as well as they do with each other."
        yield Part("What people reach", [Text(told), *blocks], "people")


def _preferences(raw: Raw) -> list[Block]:
    """Metric × measure for each set of pairs, and their mean where there are several."""
    blocks: list[Block] = []
    sets = raw["preferences"]
    if len(sets) > 1:
        rows = {m: raw["mean"][m] for m in best_first(raw["mean"], "sign_agreement")}
        caption = "Preferences, mean over sets: unweighted, over those that have a value."
        blocks += _table(raw, rows, list(next(iter(rows.values()), ())), caption, len(sets))
    for one in sets:
        value = {m: e["sign_agreement"]["value"] for m, e in one["metrics"].items()}
        order = sorted(value, key=lambda m: (value[m] is None, -(value[m] or 0.0)))
        caption = f"{one['set']}: {several(one['n'], 'pair')}"
        if one["ties"]:
            caption += (
                f", {one['ties']:,} of them even for people, which count in correlations only"
            )
        caption += f"; {several(one['annotators'], 'annotator')}{unused(one)}."
        rows = {m: one["metrics"][m] for m in order}
        blocks += _table(raw, rows, list(next(iter(rows.values()), ())), caption)
    return blocks


def _made(raw: Raw, metrics: Iterable[str]) -> list[Block]:
    turned = sorted(m for m in metrics if not raw["higher_is_better"].get(m, True))
    known = [Row([measure.title, f"{measure.words}."]) for measure in MEASURES.values()]
    files = [
        Row([one.get("name") or one["set"], one["path"], one["sha256"]])
        for one in (*raw["sets"], *(raw["preferences"] or ()))
    ]
    parts = {"judge": raw["judge"], "decomposer": raw["decomposer"], **raw["signatures"]}
    signatures = [Row([name, words]) for name, words in parts.items() if words]
    tables: list[Block] = [
        Table([Head("Set"), Head("File"), Head("SHA-256", "code")], files),
        Table([Head("What", "code"), Head("Signature", "code")], signatures),
    ]
    return [
        Bullets(method(raw, turned)),
        Fold("The measures", [Table([Head("Measure"), Head("What it says")], known)]),
        Fold("Files and signatures", tables),
    ]
