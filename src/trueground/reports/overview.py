"""What is seen of a run first: verdicts, at most six metrics, the worst answers, in 80 columns.

Text without colour, for terminals, files and `repr`; a short table in HTML for notebooks.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from trueground.metrics.grounding import ANSWER_VERDICTS
from trueground.plugins import bare_name, split_key
from trueground.reports import terminal
from trueground.reports.blocks import number
from trueground.reports.text import one_line, percent, table
from trueground.reports.trust import similar_sets, trust_sentence
from trueground.runs.directory import REPORT
from trueground.runs.worst import WorstItem, worst_metrics, worst_order
from trueground.wording import spoken

COLUMNS = 80
_MOST_METRICS = 6
_MOST_ROWS, _LEAST_ROWS = 14, 3  # of the text of a summary in Python
_MOST_LINES = 24
_NOT_BAD = ("grounded", "declined")
_MOST_CLAIMS = 2
_BAR = 30
# What is asked of answers, and the metrics that tell, those of most worth first (docs/trust.md).
QUESTIONS = {
    "grounded?": ("support", "grounding_f1", "k_precision", "grounding_precision"),
    "right?": ("correct_support", "recall", "grounding_recall", "choice_accuracy", "f1"),
    "declines when it should?": ("p_ir", "p_g"),
    "cites?": ("citation_f1", "passage_citation_f1", "citation_correctness"),
}


def render_overview(
    summary: Mapping[str, Any], path: Path | None, worst: Sequence[WorstItem] = ()
) -> str:
    """Verdicts, headline metrics by question, their breakdowns, the worst answers, the page."""
    keys = headline_keys(summary["metrics"])
    box = verdict_box(summary)
    blocks = [box] * bool(box)
    blocks.append(f"{terminal.count_items(summary)}\n\n{_metrics_by_question(summary, keys)}")
    blocks += terminal.breakdowns(summary, [key for _, key in keys])
    blocks += [terminal.abstention(summary)] * (not terminal.has_verdicts(summary))
    blocks += terminal.extras(summary)
    list_ = worst_answers(worst, summary)
    blocks += [list_] * bool(list_)
    left = len(summary["metrics"]) - len(keys)
    if left > 0:
        blocks.append(
            f"{left} more metric{'' if left == 1 else 's'}: --all"
            + " or the page" * (path is not None)
        )
    return "\n\n".join([*blocks, *page_of(path)])


def render_metrics(
    summary: Mapping[str, Any],
    path: Path | None,
    worst: Sequence[WorstItem] = (),
    manifest: Mapping[str, Any] | None = None,
) -> str:
    """The same with every metric and every breakdown."""
    box, list_ = verdict_box(summary), worst_answers(worst, summary)
    blocks = [box] * bool(box) + [terminal.render(summary, None, manifest)]
    blocks += [list_] * bool(list_)
    return "\n\n".join([*blocks, *page_of(path)])


def page_of(path: Path | None) -> list[str]:
    """Where the page and the files are; nothing where nothing was written."""
    return [] if path is None else [f"page   {path / REPORT}\nfiles  {path}/"]


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
        question: [key for name in names for key in keys if bare_name(key) == name]
        for question, names in QUESTIONS.items()
    }


def _metrics_by_question(summary: Mapping[str, Any], keys: Sequence[tuple[str, str]]) -> str:
    level = next((entry["ci_level"] for entry in summary["metrics"].values()), 0.95)
    rows = [terminal.metric_row(f"  {key}", summary["metrics"][key]) for _, key in keys]
    lines = table(
        [("", "mean", f"{level:.0%} interval", "scored", "not scored"), *rows]
    ).splitlines()
    shown, before = [lines[0]], ""
    for (question, _), line in zip(keys, lines[1:], strict=True):
        shown += [question] * (question != before)
        shown.append(line)
        before = question
    return "\n".join(clip(line) for line in shown)


def _trust(verdicts: Mapping[str, Any]) -> str:
    """How far the verdicts are to be trusted, and where more is told of it."""
    more = "" if similar_sets(verdicts) is None else " The sets one by one: docs/trust.md."
    return trust_sentence(verdicts) + more


def verdict_box(summary: Mapping[str, Any]) -> str:
    """In a frame: the sentence, a line for what people say and for each verdict, with intervals,
    and how far they are to be trusted.
    """
    first, corrected = terminal.opening(summary), _people_say(summary)
    if not first and not corrected:
        return ""
    lines = [*_wrapped(first), ""] if first else []
    if terminal.has_verdicts(summary):
        verdicts = summary["verdicts"]
        lines += [*_verdict_lines(summary), "", *corrected]
        level = f"{verdicts['ci_level']:.0%} intervals; verdicts by the judge {verdicts['judge']}."
        lines += [*_wrapped(level), *_wrapped(_trust(verdicts))]
    else:
        lines = [*lines, *corrected] if corrected else lines[:-1]
    width = COLUMNS - 4
    body = [f"│ {line}{' ' * (width - width_of(line))} │" for line in lines]
    rule = "─" * (COLUMNS - 2)
    return "\n".join([f"┌{rule}┐", *body, f"└{rule}┘"])


def _verdict_lines(summary: Mapping[str, Any]) -> list[str]:
    """A line for each verdict: its share, the interval, how many answers, a bar; above them the
    same of what people say.
    """
    verdicts, lines = summary["verdicts"], []
    if found := terminal.grounded_to_people(summary):
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


def _people_say(summary: Mapping[str, Any]) -> list[str]:
    """The rates that people would give, by their labels of some answers, in lines."""
    return [line for one in terminal.corrected_rates(summary) for line in _wrapped(one)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS - 4)


def worst_answers(items: Sequence[WorstItem], summary: Mapping[str, Any]) -> str:
    """The worst answers: question, answer, score, the claims that are not supported, and why.

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
        if item.response is not None:
            lines.append(clip(f"    answer: {_line(item.response) or '(empty)'}"))
        for claim, reason in list(zip(item.unsupported, item.reasons, strict=True))[:_MOST_CLAIMS]:
            if _line(claim) != _line(item.response):  # the answer is one claim, and stands above
                lines.append(clip(f"    ✗ {_line(claim)}"))
            lines += _wrapped_reason(_line(reason))
        more = len(item.unsupported) - _MOST_CLAIMS
        if more > 0:
            lines.append(f"      … and {more} more claim{'' if more == 1 else 's'}")
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def _wrapped_reason(reason: str) -> list[str]:
    """The reason in at most two lines."""
    first, *rest = textwrap.wrap(reason, COLUMNS - 8) or [""]
    if not first:
        return []
    return [clip(f"      – {first}"), *[clip(f"        {' '.join(rest)}")] * bool(rest)]


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


