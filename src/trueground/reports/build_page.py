"""The page of a build: its funnel, its items and what fell, the numbers of the quality report.

The page tells no time, no cost and no folder: the same build gives the same page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import quote

from trueground.reports import build_view as view
from trueground.reports.blocks import (
    Axis,
    Block,
    Bullets,
    Chart,
    Entries,
    Entry,
    Estimate,
    Grid,
    Head,
    Page,
    Part,
    Rich,
    Row,
    Series,
    Span,
    Table,
    Text,
    Tile,
    Tiles,
    code,
    link,
    quiet,
    several,
    strong,
)

MARK = "trueground-build-1"
Raw = Mapping[str, Any]
_SHARE = Head("Share", "estimate", digits=1, percent=True)
_NOTES = (
    "Content words are those of a question without the words that only hold sentences together; a "
    "word stands in the contexts where it stands there as it is, in small or capital letters.",
    "Whether an item that must not be answerable, or must have two answers, is as it should be is "
    "seen by its factor, not by its share of answerable items alone.",
    "Intervals are percentile bootstraps over items (95 %, 2,000 resamples, seed 0).",
)


class Shown(NamedTuple):
    """Lines of a file that the page shows: all, or every `step`-th of a long one."""

    rows: Sequence[Raw] = ()
    step: int = 1


_NOTHING = Shown()


def build_page(
    summary: Raw,
    manifest: Raw,
    people: Raw | None = None,
    items: Shown = _NOTHING,
    dropped: Shown = _NOTHING,
) -> Page:
    """The page of summary.json and manifest.json, of labels that came after the build, and of
    items.jsonl and dropped.jsonl.
    """
    quality = summary["quality"]
    sections: dict[str, tuple[str, Iterable[Block]]] = {
        "funnel": ("From source to dataset", _funnel(summary)),
        "items": ("Questions and contexts", _items(items)),
        "fell": ("What fell", _fallen(dropped, summary)),
        "use": ("How to use it", _use(summary)),
        "holds": ("What it holds", _holds(quality)),
        "overlap": ("Question, answer and contexts", _overlap(quality)),
        "checked": ("What judges and people said", _checked(quality, people)),
        "made": ("How it was made", _made(manifest, summary)),
    }
    near = f"{quality['duplicates']['near_question']['threshold']:.0%}"
    alike = f"Two questions are nearly the same where they share {near} of their words, rare words "
    alike += "weighing more: a pattern that all questions follow does not make them alike."
    drawn = [(id_, title, list(blocks)) for id_, (title, blocks) in sections.items()]
    blocks: list[Block] = [Part(title, own, id_) for id_, title, own in drawn if own]
    blocks.append(Part("How to read this", [Bullets([*_NOTES, alike])]))
    notices = [*view.left_out(summary), *summary["notices"]]
    version = manifest.get("trueground", "")
    title, lead = view.title(summary), _lead(summary, manifest)
    return Page("build", MARK, title, blocks, lead, notices, version)


def _lead(summary: Raw, manifest: Raw) -> Rich:
    lead: list[str | Span] = [strong(several(summary["n"], "item"))]
    if sources := view.sources(manifest):
        lead.append(f" made of {several(len(sources), 'source file')}")
    for place, (role, name, _) in enumerate(view.models(manifest)):
        lead += [" and " if place else ", with ", strong(name), f" as {role}"]
    return [*lead, "."]


def _funnel(summary: Raw) -> Iterator[Block]:
    """Each stage with what came, left and fell, on the scale of the largest number of items."""
    stages = summary["stages"]
    most = max([1, *(max(stage["in"], stage["out"]) for stage in stages)])
    rows, reasons = [], []
    for stage in stages:
        name: Rich = [strong(stage["name"]), quiet(f" {stage['doc']}")]
        rows.append(Row([name, stage["in"], Estimate(stage["out"]), stage["dropped"]]))
        if stage["reasons"]:
            reasons.append(Row([stage["name"]], "group"))
        reasons += [Row([one["reason"], one["n"], one["words"]]) for one in stage["reasons"]]
    number = [Head(word, "number") for word in ("In", "Fell")]
    out = Head("Out", "estimate", digits=0, high=most)
    yield Table([Head("Stage"), number[0], out, number[1]], rows)
    if reasons:
        head = [Head("Reason", "code"), Head("Items", "number"), Head("In words")]
        yield Table(head, reasons, "Why items fell")
    file = link("dropped.jsonl", "dropped.jsonl")
    tail = " with its stage, reason and what was found. A stage may make several items of one."
    yield Text(["Every item that fell stands in ", file, tail], "quiet")


def _items(items: Shown) -> Iterator[Block]:
    """The items of the dataset, as they are asked and read."""
    if not items.rows:
        return
    entries = []
    for one in items.rows:
        tags = {**one.get("factors", {})}
        if one.get("answerable") is not None:
            tags["judge says answerable"] = "yes" if one["answerable"] else "no"
        answers = " · ".join(one.get("answers", ()))
        contexts: list[Block] = [Text(text) for text in one.get("contexts", ())]
        numbers = one.get("numbers", {})
        note: Rich = [quiet("Answer  "), answers] if answers else ""
        entries.append(
            Entry(one["question"], [*contexts, Text(one["id"], "quiet")], note, numbers, tags)
        )
    yield from _part(items, "items.jsonl")
    yield Entries(entries, "item")


def _fallen(dropped: Shown, summary: Raw) -> Iterator[Block]:
    """What fell, with what was found and the thing itself."""
    if not dropped.rows:
        return
    words = {
        (s["name"], one["reason"]): one["words"] for s in summary["stages"] for one in s["reasons"]
    }
    entries = []
    for one in dropped.rows:
        made = one.get("made")
        parts = made.items() if isinstance(made, dict) else [] if made is None else [("", made)]
        blocks: list[Block] = [
            Text([quiet(f"{name.replace('_', ' ')}  "), _said(value)]) for name, value in parts
        ]
        why = words.get((one["stage"], one["reason"]), one["reason"])
        note = f"{why}: {one['detail']}" if one["detail"] else why
        tags = {"reason": one["reason"], "stage": one["stage"]}
        entries.append(Entry(one["id"], blocks, note, tags=tags))
    yield from _part(dropped, "dropped.jsonl")
    yield Entries(entries, "item")


def _part(shown: Shown, file: str) -> Iterator[Block]:
    if shown.step > 1:
        said = f"Every {shown.step:,}th of them stands here; all are in "
        yield Text([said, link(file, file), "."], "quiet")


def _said(value: object) -> str:
    """A text as it is, a list of texts line by line, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def _use(summary: Raw) -> Iterator[Block]:
    if summary["n"]:
        yield Text("From the folder in which this page stands:")
        yield Text(view.command(summary), "command")
    else:
        yield Text("No item is left that could be used.")
    yield Text("Files of the dataset:")
    names = summary["files"]
    yield Bullets([[link(f"dataset/{name}", f"dataset/{quote(name)}")] for name in names])


