"""The page and data card of a build: stages, items, dropped items, the quality report.

Neither shows times, costs or folders of this machine, except the paths of the sources. Therefore
the same build always gives the same bytes.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from trueground.reports import (
    Block,
    Bullets,
    Chart,
    Entries,
    Entry,
    Estimate,
    Grid,
    Head,
    Only,
    Page,
    Part,
    Rich,
    Row,
    Span,
    Table,
    Text,
    Tiles,
)
from trueground.text import NO_VALUE, percent, several
from trueground.wings.papers.builders.model_names import strip_model_folder

MARK = "trueground-build-1"
Raw = Mapping[str, Any]
_SHARE = Head("Share", "estimate", digits=1, percent=True)
_LENGTH_TITLES = {
    "question": "words of a question",
    "contexts": "words of all contexts of an item",
    "answer": "words of an answer",
    "contexts_per_item": "contexts of an item",
}
_DUPLICATE_TITLES = {
    "both": "the same question with the same contexts",
    "question": "the same question",
    "contexts": "the same contexts",
    "near_question": "nearly the same question",
}
_SIZE_TITLES = {
    "items": "items",
    "questions_distinct": "different questions",
    "contexts": "contexts",
    "contexts_distinct": "different contexts",
    "answers": "answers",
    "words": "words in questions and contexts",
}
_ANSWERABLE_NOTE = (
    "All of these items passed the checks of every stage. Therefore this share describes the "
    "remaining items, not the quality of the judge."
)
_LIMIT = (
    "Models wrote and checked texts in this dataset, so items may be wrong. Items that failed a "
    "check are in dropped.jsonl, with the reason."
)
_PAGE_HINT = "The page report.html in this folder shows the same with charts."
_LICENSE = (
    "The licenses of the sources apply to the dataset, and so do the terms of the models for texts "
    "that they wrote. State them here before you publish the dataset."
)
_DECISIONS = ("agreed", "majority", "tie", "open")
_LABEL_HEADS = ("task", "field", "labels", "how decided", "decided", "required yes")
_JUDGE_HEADS = ("agreement with the judge", "Cohen's kappa")
_MAX_LISTED_SOURCES = 50  # on page and card; manifest.json has all


class RowSample(NamedTuple):
    """The lines of a file that the page shows: all, or every `step`-th line of a long file."""

    rows: Sequence[Raw] = ()
    step: int = 1


_NO_ROWS = RowSample()


def build_page(
    summary: Raw,
    manifest: Raw,
    people: Raw | None = None,
    items: RowSample = _NO_ROWS,
    dropped: RowSample = _NO_ROWS,
) -> Page:
    """Return the page and data card of a build.

    Args:
        summary: The content of summary.json.
        manifest: The content of manifest.json.
        people: Labels that came after the build.
        items: Lines of items.jsonl.
        dropped: Lines of dropped.jsonl.
    """
    quality = summary["quality"]
    lists = [
        Part("Questions and contexts", list(_items(items)), "items"),
        Part("Dropped items", list(_dropped_items(dropped, summary)), "fell"),
    ]
    funnel, *parts = _parts(summary, manifest, people)
    near = f"{quality['duplicates']['near_question']['threshold']:.0%}"
    reading: list[Rich] = [
        f"Two questions are nearly the same if they share {near} of their words, by weight.",
        "Intervals: percentile bootstrap over items (95 %, 2,000 resamples, seed 0).",
        "How to read these numbers: docs/quality.md.",
    ]
    limits: list[Rich] = [*_left_out(summary), *summary["notices"], _LIMIT]
    version = manifest.get("trueground", "")
    origin = f"Made by trueground build {version} with the builder {summary['builder']}."
    blocks: list[Block] = [
        Only("markdown", [Text(f"{origin} {_PAGE_HINT}")]),
        *_filled([funnel]),
        Only("page", _filled(lists)),
        *_filled(parts),
        Only("page", [Part("How to read this", [Bullets(reading)])]),
        Only("markdown", [Part("Known limits", [Bullets(limits)])]),
        Only("markdown", [Part("License", [Text(_LICENSE)])]),
    ]
    notices = [*_left_out(summary), *summary["notices"]]
    lead: list[str | Span] = [Span(several(summary["n"], "item"), "strong")]
    if sources := _sources(manifest):
        lead.append(f" from {several(len(sources), 'source file')}")
    separator = ", with "
    for role, name, _ in _models(manifest):
        lead += [separator, Span(name, "strong"), f" as {role}"]
        separator = " and "
    return Page("build", MARK, _title(summary), blocks, [*lead, "."], notices, version)


def _filled(parts: Iterable[Part]) -> list[Block]:
    """Return the parts that have blocks."""
    return [part for part in parts if part.blocks]


def _parts(summary: Raw, manifest: Raw, people: Raw | None) -> list[Part]:
    """Return the parts that both page and card have."""
    quality = summary["quality"]
    return [
        Part("From source to dataset", list(_funnel(summary)), "funnel"),
        Part("How to use it", list(_use(summary)), "use"),
        Part("Contents", list(_contents(quality)), "holds"),
        Part("Question, answer and contexts", list(_overlap(quality)), "overlap"),
        Part("Judges and human labels", list(_checked(quality, people)), "checked"),
        Part("How it was made", list(_provenance(manifest, summary)), "made"),
    ]


def _title(summary: Raw) -> str:
    return f"Built benchmark: {summary['builder']}"


def _left_out(summary: Raw) -> list[str]:
    """Return a sentence about items that were left out because of a limit, if any."""
    n = summary.get("left_out") or 0
    return [f"The limit left out {several(n, 'source item')}."] if n else []


def _funnel(summary: Raw) -> Iterator[Block]:
    """Yield the table of the stages, with bars relative to the largest number of items."""
    stages = summary["stages"]
    largest = max([1, *(max(stage["in"], stage["out"]) for stage in stages)])
    rows, reasons = [], []
    for stage in stages:
        name: Rich = [Span(stage["name"], "strong"), Span(f" {stage['doc']}", "quiet")]
        rows.append(Row([name, stage["in"], Estimate(stage["out"]), stage["dropped"]]))
        if stage["reasons"]:
            reasons.append(Row([stage["name"]], "group"))
        reasons += [
            Row([entry["reason"], entry["n"], entry["words"]]) for entry in stage["reasons"]
        ]
    bars = Head("Out", "estimate", digits=0, high=largest)
    yield Table([Head("Stage"), Head("In", "number"), bars, Head("Dropped", "number")], rows)
    if reasons:
        heads = [Head("Reason", "code"), Head("Items", "number"), Head("Meaning")]
        yield Table(heads, reasons, "Why items were dropped")
    file = Span("dropped.jsonl", href="dropped.jsonl")
    tail = " has every dropped item with its stage, reason and what was found."
    yield Text([file, tail, " A stage may make several items from one."], "quiet")


def _items(items: RowSample) -> Iterator[Block]:
    """Yield the items of the dataset with their questions and contexts."""
    if not items.rows:
        return
    entries = []
    for item in items.rows:
        tags = {**item.get("factors", {})}
        if item.get("answerable") is not None:
            tags["judge says answerable"] = "yes" if item["answerable"] else "no"
        answers = " · ".join(item.get("answers", ()))
        contexts: list[Block] = [Text(text) for text in item.get("contexts", ())]
        note: Rich = [Span("Answer  ", "quiet"), answers] if answers else ""
        blocks = [*contexts, Text(item["id"], "quiet")]
        entries.append(Entry(item["question"], blocks, note, item.get("numbers", {}), tags))
    yield from _step(items, "items.jsonl")
    yield Entries(entries, "item")


def _dropped_items(dropped: RowSample, summary: Raw) -> Iterator[Block]:
    """Yield the dropped items with the reason and their content."""
    if not dropped.rows:
        return
    texts = {}
    for stage in summary["stages"]:
        for reason in stage["reasons"]:
            texts[stage["name"], reason["reason"]] = reason["words"]
    entries = []
    for item in dropped.rows:
        note = texts.get((item["stage"], item["reason"]), item["reason"])
        if item["detail"]:
            note = f"{note}: {item['detail']}"
        tags = {"reason": item["reason"], "stage": item["stage"]}
        entries.append(Entry(item["id"], _content_blocks(item.get("made")), note, tags=tags))
    yield from _step(dropped, "dropped.jsonl")
    yield Entries(entries, "item")


def _content_blocks(content: Any) -> list[Block]:
    """Return the content of a dropped item: texts line by line, anything else as JSON."""
    if content is None:
        return []
    blocks: list[Block] = []
    for name, value in content.items() if isinstance(content, dict) else [("", content)]:
        if isinstance(value, str):
            text = value
        elif isinstance(value, list) and all(isinstance(line, str) for line in value):
            text = "\n".join(value)
        else:
            text = json.dumps(value, ensure_ascii=False)
        blocks.append(Text([Span(f"{name.replace('_', ' ')}  ", "quiet"), text]))
    return blocks


def _step(sample: RowSample, file: str) -> Iterator[Block]:
    if sample.step > 1:
        text = f"This list has every {sample.step:,}th of them; all are in "
        yield Text([text, Span(file, href=file), "."], "quiet")


def _use(summary: Raw) -> Iterator[Block]:
    if summary["n"]:
        yield Text("In the folder of this file, run:")
        yield Text(str(summary["run"]).replace("{dataset}", "dataset"), "command")
    else:
        yield Text("No item is left.")
    yield Text("Files of the dataset:")
    names = summary["files"]
    yield Bullets([[Span(f"dataset/{name}", href=f"dataset/{quote(name)}")] for name in names])


def _contents(quality: Raw) -> Iterator[Block]:
    n_items = quality["items"]
    yield Tiles.of({title: f"{quality['sizes'][key]:,}" for key, title in _SIZE_TITLES.items()})
    lengths = {title: quality["lengths"][key] for key, title in _LENGTH_TITLES.items()}
    charts: list[Block] = []
    for title, summary in [*lengths.items(), *quality["numbers"].items()]:
        if summary:
            charts.append(_histogram(title, summary, "items"))
    if charts:
        yield Grid(charts)
    for name, values in quality["factors"].items():
        rows = []
        for value, count in values.items():
            share = Estimate(count / n_items if n_items else None)
            rows.append(Row([value or "(none)", count, share]))
        yield Table([Head(name), Head("Items", "number"), _SHARE], rows, f"By {name}")
    for table in quality["crossed"]:
        counts = table["counts"]
        heads = [Head(value or "(none)", "number") for value in next(iter(counts.values()))]
        rows = [Row([value or "(none)", *row.values()]) for value, row in counts.items()]
        caption = f"{table['rows']} by {table['columns']}"
        yield Table([Head(table["rows"]), *heads], rows, caption)


def _histogram(title: str, summary: Raw, unit: str) -> Chart:
    edges, counts = summary["histogram"]["edges"], summary["histogram"]["counts"]
    is_whole = all(edge == int(edge) for edge in edges)
    labels = []
    for low, high in pairwise(edges):
        if not is_whole:
            labels.append(f"{low:.3g} to {high:.3g}")
        elif high - low > 1:
            labels.append(f"{low:,.0f} to {high - 1:,.0f}")
        else:
            labels.append(f"{low:,.0f}")
    amounts = [summary[key] for key in ("min", "max", "median", "mean")]
    low, high, median, mean = (f"{n:,.0f}" if n == int(n) else f"{n:,.4g}" for n in amounts)
    note = f"{low} to {high}, median {median}, mean {mean}; {summary['n']:,} {unit}"
    return Chart.histogram(title, edges, counts, unit, labels=labels, note=note)


def _overlap(quality: Raw) -> Iterator[Block]:
    shared, verbatim = quality["overlap"]["question"], quality["overlap"]["answer"]
    if shared:
        title = "Share of a question's content words that its contexts contain"
        yield Grid([_histogram(title, shared, "items")])
        if verbatim["items"]:
            share = percent(verbatim["found"], verbatim["items"], digits=1)
            lead = "The contexts contain an answer word for word in "
            tail = f" of {verbatim['items']:,} items with an answer ({share})."
            yield Text([lead, Span(f"{verbatim['found']:,}", "strong"), tail])
    else:
        yield Text("No item has contexts to compare with its question.")
    rows = []
    for key, title in _DUPLICATE_TITLES.items():
        duplicates = quality["duplicates"][key]
        similarity = ""
        if "threshold" in duplicates:
            similarity = f" (similarity {duplicates['threshold']} or more)"
        examples = "; ".join(map(", ".join, duplicates["examples"])) or "–"
        cells = [[title, Span(similarity, "quiet")], duplicates["groups"], duplicates["items"]]
        rows.append(Row([*cells, examples]))
    columns = [Head("What is the same"), Head("Groups", "number")]
    columns += [Head("Items beyond the first", "number"), Head("Examples", "code")]
    yield Table(columns, rows, "Duplicates")


def _checked(quality: Raw, people: Raw | None) -> Iterator[Block]:
    judged, human = quality["answerable"], quality["human"]
    if judged:
        yield from _answerable(judged)
    if human:
        n_tasks = sum(kind["tasks"] for kind in human["kinds"])
        n_labeled = sum(kind["labeled"] for kind in human["kinds"])
        tail = "This includes items that they voted down and that are not in the dataset."
        yield Text(f"People have labeled {n_labeled:,} of {several(n_tasks, 'task')}. {tail}")
        yield _labels(human["kinds"], "Human labels")
    if people:
        n = people["unknown"]
        unknown = "1 label is for a task" if n == 1 else f"{n:,} labels are for tasks"
        tail = f"; {unknown} that this build doesn't have." if n else "."
        yield Text(["From ", Span(people["file"], "code"), tail])
        yield _labels(people["kinds"], "Human labels after the build")
    if not (judged or human or people):
        yield Text("There is no judge of answerability, and there are no human labels.")


def _answerable(judged: Raw) -> Iterator[Block]:
    """Yield how many items a judge model called answerable, in total and by factor."""
    n_yes, n_asked = judged["yes"], judged["asked"]
    share = percent(n_yes, n_asked, digits=1)
    text = f"A judge model called {n_yes:,} of {several(n_asked, 'remaining item')} answerable"
    yield Text(f"{text} from the contexts ({share}). {_ANSWERABLE_NOTE}")
    groups = [("all", judged)]
    for name, values in judged["by"].items():
        groups += [(f"{name}: {value or '(none)'}", counts) for value, counts in values.items()]
    rows = []
    for name, counts in groups:
        n_yes, n_asked = counts["yes"], counts["asked"]
        rows.append(Row([name, n_yes, n_asked, Estimate(n_yes / n_asked if n_asked else None)]))
    columns = [Head("Items"), Head("Answerable", "number"), Head("Asked", "number"), _SHARE]
    yield Table(columns, rows, "Answerable from the contexts, by a judge model")


def _labels(kinds: Sequence[Raw], caption: str) -> Table:
    """Return the labels of each field, with columns of the judge if there is one."""
    is_judged = any(field["judge"] for kind in kinds for field in kind["fields"])
    rows = []
    for kind in kinds:
        for field in kind["fields"]:
            cells = _label_cells(kind, field)
            if is_judged:
                cells += _judge_cells(field["judge"])
            rows.append(Row([*cells]))
    heads = [*_LABEL_HEADS, *(_JUDGE_HEADS if is_judged else ())]
    return Table([Head(head) for head in heads], rows, caption)


def _label_cells(kind: Raw, field: Raw) -> list[str]:
    n_yes, counts = field["confirmed"], field["how"]
    decisions = [*_DECISIONS, *sorted(set(counts) - set(_DECISIONS))]
    return [
        kind["kind"],
        field["field"],
        ", ".join(f"{value or '(none)'} {n:,}" for value, n in field["values"].items()),
        ", ".join(f"{counts[name]:,} {name}" for name in decisions if counts.get(name)),
        f"{field['decided']:,} of {kind['tasks']:,}",
        "–" if n_yes is None else percent(n_yes, field["decided"], digits=1),
    ]


def _judge_cells(agreement: Raw | None) -> list[str]:
    if not agreement:
        return ["–", "–"]
    raw = f"{100 * agreement['raw']:.1f} % of {agreement['n']:,}"
    if agreement["kappa"] is None:
        return [raw, "undefined"]
    # Adding 0.0 removes the sign of a value that rounds to -0.
    numbers = (agreement["kappa"], *(agreement["kappa_ci"] or ()))
    kappa, *interval = (f"{round(number, 4) + 0.0:.4f}" for number in numbers)
    if interval:
        kappa += f" ({' … '.join(interval)})"
    return [raw, kappa]


def _provenance(manifest: Raw, summary: Raw) -> Iterator[Block]:
    yield from _table(("Role", "Model", "Parameters"), _models(manifest))
    prompts = (manifest.get("prompts") or {}).items()
    yield from _table(("Prompt", "SHA-256 of its text"), prompts)
    settings = {**(manifest.get("options") or {}), "seed": manifest.get("seed")}
    if manifest.get("limit") is not None:
        settings["limit"] = manifest["limit"]
    rows = [(name, _format(value)) for name, value in settings.items()]
    yield from _table(("Setting", "Value"), rows)
    sources = _sources(manifest)
    yield from _table(("Source", "SHA-256"), sources[:_MAX_LISTED_SOURCES])
    if len(sources) > _MAX_LISTED_SOURCES:
        more = f"{len(sources) - _MAX_LISTED_SOURCES:,} more are in "
        yield Text([more, Span("manifest.json", href="manifest.json"), "."], "quiet")
    files = ["card.md", "summary.json", "manifest.json"]
    files += [f"stages/{k:02}-{s['name']}.jsonl" for k, s in enumerate(summary["stages"], 1)]
    texts: list[str | Span] = ["The licenses of the sources apply to the dataset. Other files: "]
    for name in files:
        texts += [Span(name, href=name), ", "]
    texts[-1] = "."
    yield Text(texts, "quiet")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[Table]:
    """Yield a table of texts and checksums, if there are rows."""
    columns = [Head(head, "code" if head.startswith("SHA") else "text") for head in heads]
    body = [Row(list(row)) for row in rows]
    if body:
        yield Table(columns, body)


class _ModelRow(NamedTuple):
    role: str
    name: str
    params: str


def _models(manifest: Raw) -> list[_ModelRow]:
    """Return the role, name and parameters of every model."""
    rows = []
    for role, model in (manifest.get("models") or {}).items():
        params = (model.get("params") or {}).items()
        text = ", ".join(f"{key} {value}" for key, value in params if value or value == 0)
        rows.append(_ModelRow(role, strip_model_folder(str(model.get("name", ""))), text))
    return rows


def _sources(manifest: Raw) -> list[tuple[str, str]]:
    """Return the path, as the user named it, and the checksum of every file that was read."""
    inputs = manifest.get("inputs") or ()
    return [(str(file.get("path", "")), str(file.get("sha256") or "")) for file in inputs]


def _format(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def show_built(
    summary: Raw, path: Path, usage: Mapping[str, Raw], usd: Mapping[str, float]
) -> list[Block]:
    """Return how many items each stage kept, why others were dropped, costs, and what to do next.

    Args:
        summary: The summary of the build.
        path: Its folder.
        usage: Calls and tokens, by role.
        usd: Costs, by role; without those that have no price.
    """
    n_left = summary["left_out"]
    left_out = f" (the limit left out {several(n_left, 'row')})" if n_left else ""
    head = f"build {summary['builder']}: {several(summary['n'], 'item')}{left_out}"
    rows = []
    for stage in summary["stages"]:
        rows.append(Row([stage["name"], stage["in"], stage["out"], ""]))
        for reason in stage["reasons"]:
            cells = ["", "", reason["n"], f"{reason['reason']}: {reason['words']}"]
            rows.append(Row(cells))
    columns = [Head("stage"), Head("in", "number"), Head("out", "number"), Head("dropped because")]
    blocks: list[Block] = [Text(head), Table(columns, rows)]
    blocks += [Text(notice, "note") for notice in summary["notices"]]
    if usage:
        lines = [_format_usage(role, entry, usd.get(role)) for role, entry in usage.items()]
        blocks.append(Text("\n".join(lines)))
    last = [f"out    {path}"]
    if summary["n"]:
        dataset = shlex.quote(str(path / "dataset"))
        last.append(f"next   {summary['run'].replace('{dataset}', dataset)}")
    return [*blocks, Text("\n".join(last), "plain")]


def _format_usage(role: str, entry: Raw, usd: float | None) -> str:
    cost = "" if usd is None else f", ${usd:,.4f}"
    return (
        f"{role}  {entry['name']}: {several(entry['calls'], 'call')}, "
        f"{entry['cache_hits']:,} from the cache; "
        f"{entry['tokens_in']:,} tokens in, {entry['tokens_out']:,} out{cost}"
    )


def show_estimated(estimate: Raw) -> list[Block]:
    """Return the calls of each stage and role, and their sum."""
    done = several(estimate["done"], "outcome")
    head = f"{several(estimate['items'], 'source item')}; already stored: {done}"
    names = ("calls", "tokens in, about", "out", "USD")
    columns = [Head("stage"), Head("role"), Head("model")]
    columns += [Head(name, "number") for name in names]
    rows = []
    for stage in estimate["stages"]:
        usd = NO_VALUE if stage["usd"] is None else f"{stage['usd']:,.4f}"
        texts = [stage["stage"], stage["role"], stage["model"]]
        rows.append(Row([*texts, stage["calls"], stage["tokens_in"], stage["tokens_out"], usd]))
    calls = sum(stage["calls"] for stage in estimate["stages"])
    lines = [f"total: {several(calls, 'call')} at most, if no item is dropped"]
    costs = [stage["usd"] for stage in estimate["stages"] if stage["usd"] is not None]
    if costs:
        lines.append(f"about ${math.fsum(costs):,.4f}")
    return [Text(head), Table(columns, rows), Text("\n".join(lines))]
