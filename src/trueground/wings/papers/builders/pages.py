"""A build as blocks of its page and data card: funnel, items, what fell, the quality report.

Neither tells a time, a cost or a folder of this machine beyond the sources as they were named: the
same build gives the same bytes.
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
_LENGTHS = {
    "question": "words of a question",
    "contexts": "words of all contexts of an item",
    "answer": "words of an answer",
    "contexts_per_item": "contexts of an item",
}
_DOUBLES = {
    "both": "the same question with the same contexts",
    "question": "the same question",
    "contexts": "the same contexts",
    "near_question": "nearly the same question",
}
_SIZES = {
    "items": "items",
    "questions_distinct": "different questions",
    "contexts": "contexts",
    "contexts_distinct": "different contexts",
    "answers": "answers",
    "words": "words in questions and contexts",
}
# What a reader may take for a measure of the judge, and is none.
_LEFT = (
    "All of these items passed the checks of every stage, so that this tells what kinds of items "
    "are left, and nothing of how good the judge is."
)
_LIMIT = (
    "Models wrote and checked texts in it: an item may be wrong all the same. Items that failed a "
    "check are in dropped.jsonl, with the reason."
)
_SAME = "The page report.html in this folder shows the same with pictures."
_LICENSE = (
    "The licenses of the sources apply to what was built of them, and so do the terms of the "
    "models for texts that they wrote. State them here before you publish the dataset."
)
_HOW = ("agreed", "majority", "tie", "open")
_HEAD = ("task", "field", "what they said", "how decided", "decided", "said yes, as needed")
_JUDGE = ("the judge says the same", "Cohen's kappa")
_MOST_SOURCES = 50  # that page and card show of thousands; manifest.json has all


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
    lists = [
        Part("Questions and contexts", list(_items(items)), "items"),
        Part("What fell", list(_fallen(dropped, summary)), "fell"),
    ]
    funnel, *parts = _parts(summary, manifest, people)
    near = f"{quality['duplicates']['near_question']['threshold']:.0%}"
    reading: list[Rich] = [
        f"Two questions are nearly the same if they share {near} of their words, by weight.",
        "Intervals: percentile bootstrap over items (95 %, 2,000 resamples, seed 0).",
        "How to read these numbers: docs/quality.md.",
    ]
    limits: list[Rich] = [*_left_out(summary), *summary["notices"], _LIMIT]
    made = f"Made by trueground build {manifest.get('trueground', '')} with the builder "
    blocks: list[Block] = [
        Only("markdown", [Text(f"{made}{summary['builder']}. {_SAME}")]),
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
        lead.append(f" made of {several(len(sources), 'source file')}")
    for place, (role, name, _) in enumerate(_models(manifest)):
        lead += [" and " if place else ", with ", Span(name, "strong"), f" as {role}"]
    return Page(
        "build",
        MARK,
        _title(summary),
        blocks,
        [*lead, "."],
        notices,
        manifest.get("trueground", ""),
    )


def _filled(parts: Iterable[Part]) -> list[Block]:
    """Return the parts that have blocks."""
    return [part for part in parts if part.blocks]


def _parts(summary: Raw, manifest: Raw, people: Raw | None) -> list[Part]:
    """What page and card have alike."""
    quality = summary["quality"]
    return [
        Part("From source to dataset", list(_funnel(summary)), "funnel"),
        Part("How to use it", list(_use(summary)), "use"),
        Part("What it holds", list(_holds(quality)), "holds"),
        Part("Question, answer and contexts", list(_overlap(quality)), "overlap"),
        Part("What judges and people said", list(_checked(quality, people)), "checked"),
        Part("How it was made", list(_made(manifest, summary)), "made"),
    ]


def _title(summary: Raw) -> str:
    return f"Built benchmark: {summary['builder']}"


def _left_out(summary: Raw) -> list[str]:
    """What a limit has left unread, in a sentence; nothing without one."""
    n = summary.get("left_out") or 0
    return [f"The limit left out {several(n, 'source item')}."] if n else []


def _funnel(summary: Raw) -> Iterator[Block]:
    """Each stage with what came, left and fell, on the scale of the largest number of items."""
    stages = summary["stages"]
    most = max([1, *(max(stage["in"], stage["out"]) for stage in stages)])
    rows, reasons = [], []
    for stage in stages:
        name: Rich = [Span(stage["name"], "strong"), Span(f" {stage['doc']}", "quiet")]
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
    file = Span("dropped.jsonl", href="dropped.jsonl")
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
        note: Rich = [Span("Answer  ", "quiet"), answers] if answers else ""
        blocks = [*contexts, Text(one["id"], "quiet")]
        entries.append(Entry(one["question"], blocks, note, one.get("numbers", {}), tags))
    yield from _step(items, "items.jsonl")
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
        blocks: list[Block] = []
        for name, value in parts:  # a list of texts line by line, anything else as JSON
            is_list = isinstance(value, list) and all(isinstance(x, str) for x in value)
            text = "\n".join(value) if is_list else value
            text = text if isinstance(text, str) else json.dumps(value, ensure_ascii=False)
            blocks.append(Text([Span(f"{name.replace('_', ' ')}  ", "quiet"), text]))
        why = words.get((one["stage"], one["reason"]), one["reason"])
        note = f"{why}: {one['detail']}" if one["detail"] else why
        tags = {"reason": one["reason"], "stage": one["stage"]}
        entries.append(Entry(one["id"], blocks, note, tags=tags))
    yield from _step(dropped, "dropped.jsonl")
    yield Entries(entries, "item")


def _step(shown: Shown, file: str) -> Iterator[Block]:
    if shown.step > 1:
        said = f"Every {shown.step:,}th of them stands here; all are in "
        yield Text([said, Span(file, href=file), "."], "quiet")


def _use(summary: Raw) -> Iterator[Block]:
    if summary["n"]:
        yield Text("From the folder in which this file stands:")
        yield Text(str(summary["run"]).replace("{dataset}", "dataset"), "command")
    else:
        yield Text("No item is left that could be used.")
    yield Text("Files of the dataset:")
    names = summary["files"]
    yield Bullets([[Span(f"dataset/{name}", href=f"dataset/{quote(name)}")] for name in names])


def _holds(quality: Raw) -> Iterator[Block]:
    whole = quality["items"]
    yield Tiles.of({words: f"{quality['sizes'][key]:,}" for key, words in _SIZES.items()})
    lengths = [(words, quality["lengths"][key]) for key, words in _LENGTHS.items()]
    spreads = [(words, one) for words, one in [*lengths, *quality["numbers"].items()] if one]
    if spreads:
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
    amounts = [spread[key] for key in ("min", "max", "median", "mean")]
    low, high, median, mean = (f"{n:,.0f}" if n == int(n) else f"{n:,.4g}" for n in amounts)
    note = f"{low} to {high}, median {median}, mean {mean}; {spread['n']:,} {unit}"
    return Chart.histogram(words, edges, counts, unit, labels=labels, note=note)


def _overlap(quality: Raw) -> Iterator[Block]:
    shared, found = quality["overlap"]["question"], quality["overlap"]["answer"]
    if shared:
        words = "Share of a question's content words that stand in its contexts"
        yield Grid([_histogram(words, shared, "items")])
        if found["items"]:
            share = percent(found["found"], found["items"], digits=1)
            said = f" of {found['items']:,} items with an answer ({share})."
            lead = "An answer stands word for word in the contexts of "
            yield Text([lead, Span(f"{found['found']:,}", "strong"), said])
    else:
        yield Text("No item has contexts in which its question's words could be looked for.")
    rows = []
    for key, words in _DOUBLES.items():
        one = quality["duplicates"][key]
        likeness = f" (likeness {one['threshold']} or more)" if "threshold" in one else ""
        such = "; ".join(", ".join(group) for group in one["examples"]) or "–"
        rows.append(Row([[words, Span(likeness, "quiet")], one["groups"], one["items"], such]))
    columns = [Head("What is the same"), Head("Groups", "number")]
    columns += [Head("Items beyond the first", "number"), Head("Such as", "code")]
    yield Table(columns, rows, "There twice")


def _checked(quality: Raw, people: Raw | None) -> Iterator[Block]:
    judged, human = quality["answerable"], quality["human"]
    if judged:
        yes, asked = judged["yes"], judged["asked"]
        are, share = "is" if asked == 1 else "are", percent(yes, asked, digits=1)
        said = f"Of {several(asked, 'item')} that {are} left a judge model called {yes:,} "
        yield Text(f"{said}answerable from the contexts ({share}). {_LEFT}")
        groups = [("all", judged)]
        for name, values in judged["by"].items():
            groups += [(f"{name}: {value or '(none)'}", one) for value, one in values.items()]
        shares = [(one["yes"], one["asked"]) for _, one in groups]
        rows = [
            Row([name, yes, asked, Estimate(yes / asked if asked else None)])
            for (name, _), (yes, asked) in zip(groups, shares, strict=True)
        ]
        columns = [Head("Items"), Head("Answerable", "number"), Head("Asked", "number")]
        caption = "Answerable from the contexts, by a judge model"
        yield Table([*columns, _SHARE], rows, caption)
    if human:
        tasks, done = (sum(k[name] for k in human["kinds"]) for name in ("tasks", "labeled"))
        tail = "those of items among them that they voted down and that are not in the dataset."
        yield Text(f"People have labeled {done:,} of {several(tasks, 'task')}, {tail}")
        yield _labels(human["kinds"], "Labels of people")
    if people:
        n = people["unknown"]
        lost = "1 label is of a task" if n == 1 else f"{n:,} labels are of tasks"
        tail = f"; {lost} that this build does not have." if n else "."
        yield Text(["From ", Span(people["file"], "code"), tail])
        yield _labels(people["kinds"], "Labels that came after the build")
    if not (judged or human or people):
        yield Text("No judge of answerability was asked, and no labels of people were given.")


def _labels(kinds: Sequence[Raw], caption: str) -> Table:
    """What people said of each field; columns of the judge where one was asked."""
    fields = [(kind, field) for kind in kinds for field in kind["fields"]]
    judged = any(field["judge"] for _, field in fields)
    rows = []
    for kind, field in fields:
        needed, how, one = field["confirmed"], field["how"], field["judge"]
        known = [*_HOW, *sorted(set(how) - set(_HOW))]
        row = [
            kind["kind"],
            field["field"],
            ", ".join(f"{value or '(none)'} {n:,}" for value, n in field["values"].items()),
            ", ".join(f"{how[word]:,} {word}" for word in known if how.get(word)),
            f"{field['decided']:,} of {kind['tasks']:,}",
            "–" if needed is None else percent(needed, field["decided"], digits=1),
        ]
        if judged:
            same = f"{100 * one['raw']:.1f} % of {one['n']:,}" if one else "–"
            kappa = "undefined" if one else "–"
            if one and one["kappa"] is not None:  # what rounds to 0 has no sign
                ends = (one["kappa"], *(one["kappa_ci"] or ()))
                kappa, *interval = (f"{round(x, 4) + 0.0:.4f}" for x in ends)
                kappa += f" ({' … '.join(interval)})" if interval else ""
            row += [same, kappa]
        rows.append(Row([*row]))
    heads = (*_HEAD, *(_JUDGE if judged else ()))
    return Table([Head(word) for word in heads], rows, caption)


def _made(manifest: Raw, summary: Raw) -> Iterator[Block]:
    def table(head: str, rows: Iterable[Sequence[str]]) -> Iterator[Table]:
        lines = [Row(list(row)) for row in rows]
        name, *rest = head.split("|")
        kinds = [Head(word, "code" if "SHA" in word else "text") for word in rest]
        yield from [Table([Head(name), *kinds], lines)] if lines else []

    sources, prompts = _sources(manifest), (manifest.get("prompts") or {}).items()
    yield from table("Role|Model|Asked with", _models(manifest))
    yield from table("Prompt|SHA-256 of its text", prompts)
    limit = {"limit": manifest["limit"]} if manifest.get("limit") is not None else {}
    found = {**(manifest.get("options") or {}), "seed": manifest.get("seed"), **limit}
    yield from table("Setting|Value", [(name, _format(value)) for name, value in found.items()])
    yield from table("Source|SHA-256", sources[:_MOST_SOURCES])
    if len(sources) > _MOST_SOURCES:
        more = f"{len(sources) - _MOST_SOURCES:,} more stand in "
        yield Text([more, Span("manifest.json", href="manifest.json"), "."], "quiet")
    files = ["card.md", "summary.json", "manifest.json"]
    files += [f"stages/{k:02}-{s['name']}.jsonl" for k, s in enumerate(summary["stages"], 1)]
    links = [part for name in files for part in (", ", Span(name, href=name))][1:]
    advice = "The licenses of the sources apply to what was built of them. Other files: "
    yield Text([advice, *links, "."], "quiet")


def _models(manifest: Raw) -> list[tuple[str, str, str]]:
    """(role, name, how it was asked) of every model."""
    found = []
    for role, model in (manifest.get("models") or {}).items():
        params = (model.get("params") or {}).items()
        said = ", ".join(f"{key} {v}" for key, v in params if v not in (None, "", [], {}))
        found.append((role, strip_model_folder(str(model.get("name", ""))), said))
    return found


def _sources(manifest: Raw) -> list[tuple[str, str]]:
    """(path as it was given, checksum) of every file that was read."""
    inputs = manifest.get("inputs") or ()
    return [(str(one.get("path", "")), str(one.get("sha256") or "")) for one in inputs]


def _format(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# ---- what a command prints of a build ----


def show_built(
    summary: Raw, path: Path, spent: Mapping[str, Raw], usd: Mapping[str, float]
) -> list[Block]:
    """Return how many items each stage kept, why others were dropped, costs, and what to do next.

    Args:
        summary: The summary of the build.
        path: Its folder.
        spent: Calls and tokens, by role.
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
    if spent:
        lines = [_format_spent(role, entry, usd.get(role)) for role, entry in spent.items()]
        blocks.append(Text("\n".join(lines)))
    last = [f"out    {path}"]
    if summary["n"]:
        dataset = shlex.quote(str(path / "dataset"))
        last.append(f"next   {summary['run'].replace('{dataset}', dataset)}")
    return [*blocks, Text("\n".join(last), "plain")]


