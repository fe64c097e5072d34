"""The page of a run: the verdicts first, then every answer, then all metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.metrics import AnswerVerdict
from trueground.reports import noise
from trueground.reports.answers import AnswerList, PageAnswers, describe_metric, write_answers
from trueground.reports.blocks import (
    AnswerBrowser,
    Axis,
    Block,
    Bullets,
    Cell,
    Chart,
    Estimate,
    Fold,
    Framed,
    Grid,
    Head,
    Menu,
    Only,
    Part,
    Rich,
    Row,
    Series,
    Span,
    Table,
    Text,
    Tile,
    Tiles,
)
from trueground.reports.overview import (
    RunText,
    introduce_run,
    list_worst,
    point_to_more,
    shorten_metrics,
)
from trueground.reports.page import Page
from trueground.reports.selection import choose_items, read_numbers
from trueground.reports.sentences import (
    CHECKED_VERDICTS,
    corrected_rates,
    grounded_to_people,
    has_verdicts,
    notices,
    opening,
    page_title,
    reading_notes,
    refusal_rules,
    run_lead,
    signatures,
    similar_sets,
    trust_sentence,
)
from trueground.runs import Gaps, RunFiles, Summary, WorstOrder
from trueground.text import number, percent, several
from trueground.types import ReasonKind, Status

MARK = "trueground-run-1"
MAX_LISTED_ANSWERS = 100_000  # of a page with a folder
MAX_DETAILS_IN_PAGE = 2_000  # of a page with a folder that has the details of all answers
N_BINS = 20
_MAX_FIELD_VALUES = 30
_MAX_SKIPPED_ROWS = 200
_MAX_REASONS = 6
_Estimates = Mapping[str, Mapping[str, Any]]

_VERDICT_TONES = {
    "grounded": "supported",
    "partly_grounded": "partly",
    "not_grounded": "unsupported",
    "abstained": "unknown",
    "unscored": "unknown",
}
_ABSTENTION_RATES = {
    "p_ir": "declines if the context doesn't contain the answer (higher is better)",
    "p_g": "declines if the context contains the answer (lower is better)",
    "precision": "precision of declining",
    "recall": "recall of declining",
    "f1": "F1 of declining",
}


def write_run_page(
    run_dir: Path,
    *,
    max_items: int = 20_000,
    seed: int = 0,
    out: Path | None = None,
    home: str | None = None,
    leave_out: bool = False,
    is_sample: bool = False,
) -> Path:
    """Write the page of a finished run and return its path.

    For more than `max_items` answers, their details are in files in report_items/, next to the
    page. The page itself has the details of a seeded sample plus the worst answers, and says so.
    The same run directory always gives the same bytes.

    Args:
        run_dir: The run directory.
        max_items: The most answers whose details are all in the page itself.
        seed: The seed of the sample.
        out: The folder for the page. None: the run directory.
        home: The address of a list of runs that the page links to.
        leave_out: Leave out answers that can't be read, and say how many there are.
        is_sample: The folder has some answers of a larger run: don't report the others as missing.

    Raises:
        InputError: A file is missing or can't be read.
        UsageError: `max_items` is negative.
        WriteError: The page can't be written.
    """
    if max_items < 0:
        raise UsageError(f"max_items is {max_items}; expected 0 or more.")
    files = RunFiles(run_dir)
    summary, manifest = files.read_summary().raw, files.read_manifest().raw
    verdicts = summary.get("verdicts") or {}
    gaps = Gaps() if leave_out else None
    with read_numbers(files, gaps) as numbers:
        metrics = in_order(summary, numbers)
        headline = WorstOrder(metrics).headline
        values = numbers[headline] if headline else None
        has_folder = numbers.count > max_items
        max_listed = MAX_LISTED_ANSWERS if has_folder else max_items
        max_details = min(max_items, MAX_DETAILS_IN_PAGE) if has_folder else max_items
        selection, details = (
            choose_items(values, numbers.count, metric=headline, limit=limit, seed=seed)
            for limit in (max_listed, max_details)
        )
        if gaps:
            lines = np.array(numbers.lines)
            selection = replace(selection, rows=lines[selection.rows])
            details = replace(details, rows=lines[details.rows])
        page = run_page(
            summary, manifest, run_dir=run_dir, numbers=numbers, statement=selection.statement()
        )
        page.home = home
        n = None if is_sample else summary.get("n")
        page.notices += (gaps or Gaps()).notices(numbers.count, n)
    answers = PageAnswers(
        answer_list=AnswerList.of(metrics, headline, manifest),
        selection=selection,
        details=details,
        fields=list(dict.fromkeys([*(summary.get("by") or {}), "model"])),
        verdict=verdicts.get("metric"),
        has_folder=has_folder,
        has_gaps=leave_out,
    )
    path = RunFiles(out or run_dir).page
    page.write(
        path, lambda out: write_answers(out, path.parent, run_dir, answers), files=has_folder
    )
    return path


def in_order(summary: Mapping[str, Any], scored: Iterable[str]) -> list[str]:
    """Return the metrics that items have, in the order of the summary."""
    names = set(scored)
    order = [name for name in summary.get("metrics") or {} if name in names]
    return order + sorted(names - set(order))


def run_page(
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    *,
    run_dir: Path | None = None,
    numbers: Mapping[str, NDArray[np.float32]] | None = None,
    statement: str | None = None,
    text: RunText | None = None,
) -> Page:
    """Return a run as blocks; its answers are where the viewer finds them.

    Args:
        summary: The summary of the run.
        manifest: Its manifest; empty if the run was made in Python and has none.
        run_dir: The run directory. None: The page has no list of answers.
        numbers: The scores of each metric, shape (n,), NaN for items without a score.
        statement: Which answers are listed if not all are.
        text: What texts show in addition. None: The page is not shown as text.
    """
    numbers = {} if numbers is None else numbers
    metrics = in_order(summary, numbers)
    headline = WorstOrder(metrics).headline
    charts = list(_distributions(summary, numbers))
    shows_declined = not has_verdicts(summary) or (text is not None and text.shows_all)
    listed: list[Block] = [] if run_dir is None else [_list_answers(run_dir, statement)]
    return Page(
        kind="run",
        mark=MARK,
        title=page_title(manifest),
        lead=run_lead(summary, manifest),
        notices=notices(manifest),
        version=manifest.get("trueground"),
        blocks=[
            *_only_text([] if text is None else introduce_run(manifest)),
            Framed(_first_screen(summary)),
            Only("page", [*_show_headline(summary, charts, headline), *listed]),
            *_only_text([] if text is None else shorten_metrics(summary, text)),
            Only("page", _all_metrics(summary, manifest, charts, headline, metrics)),
            *noise.show_noise(summary, manifest, run_dir, headline),
            *_compare_judges(summary),
            *_declined(summary, in_text=shows_declined),
            Only("page", _settings(summary, manifest, metrics)),
            *_only_text([] if text is None else list_worst(summary, text)),
            *_only_text([] if text is None else point_to_more(summary, text)),
        ],
    )


def _only_text(blocks: Iterable[Block]) -> list[Block]:
    content = list(blocks)
    return [Only("text", content)] if content else []


def unfinished_run_page(manifest: Mapping[str, Any], run_dir: Path, *, has_answers: bool) -> Page:
    """Return the page of a run that isn't finished: the answers that it has so far."""
    blocks: list[Block] = []
    if not has_answers:
        blocks.append(Text("No answers are scored yet. They appear here as they are.", "note"))
    else:
        if not RunFiles(run_dir).has_records:
            note = "This run doesn't store records, so it has no questions and no answers."
            blocks.append(Text(note, "note"))
        blocks.append(Part("Answers", [AnswerBrowser()], id="items"))
    return Page("run", MARK, page_title(manifest), blocks, version=manifest["trueground"])