def _holds(quality: Raw) -> Iterator[Block]:
    whole = quality["items"]
    yield Tiles([Tile(words, f"{number:,}") for words, number in view.sizes(quality)])
    if spreads := view.spreads(quality):
        yield Grid([_histogram(words, spread, "items") for words, spread in spreads])
    for name, values in quality["factors"].items():
        rows = [
            Row([value or "(none)", count, Estimate(count / whole if whole else None)])
            for value, count in values.items()
        ]
        yield Table([Head(name), Head("Items", "number"), _SHARE], rows, f"By {name}")
    for table in quality["crossed"]:
        counts = table["counts"]
        heads = [Head(value or "(none)", "number") for value in next(iter(counts.values()))]
        rows = [Row([value or "(none)", *row.values()]) for value, row in counts.items()]
        caption = f"{table['rows']} by {table['columns']}"
        yield Table([Head(table["rows"]), *heads], rows, caption)


def _histogram(words: str, spread: Raw, unit: str) -> Chart:
    edges, counts = spread["histogram"]["edges"], spread["histogram"]["counts"]
    whole = all(edge == int(edge) for edge in edges)
    labels = []
    for low, high in pairwise(edges):
        ends = f"{low:,.0f} to {high - 1:,.0f}" if high - low > 1 else f"{low:,.0f}"
        labels.append(ends if whole else f"{low:.3g} to {high:.3g}")
    low, high, median, mean = (view.amount(spread[key]) for key in ("min", "max", "median", "mean"))
    note = f"{low} to {high}, median {median}, mean {mean}; {spread['n']:,} {unit}"
    series = [Series(unit, edges[:-1], counts, labels=labels)]
    return Chart("bars", words, Axis(), Axis(unit), series, note)


