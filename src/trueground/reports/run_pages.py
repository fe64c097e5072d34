"""A run directory → report.html: what a reader asks first, then every answer, then all numbers."""

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
from trueground.reports.answers import AnswerList, PageAnswers, metric_words, write_answers
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
LISTED = 100_000  # answers in the list of a page
DETAILS_INSIDE = 2_000  # answers whose details stand in a page that has a folder beside it
BINS = 20
_VALUES_SHOWN = 30
_SKIPPED_SHOWN = 200
_REASONS_SHOWN = 6
_Estimates = Mapping[str, Mapping[str, Any]]

_VERDICT_TONES = {
    "grounded": "supported",
    "partly_grounded": "partly",
    "not_grounded": "unsupported",
    "abstained": "unknown",
    "unscored": "unknown",
}
_ABSTENTION_WORDS = {
    "p_ir": "declines where the context does not hold the answer (higher is better)",
    "p_g": "declines where the context holds the answer (lower is better)",
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
    """Draw the page of a finished run and return its path, in the run directory or in `out`.

    `home` leads from there to a list of runs. With `leave_out` the page lists the answers that can
    be read, and says which cannot. What is missing is not told where the folder `is_sample`, which
    holds some answers of a larger run.

    Reads the run directory only. Of more than `max_items` answers the details stand in files beside
    the page, in report_items/; the page itself has those of a seeded sample plus the worst, and
    says so. The same files give the same bytes. Raises InputError for files that are missing or
    unreadable, UsageError for a negative `max_items`, WriteError where the page cannot be written.
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
        beside = numbers.count > max_items
        limits = (LISTED, min(max_items, DETAILS_INSIDE)) if beside else (max_items, max_items)
        selection, details = (
            choose_items(values, numbers.count, metric=headline, limit=limit, seed=seed)
            for limit in limits
        )
        if gaps:
            selection, details = (
                replace(one, rows=np.array(numbers.lines)[one.rows]) for one in (selection, details)
            )
        page = run_page(
            summary, manifest, run_dir=run_dir, numbers=numbers, statement=selection.statement()
        )
        page.home = home
        n = None if is_sample else summary.get("n")
        page.notices += (gaps or Gaps()).notices(numbers.count, n)
    answers = PageAnswers(
        shown=AnswerList.of(metrics, headline, manifest),
        selection=selection,
        details=details,
        fields=list(dict.fromkeys([*(summary.get("by") or {}), "model"])),
        verdict=verdicts.get("metric"),
        beside=beside,
        has_gaps=leave_out,
    )
    path = RunFiles(out or run_dir).page
    page.write(path, lambda out: write_answers(out, path.parent, run_dir, answers), files=beside)
    return path


def in_order(summary: Mapping[str, Any], scored: Iterable[str]) -> list[str]:
    """The metrics that items have, in the order of the summary."""
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
    found = list(blocks)
    return [Only("text", found)] if found else []


def unfinished_run_page(manifest: Mapping[str, Any], run_dir: Path, *, has_answers: bool) -> Page:
    """Return the page of a run that isn't finished: the answers that it has so far."""
    blocks: list[Block] = []
    if not has_answers:
        blocks.append(Text("No answer is scored yet; they appear here as they are.", "note"))
    else:
        if not RunFiles(run_dir).has_records:
            words = "This run is made without records: questions and answers are not in it."
            blocks.append(Text(words, "note"))
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
    counts = [(n, ReasonKind(k)) for k, n in (summary.get("reasons") or {}).items() if n]
    counts = [one for one in counts if one[1] != ReasonKind.DECLINES]  # has a verdict of its own
    if counts:
        most = sorted(counts, key=lambda one: -one[0])[:_REASONS_SHOWN]
        tiles = [
            Tile(kind.description, f"{several(n, 'claim')}: ", filter=f"kind={kind}")
            for n, kind in most
        ]
        blocks.append(Part("Why claims are called unsupported", [Tiles(tiles, small=True)]))
    return [Grid(blocks, least=24)] if blocks else []


def _agreement_with_people(verdicts: Mapping[str, Any]) -> list[Block]:
    """How often such verdicts agree with people, and the sets one by one under a fold."""
    said = Text(trust_sentence(verdicts), "quiet")
    measured = similar_sets(verdicts)
    if measured is None:
        return [said]
    rows = []
    for one in measured.sets:
        shares = [one.verdicts[name].share for name in CHECKED_VERDICTS]
        rows.append(Row([one.name, one.unit, one.total.n, one.total.share, *shares]))
    columns = [Head("Labeled set", "code"), Head("Labeled"), Head("Answers", "number")]
    names = ["Unsupported to people", "… of those called not grounded"]
    names += ["… partly grounded", "… grounded"]
    columns += [Head(name, "number", percent=True, digits=0) for name in names]
    return [said, Fold("The sets", [Table(columns, rows)])]


def _ends(ci: Any) -> str:
    return f"{100 * ci[0]:.0f} to {100 * ci[1]:.0f} %" if ci else ""


def _distributions(
    summary: Mapping[str, Any], numbers: Mapping[str, NDArray[np.float32]]
) -> Iterator[tuple[str, Chart]]:
    """The histogram of each metric whose values are not all 0 or 1; a column at a time."""
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
    # 0.7 as a 32-bit number lies just under the edge of its bin
    place = (exact - low) / (high - low) * BINS + 1e-4
    counts = np.bincount(np.clip(place.astype(np.int64), 0, BINS - 1), minlength=BINS)
    edges = np.linspace(low, high, BINS + 1)[:-1].round(6).tolist()
    series = Series("answers", edges, counts.tolist())
    note = f"{len(values):,} scored, median {np.median(exact):.4f}"
    title: Rich = ["How ", Span.code(name), " is spread"]
    return Chart("bars", title, Axis(name), Axis("answers"), [series], note)


# ---- the answers ----


def _list_answers(run_dir: Path, statement: str | None) -> Part:
    """The list of answers under its heading."""
    notes = [f"{statement} The numbers are over all items."] if statement else []
    if not RunFiles(run_dir).has_records:
        notes.append(
            "This run was made without records: questions, answers and passages are not in it. "
            "Scores and evidence are."
        )
    return Part("Answers", [*(Text(one, "note") for one in notes), AnswerBrowser()], id="items")


# ---- all numbers ----


def _all_metrics(
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    charts: list[tuple[str, Chart]],
    headline: str | None,
    of_items: list[str],
) -> list[Block]:
    metrics, averages = summary.get("metrics") or {}, summary.get("averages") or {}
    # The task's own metric leads the table where it is a number of the whole run.
    ranked = str((manifest.get("benchmark") or {}).get("headline"))
    first = ranked if ranked in metrics and ranked not in of_items else headline
    labels = {status.value: status.description for status in Status}
    rows = []
    for name, entry in metrics.items():
        spread = averages.get(Summary.REPEAT_FIELD, {}).get(name) or {}
        note = ""
        if spread.get("sd") is not None:  # as papers report it
            note = f"± {number(spread['sd'])} over {spread['values']} repeats"
        lost = {k: n for k, n in (entry.get("unscored") or {}).items() if n}
        why = "; ".join(f"{n:,}: {labels.get(k, k)}" for k, n in lost.items())
        cells: list[Cell] = [[metric_words(name), " ", Span.code(name)], _estimate(entry, note)]
        cells += [_coverage(entry), [Span.quiet(why)] if why else ""]
        rows.append(Row(cells, "first" if name == first else None))
    columns = [Head("Metric"), Head("Mean", "estimate", digits=4)]
    columns += [Head("Answers scored"), Head("Not scored")]
    blocks: list[Block] = (
        [Table(columns, rows, sortable=True)] if rows else [Text("No metric was computed.")]
    )
    if charts:
        blocks.append(Fold("Distributions", [Grid([chart for _, chart in charts])]))
    if tables := _breakdowns(summary.get("by") or {}, averages, metrics):
        places = [name for name, _ in tables]
        chosen = places.index(headline) if headline in places else 0
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
    """For each metric a table for each field, of its most frequent values."""

    def count(found: Mapping[str, Mapping[str, Any]]) -> int:
        return max((entry.get("n") or 0 for entry in found.values()), default=0)

    options = []
    for metric in metrics:
        tables: list[Block] = []
        for field, values in by.items():
            counts = {name: count(found) for name, found in values.items()}
            most = set(sorted(counts, key=counts.__getitem__, reverse=True)[:_VALUES_SHOWN])
            shown = [name for name in values if name in most]
            found = {v: values[v][metric] for v in shown if metric in values[v]}
            if all(entry.get("mean") is None for entry in found.values()):
                continue
            rows = [Row([v, _estimate(one), _coverage(one)]) for v, one in found.items()]
            if entry := averages.get(field, {}).get(metric):
                n, of = entry["values"], entry.get("of", entry["values"])
                name = f"average of {n}" + (f" of {of}" if of > n else "")
                rows.append(Row([name, _estimate(entry), ""], "total"))
            columns = [Head(field), Head("Mean", "estimate", digits=4), Head("Scored")]
            caption: Rich = [Span.code(metric), " by ", Span.strong(field)]
            tables.append(Table(columns, rows, caption, sortable=True))
            if len(shown) < len(values):
                more = f"{len(shown)} of {len(values):,} values: those with the most answers."
                tables.append(Text(more, "quiet"))
        if tables:
            options.append((metric, tables))
    return options


def _compare_judges(summary: Mapping[str, Any]) -> list[Block]:
    """Return how far the judges of a run agree; nothing for one judge."""
    entries = summary.get("judge_agreement")
    return [Part("How far the judges agree", [noise.tabulate_judges(entries)])] if entries else []


def _declined(summary: Mapping[str, Any], *, in_text: bool) -> list[Block]:
    """How often answers decline, with what is known of when they should; what could not be read."""
    blocks: list[Block] = []
    found = summary.get("abstention") or {}
    if (rate := summary.get("abstention_rate")) is not None:
        tail = f" of the answers decline to answer (abstention rate {number(rate)})."
        blocks.append(Text([Span.strong(f"{rate:.1%}"), tail]))
        rates = [
            Row([[Span.code(name)], words, found[name]])
            for name, words in _ABSTENTION_WORDS.items()
            if name in found
        ]
        columns = [Head("Rate"), Head("What it says"), Head("Value", "number", digits=4)]
        tables: list[Block] = [Table(columns, rates)] if rates else []
        confusion: dict[str, dict[str, int]] = found.get("confusion") or {}
        names = list(dict.fromkeys(name for cells in confusion.values() for name in cells))
        if confusion:
            cells = [Row([k, *(row.get(c, 0) for c in names)]) for k, row in confusion.items()]
            tables.append(Table([Head("Answers"), *(Head(c, "number") for c in names)], cells))
        blocks += [Grid(tables, least=24)] if tables else []
        if rules := refusal_rules(summary):
            blocks.append(Text(rules, "quiet"))
    if empty := summary.get("empty_responses") or 0:
        blocks.append(Text(f"Empty: {several(empty, 'answer')}."))
    lines = summary.get("skipped_rows") or []
    if skipped := summary.get("skipped") or len(lines):
        listed: list[Block] = [Bullets(lines[:_SKIPPED_SHOWN])]
        if skipped > _SKIPPED_SHOWN:
            listed.append(Text(f"The first {_SKIPPED_SHOWN} are listed.", "quiet"))
        blocks.append(Fold(f"{several(skipped, 'row')} skipped as unreadable", listed))
    folded: list[Block] = [Fold("Declined, empty and skipped", blocks)] if blocks else []
    return folded if in_text else [Only("page", folded)]


def _settings(
    summary: Mapping[str, Any], manifest: Mapping[str, Any], of_items: list[str]
) -> list[Block]:
    """How the numbers are to be read, and the signatures that say what exactly was computed."""
    blocks: list[Block] = [Bullets(reading_notes(summary, manifest, of_items))]
    if lines := signatures(manifest):
        rows = [Row([name, [Span.code(text)]]) for name, text in lines]
        blocks.append(Table([Head("Part", "code"), Head("Signature")], rows))
    return [Fold("Settings and signatures", blocks)]
