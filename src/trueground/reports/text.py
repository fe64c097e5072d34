"""Blocks of a page as text for a terminal: what is drawn there is left out.

Tables stand as they are, of estimates only the first column has its intervals. Of charts, the few
points of one that names them are a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill, indent

from trueground.records.problems import shorten
from trueground.reports.blocks import (
    Axis,
    Block,
    Bullets,
    Cell,
    Chart,
    Entries,
    Estimate,
    Fold,
    Grid,
    Head,
    Part,
    Rich,
    Row,
    Series,
    Table,
    Text,
    Tiles,
)
from trueground.text.wording import NO_VALUE

_MOST_POINTS = 12  # of a series that is shown as a table


def format_blocks(blocks: Iterable[Block], width: int = 80) -> str:
    """The blocks as text, with empty lines between them."""
    return "\n\n".join(_lines(blocks, width))


def _lines(blocks: Iterable[Block], width: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Text):
            mark, inner = ("note: ", "    ") if block.tone == "note" else ("", "")
            yield wrap(f"{mark}{plain(block.text)}", inner, width)
        elif isinstance(block, Bullets):
            yield "\n".join(wrap(f"- {plain(item)}", "  ", width) for item in block.items)
        elif isinstance(block, Table):
            caption = [wrap(plain(block.caption), "", width)] if block.caption else []
            yield "\n".join([*caption, format_table(block)])
        elif isinstance(block, Part | Fold):
            yield plain(block.title)
            yield from _lines(block.blocks, width)
        elif isinstance(block, Grid):
            yield from _lines(block.blocks, width)
        elif isinstance(block, Entries):
            for entry in block.entries:
                values = {k: v for k, v in entry.values.items() if v is not None}
                told = [f"{name} {v:.2f}" for name, v in values.items()]
                told += [shorten(plain(entry.note), width)] if entry.note else []
                head = f"{plain(entry.title)}  {', '.join(told)}"
                lists = [block for block in entry.blocks if isinstance(block, Bullets)]
                inside = (indent(one, "  ") for one in _lines(lists, width - 4))
                yield indent("\n".join([wrap(head, "  ", width - 2), *inside]), "  ")
        elif isinstance(block, Chart):
            yield from (
                format_table(_points(block.title, block.x, block.y, series))
                for series in block.series
                if series.labels and len(series.x) <= _MOST_POINTS and block.kind != "bars"
            )


def _points(title: Rich, x: Axis, y: Axis, series: Series) -> Table:
    heads = [Head(f"{plain(title)}, {series.name}"), *(Head(a.label, "number") for a in (x, y))]
    rows = zip(series.labels or (), series.x, series.y, strict=True)
    return Table(heads, [Row(list(row)) for row in rows])


def plain(text: Rich | None) -> str:
    """The words alone."""
    if text is None or isinstance(text, str):
        return text or ""
    return "".join(one if isinstance(one, str) else one.text for one in text)


def wrap(text: str, inner: str = "    ", width: int = 80, whole: bool = True) -> str:
    """Lines that fit; names stay `whole`, with their hyphens."""
    parted = not whole
    return fill(
        text, width, subsequent_indent=inner, break_long_words=parted, break_on_hyphens=parted
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns: names and reasons to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i in (0, len(row) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def format_table(block: Table) -> str:
    """A table: names to the left, numbers to the right."""
    first = next((k for k, head in enumerate(block.columns) if head.kind == "estimate"), None)
    rows = [[plain(column.label) for column in block.columns]]
    for row in block.rows:
        cells = zip(row.cells, block.columns, strict=False)  # a row may be a heading alone
        texts = [
            cell_text(cell, head, interval=k == first, quiet=False)
            for k, (cell, head) in enumerate(cells)
        ]
        rows.append([*texts, *[""] * (len(block.columns) - len(texts))])
    if block.columns[-1].kind != "text":
        rows = [[*row, ""] for row in rows]  # the last column stands to the left
    return table(rows)


def cell_text(cell: Cell, head: Head, *, interval: bool = False, quiet: bool = True) -> str:
    """A cell under that head; without what is `quiet` on the page, where that is not wanted."""
    if isinstance(cell, Estimate):
        text = _number(cell.value, head)
        if interval and cell.low is not None:
            text += f" [{_number(cell.low, head)}, {_number(cell.high, head)}]"
        return f"{text} {cell.note}" if cell.note else text
    if isinstance(cell, list):
        return plain([s for s in cell if quiet or isinstance(s, str) or s.style != "quiet"])
    return cell if isinstance(cell, str) else _number(cell, head)


def _number(value: float | int | None, head: Head) -> str:
    if value is None:
        return NO_VALUE
    sign = "+" if head.signed and value > 0 else ""
    if head.percent:
        shown = f"{sign}{100 * value:.{1 if head.digits is None else head.digits}f}"
        return shown if head.signed else f"{shown} %"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{sign}{value:,}"
    return f"{sign}{value:.{4 if head.digits is None else head.digits}f}"


# ---- as Markdown for a repository, valid whatever the texts hold; without links ----

# Whatever Markdown or HTML could read as more than a sign.
_SIGNS = re.compile(r"([\\`*_\[\]<>|~&$])")


def format_markdown(blocks: Iterable[Block]) -> str:
    """The blocks one below the other; parts have headings of the second level.

    What is drawn or searched is left out; of charts of one spread the numbers stay.
    """
    return "\n\n".join(_pieces(blocks))


def _pieces(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Text):
            text = plain(block.text)
            yield fenced(text) if block.tone == "command" else escaped(text)
        elif isinstance(block, Bullets):
            yield _list(map(plain, block.items))
        elif isinstance(block, Table):
            yield from [f"{escaped(plain(block.caption))}:"] if block.caption else []
            yield _table(block)
        elif isinstance(block, Tiles):
            yield _list(f"{tile.value} {tile.label}" for tile in block.tiles)
        elif isinstance(block, Part):
            yield f"## {escaped(plain(block.title))}"
            yield from _pieces(block.blocks)
        elif isinstance(block, Grid):
            charts = [one for one in block.blocks if isinstance(one, Chart)]
            yield _list(f"{plain(one.title)}: {plain(one.note)}" for one in charts)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(item)}" for item in items)


def _table(block: Table) -> str:
    """Columns of numbers stand to the right."""
    marks = ["---:" if head.kind in ("number", "estimate") else "---" for head in block.columns]
    lines = [[escaped(plain(head.label)) for head in block.columns], marks]
    for row in block.rows:
        cells = [cell_text(c, h) for c, h in zip(row.cells, block.columns, strict=False)]
        cells += [""] * (len(block.columns) - len(cells))
        lines.append([escaped(cell) for cell in cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: object) -> str:
    """The text as Markdown that shows just these signs, on one line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return _SIGNS.sub(r"\\\1", line)


def fenced(text: str) -> str:
    """A block of code that no run of backticks within can end."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`+", text))])
    return f"{fence}sh\n{text}\n{fence}"