# ---- the first screen ----


def _first_screen(summary: Mapping[str, Any]) -> list[Block]:
    """Return how many answers are grounded, as tiles that filter, and how far to trust that."""
    blocks: list[Block] = []
    corrected: list[Block] = [Text(sentence, "plain") for sentence in corrected_rates(summary)]
    if not has_verdicts(summary):
        first = opening(summary)
        return [Text(first, "warning"), *corrected] if first else corrected
    verdicts = summary["verdicts"]
    people = grounded_to_people(summary)
    share = percent(verdicts["grounded"]["share"])
    short = f"Of {several(verdicts['n'], 'answer')} {share} are grounded."
    blocks.append(Only("page", [Text(opening(summary), "lead")]))
    blocks.append(Only("text", [Text(opening(summary) if people else short)]))
    tiles = []
    if people:
        entry = people[1]
        note = f"{_ends(entry['ci'])}, {entry['labels']:,} labels"
        share = entry["mean"]
        tiles.append(Tile("grounded, by people", percent(share), note, "supported", share=share))
    for name, tone in _VERDICT_TONES.items():
        verdict = verdicts[name]
        if name == "unscored" and not verdict["n"]:
            continue
        notes = [several(verdict["n"], "answer"), _ends(verdict.get("ci"))]
        label = AnswerVerdict.LABELS[name]
        if people and name != "unscored":
            label += ", by the judge"
        share = verdict["share"]
        tiles.append(
            Tile(
                label,
                percent(share),
                ", ".join(filter(None, notes)),
                tone,
                f"verdict={name}",
                share,
            )
        )
    intervals = f"{verdicts['ci_level']:.0%} intervals; verdicts by the judge {verdicts['judge']}."
    return [
        *blocks,
        Tiles(tiles),
        *corrected,
        Only("text", [Text(f"{intervals} {trust_sentence(verdicts)}")]),
        Only("page", _agreement_with_people(verdicts)),
    ]


