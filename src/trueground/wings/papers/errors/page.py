"""Items that people call correct and a metric does not, as blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.files import OutputPath
from trueground.reports import (
    Block,
    Bullets,
    Entries,
    Entry,
    Estimate,
    Head,
    Only,
    Page,
    Part,
    Rich,
    Row,
    Span,
    Table,
    Text,
)
from trueground.runs import RunFiles
from trueground.text import several
from trueground.types import Status

MARK = "trueground-errors-1"  # what tells our pages from other people's files
_NOT_SORTED = "not sorted"
_UNSORTED = Status.NOT_APPLICABLE.value  # nobody has given or proposed a category


def check_page(path: Path) -> None:
    """See that the page may be written there, before any work is done.

    An earlier page of errors is replaced, nothing else is. UsageError: the name does not end in
    .html. OutputError: the folder is missing, or closed; another's file.
    """
    OutputPath(path, "--page").check_page(MARK, overwrite=True)


def write_errors(path: Path, found: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> None:
    """Write the page of what `sort_errors` or `read_errors` gives, and the lines of its file.

    Raises WriteError.
    """
    errors_page(found, items, path.parent).write(path)


def errors_page(
    found: Mapping[str, Any],
    items: Sequence[Mapping[str, Any]] | None = None,
    folder: Path | None = None,
) -> Page:
    """Return what `sort_errors` or `read_errors` gives.

    Args:
        found: The counts.
        items: The items, with `counts`, the category that counts. None: Only the counts are shown.
        folder: Where the page is. Items link to the page of their run, if it has them.
    """
    items = () if items is None else items
    links: dict[str, str] = {}
    if folder is not None and "run" in found:
        run = Path(found["run"])
        start = RunFiles(run).link_from(folder)
        on_page = RunFiles(run).item_links([item["id"] for item in items])
        links = {id_: start + to for id_, to in on_page.items()}
    label = found.get("label", "correct")
    metric = found.get("metric") or (items[0]["metric"] if items else "f1")
    blocks: list[Block] = []
    if found.get("by_label"):
        said: Rich = [Span.code(metric), " by what people said (", Span.code(f"human.{label}"), ")"]
        blocks.append(Part(said, [_by_label(found, label), _count_low(found, label)], "labels"))
    order = {name: k for k, name in enumerate(found["categories"])}
    ranked = sorted(items, key=lambda item: order.get(item["counts"], len(order)))
    entries: Block = Entries([_entry(item, metric, links) for item in ranked])
    lead = _lead(found, label, metric)
    categories = Part("By category", _categories(found), "categories")
    is_sorted = found["n"] > found["without"].get(_UNSORTED, 0)
    blocks = [
        Only("text", [Text(lead)]),
        *blocks,
        categories if is_sorted else Only("page", [categories]),
        Only("page", [Part("The items", [entries if items else Text("None.")], "items")]),
    ]
    title = f"Answers that are {label} although {metric} is low"
    return Page("errors", MARK, title, blocks, lead=lead)


def _lead(found: Mapping[str, Any], label: str, metric: str) -> str:
    """How many items there are, who calls them correct, and who has sorted them."""
    n, of = found["n"], found.get("of")
    said = [several(n, "item") if of is None else f"{n:,} of {several(of, 'item')}"]
    said[0] += f" {'is' if (n if of is None else of) == 1 else 'are'} {label}"
    if "at_most" in found:
        said[0] += f" with {metric} of at most {found['at_most']:g}"
    said.append(f"Who says so: {_join_counts(found['correct_by'])}")
    if found["by"]:
        said.append(f"Categories were proposed by {_join_counts(found['by'])}")
    if corrected := found["corrected"]:
        kept = f", {found['corrected_as_proposed']:,} as proposed" if found["by"] else ""
        said.append(f"People gave {corrected:,} of the categories{kept}")
    if unsorted := found["without"].get(_UNSORTED):
        hint = "write a category into the file, or let a language model propose it with --proposer"
        said.append(f"Not sorted {'is' if unsorted == 1 else 'are'} {unsorted:,}: {hint}")
    if found["left_out"]:
        said.append(f"{found['left_out']:,} more are kept for people, not selected any more")
    return ". ".join(said) + "."


def _by_label(found: Mapping[str, Any], label: str) -> Table:
    by_label, limit = found["by_label"], f"{found['at_most']:g}"
    ends = [end for row in by_label["rows"] for end in (row["mean"], *(row["ci"] or ())) if end]
    rows = []
    for row in by_label["rows"]:
        kind = "positive" if row["label"] else "negative"
        counts = (by_label["table"][f"{kind}_low"], by_label["table"][f"{kind}_high"])
        name = f"{row['label']} ({label})" if row["label"] else str(row["label"])
        mean = Estimate(row["mean"], *(row["ci"] or ()))
        rows.append(Row([name, row["n"], mean, row["median"], row["sd"], *counts]))
    level = f"mean, {100 * by_label['ci_level']:.4g} % interval"
    scale = {"low": min([0.0, *ends]), "high": max([1.0, *ends])}
    columns = [
        Head("label"),
        Head("items", "number"),
        Head(level, "estimate", digits=4, **scale),
        *(Head(name, "number", digits=4) for name in ("median", "deviation")),
        *(Head(name, "number") for name in (f"at most {limit}", "more")),
    ]
    return Table(columns, rows)


def _count_low(found: Mapping[str, Any], label: str) -> Text:
    """Return how many of each label have at most the limit."""
    table, limit = found["by_label"]["table"], f"{found['at_most']:g}"
    n_positive = table["positive_low"] + table["positive_high"]
    n_negative = table["negative_low"] + table["negative_high"]
    return Text(
        f"{table['positive_low']:,} of {n_positive:,} that people call {label} have at most "
        f"{limit}; {table['negative_high']:,} of {n_negative:,} that they do not have more."
    )


def _categories(found: Mapping[str, Any]) -> list[Block]:
    columns = [Head("category", "code"), Head("items", "number")]
    columns.append(Head("share", "number", digits=2, percent=True))
    shown = {name: one for name, one in found["categories"].items() if one["n"] or found["source"]}
    rows = [[name, one["n"], one["share"]] for name, one in shown.items()]
    for status, count in found["without"].items():
        name = _NOT_SORTED if status == _UNSORTED else f"no category: {status}"
        rows.append([name, count, count / found["n"]])
    if not found["source"]:
        return [Table(columns, [Row(row) for row in rows])]
    columns.append(Head("paper", "number", digits=2, percent=True))
    shares = [one.get("published") for one in shown.values()] + [None] * len(found["without"])
    table = Table(columns, [Row([*row, share]) for row, share in zip(rows, shares, strict=True)])
    return [table, Text(f"Paper: {found['source']}", "quiet")]


def _entry(item: Mapping[str, Any], metric: str, links: Mapping[str, str]) -> Entry:
    """An answer with its references, its score, and who put it where and why."""
    who = f"proposed by {item['by']}" if item["by"] else _NOT_SORTED
    who = "by a person" if item["category"] else who
    references = item["references"][:5]
    if more := len(item["references"]) - len(references):
        references = [*references, f"and {more:,} more"]
    blocks: list[Block] = [
        Text([Span.strong("Response"), "\n", item["response"]]),
        Text([Span.strong("References")]),
        Bullets(references),
    ]
    if item["reason"]:
        blocks.append(Text([Span.strong("Why"), "\n", item["reason"]]))
    on_page = Span.link(item["id"], links.get(item["id"]))
    blocks.append(Text([on_page, Span.quiet(f" · {who}; {item['correct_by']}")]))
    return Entry(
        item["question"] or item["id"],
        blocks,
        note=item["response"],
        values={metric: item["score"] if item["score"] is not None else item["f1"]},
        tags={"category": item["counts"] or _NOT_SORTED},
    )


def _join_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({k:,})" for name, k in counts.items()) or "nobody"