def _format_spent(role: str, entry: Raw, usd: float | None) -> str:
    cost = "" if usd is None else f", ${usd:,.4f}"
    return (
        f"{role}  {entry['name']}: {several(entry['calls'], 'call')}, "
        f"{entry['cache_hits']:,} from the cache; "
        f"{entry['tokens_in']:,} tokens in, {entry['tokens_out']:,} out{cost}"
    )


def show_estimated(estimate: Raw) -> list[Block]:
    """Return the calls of each stage and role, and their sum."""
    done = several(estimate["done"], "outcome")
    head = f"{several(estimate['items'], 'source item')}; there already: {done}"
    names = ("calls", "tokens in, about", "out", "USD")
    columns = [Head("stage"), Head("role"), Head("model")]
    columns += [Head(name, "number") for name in names]
    rows = []
    for stage in estimate["stages"]:
        usd = NO_VALUE if stage["usd"] is None else f"{stage['usd']:,.4f}"
        texts = [stage["stage"], stage["role"], stage["model"]]
        rows.append(Row([*texts, stage["calls"], stage["tokens_in"], stage["tokens_out"], usd]))
    calls = sum(stage["calls"] for stage in estimate["stages"])
    lines = [f"together {several(calls, 'call')} at most, if no item is dropped"]
    known = [stage["usd"] for stage in estimate["stages"] if stage["usd"] is not None]
    if known:
        lines.append(f"about ${math.fsum(known):,.4f}")
    return [Text(head), Table(columns, rows), Text("\n".join(lines))]
