"""Blocks of a page as text, for a terminal, a file or `repr`.

Charts are left out, but for the few points of one that names them. Of estimates only those of the
first column have their intervals. The same blocks give the same text, without color.

`rich.cells` measures and `rich.box` frames. `rich.table` and `rich.console` would do the rest, but
importing them takes longer than a tenth of a `score`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.box import SQUARE
from rich.cells import cell_len, chop_cells, set_cell_size

from trueground.records import shorten
from trueground.reports.blocks import (
    COLUMNS,
    Axis,
    Block,
    Bullets,
    Cell,
    Chart,
    Entries,
    Entry,
    Estimate,
    Fold,
    Framed,
    Grid,
    Head,
    Menu,
    Part,
    Rich,
    Row,
    Series,
    Table,
    Text,
    Tile,
    Tiles,
    select_blocks,
)
from trueground.text import NO_VALUE

_MAX_CHART_POINTS = 12  # of a series that is shown as a table
_MAX_HEAD_COLUMNS = 40  # of a head that is not replaced by a number in a wide table
_MIN_HEAD_COLUMNS = 8  # of a head that is wrapped
_MIN_NOTE_COLUMNS = 20  # of a note below a number
_MIN_TEXT_COLUMNS = 24  # of a column of texts that is wrapped
_BAR_COLUMNS = 30
_GAP = "  "
_LABEL = re.compile(r" *\S{1,16} {2,3}(?=\S)")  # before the text of a line
_WORDS = re.compile(r"(\s*)(\S+)")


def render_text(blocks: Iterable[Block], width: int = COLUMNS) -> str:
    """Return blocks as text, with empty lines between.

    Args:
        blocks: The blocks.
        width: The columns of a line. Only paths and names with hyphens are longer.
    """
    paragraphs = _paragraphs(select_blocks(blocks, "text"), width)
    return "\n\n".join(text for text in paragraphs if text)


def _paragraphs(blocks: Iterable[Block], width: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Text):
            yield _format_text(block, width)
        elif isinstance(block, Bullets):
            if block.items:
                yield "\n".join(wrap(f"- {plain(item)}", "  ", width) for item in block.items)
        elif isinstance(block, Table):
            yield format_table(block, width)
        elif isinstance(block, Part | Fold):
            yield from _format_part(block, width)
        elif isinstance(block, Grid):
            yield from _paragraphs(block.blocks, width)
        elif isinstance(block, Menu):
            for title, blocks_of_option in block.options:
                yield from _format_part(Fold(title, blocks_of_option), width)
        elif isinstance(block, Framed):
            yield _draw_frame(block.blocks, width)
        elif isinstance(block, Tiles):
            yield "\n".join(_format_tiles(block.tiles, width))
        elif isinstance(block, Entries):
            yield from (_format_entry(entry, width) for entry in block.entries)
        elif isinstance(block, Chart):
            yield from (format_table(table, width) for table in _tabulate_points(block))


def _format_text(block: Text, width: int) -> str:
    if block.tone == "lines":
        return "\n".join(clip(line, width) for line in plain(block.text).split("\n"))
    if block.tone == "whole":
        return plain(block.text)
    if block.tone == "command":
        return f"    {plain(block.text)}"
    if block.tone == "note":
        return wrap(f"note: {plain(block.text)}", "    ", width)
    return _wrap_lines(plain(block.text), width)


def _wrap_lines(text: str, width: int, whole: bool = True) -> str:
    return "\n".join(_wrap_line(line, width, whole) for line in text.split("\n"))


def _wrap_line(line: str, width: int, whole: bool) -> str:
    """Wrap a line; further lines begin below the text after its label, if there is one."""
    label = _LABEL.match(line)
    if label:
        return wrap(line, " " * label.end(), width, whole)
    indent = line[: len(line) - len(line.lstrip(" "))]
    return wrap(line, f"{indent}  " if indent else "", width, whole)


def _format_part(part: Part | Fold, width: int) -> Iterator[str]:
    """Yield the title directly above the first paragraph, then the others."""
    paragraphs = _paragraphs(part.blocks, width)
    first = next(paragraphs, None)
    if first is not None:
        title = wrap(plain(part.title), "", width)
        yield f"{title}\n{first}" if title else first
        yield from paragraphs


def _draw_frame(blocks: Iterable[Block], width: int) -> str:
    """Draw a box around the blocks; they follow each other without empty lines."""
    inside = width - 4
    lines = [line for text in _paragraphs(blocks, inside) for line in text.split("\n")]
    if not lines:
        return ""
    side = SQUARE.mid_left
    body = [f"{side} {set_cell_size(line, inside)} {side}" for line in lines]
    return "\n".join([SQUARE.get_top([width - 2]), *body, SQUARE.get_bottom([width - 2])])


def _format_tiles(tiles: Sequence[Tile], width: int) -> Iterator[str]:
    """Yield a line for each number: label, value, note, and its share as a bar on one scale."""
    label_columns, value_columns, note_columns = (
        max(cell_len(text) for text in texts)
        for texts in (
            [tile.label for tile in tiles],
            [tile.value for tile in tiles],
            [tile.note for tile in tiles],
        )
    )
    room = max(0, width - label_columns - value_columns - note_columns - 3 * len(_GAP))
    longest = max((tile.share or 0 for tile in tiles), default=0)
    scale = min(_BAR_COLUMNS, room / longest) if longest else _BAR_COLUMNS
    for tile in tiles:
        bar = "█" * round(scale * (tile.share or 0))
        label, note = _left(tile.label, label_columns), _left(tile.note, note_columns)
        value = _right(tile.value, value_columns)
        yield f"{label}  {value}  {note}  {bar}".rstrip()


def _format_entry(entry: Entry, width: int) -> str:
    """Format the title with its values and note, and the lists inside."""
    parts = [f"{name} {value:.2f}" for name, value in entry.values.items() if value is not None]
    if entry.note:
        parts.append(shorten(plain(entry.note), width))
    lines = [wrap(f"  {plain(entry.title)}  {', '.join(parts)}", "    ", width)]
    lists = [block for block in entry.blocks if isinstance(block, Bullets)]
    for text in _paragraphs(lists, width - 4):
        lines += [f"    {line}" for line in text.split("\n")]
    return "\n".join(lines)


def _tabulate_points(chart: Chart) -> Iterator[Table]:
    for series in chart.series:
        if series.labels and len(series.x) <= _MAX_CHART_POINTS and chart.kind != "bars":
            yield _tabulate_series(chart.title, chart.x, chart.y, series)


def _tabulate_series(title: Rich, x: Axis, y: Axis, series: Series) -> Table:
    columns = [Head(f"{plain(title)}, {series.name}")]
    columns += [Head(axis.label, "number") for axis in (x, y)]
    rows = zip(series.labels or (), series.x, series.y, strict=True)
    return Table(columns, [Row(list(row)) for row in rows])


# ---- tables ----


class _Column:
    """The texts of a column, their width and their alignment."""

    def __init__(self, head: Head, cells: list[str], notes: dict[int, str]) -> None:
        self.cells = cells
        self._whole_cells: list[str] | None = None  # before they were wrapped
        self.notes = notes  # at the end of cells, by their rows
        self.is_text = head.kind in ("text", "code")
        self.width = 0
        self.measure()

    def measure(self) -> None:
        """Set the width to that of the longest line."""
        self.width = max(cell_len(line) for cell in self.cells for line in cell.split("\n"))

    def narrow_head(self) -> None:
        """Wrap the head to the width of the cells, and put notes below their numbers."""
        for row, note in self.notes.items():
            number = self.cells[row].removesuffix(note).rstrip()
            below = wrap(note, "", max(cell_len(number), _MIN_NOTE_COLUMNS))
            self.cells[row] = f"{number}\n{below}" if number else below
        lines = [line for cell in self.cells[1:] for line in cell.split("\n")]
        words = self.cells[0].split()
        width = max(_MIN_HEAD_COLUMNS, *map(cell_len, [*lines, *words]))
        self.cells[0] = wrap(self.cells[0], "", width)
        self.measure()

    def narrow(self, width: int) -> None:
        """Wrap the texts to this width."""
        if self._whole_cells is None:
            self._whole_cells = self.cells
        self.cells = [_wrap_lines(cell, width, whole=False) for cell in self._whole_cells]
        self.measure()

    def widen(self, room: int) -> None:
        """Wrap the texts to so many columns more, if they were wrapped to fewer than they need."""
        if self._whole_cells is not None:
            self.narrow(self.width + room)


def format_table(table: Table, width: int = COLUMNS) -> str:
    """Return a table under its caption: texts to the left, numbers to the right.

    If it is wider than the line, long texts are wrapped. If that isn't enough, the columns follow
    in further tables that repeat the first column.
    """
    caption = [wrap(plain(table.caption), "", width)] if table.caption else []
    columns = _make_columns(table)
    legend = _number_long_heads(columns, width)
    _narrow_texts(columns, width)
    headings = {}
    for number, row in enumerate(table.rows, 1):
        if row.tone == "group" and row.cells:
            cell = row.cells[0]
            headings[number] = plain(cell) if isinstance(cell, str | list) else ""
    tables = [_format_columns(some, headings) for some in _split_columns(columns, width)]
    titles = [_format_title(row, table, width) for row in table.rows if row.title]
    below = ["\n".join(lines) for lines in (legend, titles) if lines]
    body = "\n\n".join([*tables, *below])
    return "\n".join([*caption, body])


def _format_title(row: Row, table: Table, width: int) -> str:
    name = cell_text(row.cells[0], table.columns[0], quiet=False)
    return wrap(f"{name}: {row.title}", "    ", width)


def _make_columns(table: Table) -> list[_Column]:
    kinds = [head.kind for head in table.columns]
    first_estimate = kinds.index("estimate") if "estimate" in kinds else None
    columns = []
    for k, head in enumerate(table.columns):
        cells = [plain(head.label)]
        notes = {}
        for number, row in enumerate(table.rows, 1):
            has_cell = k < len(row.cells) and row.tone != "group"
            cell = row.cells[k] if has_cell else ""
            has_interval = table.intervals or k == first_estimate
            text = cell_text(cell, head, interval=has_interval, quiet=False)
            if k == 0 and row.tone == "published":
                text += " (published)"
            if isinstance(cell, Estimate) and cell.note:
                notes[number] = cell.note
            cells.append(text)
        columns.append(_Column(head, cells, notes))
    return columns


def _number_long_heads(columns: Sequence[_Column], width: int) -> list[str]:
    """Replace the heads of a wide table by numbers if one is long; return what they mean."""
    heads = [column.cells[0] for column in columns[1:]]
    if _measure(columns) <= width or max(map(cell_len, heads), default=0) <= _MAX_HEAD_COLUMNS:
        return []
    for number, column in enumerate(columns[1:], 1):
        column.cells[0] = f"[{number}]"
        column.width = max(map(cell_len, column.cells))
    return [wrap(f"[{number}]  {head}", "     ", width) for number, head in enumerate(heads, 1)]


def _measure(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def _narrow_texts(columns: Sequence[_Column], width: int) -> None:
    """Wrap heads, notes and the widest texts until the table fits or they are narrow.

    Texts of the first column are wrapped only if another column does not fit next to it.
    """
    if _measure(columns) <= width:
        return
    first, *others = columns
    for column in others:
        column.narrow_head()
    for column in sorted(others, key=lambda column: -column.width):
        excess = _measure(columns) - width
        if excess > 0 and column.is_text and column.width > _MIN_TEXT_COLUMNS:
            column.narrow(max(_MIN_TEXT_COLUMNS, column.width - excess))
    room = width - max((len(_GAP) + column.width for column in others), default=0)
    if first.is_text and first.width > max(room, _MIN_TEXT_COLUMNS):
        first.narrow(max(room, _MIN_TEXT_COLUMNS))


def _split_columns(columns: list[_Column], width: int) -> list[list[_Column]]:
    """Return groups of columns that fit, each with those that name the rows, as wide as can be."""
    keys = _name_rows(columns, width)
    groups = [[*keys]]
    for column in columns[len(keys) :]:
        if _measure([*groups[-1], column]) > width and len(groups[-1]) > len(keys):
            groups.append([*keys])
        groups[-1].append(column)
    for group in groups:
        for column in group[len(keys) :]:
            column.widen(max(0, width - _measure(group)))
    return groups


def _name_rows(columns: list[_Column], width: int) -> list[_Column]:
    """Return the first column, and the second if the first has duplicate names."""
    names = [name for name in columns[0].cells[1:] if name]
    is_ambiguous = len(set(names)) < len(names) and len(columns) > 2 and columns[1].is_text
    return columns[:2] if is_ambiguous and _measure(columns[:2]) <= width // 2 else columns[:1]


def _format_columns(columns: Sequence[_Column], headings: dict[int, str]) -> str:
    """Format rows; `headings` are titles between them, by the numbers of their rows."""
    lines = []
    has_head = any(column.cells[0] for column in columns)
    for number in range(0 if has_head else 1, len(columns[0].cells)):
        if number in headings:
            lines.append(headings[number])
            continue
        cells = [column.cells[number].split("\n") for column in columns]
        for index in range(max(map(len, cells))):
            parts = []
            for column, texts in zip(columns, cells, strict=True):
                text = texts[index] if index < len(texts) else ""
                side = _left if column.is_text else _right
                parts.append(side(text, column.width))
            lines.append(_GAP.join(parts).rstrip())
    return "\n".join(lines)


def cell_text(cell: Cell, head: Head, *, interval: bool = False, quiet: bool = True) -> str:
    """Return a cell under that head; without its quiet parts if `quiet` is False."""
    if isinstance(cell, Estimate):
        text = _format_number(cell.value, head)
        if interval and cell.low is not None:
            low, high = _format_number(cell.low, head), _format_number(cell.high, head)
            text += f" [{low}, {high}]"
        return f"{text} {cell.note}" if cell.note else text
    if isinstance(cell, list):
        loud = plain([s for s in cell if quiet or isinstance(s, str) or s.style != "quiet"])
        return loud.strip() or plain(cell)
    return cell if isinstance(cell, str) else _format_number(cell, head)


def _format_number(value: float | int | None, head: Head) -> str:
    if value is None:
        return NO_VALUE
    sign = "+" if head.signed and value > 0 else ""
    if head.percent:
        digits = 1 if head.digits is None else head.digits
        text = f"{sign}{100 * value:.{digits}f}"
        return text if head.signed else f"{text} %"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{sign}{value:,}"
    return f"{sign}{value:.{4 if head.digits is None else head.digits}f}"


# ---- texts and lines ----


def plain(text: Rich | None) -> str:
    """Return the words alone."""
    if text is None or isinstance(text, str):
        return text or ""
    return "".join(part if isinstance(part, str) else part.text for part in text)


def wrap(text: str, inner: str = "    ", width: int = COLUMNS, whole: bool = True) -> str:
    """Return the text in lines that fit; line breaks stay, and gaps of several spaces.

    The gap between a label, one word, and its text is never broken.

    Args:
        text: The text. The first line keeps its indentation.
        inner: What is before every further line.
        width: The columns of a line.
        whole: Leave paths and hyphenated names whole, even if they are longer than a line.
    """
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for gap, word in _WORDS.findall(paragraph):
            is_kept = whole and ("/" in word or "-" in word)
            pieces = [word] if is_kept else chop_cells(word, max(1, width - cell_len(inner)))
            is_after_label = len(gap) > 1 and " " not in line.strip()
            for piece in pieces:
                before = gap if piece is pieces[0] else ""
                is_layout = piece is pieces[0] and is_after_label
                is_full = cell_len(line + before + piece) > width
                if line.strip() and is_full and not is_layout:
                    lines.append(line)
                    line, before = inner, ""
                line += before + piece
        lines.append(line)
    return "\n".join(lines)


def clip(text: str, width: int = COLUMNS) -> str:
    """Return the beginning of a line that fits, with a mark if something is missing."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


def _left(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text
