"""A run as text for a terminal: what is seen first, in 80 columns, and every number of it.

Verdicts, at most six metrics, the worst answers: without colour, for files and `repr` too; a short
table in HTML for notebooks.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from trueground.components.specs import split_key
from trueground.errors import spoken
from trueground.metrics.grounding import ANSWER_VERDICTS
from trueground.reports.blocks import number, several
from trueground.reports.noise import format_noise, tabulate_judges
from trueground.reports.sentences import (
    REPEAT,
    corrected_rates,
    grounded_to_people,
    has_verdicts,
    notices,
    opening,
    refusal_rules,
    similar_sets,
    trust_sentence,
)
from trueground.reports.text import format_table, one_line, percent, shown_name, table
from trueground.runs.directory import REPORT
from trueground.runs.worst import WorstItem, worst_metrics, worst_order

COLUMNS = 80
_MOST_METRICS, _MOST_VALUES = 6, 6
_MOST_ROWS, _LEAST_ROWS = 14, 3  # of the text of a summary in Python
_MOST_LINES = 24
_NOT_BAD = ("grounded", "declined")
_MOST_CLAIMS = 2
_WIDEST = 16  # characters of a value that breaks down
_BAR = 30
_NONE = "(none)"  # the value of items that lack a field (evaluate.scorer)
# What is asked of answers, and the metrics that tell, those of most worth first (docs/trust.md).
QUESTIONS = {
    "grounded?": ("support", "grounding_f1", "k_precision", "grounding_precision"),
    "right?": ("correct_support", "recall", "grounding_recall", "choice_accuracy", "f1"),
    "declines when it should?": ("p_ir", "p_g"),
    "cites?": ("citation_f1", "passage_citation_f1", "citation_correctness"),
}


def render_overview(
    summary: Mapping[str, Any],
    path: Path | None,
    worst: Sequence[WorstItem] = (),
    *,
    every: bool = False,
    brief: bool = False,
) -> str:
    """Verdicts, headline metrics by question, their breakdowns, the worst answers, the page.

    Args:
        summary: The summary of the run.
        path: The run directory; None if nothing was written.
        worst: The worst answers.
        every: Show all metrics and all breakdowns.
        brief: Of each of the worst answers show only the first claim without support.
    """
    keys = headline_keys(summary["metrics"])
    blocks = [verdict_box(summary)]
    if every:
        blocks.append(render(summary, None))
    else:
        blocks.append(f"{count_items(summary)}\n{_metrics_by_question(summary, keys)}")
        blocks += _breakdowns(summary, _first_of_questions(keys))
        if not has_verdicts(summary):
            blocks.append(_abstention(summary))
        blocks += _extras(summary, {})
    blocks.append(worst_answers(worst, summary, brief=brief))
    if every:
        end = _page_of(path)
    else:
        page = "" if path is None else f"page   {path / REPORT}"
        end = "\n".join(filter(None, [_left_out(summary, keys, brief=brief), page]))
    return "\n\n".join(filter(None, [*blocks, end]))


def _first_of_questions(keys: Sequence[tuple[str, str]]) -> list[str]:
    """The most telling metric of each question; all where they belong to none."""
    first: dict[str, str] = {}
    for question, key in keys:
        first.setdefault(question, key)
    return [key for _, key in keys] if "" in first else list(first.values())


def _left_out(summary: Mapping[str, Any], keys: Sequence[tuple[str, str]], *, brief: bool) -> str:
    """Which options show what the overview leaves out; empty if it leaves out nothing."""
    lines = []
    if (left := len(summary["metrics"]) - len(keys)) > 0:
        lines.append(f"{several(left, 'more metric')}: --all")
    if brief and worst_metrics(summary["metrics"]):
        lines.append("the worst answers in full: --worst 20")
    return f"more   {'; '.join(lines)}" if lines else ""


def render_run(summary: Mapping[str, Any], manifest: Mapping[str, Any], path: Path | None) -> str:
    """All numbers of the answers of a model, with how the calls went."""
    told = manifest["benchmark"]
    head = f"{shown_name(manifest['model']['name'])} on {told['name']}/{told['task']}"
    lines = [head, *(f"note: {notice}" for notice in notices(manifest)), _calls(manifest)]
    lines += filter(None, [opening(summary), *corrected_rates(summary)])
    return "\n".join(lines) + f"\n\n{render(summary, path, manifest)}"


def render(
    summary: Mapping[str, Any], path: Path | None, manifest: Mapping[str, Any] | None = None
) -> str:
    """The table of all metrics, breakdowns, abstention, and where the page lies."""
    level = next((m["ci_level"] for m in summary["metrics"].values()), 0.95)
    repeats = _repeats_of(summary)
    head = ["metric", "mean", f"{level:.0%} interval", "scored", "not scored"]
    if repeats is not None:
        head.insert(3, f"± sd over {max(one['of'] for one in repeats.values())} repeats")
    rows = (_metric_row(k, m, repeats and repeats[k]) for k, m in summary["metrics"].items())
    blocks = [count_items(summary), table([head, *rows])]
    blocks += [*_extras(summary, manifest or {}), *_breakdowns(summary), _abstention(summary)]
    return "\n\n".join(filter(None, [*blocks, _page_of(path)]))


def _page_of(path: Path | None) -> str:
    """Where the page and the files are; nothing where nothing was written."""
    return "" if path is None else f"page   {path / REPORT}\nfiles  {path}/"


def count_items(summary: Mapping[str, Any]) -> str:
    """How many items, and what is to know of them."""
    notes = []
    if summary.get("skipped"):
        notes.append(f"{several(summary['skipped'], 'bad row')} skipped")
    if summary["empty_responses"]:
        notes.append(several(summary["empty_responses"], "empty response"))
    if summary["clusters"]:
        notes.append(f"{summary['clusters']:,} groups, resampled as clusters")
    return several(summary["n"], "item") + (f" ({'; '.join(notes)})" if notes else "")


def _calls(manifest: Mapping[str, Any]) -> str:
    outcomes, tokens = manifest["outcomes"], manifest["tokens"]
    parts = [f"{several(manifest['calls'], 'call')}, {manifest['cache_hits']:,} from the cache"]
    parts.append(f"{tokens['in']:,} tokens in, {tokens['out']:,} out")
    if manifest.get("cost"):
        parts.append(f"{manifest['cost']['usd']:,.4f} USD")
    if lost := [f"{n:,} {kind}" for kind, n in outcomes.items() if n and kind != "answered"]:
        parts.append("no whole answer: " + ", ".join(lost))
    return "; ".join(parts)


# ---- tables of metrics ----


def headline_keys(metrics: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """At most six pairs of a question and a metric that answers it and was scored somewhere.

    First the best metric of each question, then the next ones. Where no metric belongs to a
    question, the first six of the run.
    """
    known = [key for key, entry in metrics.items() if entry["scored"] and not split_key(key).judge]
    found = by_question(known)
    ranked = [
        (place, question, key) for question, keys in found.items() for place, key in enumerate(keys)
    ]
    chosen = {key for _, _, key in sorted(ranked, key=lambda one: one[0])[:_MOST_METRICS]}
    if not chosen:
        return [("", key) for key in list(metrics)[:_MOST_METRICS]]
    return [(question, key) for question, keys in found.items() for key in keys if key in chosen]


def by_question(keys: Iterable[str]) -> dict[str, list[str]]:
    """The metrics that answer each question, the best first."""
    keys = list(keys)
    return {
        question: [key for name in names for key in keys if split_key(key).name == name]
        for question, names in QUESTIONS.items()
    }


def _metrics_by_question(summary: Mapping[str, Any], keys: Sequence[tuple[str, str]]) -> str:
    level = next((entry["ci_level"] for entry in summary["metrics"].values()), 0.95)
    rows = [_metric_row(f"  {key}", summary["metrics"][key]) for _, key in keys]
    lines = table(
        [("", "mean", f"{level:.0%} interval", "scored", "not scored"), *rows]
    ).splitlines()
    shown, before = [lines[0]], ""
    for (question, _), line in zip(keys, lines[1:], strict=True):
        shown += [question] * (question != before)
        shown.append(line)
        before = question
    return "\n".join(clip(line) for line in shown)


def _metric_row(
    key: str, metric: Mapping[str, Any], repeats: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Its mean, interval, spread over repeats, how many were scored, and why others were not."""
    ci = metric["ci"]
    ends = f"{number(ci[0])} … {number(ci[1])}" if ci else "–"
    why = ", ".join(f"{count:,} {status}" for status, count in metric["unscored"].items())
    spread = () if repeats is None else (format_spread(repeats),)
    return key, number(metric["mean"]), ends, *spread, f"{metric['scored']:,}", why


