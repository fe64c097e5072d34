"""Build the page of correct answers with a low score."""

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

MARK = "trueground-errors-1"  # Identifies pages that may be overwritten.
_NOT_SORTED = "not sorted"
_UNSORTED = Status.NOT_APPLICABLE.value  # The item has no category and no proposal.


def check_page(path: Path) -> None:
    """Check that the page can be written. An earlier page of errors may be replaced.

    Raises:
        OutputError: The folder is missing or not writable, or the file has other content.
        UsageError: The name doesn't end in .html.
    """
    OutputPath(path, "--page").check_page(MARK, overwrite=True)


def write_errors(path: Path, result: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> None:
    """Write the page for the result of `sort_errors` or `read_errors`.

    Raises:
        WriteError: The page can't be written.
    """
    errors_page(result, items, path.parent).write(path)


def errors_page(
    result: Mapping[str, Any],
    items: Sequence[Mapping[str, Any]] | None = None,
    folder: Path | None = None,
) -> Page:
    """Return the page for the result of `sort_errors` or `read_errors`.

    Args:
        result: The counts.
        items: The items, with their effective category as `counts`. None: show only the counts.
        folder: Where the page is. Items link to the page of their run, if it has them.
    """
    items = () if items is None else items
    links: dict[str, str] = {}
    if folder is not None and "run" in result:
        run = Path(result["run"])
        start = RunFiles(run).link_from(folder)
        on_page = RunFiles(run).item_links([item["id"] for item in items])
        links = {id_: start + to for id_, to in on_page.items()}
    label = result.get("label", "correct")
    metric = result.get("metric") or (items[0]["metric"] if items else "f1")
    blocks: list[Block] = []
    if result.get("by_label"):
        heading: Rich = [
            Span.code(metric),
            " by what people said (",
            Span.code(f"human.{label}"),
            ")",
        ]
        blocks.append(
            Part(heading, [_by_label(result, label), _count_low(result, label)], "labels")
        )
    order = {name: k for k, name in enumerate(result["categories"])}
    ranked = sorted(items, key=lambda item: order.get(item["counts"], len(order)))
    entries: Block = Entries([_entry(item, metric, links) for item in ranked])
    lead = _lead(result, label, metric)
    categories = Part("By category", _categories(result), "categories")
    is_sorted = result["n"] > result["without"].get(_UNSORTED, 0)
    blocks = [
        Only("text", [Text(lead)]),
        *blocks,
        categories if is_sorted else Only("page", [categories]),
        Only("page", [Part("The items", [entries if items else Text("None.")], "items")]),
    ]
    title = f"Answers that are {label} although {metric} is low"
    return Page("errors", MARK, title, blocks, lead=lead)


def _lead(result: Mapping[str, Any], label: str, metric: str) -> str:
    """Return the number of items, who calls them correct, and who has sorted them."""
    n, of = result["n"], result.get("of")
    if of is None:
        count, total = several(n, "item"), n
    else:
        count, total = f"{n:,} of {several(of, 'item')}", of
    verb = "is" if total == 1 else "are"
    sentences = [f"{count} {verb} {label}"]
    if "at_most" in result:
        sentences[0] += f" with {metric} of at most {result['at_most']:g}"
    sentences.append(f"Who says so: {_join_counts(result['correct_by'])}")
    if result["by"]:
        sentences.append(f"Categories were proposed by {_join_counts(result['by'])}")
    if corrected := result["corrected"]:
        kept = f", {result['corrected_as_proposed']:,} as proposed" if result["by"] else ""
        sentences.append(f"People gave {corrected:,} of the categories{kept}")
    if unsorted := result["without"].get(_UNSORTED):
        hint = "write a category into the file, or let a language model propose it with --proposer"
        sentences.append(f"Not sorted {'is' if unsorted == 1 else 'are'} {unsorted:,}: {hint}")
    if result["left_out"]:
        sentences.append(f"{result['left_out']:,} more are kept for people, not selected any more")
    return ". ".join(sentences) + "."


def _by_label(result: Mapping[str, Any], label: str) -> Table:
    by_label, limit = result["by_label"], f"{result['at_most']:g}"
    rows = []
    ends: list[Any] = []
    for row in by_label["rows"]:
        kind = "positive" if row["label"] else "negative"
        counts = (by_label["table"][f"{kind}_low"], by_label["table"][f"{kind}_high"])
        name = f"{row['label']} ({label})" if row["label"] else str(row["label"])
        mean = Estimate(row["mean"], *(row["ci"] or ()))
        ends += [end for end in (row["mean"], *(row["ci"] or ())) if end]
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


def _count_low(result: Mapping[str, Any], label: str) -> Text:
    """Return a sentence with the number of low scores by label."""
    table, limit = result["by_label"]["table"], f"{result['at_most']:g}"
    n_positive = table["positive_low"] + table["positive_high"]
    n_negative = table["negative_low"] + table["negative_high"]
    return Text(
        f"{table['positive_low']:,} of {n_positive:,} that people call {label} have at most "
        f"{limit}; {table['negative_high']:,} of {n_negative:,} that they do not have more."
    )


def _categories(result: Mapping[str, Any]) -> list[Block]:
    columns = [Head("category", "code"), Head("items", "number")]
    columns.append(Head("share", "number", digits=2, percent=True))
    categories = {
        name: count
        for name, count in result["categories"].items()
        if count["n"] or result["source"]
    }
    rows = [[name, count["n"], count["share"]] for name, count in categories.items()]
    for status, count in result["without"].items():
        name = _NOT_SORTED if status == _UNSORTED else f"no category: {status}"
        rows.append([name, count, count / result["n"]])
    if not result["source"]:
        return [Table(columns, [Row(row) for row in rows])]
    columns.append(Head("paper", "number", digits=2, percent=True))
    shares = [count.get("published") for count in categories.values()] + [None] * len(
        result["without"]
    )
    table = Table(columns, [Row([*row, share]) for row, share in zip(rows, shares, strict=True)])
    return [table, Text(f"Paper: {result['source']}", "quiet")]


def _entry(item: Mapping[str, Any], metric: str, links: Mapping[str, str]) -> Entry:
    """Return an answer with its references, score, and category with its source and reason."""
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
