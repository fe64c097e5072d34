"""Blocks of a page as Markdown for a repository, valid whatever the texts hold.

What is drawn or searched is left out; of charts of one spread the numbers stay. There are no links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trueground.reports.blocks import (
    Block,
    Bullets,
    Chart,
    Grid,
    Part,
    Rich,
    Table,
    Text,
    Tiles,
)
from trueground.reports.text import cell_text
from trueground.reports.text import plain as words_of

# Whatever Markdown or HTML could read as more than a sign.
_SIGNS = re.compile(r"([\\`*_\[\]<>|~&$])")
_TICKS = re.compile(r"`+")


def format_markdown(blocks: Iterable[Block]) -> str:
    """The blocks one below the other; parts have headings of the second level."""
    return "\n\n".join(_pieces(blocks))


def _pieces(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Text):
            text = words_of(block.text)
            yield fenced(text) if block.tone == "command" else plain(text)
        elif isinstance(block, Bullets):
            yield _list(block.items)
        elif isinstance(block, Table):
            yield from [f"{plain(words_of(block.caption))}:"] if block.caption else []
            yield _table(block)
        elif isinstance(block, Tiles):
            yield _list([f"{tile.value} {tile.label}" for tile in block.tiles])
        elif isinstance(block, Part):
            yield f"## {plain(words_of(block.title))}"
            yield from _pieces(block.blocks)
        elif isinstance(block, Grid):
            charts = [one for one in block.blocks if isinstance(one, Chart)]
            yield _list([f"{words_of(one.title)}: {words_of(one.note)}" for one in charts])


def _list(items: Iterable[Rich]) -> str:
    return "\n".join(f"- {plain(words_of(item))}" for item in items)


def _table(block: Table) -> str:
    """Columns of numbers stand to the right."""
    marks = ["---:" if head.kind in ("number", "estimate") else "---" for head in block.columns]
    lines = [[plain(words_of(head.label)) for head in block.columns], marks]
    for row in block.rows:
        cells = [plain(cell_text(c, h)) for c, h in zip(row.cells, block.columns, strict=False)]
        lines.append([*cells, *[""] * (len(block.columns) - len(cells))])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(text: object) -> str:
    """The text as Markdown that shows just these signs, on one line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return _SIGNS.sub(r"\\\1", line)


def fenced(text: str) -> str:
    """A block of code that no run of backticks within can end."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{text}\n{fence}"
