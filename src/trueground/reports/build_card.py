"""The data card of a build: what it is and how it was made, as Markdown for a repository."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trueground.reports import build_view as view
from trueground.reports.blocks import several

# Whatever Markdown or HTML could read as more than a sign.
_SIGNS = re.compile(r"([\\`*_\[\]<>|~&$])")
_TICKS = re.compile(r"`+")


def render_card(
    summary: Mapping[str, Any], manifest: Mapping[str, Any], people: Mapping[str, Any] | None = None
) -> str:
    """The card; the same for the same build, valid Markdown whatever the texts hold."""
    quality = summary["quality"]
    blocks = [
        *_head(summary, manifest),
        *_making(summary, manifest),
        *_validation(quality, people),
        *_numbers(quality),
        *_limits(summary, quality),
        *_sources(manifest),
        *_use(summary),
    ]
    return "\n\n".join(blocks) + "\n"


def plain(text: object) -> str:
    """The text as Markdown that shows just these signs, on one line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return _SIGNS.sub(r"\\\1", line)


def fenced(text: str) -> str:
    """A block of code that no run of backticks within can end."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{text}\n{fence}"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> str:
    """A table; columns from `left` on are aligned to the right."""
    marks = ["---" if k < left else "---:" for k in range(len(head))]
    lines = [[plain(cell) for cell in head], marks]
    lines += [[plain(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _head(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    n = summary["n"]
    yield f"# {plain(view.title(summary))}"
    yield (
        f"{several(n, 'item')}, made by `trueground build` "
        f"{plain(manifest.get('trueground', ''))} with the builder {plain(summary['builder'])}. "
        "The page `report.html` beside this file shows the same with pictures."
    )


def _making(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## How it was made"
    steps = [
        (k, stage["name"], stage["doc"], *(f"{stage[x]:,}" for x in ("in", "out", "dropped")))
        for k, stage in enumerate(summary["stages"], 1)
    ]
    yield _table(("", "stage", "what it does", "in", "out", "fell"), steps, 3)
    fell = [
        (stage["name"], one["reason"], one["words"], f"{one['n']:,}")
        for stage in summary["stages"]
        for one in stage["reasons"]
    ]
    if fell:
        yield "What fell, and why:"
        yield _table(("stage", "reason", "in words", "items"), fell, 3)
    if models := view.models(manifest):
        yield "Models:"
        rows = [(role, name, how or "–") for role, name, how in models]
        yield _table(("role", "model", "asked with"), rows, 3)
    if prompts := manifest.get("prompts"):
        yield "Prompts, with the SHA-256 of their texts:"
        yield _table(("prompt", "sha256"), prompts.items(), 2)
    yield "Settings:"
    yield _table(("option", "value"), view.settings(manifest), 2)


def _validation(quality: Mapping[str, Any], people: Mapping[str, Any] | None) -> Iterator[str]:
    yield "## Validation"
    judged, human = quality["answerable"], quality["human"]
    if judged:
        yield f"{view.answerable(judged)} {view.LEFT}"
    if human:
        yield view.labelled(human)
        yield _table(*view.labels_table(human["kinds"]), 4)
    if people:
        yield f"Labels of people that came after the build ({plain(people['file'])}):"
        yield _table(*view.labels_table(people["kinds"]), 4)
    if not (judged or human or people):
        yield "No judge of answerability was asked, and no labels of people were given."


def _numbers(quality: Mapping[str, Any]) -> Iterator[str]:
    yield "## What it holds"
    yield _table(("", "number"), [(words, f"{n:,}") for words, n in view.sizes(quality)])
    if spreads := view.spreads(quality):
        rows = [
            (words, *(view.amount(s[key]) for key in ("min", "median", "mean", "max")))
            for words, s in spreads
        ]
        yield _table(("", "min", "median", "mean", "max"), rows)
    for name, values in quality["factors"].items():
        yield f"By {plain(name)}:"
        rows = [
            (v or "(none)", f"{n:,}", view.percent(n, quality["items"])) for v, n in values.items()
        ]
        yield _table((name, "items", "share"), rows)
    shared = quality["overlap"]["question"]
    if shared:
        yield (
            f"On average {100 * shared['mean']:.1f} % of a question's content words stand in its "
            f"contexts (median {100 * shared['median']:.1f} %)."
        )
    answers = quality["overlap"]["answer"]
    if answers["items"]:
        yield (
            f"An answer stands word for word in the contexts of {answers['found']:,} of "
            f"{answers['items']:,} items ({view.percent(answers['found'], answers['items'])})."
        )


def _limits(summary: Mapping[str, Any], quality: Mapping[str, Any]) -> Iterator[str]:
    yield "## Known limits"
    limits = [*view.left_out(summary), *map(plain, summary["notices"])]
    limits += [
        f"{one['items']:,} {'item has' if one['items'] == 1 else 'items have'} {words} as another."
        for words, one in view.doubles(quality)
        if one["items"]
    ]
    limits.append(
        "Models wrote and checked texts in it: an item may be wrong all the same. Items that "
        "failed a check are in dropped.jsonl, with the reason."
    )
    yield "\n".join(f"- {one}" for one in limits)


def _sources(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## Sources and licence"
    rows = view.sources(manifest)
    if rows:
        yield _table(("source", "sha256"), rows[: view.MOST_SOURCES], 2)
    if len(rows) > view.MOST_SOURCES:
        yield f"{len(rows) - view.MOST_SOURCES:,} more stand in manifest.json."
    yield (
        "The licences of these sources apply to what was built of them, and so do the terms of "
        "the models above for texts that they wrote. State them here before you publish the "
        "dataset."
    )


def _use(summary: Mapping[str, Any]) -> Iterator[str]:
    if not summary["n"]:
        return
    yield "## How to use it"
    yield "From the folder in which this file stands:"
    yield fenced(view.command(summary))
    yield "Files of the dataset:"
    yield "\n".join(f"- {plain('dataset/' + name)}" for name in summary["files"])
