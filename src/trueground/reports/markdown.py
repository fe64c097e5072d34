"""Blocks of a page as Markdown for a repository, valid whatever the texts hold; without links."""

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

# Whatever Markdown or HTML could read as more than a sign.
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
