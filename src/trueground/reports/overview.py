"""The short form of a run in texts: its headline metrics, breakdowns, and the worst answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueground.components import ResultKey
from trueground.errors import user_messages
from trueground.metrics import AnswerVerdict
from trueground.reports.blocks import COLUMNS, Block, Head, Part, Row, Table, Text
from trueground.reports.page import Page
from trueground.reports.sentences import corrected_rates, has_verdicts, opening, trust_sentence
from trueground.reports.text import clip, wrap
from trueground.runs import RunFiles, Summary, WorstItem, WorstOrder
from trueground.text import NO_VALUE, number, one_line, several

_MAX_METRICS, _MAX_VALUES = 6, 6
_MAX_ROWS, _MIN_ROWS = 14, 3  # of the table of a summary in Python
_MAX_LINES = 24
_NOT_BAD = ("grounded", "abstained")
_MAX_CLAIMS = 2
_NUMBERS, _MIN_REASONS = 39, 12  # columns of the numbers of a metric; of why items lack a score
_MAX_NAME = 16  # characters of a value that breaks down
_NONE = "(none)"  # the value of items that lack a field (evaluate.scorer)
# What is asked of answers, and the metrics that answer it, the best first (docs/trust.md).
QUESTIONS = {
    "grounded?": ("support", "grounding_f1", "k_precision", "grounding_precision"),
    "right?": ("correct_support", "recall", "grounding_recall", "choice_accuracy", "f1"),
    "declines when it should?": ("p_ir", "p_g"),
    "cites?": ("citation_f1", "passage_citation_f1", "citation_correctness"),
}


@dataclass(frozen=True, kw_only=True)
class RunText:
    """What the text of a run shows in addition to the blocks of its page.

    Attributes:
        path: The run directory; None if nothing was written.
        worst: The worst answers.
        is_brief: Of each of the worst answers show only the first claim without support.
        shows_all: Show all metrics and all breakdowns instead of the headline metrics.
    """

    path: Path | None = None
    worst: Sequence[WorstItem] = ()
    is_brief: bool = False
    shows_all: bool = False


# ---- metrics ----


def headline_keys(metrics: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return at most six pairs of a question and a metric that answers it and was scored.

    First the best metric of each question, then the next ones. If no metric belongs to a question,
    the first six of the run, with "" as the question.
    """
    scored = [key for key, entry in metrics.items() if entry["scored"]]
    scored = [key for key in scored if not ResultKey.parse(key).judge]
    keys_of = group_by_question(scored)
    ranked = [(rank, key) for keys in keys_of.values() for rank, key in enumerate(keys)]
    chosen = {key for _, key in sorted(ranked, key=lambda pair: pair[0])[:_MAX_METRICS]}
    if not chosen:
        return [("", key) for key in list(metrics)[:_MAX_METRICS]]
    pairs = [(question, key) for question, keys in keys_of.items() for key in keys]
    return [(question, key) for question, key in pairs if key in chosen]


