"""What there is, as text for a terminal: parts by name, what is kept, numbers of data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueground.benchmarks.instruct_qa.statistics import Statistics
    from trueground.net.upkeep import CacheStats


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
