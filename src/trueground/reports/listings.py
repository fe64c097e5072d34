"""What there is and what a search finds, as text for a terminal: parts, caches, data, hits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueground.benchmarks.instruct_qa.statistics import Statistics
    from trueground.net.upkeep import CacheStats
    from trueground.retrieval.base import Hit
    from trueground.retrieval.evaluation import Evaluated
    from trueground.types import Passage


def render_entry(entry: Mapping[str, Any], width: int) -> str:
    """One line for a part, its name padded to `width`, and one for each of its options."""
    needs = ", ".join(entry.get("needs", []))
    tail = f"  [needs {needs}]" if needs else ""
    tail += f"  [extra: {entry['extra']}]" if entry.get("extra") else ""
    tail += f"  [tasks {', '.join(entry['tasks'])}]" if entry.get("tasks") else ""
    if "fetched" in entry:
        command = f"trueground data fetch {entry['name']}" + " --from PATH" * entry["from_only"]
        tail += "  [fetched]" if entry["fetched"] else f"  [{command}]"
    lines = [f"  {entry['name']:{width}}  {entry['doc']}{tail}"]
    for name, option in entry.get("options", {}).items():
        allowed = "|".join(option["allowed"]) or "…"
        default = option["default"]  # None: left out, or what the other options make it
        tail = "" if default is None else f", default {default!r}"
        lines.append(f"  {'':{width}}    {name}={allowed}{tail}")
    return "\n".join(lines)


def render_cache(result: CacheStats, noun: str) -> str:
    """How much a file keeps, since when, and of which models."""
    from trueground.reports.terminal import shown_name

    lines = [f"{result.path}", f"{result.entries:,} {noun}, {result.bytes:,} bytes on disk"]
    if result.oldest and result.newest:
        lines.append(f"from {result.oldest:%Y-%m-%d %H:%M} to {result.newest:%Y-%m-%d %H:%M} UTC")
    names = [shown_name(m.model) for m in result.models]
    width = max(map(len, names), default=0)
    for name, m in zip(names, result.models, strict=True):
        tokens = f"  {m.tokens:,} tokens" if noun == "replies" else ""
        lines.append(f"  {name:{width}}  {m.entries:,} {noun}{tokens}")
    return "\n".join(lines)


def render_statistics(counts: Statistics) -> str:
    """One number a line, with the published one behind where there is one."""
    published = counts.published
    lines = [counts.name]
    millions = f"{published['passages_in_millions']} million" if published else ""
    rows: list[tuple[str, float | None, str]] = [
        ("questions", counts.questions, f"{published['questions']:,.0f}" if published else ""),
        ("words of a question", counts.question_words, ""),
        (
            "words of an answer (distinct answers)",
            counts.answer_words,
            f"{published['answer_words']}" if published else "",
        ),
        ("words of an answer (first reference)", counts.first_answer_words, ""),
        ("references of a question", counts.references, ""),
        ("questions with gold passages", counts.with_gold, ""),
        ("earlier turns of a question", counts.turns, ""),
        ("conversations or groups", counts.conversations, ""),
        ("passages", counts.passages, millions),
    ]
    for what, number, in_paper in rows:
        shown = "-" if number is None else f"{number:,.2f}"
        shown = f"{number:,}" if isinstance(number, int) else shown
        beside = f"   paper: {in_paper}" if in_paper else ""
        lines.append(f"  {what:<38}{shown:>10}{beside}")
    return "\n".join(lines)


def render_hits(query: str | None, hits: Sequence[tuple[Hit, Passage]]) -> str:
    """One query's hits, best first; the query above them unless it is None."""
    from trueground.records.problems import shorten

    lines = [] if query is None else [shorten(query, 90)]
    titles = [shorten(passage.title or "", 30) for _, passage in hits]
    width = max(map(len, titles), default=0)
    for rank, (title, (hit, passage)) in enumerate(zip(titles, hits, strict=True), 1):
        text = shorten(" ".join(passage.text.split()), 60)
        lines.append(f"{rank:4}  {hit.score:10.4f}  {title:{width}}  {text}")
    return "\n".join(lines if hits else [*lines, "nothing found"])


def render_evaluated(results: Mapping[str, Evaluated]) -> str:
    """A table for each retriever."""
    from trueground.reports.terminal import table

    return "\n".join(f"{name}\n{table(list(_rows(one)))}" for name, one in results.items())


def _rows(one: Evaluated) -> Iterator[tuple[str, ...]]:
    from trueground.reports.terminal import number

    yield "measure", "mean", "95% interval", "scored", "of"
    for name, mean in one.means.items():
        ends = f"{number(mean.ci[0])} … {number(mean.ci[1])}" if mean.ci else "–"
        yield name, number(mean.mean), ends, f"{mean.scored:,}", f"{mean.n:,}"
