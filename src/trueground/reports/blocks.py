"""The blocks of a page, which the viewer in the browser draws.

A page is a tree of blocks. They have numbers, texts and ids; the viewer decides about layout and
style. A text is a string, or a list of strings and spans. No string is ever read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

COLUMNS = 80  # of a text, if its width is not given

Style = Literal[
    "strong", "code", "quiet", "mark", "added", "removed", "supported", "unsupported", "unknown"
]

Tone = Literal["plain", "lead", "note", "warning", "quiet", "command", "lines", "whole"]
Face = Literal["page", "text", "markdown"]


class Span(msgspec.Struct, omit_defaults=True):
    """A piece of a text with a style or a link. `title` is its tooltip."""

    text: str
    style: Style | None = None
    href: str | None = None
    title: str | None = None

    @classmethod
    def strong(cls, text: object) -> Span:
        """Return words that are emphasized."""
        return cls(str(text), "strong")

    @classmethod
    def code(cls, text: object) -> Span:
        """Return words of a program: names of metrics, options, files."""
        return cls(str(text), "code")

    @classmethod
    def quiet(cls, text: object) -> Span:
        """Return words that are less important than the others."""
        return cls(str(text), "quiet")

    @classmethod
    def link(cls, text: object, href: str | None) -> str | Span:
        """Return a link, or the bare words if `href` is empty."""
        return cls(str(text), href=href) if href else str(text)


Rich = str | list[str | Span]


class Estimate(msgspec.Struct, omit_defaults=True, tag_field="type", tag="estimate"):
    """A number with its interval, drawn on the scale of its column.

    Attributes:
        value: The number.
        low: The lower end of the interval.
        high: The upper end of the interval.
        note: A text below the number.
        apart: The number is never marked as the best of its column.
        rank: The number for sorting and comparing, if it isn't the value.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str | None = None
    apart: bool = False
    rank: float | None = None


Cell = None | bool | float | int | str | list[str | Span] | Estimate


class Text(msgspec.Struct, omit_defaults=True, tag_field="type", tag="text"):
    """A paragraph. A `command` is a line to type; `plain` keeps its line breaks.

    `lines` and `whole` are for texts alone: lines that are cut at the width, or never.
    """

    text: Rich
    tone: Literal["plain", "lead", "note", "warning", "quiet", "command", "lines", "whole"] = (
        "plain"
    )


class Bullets(msgspec.Struct, omit_defaults=True, tag_field="type", tag="bullets"):
    items: list[Rich]


class Part(msgspec.Struct, omit_defaults=True, tag_field="type", tag="section"):
    """A section of the page with a heading.

    A section with an `id` is listed in the table of contents. One with `fold` can be collapsed.
    """

    title: Rich
    blocks: list[Block]
    id: str | None = None
    fold: bool = False


class Fold(msgspec.Struct, omit_defaults=True, tag_field="type", tag="fold"):
    """Blocks under a title that expands and collapses them."""

    title: Rich
    blocks: list[Block]
    open: bool = False


class Grid(msgspec.Struct, omit_defaults=True, tag_field="type", tag="grid"):
    """Blocks in a row, as many as fit. `least` is their minimum width in rem."""

    blocks: list[Block]
    least: int = 18


class Menu(msgspec.Struct, omit_defaults=True, tag_field="type", tag="choice"):
    """Options with blocks; a menu of their names selects which option is shown."""

    label: str
    options: list[tuple[str, list[Block]]]
    chosen: int = 0


class Tile(msgspec.Struct, omit_defaults=True):
    """An important number. A click on it filters the list of items by `filter`.

    Texts draw `share` as a bar.
    """

    label: str
    value: str
    note: str = ""
    tone: str | None = None
    filter: str | None = None
    share: float | None = None


class Tiles(msgspec.Struct, omit_defaults=True, tag_field="type", tag="tiles"):
    """Important numbers in a row, or in a list if they are `small`."""

    tiles: list[Tile]
    small: bool = False

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Tiles:
        """Return tiles of these values, by their labels."""
        return cls([Tile(label, value) for label, value in values.items()])


class Head(msgspec.Struct, omit_defaults=True):
    """A column of a table. `low` to `high` is the scale on which estimates are drawn.

    Without `digits`, integers have no decimals and other numbers have four. `better` marks the
    best value of the column. Differences are `signed`; differences of shares are in points.
    """

    label: Rich
    kind: Literal["text", "number", "estimate", "code"] = "text"
    note: str | None = None
    digits: int | None = None
    percent: bool = False
    signed: bool = False
    low: float = 0.0
    high: float = 1.0
    better: Literal["high", "low"] | None = None


class Row(msgspec.Struct, omit_defaults=True):
    """A row of a table. `apart` rows are gray and never the best; `title` is the reason.

    `key` identifies the row in a table with a `Pair`.
    """

    cells: list[Cell]
    tone: Literal["own", "published", "apart", "first", "total", "group"] | None = None
    title: str | None = None
    key: str | None = None