def format_spread(entry: Mapping[str, Any]) -> str:
    """The standard deviation of the repeats' means, and of how many where not of all."""
    some = "" if entry["values"] == entry["of"] else f" ({entry['values']} of {entry['of']})"
    return number(entry["sd"]) + some


def _extras(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[str]:
    """What repeated answers and several judges have beside the metrics."""
    blocks = []
    if summary.get("repeats"):
        blocks.append(format_noise(summary["repeats"], manifest))
    if entries := summary.get("judge_agreement"):
        blocks.append(format_table(tabulate_judges(entries)))
    return blocks


def _breakdowns(summary: Mapping[str, Any], keys: Sequence[str] | None = None) -> list[str]:
    """A table for each field; of these metrics, or of all."""
    repeats = _repeats_of(summary)
    return [
        _breakdown(field, by, summary["averages"][field], keys)
        for field, by in summary["by"].items()
        if by.keys() != {_NONE}  # no item has the field
        and not (repeats and field == REPEAT)  # stands in the first table
    ]


def _repeats_of(summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The averages over repeats, where questions were asked several times."""
    averages: Mapping[str, Any] = summary["averages"]
    return averages[REPEAT] if len(summary["by"].get(REPEAT, ())) > 1 else None


def _breakdown(
    field: str,
    values: Mapping[str, Any],
    averages: Mapping[str, Any],
    only: Sequence[str] | None = None,
) -> str:
    shown = list(values.items())[:_MOST_VALUES]
    keys = list(next(iter(values.values()), {})) if only is None else only
    names = [one_line(name) for name, _ in shown]
    names = [name if len(name) <= _WIDEST else name[: _WIDEST - 1] + "…" for name in names]
    counts = ("items", *(f"{next(iter(m.values()))['n']:,}" for _, m in shown), "", "")
    rows = [("by " + field, *names, "average", ""), counts]
    tail = [f"… and {n} more values, in summary.json"] if (n := len(values) - len(shown)) else []
    for key in keys:
        own = averages[key]
        spread = "" if own.get("sd") is None else f" ± {number(own['sd'])}"
        means = (number(m[key]["mean"]) for _, m in shown)
        rows.append((key, *means, number(own["mean"]) + spread, ""))
        if 0 < own["values"] < own["of"]:
            over = f"the average is over {own['values']} of {own['of']} values"
            tail.append(f"{key}: {over}, nothing was scored in others")
    return "\n".join([table(rows), *tail])


def _abstention(summary: Mapping[str, Any]) -> str:
    """The rate, and the counts where records say what can be answered."""
    rate = summary["abstention_rate"]
    text = f"abstention rate {number(rate)}"
    found = summary["abstention"]
    if found is None:
        return text
    rows = [("", "abstained", "answered", "")]
    rows += [
        (f"  {kind}", f"{c['abstained']:,}", f"{c['answered']:,}", "")
        for kind, c in found["confusion"].items()
    ]
    rates = f"p_ir {number(found['p_ir'])}, p_g {number(found['p_g'])}"
    return "\n".join(filter(None, (f"{text}; {rates}", table(rows), refusal_rules(summary))))


# ---- the verdicts in a frame ----


def _trust(verdicts: Mapping[str, Any]) -> str:
    """How far the verdicts are to be trusted, and where more is told of it."""
    more = "" if similar_sets(verdicts) is None else " The sets one by one: docs/trust.md."
    return trust_sentence(verdicts) + more


def verdict_box(summary: Mapping[str, Any]) -> str:
    """In a frame: the sentence, a line for what people say and for each verdict, with intervals,
    and how far they are to be trusted.
    """
    first = _opening_of_box(summary)
    corrected = [line for one in corrected_rates(summary) for line in _wrapped(one)]
    if not first and not corrected:
        return ""
    lines = _wrapped(first)
    if has_verdicts(summary):
        verdicts = summary["verdicts"]
        lines += [*_verdict_lines(summary), *corrected]
        level = f"{verdicts['ci_level']:.0%} intervals; verdicts by the judge {verdicts['judge']}."
        lines += _wrapped(f"{level} {_trust(verdicts)}")
    else:
        lines += corrected
    width = COLUMNS - 4
    body = [f"│ {line}{' ' * (width - width_of(line))} │" for line in lines]
    rule = "─" * (COLUMNS - 2)
    return "\n".join([f"┌{rule}┐", *body, f"└{rule}┘"])


def _opening_of_box(summary: Mapping[str, Any]) -> str:
    """The sentence above the verdicts: without the shares that the lines below it show."""
    if not has_verdicts(summary) or grounded_to_people(summary):
        return opening(summary)
    verdicts = summary["verdicts"]
    share = percent(verdicts["grounded"]["share"])
    return f"Of {several(verdicts['n'], 'answer')} {share} are grounded."


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS - 4)


def _verdict_lines(summary: Mapping[str, Any]) -> list[str]:
    """A line for each verdict: its share, the interval, how many answers, a bar; above them the
    same of what people say.
    """
    verdicts, lines = summary["verdicts"], []
    if found := grounded_to_people(summary):
        one = found[1]
        people = _share_line("grounded", one["mean"], one["ci"], f"{one['labels']:,} labels")
        lines = ["by people", people, "by the judge"]
    for name in ANSWER_VERDICTS:
        one = verdicts[name]
        if name == "unscored" and not one["n"]:
            continue
        lines.append(_share_line(name, one["share"], one["ci"], f"{one['n']:,}"))
    return lines


def _share_line(name: str, share: float | None, ci: Sequence[float] | None, n: str) -> str:
    ends = "" if ci is None else "–".join(f"{100 * x:.0f}" for x in ci) + " %"
    bar = "█" * round(_BAR * (share or 0))
    return f"{name:9} {percent(share):>6}  {ends:>9}  {n:>9}  {bar}".rstrip()


# ---- the worst answers ----


def worst_answers(
    items: Sequence[WorstItem], summary: Mapping[str, Any], *, brief: bool = False
) -> str:
    """The worst answers: question, answer, score, the claims that are not supported, and why.

    `brief` ones have a line each for the question, the first such claim, and its reason.

    Those that are grounded after all, that decline, and that have no score are left out. Empty
    where the run has no metric that tells which answers are worse.
    """
    metric = next(iter(worst_metrics(summary["metrics"])), None)
    if metric is None or not items:
        return ""
    items = [one for one in items if one.score is not None and one.verdict not in _NOT_BAD]
    if not items:
        return "no answer to read first: none is scored, or all of them are grounded"
    order = worst_order(metric, bool(summary.get("verdicts")))
    blocks = [f"worst {len(items)} of {summary['n']:,}: {order}"]
    for rank, item in enumerate(items, 1):
        score = "–" if item.score is None else f"{item.score:.2f}"
        head = f"{rank:>2}  {score}  {item.verdict or ''}".rstrip()
        lines = [clip(f"{head}  {_line(item.id)}  {_line(item.question)}".rstrip())]
        if brief:
            blocks.append("\n".join([*lines, *_brief_lines(item)]))
            continue
        if item.response is not None:
            lines.append(clip(f"    answer: {_line(item.response) or '(empty)'}"))
        for claim, reason in list(zip(item.unsupported, item.reasons, strict=True))[:_MOST_CLAIMS]:
            if _line(claim) != _line(item.response):  # the answer is one claim, and stands above
                lines.append(clip(f"    ✗ {_line(claim)}"))
            first, *rest = textwrap.wrap(_line(reason), COLUMNS - 8) or [""]
            lines += [clip(f"      – {first}")] * bool(first)
            lines += [clip(f"        {' '.join(rest)}")] * bool(rest)
        more = len(item.unsupported) - _MOST_CLAIMS
        if more > 0:
            lines.append(f"      … and {several(more, 'more claim')}")
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def _brief_lines(item: WorstItem) -> list[str]:
    """The first claim that is not supported and its reason; the answer if no claim is named."""
    if not item.unsupported:
        return [] if item.response is None else [clip(f"    {_line(item.response) or '(empty)'}")]
    lines = [clip(f"    ✗ {_line(item.unsupported[0])}")]
    more = len(item.unsupported) - 1
    reason = _line(item.reasons[0]) if item.reasons else ""
    tail = f" (and {several(more, 'more claim')})" if more else ""
    if reason or tail:
        lines.append(f"      – {clip(reason, COLUMNS - 8 - len(tail))}{tail}")
    return lines


def _line(text: str | None) -> str:
    """The text on one line."""
    return one_line(" ".join((text or "").split()))


def width_of(text: str) -> int:
    """How many columns a terminal needs for it."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def clip(text: str, most: int = COLUMNS) -> str:
    """The beginning of the text that fits, with a mark where something is missing."""
    if width_of(text) <= most:
        return text
    kept, used = [], 0
    for c in text:
        used += width_of(c)
        if used > most - 1:
            break
        kept.append(c)
    return "".join(kept).rstrip() + "…"


# ---- in Python: what `repr` gives and a notebook shows ----


def _rows_of(summary: Mapping[str, Any], most: int) -> tuple[list[tuple[str, ...]], int]:
    """Headline metrics first, as cells, and how many metrics are left out."""
    metrics = summary["metrics"]
    first = [key for _, key in headline_keys(metrics)]
    keys = [*first, *(key for key in metrics if key not in first)]
    rows: list[tuple[str, ...]]
    rows = [
        (key, number(m["mean"]), _interval(m["ci"]), f"{m['scored']:,}")
        for key in keys[:most]
        for m in (metrics[key],)
    ]
    return rows, len(keys) - len(rows)


def _sentences(summary: Mapping[str, Any]) -> list[str]:
    """What is said before the metrics: how grounded, what people say, how far to trust it."""
    said = [opening(summary), *corrected_rates(summary)]
    if has_verdicts(summary):
        said.append(_trust(summary["verdicts"]))
    return [spoken(one) for one in said if one]


def _interval(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"[{number(ends[0])}, {number(ends[1])}]"


def render_short(summary: Mapping[str, Any]) -> str:
    """The summary in at most 24 lines."""
    lines = [count_items(summary)]
    lines += [line for one in _sentences(summary) for line in _wrapped(one)]
    lines += [""] * (len(lines) > 1)
    rows, left = _rows_of(summary, max(_LEAST_ROWS, min(_MOST_ROWS, _MOST_LINES - len(lines) - 2)))
    lines += table(
        [("metric", "mean", "interval", "scored", ""), *((*r, "") for r in rows)]
    ).splitlines()
    lines += [f"… and {left} more, in .raw['metrics']"] * bool(left)
    return "\n".join(clip(line, 120) for line in lines)


def summary_as_html(summary: Mapping[str, Any]) -> str:
    """The same as a short HTML table; everything that comes from data is escaped."""
    rows, left = _rows_of(summary, _MOST_ROWS)
    said = "".join(f"<p>{escape(one)}</p>" for one in _sentences(summary))
    head = _html_row(("metric", "mean", "interval", "scored"), "th")
    body = "".join(_html_row(row, "td") for row in rows)
    more = f"<p>… and {left} more</p>" if left else ""
    n = escape(count_items(summary))
    return f"<div>{said}<table><caption>{n}</caption>{head}{body}</table>{more}</div>"


def _html_row(cells: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
