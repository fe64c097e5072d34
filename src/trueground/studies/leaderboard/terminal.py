"""The leaderboard as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueground.reports.listings import aligned
from trueground.studies.leaderboard.study_blocks import Json, apart_words, fewer_items
from trueground.text.wording import number

WIDEST = 160  # characters of a line
_LONG = 40  # characters of a title


def render(board: Json, path: Path) -> str:
    """A line for each model, a column for each task, and where the page lies.

    What does not fit into lines of 160 characters goes on below.
    """
    titles = {column["id"]: column["title"] for column in board["columns"]}
    apart = dict.fromkeys(
        f"apart  {_shown(row)}: {told}"
        for row in board["rows"]
        for told in apart_words(row, titles)
    )
    blocks = [*_scores(board), *["\n".join(apart)] * bool(apart)]
    tables = [table for table in board["studies"] if table["short"] is not None]
    means = [table for table in tables if table["kind"] == "mean"]
    blocks += [aligned(_table(table)) for table in means]
    blocks += fewer_items(board)
    blocks += [aligned(_table(table)) for table in tables if table not in means]
    return "\n\n".join([*blocks, f"page   {path}"])


def _shown(row: Json) -> str:
    """A model's name, with what it is if its numbers are a paper's."""
    return f"{row['name']} (published)" if row["source"] else str(row["name"])


def _table(table: Json) -> list[list[str]]:
    """A study's head and its rows; of a sweep a row for each place."""
    head = [": ".join(filter(None, (table["short"], table["group"]))), *table["measures"]]
    if table["kind"] == "mean":
        head = [str(table["short"]), "combined"]
    elif table["declining"]:
        head += ["F1", "over"]
    rows = [head]
    for row in table["rows"]:
        name = _shown(row)
        if table["kind"] == "mean":
            rows.append([name, number(row["score"]) + _mark(row["placed_by"])])
        elif table["kind"] == "delta":
            rows.append(
                [name, *(_change(row, k, line[0]) for k, line in enumerate(row["changes"]))]
            )
        elif table["kind"] == "sweep":
            for place, cells in zip(table["places"], zip(*row["cells"], strict=True), strict=True):
                if any(cells):
                    rows.append([f"{name}, {place}", *map(_number, cells)])
        else:
            line = [name, *(_number(cells[0]) for cells in row["cells"])]
            if table["declining"]:
                common = row["declining"]["common"] if row["declining"] else None
                line += [number(row['declining']['f1'] if row['declining'] else None),
                         f"{common:,} in common" if common else ""]  # fmt: skip
            rows.append(line)
    return rows


def _change(row: Json, measure: int, change: Json) -> str:
    before, after = row["cells"][measure]
    if before is None and after is None:
        return "–"
    told = f"{_number(before)} → {_number(after)}"
    if change["difference"] is None:
        return told
    share = (
        f"{change['difference']:+.4f}"
        if change["relative"] is None
        else f"{change['relative']:+.1%}"
    )
    if not share.strip("+-0.%"):
        share = share[1:]
    return f"{told} ({share})".replace("-", "−").replace("%", " %")


def _number(cell: Json | None) -> str:
    return number(None if cell is None else cell["mean"])


def _scores(board: Json) -> list[str]:
    """The table; a wide one as several, below one another.

    Where titles are long, its columns have numbers as heads, and a legend.
    """
    names = ["model", *(_shown(r) for r in board["rows"])]
    titles = [column["title"] for column in board["columns"]]
    columns = [
        [column["title"], *(_cell(row["cells"].get(column["id"])) for row in board["rows"])]
        for column in board["columns"]
    ]
    legend = []
    if _width([names, *columns]) > WIDEST and max(map(len, titles)) > _LONG:
        legend = ["\n".join(f"[{place}]  {title}" for place, title in enumerate(titles, 1))]
        columns = [[f"[{place}]", *values] for place, (_, *values) in enumerate(columns, 1)]
    blocks: list[list[list[str]]] = [[]]
    for column in columns:
        if blocks[-1] and _width([names, *blocks[-1], column]) > WIDEST:
            blocks.append([])
        blocks[-1].append(column)
    return [*(aligned(list(zip(names, *block, strict=True))) for block in blocks), *legend]


def _width(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, cells)) for cells in columns) + 2 * (len(columns) - 1)


def _cell(cell: Json | None) -> str:
    if cell is None:
        return "–"
    shown = number(cell["mean"])
    if cell["ci"]:
        shown += f" ({number(cell['ci'][0])} … {number(cell['ci'][1])})"
    if cell["unscored"]:
        shown += f" {cell['scored']:,} of {cell['n']:,}"
    return shown + _mark(cell["placed_by"])


def _mark(placed_by: float | None) -> str:
    """Beside a mean over fewer items: what it is ranked by."""
    return "" if placed_by is None else f" † ranked by {number(placed_by)}"