class Pair(msgspec.Struct, omit_defaults=True):
    """A link for two selected rows of a table. `href` has the fields {a} and {b}; b is above a.

    `refused` has the reasons why some pairs, named "a b", have no such page.
    """

    words: str
    href: str
    refused: dict[str, str] = {}


class Table(msgspec.Struct, omit_defaults=True, tag_field="type", tag="table"):
    """A table whose first column names the rows.

    If it is `sortable`, columns of numbers can be sorted. With `search` rows can be filtered by
    their text. Texts show the intervals of the first column with estimates, or with `intervals`
    those of all columns.
    """

    columns: list[Head]
    rows: list[Row]
    caption: Rich | None = None
    sortable: bool = False
    pair: Pair | None = None
    search: bool = False
    intervals: bool = False

    def link_pairs(self, words: str, href: str, refused: Mapping[str, str]) -> None:
        """Link pairs of rows to pages; see `Pair`."""
        self.pair = Pair(words, href, dict(refused))


class Axis(msgspec.Struct, omit_defaults=True):
    """An axis of a chart.

    `ticks` are the names of the positions 0, 1, 2, … of an axis of categories. `marks` are
    positions on the x axis with labels, drawn as dashed lines.
    """

    label: str = ""
    low: float | None = None
    high: float | None = None
    ticks: list[str] | None = None
    log: bool = False
    percent: bool = False
    marks: list[tuple[float, str]] = []


class Series(msgspec.Struct, omit_defaults=True):
    """A series of points, sorted by x for lines. `low` and `high` are intervals of y.

    `labels` are names of single points. A `dashed` series is a reference or a published result.
    """

    name: str
    x: list[float]
    y: list[float | None]
    low: list[float | None] | None = None
    high: list[float | None] | None = None
    labels: list[str] | None = None
    dashed: bool = False
    tone: str | None = None


class Chart(msgspec.Struct, omit_defaults=True, tag_field="type", tag="chart"):
    """A chart. `bars` have their left edges in x; those of several series are stacked.

    `diagonal` draws the line y = x.
    """

    kind: Literal["lines", "points", "bars"]
    title: Rich
    x: Axis
    y: Axis
    series: list[Series]
    note: Rich | None = None
    diagonal: bool = False

    @classmethod
    def histogram(
        cls,
        title: Rich,
        edges: Sequence[float],
        counts: Sequence[int],
        unit: str,
        *,
        labels: Sequence[str] | None = None,
        note: Rich | None = None,
        axis: str = "",
    ) -> Chart:
        """Return a histogram: `counts` of a `unit` between `edges`, with `labels` of the bars."""
        names = None if labels is None else list(labels)
        series = Series(unit, list(edges[:-1]), list(counts), labels=names)
        return cls("bars", title, Axis(axis), Axis(unit), [series], note)


class Entry(msgspec.Struct, omit_defaults=True):
    """An entry of a list: its title, its values and tags, and blocks that can be expanded."""

    title: Rich
    blocks: list[Block] = []
    note: Rich | None = None
    values: dict[str, float | None] = {}
    tags: dict[str, str] = {}
    open: bool = False


class Entries(msgspec.Struct, omit_defaults=True, tag_field="type", tag="entries"):
    """A list that can be searched by texts, filtered by tags and sorted by values."""

    entries: list[Entry]
    noun: str = "item"
    search: bool = True


class Only(msgspec.Struct, tag_field="type", tag="only"):
    """Blocks for one output only: the page in a browser, the text of a terminal, or Markdown."""

    face: Face
    blocks: list[Block]


class Framed(msgspec.Struct, tag_field="type", tag="framed"):
    """Blocks that texts show in a box; a page shows them like other blocks."""

    blocks: list[Block]


class AnswerBrowser(msgspec.Struct, omit_defaults=True, tag_field="type", tag="answers"):
    """The list of a run's answers. Its data are in separate blocks (`reports.answers`)."""


Block = (
    Text
    | Bullets
    | Part
    | Fold
    | Grid
    | Menu
    | Tiles
    | Table
    | Chart
    | Entries
    | Only
    | Framed
    | AnswerBrowser
)  # fmt: skip


def select_blocks(blocks: Iterable[Block], face: Face) -> Iterator[Block]:
    """Yield the blocks of one output; `Only` and `Framed` are resolved at every depth."""
    for block in blocks:
        if isinstance(block, Only):
            if block.face == face:
                yield from select_blocks(block.blocks, face)
        elif isinstance(block, Framed):
            inside = select_blocks(block.blocks, face)
            if face == "text":
                yield Framed([*inside])
            else:
                yield from inside
        elif isinstance(block, Part | Fold | Grid):
            yield replace(block, blocks=[*select_blocks(block.blocks, face)])
        elif isinstance(block, Menu):
            options = [(name, [*select_blocks(inside, face)]) for name, inside in block.options]
            yield replace(block, options=options)
        else:
            yield block