def _show_headline(
    summary: Mapping[str, Any], charts: list[tuple[str, Chart]], headline: str | None
) -> list[Block]:
    """Return the spread of the headline metric and the reasons of unsupported claims."""
    blocks: list[Block] = [chart for name, chart in charts if name == headline]
    counts = []
    for name, n in (summary.get("reasons") or {}).items():
        kind = ReasonKind(name)
        if n and kind != ReasonKind.DECLINES:  # abstentions have a verdict for themselves
            counts.append((n, kind))
    if counts:
        tiles = []
        for n, kind in sorted(counts, key=lambda pair: -pair[0])[:_MAX_REASONS]:
            label = f"{several(n, 'claim')}: "
            tiles.append(Tile(kind.description, label, filter=f"kind={kind}"))
        blocks.append(Part("Why claims are called unsupported", [Tiles(tiles, small=True)]))
    return [Grid(blocks, least=24)] if blocks else []


def _agreement_with_people(verdicts: Mapping[str, Any]) -> list[Block]:
    """Return how often such verdicts agree with people, and a folded table of the labeled sets."""
    sentence = Text(trust_sentence(verdicts), "quiet")
    measured = similar_sets(verdicts)
    if measured is None:
        return [sentence]
    rows = []
    for labeled in measured.sets:
        shares = [labeled.verdicts[name].share for name in CHECKED_VERDICTS]
        total = labeled.total
        rows.append(Row([labeled.name, labeled.unit, total.n, total.share, *shares]))
    columns = [Head("Labeled set", "code"), Head("Labeled"), Head("Answers", "number")]
    names = ["Unsupported to people", "… of those called not grounded"]
    names += ["… partly grounded", "… grounded"]
    columns += [Head(name, "number", percent=True, digits=0) for name in names]
    return [sentence, Fold("Labeled sets", [Table(columns, rows)])]


def _ends(ci: Any) -> str:
    return f"{100 * ci[0]:.0f} to {100 * ci[1]:.0f} %" if ci else ""


def _distributions(
    summary: Mapping[str, Any], numbers: Mapping[str, NDArray[np.float32]]
) -> Iterator[tuple[str, Chart]]:
    """Yield the histogram of each metric whose values are not all 0 or 1.

    Only the column of one metric is in memory at a time.
    """
    for name in summary.get("metrics") or {}:
        column = numbers.get(name)
        values = None if column is None else column[~np.isnan(column)]
        if values is not None and len(values) and not np.isin(values, (0.0, 1.0)).all():
            yield name, _histogram(name, values)


def _histogram(name: str, values: NDArray[np.float32]) -> Chart:
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif low == high:
        reach = max(0.5, 1e-6 * abs(low))
        low, high = low - reach, high + reach
    exact = values if high - low < 1e30 else values.astype(np.float64)
    # 0.7 as a 32-bit number is just below the edge of its bin.
    position = (exact - low) / (high - low) * N_BINS + 1e-4
    bins = np.clip(position.astype(np.int64), 0, N_BINS - 1)
    counts = np.bincount(bins, minlength=N_BINS)
    edges = np.linspace(low, high, N_BINS + 1)[:-1].round(6).tolist()
    series = Series("answers", edges, counts.tolist())
    note = f"{len(values):,} scored, median {np.median(exact):.4f}"
    title: Rich = ["Distribution of ", Span.code(name)]
    return Chart("bars", title, Axis(name), Axis("answers"), [series], note)