def _overlap(quality: Raw) -> Iterator[Block]:
    shared, found = quality["overlap"]["question"], quality["overlap"]["answer"]
    if shared:
        words = "Share of a question's content words that stand in its contexts"
        yield Grid([_histogram(words, shared, "items")])
        if found["items"]:
            share = view.percent(found["found"], found["items"])
            said = f" of {found['items']:,} items with an answer ({share})."
            lead = "An answer stands word for word in the contexts of "
            yield Text([lead, strong(f"{found['found']:,}"), said])
    else:
        yield Text("No item has contexts in which its question's words could be looked for.")
    rows = []
    for words, one in view.doubles(quality):
        likeness = f" (likeness {one['threshold']} or more)" if "threshold" in one else ""
        such = "; ".join(", ".join(group) for group in one["examples"]) or "–"
        rows.append(Row([[words, quiet(likeness)], one["groups"], one["items"], such]))
    columns = [Head("What is the same"), Head("Groups", "number")]
    columns += [Head("Items beyond the first", "number"), Head("Such as", "code")]
    yield Table(columns, rows, "There twice")


def _checked(quality: Raw, people: Raw | None) -> Iterator[Block]:
    judged, human = quality["answerable"], quality["human"]
    if judged:
        yield Text(f"{view.answerable(judged)} {view.LEFT}")
        groups = [("all", judged)]
        for name, values in judged["by"].items():
            groups += [(f"{name}: {value or '(none)'}", one) for value, one in values.items()]
        rows = [
            Row(
                [
                    name,
                    one["yes"],
                    one["asked"],
                    Estimate(one["yes"] / one["asked"] if one["asked"] else None),
                ]
            )
            for name, one in groups
        ]
        columns = [Head("Items"), Head("Answerable", "number"), Head("Asked", "number")]
        caption = "Answerable from the contexts, by a judge model"
        yield Table([*columns, _SHARE], rows, caption)
    if human:
        yield Text(view.labelled(human))
        yield _labels(human["kinds"], "Labels of people")
    if people:
        n = people["unknown"]
        lost = "1 label is of a task" if n == 1 else f"{n:,} labels are of tasks"
        tail = f"; {lost} that this build does not have." if n else "."
        yield Text(["From ", code(people["file"]), tail])
        yield _labels(people["kinds"], "Labels that came after the build")
    if not (judged or human or people):
        yield Text("No judge of answerability was asked, and no labels of people were given.")


def _labels(kinds: Sequence[Raw], caption: str) -> Table:
    head, rows = view.labels_table(kinds)
    return Table([Head(word) for word in head], [Row(list(row)) for row in rows], caption)


def _made(manifest: Raw, summary: Raw) -> Iterator[Block]:
    def table(head: str, rows: Iterable[Sequence[str]]) -> Iterator[Table]:
        lines = [Row(list(row)) for row in rows]
        name, *rest = head.split("|")
        columns = [
            Head(name),
            *(Head(word, "code" if "SHA" in word else "text") for word in rest),
        ]
        if lines:
            yield Table(columns, lines)

    sources = view.sources(manifest)
    yield from table(
        "Role|Model|Asked with", [(role, *told) for role, *told in view.models(manifest)]
    )
    yield from table("Prompt|SHA-256 of its text", (manifest.get("prompts") or {}).items())
    yield from table("Setting|Value", view.settings(manifest))
    yield from table("Source|SHA-256", sources[: view.MOST_SOURCES])
    if len(sources) > view.MOST_SOURCES:
        more = f"{len(sources) - view.MOST_SOURCES:,} more stand in "
        yield Text([more, link("manifest.json", "manifest.json"), "."], "quiet")
    files = ["card.md", "summary.json", "manifest.json"]
    files += [f"stages/{k:02}-{s['name']}.jsonl" for k, s in enumerate(summary["stages"], 1)]
    links = [part for name in files for part in (", ", link(name, name))][1:]
    licence = "The licences of the sources apply to what was built of them. Other files: "
    yield Text([licence, *links, "."], "quiet")
