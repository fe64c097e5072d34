"""A page as a short piece of HTML for notebooks: its texts and tables."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from trueground.reports.blocks import Block, Table, Text, select_blocks
from trueground.reports.text import cell_text, plain


def render_html(blocks: Iterable[Block]) -> str:
    """Return texts and tables as HTML; everything that comes from data is escaped."""
    pieces = []
    for block in select_blocks(blocks, "text"):
        if isinstance(block, Text):
            lines = plain(block.text).split("\n")
            pieces.append("".join(f"<p>{escape(line)}</p>" for line in lines))
        elif isinstance(block, Table):
            pieces.append(_render_table(block))
    return f"<div>{''.join(pieces)}</div>"


def _render_table(table: Table) -> str:
    rows = [_render_row((plain(head.label) for head in table.columns), "th")]
    for row in table.rows:
        cells = zip(row.cells, table.columns, strict=False)
        rows.append(_render_row((cell_text(cell, head) for cell, head in cells), "td"))
    caption = f"<caption>{escape(plain(table.caption))}</caption>" if table.caption else ""
    return f"<table>{caption}{''.join(rows)}</table>"


def _render_row(cells: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