# ---- the answers ----


def _list_answers(run_dir: Path, statement: str | None) -> Part:
    """Return the list of answers under its heading."""
    notes = [f"{statement} The metrics are over all items."] if statement else []
    if not RunFiles(run_dir).has_records:
        notes.append(
            "This run doesn't store records, so it has no questions, answers and passages. "
            "It has scores and evidence."
        )
    return Part("Answers", [*(Text(note, "note") for note in notes), AnswerBrowser()], id="items")


# ---- all numbers ----


def _all_metrics(
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    charts: list[tuple[str, Chart]],
    headline: str | None,
    of_items: list[str],
) -> list[Block]:
    metrics, averages = summary.get("metrics") or {}, summary.get("averages") or {}
    # The table begins with the metric of the task if that is a metric of the whole run.
    task_metric = str((manifest.get("benchmark") or {}).get("headline"))
    is_run_level = task_metric in metrics and task_metric not in of_items
    first = task_metric if is_run_level else headline
    labels = {status.value: status.description for status in Status}
    rows = []
    for name, entry in metrics.items():
        spread = averages.get(Summary.REPEAT_FIELD, {}).get(name) or {}
        note = ""
        if spread.get("sd") is not None:  # as papers report it
            note = f"± {number(spread['sd'])} over {spread['values']} repeats"
        unscored = {k: n for k, n in (entry.get("unscored") or {}).items() if n}
        reasons = "; ".join(f"{n:,}: {labels.get(k, k)}" for k, n in unscored.items())
        cells: list[Cell] = [[describe_metric(name), " ", Span.code(name)], _estimate(entry, note)]
        cells += [_coverage(entry), [Span.quiet(reasons)] if reasons else ""]
        rows.append(Row(cells, "first" if name == first else None))
    columns = [Head("Metric"), Head("Mean", "estimate", digits=4)]
    columns += [Head("Answers scored"), Head("Not scored")]
    blocks: list[Block] = (
        [Table(columns, rows, sortable=True)] if rows else [Text("No metric was computed.")]
    )
    if charts:
        blocks.append(Fold("Distributions", [Grid([chart for _, chart in charts])]))
    tables = _breakdowns(summary.get("by") or {}, averages, metrics)
    if tables:
        names = [name for name, _ in tables]
        chosen = names.index(headline) if headline in names else 0
        blocks.append(Part("Breakdowns", [Menu("Metric", tables, chosen)]))
    return [Fold("All metrics", blocks, open=not rows)]


def _estimate(entry: Mapping[str, Any], note: str = "") -> Estimate:
    low, high = entry.get("ci") or (None, None)
    spread = "" if entry.get("sd") is None else f"± {number(entry['sd'])}"
    return Estimate(entry.get("mean"), low, high, note or spread or None)


def _coverage(entry: Mapping[str, Any]) -> str:
    total, scored = entry.get("n"), entry.get("scored")
    is_run_level = not total and entry.get("mean") is not None
    if scored is None or total is None or is_run_level:
        return "over the whole run"
    return f"{scored:,} of {total:,}"


def _breakdowns(
    by: _Estimates, averages: Mapping[str, _Estimates], metrics: _Estimates
) -> list[tuple[str, list[Block]]]:
    """Return for each metric a table for each field, of its most frequent values."""
    options = []
    for metric in metrics:
        tables: list[Block] = []
        for field, values in by.items():
            names = _most_frequent(values)
            entries = {name: values[name][metric] for name in names if metric in values[name]}
            if all(entry.get("mean") is None for entry in entries.values()):
                continue
            average = averages.get(field, {}).get(metric)
            tables.append(_tabulate_breakdown(field, metric, entries, average))
            if len(names) < len(values):
                note = f"{len(names)} of {len(values):,} values: those with the most answers."
                tables.append(Text(note, "quiet"))
        if tables:
            options.append((metric, tables))
    return options