# In Python: what `repr` gives and a notebook shows.


def _rows_of(summary: Mapping[str, Any], most: int) -> tuple[list[tuple[str, ...]], int]:
    """Headline metrics first, as cells, and how many metrics are left out."""
    metrics = summary["metrics"]
    first = [key for _, key in headline_keys(metrics)]
    keys = [*first, *(key for key in metrics if key not in first)]
    rows: list[tuple[str, ...]]
    rows = [
        (key, number(m["mean"]), terminal.interval(m["ci"]), f"{m['scored']:,}")
        for key in keys[:most]
        for m in (metrics[key],)
    ]
    return rows, len(keys) - len(rows)


def _sentences(summary: Mapping[str, Any]) -> list[str]:
    """What is said before the metrics: how grounded, what people say, how far to trust it."""
    said = [terminal.opening(summary), *terminal.corrected_rates(summary)]
    if terminal.has_verdicts(summary):
        said.append(_trust(summary["verdicts"]))
    return [spoken(one) for one in said if one]


def render_short(summary: Mapping[str, Any]) -> str:
    """The summary in at most 24 lines."""
    lines = [terminal.count_items(summary)]
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
    n = escape(terminal.count_items(summary))
    return f"<div>{said}<table><caption>{n}</caption>{head}{body}</table>{more}</div>"


def _html_row(cells: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
