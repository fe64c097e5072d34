"""Blocks of a page as Markdown for a repository, with escaped texts and without links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trueground.reports.blocks import (
    Block,
    Bullets,
    Chart,
    Fold,
    Grid,
    Part,
    Rich,
    Table,
    Text,
    Tiles,
    select_blocks,
)
from trueground.reports.text import cell_text, plain

# The characters with a meaning in Markdown or HTML.
_SIGNS = re.compile(r"([\\`*_\[\]<>|~&$])")


def render_markdown(title: str, lead: Rich, blocks: Iterable[Block]) -> str:
    """Return a page as Markdown, see `Page.to_markdown`."""
    head = [f"# {escaped(title)}", escaped(plain(lead))]
    pieces = _pieces(select_blocks(blocks, "markdown"))
    return "\n\n".join([*filter(None, head), *pieces]) + "\n"


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
        elif isinstance(block, Part | Fold):
            yield f"## {escaped(plain(block.title))}"
            yield from _pieces(block.blocks)
        elif isinstance(block, Grid):
            charts = [chart for chart in block.blocks if isinstance(chart, Chart)]
            yield _list(f"{plain(chart.title)}: {plain(chart.note)}" for chart in charts)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(item)}" for item in items)


def _table(block: Table) -> str:
    """Return a table whose columns of numbers are aligned to the right."""
    marks = ["---:" if head.kind in ("number", "estimate") else "---" for head in block.columns]
    lines = [[escaped(plain(head.label)) for head in block.columns], marks]
    for row in block.rows:
        cells = [cell_text(c, h) for c, h in zip(row.cells, block.columns, strict=False)]
        cells += [""] * (len(block.columns) - len(cells))
        lines.append([escaped(cell) for cell in cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: object) -> str:
    """Return the text on one line, with escaped characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return _SIGNS.sub(r"\\\1", line)


def fenced(text: str) -> str:
    """Return a block of code with a fence longer than any run of backticks in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`+", text))])
    return f"{fence}sh\n{text}\n{fence}"