def group_by_question(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return the metrics that answer each question, the best first."""
    by_name: dict[str, list[str]] = {}
    for key in keys:
        by_name.setdefault(ResultKey.parse(key).name, []).append(key)
    by_question: dict[str, list[str]] = {}
    for question, names in QUESTIONS.items():
        by_question[question] = []
        for name in names:
            by_question[question] += by_name.get(name, [])
    return by_question


def shorten_metrics(summary: Mapping[str, Any], text: RunText) -> Iterator[Block]:
    """Yield the metrics and breakdowns of a text: all, or those of the headline."""
    metrics = summary["metrics"]
    pairs = headline_keys(metrics)
    if text.shows_all:
        yield _tabulate_all(summary)
        yield from _break_down(summary, None)
        return
    level = next((entry["ci_level"] for entry in metrics.values()), 0.95)
    room = COLUMNS - _NUMBERS - max(len(key) for _, key in pairs) if pairs else COLUMNS
    rows: list[Row] = []
    before = ""
    for question, key in pairs:
        if question != before:
            rows.append(Row([question], "group"))
            before = question
        cells = _metric_cells(f"  {key}", metrics[key])
        cells[-1] = clip(cells[-1], max(_MIN_REASONS, room))
        rows.append(Row(cells))
    yield Table(_metric_columns("", level), rows, count_items(summary))
    yield from _break_down(summary, _first_of_questions(pairs))


def _tabulate_all(summary: Mapping[str, Any]) -> Table:
    """Tabulate every metric; of repeated answers with their spread."""
    metrics = summary["metrics"]
    level = next((entry["ci_level"] for entry in metrics.values()), 0.95)
    columns = _metric_columns("metric", level)
    rows = [Row(_metric_cells(key, entry)) for key, entry in metrics.items()]
    repeats = _repeats_of(summary)
    if repeats is not None:
        n_repeats = max(entry["of"] for entry in repeats.values())
        columns.insert(3, Head(f"± sd over {n_repeats} repeats", "number"))
        for row, key in zip(rows, metrics, strict=True):
            row.cells.insert(3, format_spread(repeats[key]))
    return Table(columns, rows, count_items(summary))


def _metric_columns(first: str, level: float) -> list[Head]:
    heads = ("mean", f"{level:.0%} interval", "scored")
    return [Head(first), *(Head(name, "number") for name in heads), Head("not scored")]


def _metric_cells(key: str, metric: Mapping[str, Any]) -> list[Any]:
    """Return its name, mean, interval, how many were scored, and why others were not."""
    ci = metric["ci"]
    ends = f"{number(ci[0])} … {number(ci[1])}" if ci else NO_VALUE
    unscored = ", ".join(f"{count:,} {status}" for status, count in metric["unscored"].items())
    return [key, number(metric["mean"]), ends, metric["scored"], unscored]


def _first_of_questions(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the best metric of each question; all if they belong to none."""
    first: dict[str, str] = {}
    for question, key in pairs:
        first.setdefault(question, key)
    return [key for _, key in pairs] if "" in first else list(first.values())


def _repeats_of(summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the averages over repeats if questions were asked several times."""
    averages: Mapping[str, Any] = summary["averages"]
    has_repeats = len(summary["by"].get(Summary.REPEAT_FIELD, ())) > 1
    return averages[Summary.REPEAT_FIELD] if has_repeats else None


def format_spread(entry: Mapping[str, Any]) -> str:
    """Return the deviation of the repeats' means, and of how many if not of all."""
    some = "" if entry["values"] == entry["of"] else f" ({entry['values']} of {entry['of']})"
    return number(entry["sd"]) + some


def _break_down(summary: Mapping[str, Any], keys: Sequence[str] | None) -> Iterator[Block]:
    """Yield a table for each field; of these metrics, or of all."""
    has_repeats = _repeats_of(summary) is not None
    for field, values in summary["by"].items():
        is_missing = values.keys() == {_NONE}  # no item has the field
        is_in_first_table = has_repeats and field == Summary.REPEAT_FIELD
        if not is_missing and not is_in_first_table:
            yield from _tabulate_field(field, values, summary["averages"][field], keys)


def _tabulate_field(
    field: str,
    values: Mapping[str, Any],
    averages: Mapping[str, Any],
    keys: Sequence[str] | None,
) -> Iterator[Block]:
    shown = list(values.items())[:_MAX_VALUES]
    names = [one_line(name) for name, _ in shown]
    names = [name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…" for name in names]
    columns = [Head(f"by {field}"), *(Head(name, "number") for name in (*names, "average"))]
    counts = [next(iter(metrics.values()))["n"] for _, metrics in shown]
    rows = [Row(["items", *counts, ""])]
    notes = []
    if len(values) > len(shown):
        notes.append(f"… and {len(values) - len(shown)} more values, in summary.json")
    if keys is None:
        keys = list(next(iter(values.values()))) if values else []
    for key in keys:
        average = averages[key]
        spread = "" if average.get("sd") is None else f" ± {number(average['sd'])}"
        means = [number(metrics[key]["mean"]) for _, metrics in shown]
        rows.append(Row([key, *means, number(average["mean"]) + spread]))
        if 0 < average["values"] < average["of"]:
            notes.append(
                f"{key}: the average is over {average['values']} of {average['of']} values; "
                "nothing was scored in the others"
            )
    yield Table(columns, rows)
    if notes:
        yield Text("\n".join(notes))


def count_items(summary: Mapping[str, Any]) -> str:
    """Return how many items there are, and what is to know of them."""
    notes = []
    if summary.get("skipped"):
        notes.append(f"{several(summary['skipped'], 'bad row')} skipped")
    if summary["empty_responses"]:
        notes.append(several(summary["empty_responses"], "empty response"))
    if summary["clusters"]:
        notes.append(f"{summary['clusters']:,} groups, resampled as clusters")
    return several(summary["n"], "item") + (f" ({'; '.join(notes)})" if notes else "")


# ---- a run of a benchmark ----


def introduce_run(manifest: Mapping[str, Any]) -> Iterator[Block]:
    """Yield which model answered which task, and how the calls went; nothing for scored files."""
    if "outcomes" not in manifest:
        return
    benchmark, tokens = manifest["benchmark"], manifest["tokens"]
    model = one_line(manifest["model"]["name"], 60)
    parts = [
        f"{several(manifest['calls'], 'call')}, {manifest['cache_hits']:,} from the cache",
        f"{tokens['in']:,} tokens in, {tokens['out']:,} out",
    ]
    if manifest.get("cost"):
        parts.append(f"{manifest['cost']['usd']:,.4f} USD")
    outcomes = manifest["outcomes"].items()
    incomplete = [f"{n:,} {kind}" for kind, n in outcomes if n and kind != "answered"]
    if incomplete:
        parts.append(f"incomplete: {', '.join(incomplete)}")
    yield Text(f"{model} on {benchmark['name']}/{benchmark['task']}\n{'; '.join(parts)}")


# ---- the worst answers, and what else there is ----


def list_worst(summary: Mapping[str, Any], text: RunText) -> Iterator[Block]:
    """Yield the worst answers: question, answer, score, unsupported claims, and why.

    Grounded answers, those that decline, and those without a score are left out.
    """
    order = WorstOrder(summary["metrics"])
    if order.headline is None or not text.worst:
        return
    bad = [item for item in text.worst if item.score is not None and item.verdict not in _NOT_BAD]
    if not bad:
        yield Text("no answer to read first: none is scored, or all of them are grounded")
        return
    described = order.describe(verdicts=bool(summary.get("verdicts")))
    title = f"worst {len(bad)} of {summary['n']:,}: {described}"
    lines = []
    for rank, item in enumerate(bad, 1):
        label = AnswerVerdict.LABELS.get(item.verdict or "", "")
        head = f"{rank:>2}  {item.score:.2f}  {label}".rstrip()
        lines.append(f"{head}  {_line(item.id)}  {_line(item.question)}".rstrip())
        lines += _brief_lines(item) if text.is_brief else _full_lines(item)
    yield Part(title, [Text("\n".join(lines), "lines")])


def _brief_lines(item: WorstItem) -> Iterator[str]:
    """Yield the first unsupported claim and its reason; the answer if no claim is named."""
    if not item.unsupported:
        if item.response is not None:
            yield f"    {_line(item.response) or '(empty)'}"
        return
    yield f"    ✗ {_line(item.unsupported[0])}"
    more = len(item.unsupported) - 1
    reason = _line(item.reasons[0]) if item.reasons else ""
    tail = f" (and {several(more, 'more claim')})" if more else ""
    if reason or tail:
        yield f"      – {clip(reason, COLUMNS - 8 - len(tail))}{tail}"


def _full_lines(item: WorstItem) -> Iterator[str]:
    if item.response is not None:
        yield f"    answer: {_line(item.response) or '(empty)'}"
    for claim, reason in list(zip(item.unsupported, item.reasons, strict=True))[:_MAX_CLAIMS]:
        if _line(claim) != _line(item.response):  # the answer is one claim, already shown
            yield f"    ✗ {_line(claim)}"
        first, _, rest = wrap(_line(reason), "", COLUMNS - 8).partition("\n")
        if first:
            yield f"      – {first}"
        if rest:
            yield f"        {_line(rest)}"
    if len(item.unsupported) > _MAX_CLAIMS:
        yield f"      … and {several(len(item.unsupported) - _MAX_CLAIMS, 'more claim')}"


def point_to_more(summary: Mapping[str, Any], text: RunText) -> Iterator[Block]:
    """Yield which options show what the text leaves out, and where the page and the files are."""
    lines = []
    options = []
    n_left = len(summary["metrics"]) - len(headline_keys(summary["metrics"]))
    if n_left > 0 and not text.shows_all:
        options.append(f"{several(n_left, 'more metric')}: --all")
    if text.is_brief and not text.shows_all and WorstOrder(summary["metrics"]).metrics:
        options.append("the worst answers in full: --worst 20")
    if options:
        lines.append(f"more   {'; '.join(options)}")
    if text.path is not None:
        lines.append(f"page   {RunFiles(text.path).page}")
        if text.shows_all:
            lines.append(f"files  {text.path}/")
    if lines:
        yield Text("\n".join(lines), "whole")


def _line(text: str | None) -> str:
    """Return the text on one line."""
    return one_line(" ".join((text or "").split()))


# ---- in Python ----


def summary_page(summary: Mapping[str, Any]) -> Page:
    """Return what Python and notebooks show of a summary, in at most 24 lines of text."""
    sentences = [opening(summary), *corrected_rates(summary)]
    if has_verdicts(summary):
        sentences.append(trust_sentence(summary["verdicts"]))
    paragraphs = [user_messages.word(sentence) for sentence in sentences if sentence]
    n_lines = len(wrap("\n".join(paragraphs)).split("\n")) + 5
    n_rows = max(_MIN_ROWS, min(_MAX_ROWS, _MAX_LINES - n_lines))
    metrics = summary["metrics"]
    first = [key for _, key in headline_keys(metrics)]
    keys = [*first, *(key for key in metrics if key not in first)]
    rows = []
    for key in keys[:n_rows]:
        entry = metrics[key]
        ci = entry["ci"]
        interval = NO_VALUE if ci is None else f"[{number(ci[0])}, {number(ci[1])}]"
        rows.append(Row([key, number(entry["mean"]), interval, entry["scored"]]))
    columns = [Head("metric")]
    columns += [Head(name, "number") for name in ("mean", "interval", "scored")]
    blocks: list[Block] = [Text("\n".join(paragraphs))] if paragraphs else []
    blocks.append(Table(columns, rows, count_items(summary)))
    if len(keys) > n_rows:
        blocks.append(Text(f"… and {len(keys) - n_rows} more, in .raw['metrics']"))
    return Page("summary", "", "Summary", blocks)