def _most_frequent(values: Mapping[str, _Estimates]) -> list[str]:
    """Return the values of a field with the most answers, in their order."""
    counts = {}
    for name, metrics in values.items():
        counts[name] = max((entry.get("n") or 0 for entry in metrics.values()), default=0)
    kept = set(sorted(counts, key=counts.__getitem__, reverse=True)[:_MAX_FIELD_VALUES])
    return [name for name in values if name in kept]


def _tabulate_breakdown(
    field: str, metric: str, entries: _Estimates, average: Mapping[str, Any] | None
) -> Table:
    rows = [Row([name, _estimate(entry), _coverage(entry)]) for name, entry in entries.items()]
    if average:
        n, of = average["values"], average.get("of", average["values"])
        label = f"average of {n}"
        if of > n:
            label += f" of {of}"
        rows.append(Row([label, _estimate(average), ""], "total"))
    columns = [Head(field), Head("Mean", "estimate", digits=4), Head("Scored")]
    caption: Rich = [Span.code(metric), " by ", Span.strong(field)]
    return Table(columns, rows, caption, sortable=True)


def _compare_judges(summary: Mapping[str, Any]) -> list[Block]:
    """Return how far the judges of a run agree; nothing for one judge."""
    entries = summary.get("judge_agreement")
    return [Part("Agreement between judges", [noise.tabulate_judges(entries)])] if entries else []


def _declined(summary: Mapping[str, Any], *, in_text: bool) -> list[Block]:
    """Return how many answers declined to answer or are empty, and which rows were skipped."""
    blocks = _abstentions(summary)
    n_empty = summary.get("empty_responses") or 0
    if n_empty:
        blocks.append(Text(f"Empty: {several(n_empty, 'answer')}."))
    lines = summary.get("skipped_rows") or []
    n_skipped = summary.get("skipped") or len(lines)
    if n_skipped:
        listed: list[Block] = [Bullets(lines[:_MAX_SKIPPED_ROWS])]
        if n_skipped > _MAX_SKIPPED_ROWS:
            listed.append(Text(f"The first {_MAX_SKIPPED_ROWS} are listed.", "quiet"))
        blocks.append(Fold(f"{several(n_skipped, 'row')} skipped as unreadable", listed))
    folded: list[Block] = [Fold("Declined, empty and skipped", blocks)] if blocks else []
    return folded if in_text else [Only("page", folded)]


def _abstentions(summary: Mapping[str, Any]) -> list[Block]:
    """Return how often answers declined to answer, and whether they should have."""
    rate = summary.get("abstention_rate")
    if rate is None:
        return []
    entry = summary.get("abstention") or {}
    tail = f" of the answers decline to answer (abstention rate {number(rate)})."
    blocks: list[Block] = [Text([Span.strong(f"{rate:.1%}"), tail])]
    rows = []
    for name, description in _ABSTENTION_RATES.items():
        if name in entry:
            rows.append(Row([[Span.code(name)], description, entry[name]]))
    columns = [Head("Rate"), Head("Meaning"), Head("Value", "number", digits=4)]
    tables: list[Block] = [Table(columns, rows)] if rows else []
    confusion: dict[str, dict[str, int]] = entry.get("confusion") or {}
    if confusion:
        tables.append(_tabulate_confusion(confusion))
    if tables:
        blocks.append(Grid(tables, least=24))
    rules = refusal_rules(summary)
    if rules:
        blocks.append(Text(rules, "quiet"))
    return blocks


def _tabulate_confusion(confusion: Mapping[str, Mapping[str, int]]) -> Table:
    names: list[str] = []
    for counts in confusion.values():
        names += [name for name in counts if name not in names]
    columns = [Head("Answers"), *(Head(name, "number") for name in names)]
    rows = []
    for label, counts in confusion.items():
        rows.append(Row([label, *(counts.get(name, 0) for name in names)]))
    return Table(columns, rows)


def _settings(
    summary: Mapping[str, Any], manifest: Mapping[str, Any], of_items: list[str]
) -> list[Block]:
    """Return how to read the numbers, and the signatures of what was computed."""
    blocks: list[Block] = [Bullets(reading_notes(summary, manifest, of_items))]
    lines = signatures(manifest)
    if lines:
        rows = [Row([name, [Span.code(text)]]) for name, text in lines]
        blocks.append(Table([Head("Component", "code"), Head("Signature")], rows))
    return [Fold("Settings and signatures", blocks)]
