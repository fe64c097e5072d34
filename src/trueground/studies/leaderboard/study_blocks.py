"""Tables of studies → blocks of the page: numbers, and charts of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from trueground.reports import (
    Axis,
    Block,
    Cell,
    Chart,
    Estimate,
    Fold,
    Grid,
    Head,
    Menu,
    Only,
    Part,
    Rich,
    Row,
    Series,
    Span,
    Table,
    Text,
)
from trueground.studies.wording import join_alike
from trueground.text import number, several

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_FEWER = (
    "† over fewer items than were asked: ranked not by this mean, but with 0 (1 where lower is "
    "better) for each item that is missing."
)
LEAST = 3  # models in a picture of points; two are better read in the table
_OPEN = 2  # tables of a study that need not be unfolded
_MANY = 8  # models of the user's with a color each
SIZES = Axis("billions of parameters", log=True)
# What is counted of two runs, or of one with both kinds of questions.
_DECLINING = {
    "precision": "precision of declining",
    "recall": "recall of declining",
    "f1": "F1 of declining",
    "declined": "nothing: declined",
    "missed": "answered",
    "declined_wrongly": "gold: declined",
    "answered": "answered",
}
Json = Mapping[str, Any]
Dot = tuple[Json, float, Json]  # row, x, cell


def study_sections(tables: Sequence[Json]) -> list[Part]:
    """A section for each study, in the order of the declarations; ids are those of the study.

    Where there are several tables, each is folded under what tells it from the others.
    """
    parts: dict[str, list[Json]] = {}
    for table in tables:
        parts.setdefault(table["id"], []).append(table)
    sections = []
    for name, tables_of_study in parts.items():
        notes: list[Block] = (
            [Text(tables_of_study[0]["note"])] if tables_of_study[0]["note"] else []
        )
        blocks: list[Block] = [Only("page", notes)]
        for position, table in enumerate(tables_of_study):
            table_blocks = _drawn(table)
            if len(tables_of_study) > 1:
                label = table["group"] or " → ".join(table["places"]) or table["title"]
                table_blocks = [Fold(label, table_blocks, open=position < _OPEN)]
            elif table["group"]:  # on the page it is the title of the chart
                blocks.append(Only("text", [Text(table["group"])]))
            blocks += table_blocks
        sections.append(Part(tables_of_study[0]["title"], blocks, id=name))
    return sections


def model_cell(row: Json) -> list[str | Span]:
    """A model's name, which leads to its run; behind it whether its numbers are printed ones."""
    printed = [Span(" published", "quiet", title=row["source"])] if row["source"] else []
    return [Span.link(row["name"], row.get("href")), *printed]


def apart_words(row: Json, titles: Mapping[str, str]) -> list[str]:
    """Return why the row is not ranked, each reason once, with its columns."""
    grouped = join_alike((reason, titles[key]) for key, reason in row["apart"].items())
    return [f"{reason}: {names}" for reason, names in grouped]


def model_row(row: Json, cells: Sequence[Cell], apart: Sequence[str] = ()) -> Row:
    """A row of a model: the user's own, a paper's, or grey where it is not to be ranked."""
    title = f"not ranked: {'; '.join(dict.fromkeys(apart))}" if apart else None
    model_cells = Row([model_cell(row), *cells], "published" if row["source"] else "own", title)
    if apart:
        model_cells.tone = "apart"
    return model_cells


def fewer_items(board: Json) -> list[str]:
    """What the mark † beside a mean says, if there is one."""
    cells = [cell for row in board["rows"] for cell in row["cells"].values()]
    return [_FEWER] if any(cell["placed_by"] is not None for cell in cells) else []


def estimate(cell: Json | None) -> Estimate | None:
    """A mean with its interval; below it what it leaves out, and by what it is ranked then."""
    if cell is None:
        return None
    notes = []
    if cell["sd"] is not None:
        over = f" over {cell['repeats']} repeats" if cell["repeats"] else ""
        notes.append(f"± {cell['sd']:.4f}{over}")
    if cell["placed_by"] is not None:
        notes.append(
            f"† {cell['scored']:,} of {cell['asked']:,} asked: ranked by {cell['placed_by']:.4f}"
        )
    elif cell["scored"] is not None and cell["n"] is not None and cell["scored"] < cell["n"]:
        notes.append(f"{cell['scored']:,} of {cell['n']:,} scored")
    low, high = cell["ci"] or (None, None)
    return Estimate(cell["mean"], low, high, "; ".join(notes) or None, rank=cell["placed_by"])


def estimates(label: Rich, cells: Iterable[Json | None], higher: bool | None = None) -> Head:
    """A column of estimates, on a scale of 0 to 1 wherever that holds them."""
    ends = [e for c in cells if c for e in (c["mean"], *(c["ci"] or ())) if e is not None]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    return Head(
        label,
        "estimate",
        digits=4,
        low=0.0 if low >= 0 else math.floor(low),
        high=1.0 if high <= 1 else math.ceil(high),
        better=None if higher is None else "high" if higher else "low",
    )


def coefficients(groups: Sequence[Json]) -> list[Block]:
    """A line for each group of models."""
    return [
        Text(
            f"{'Published. ' if group['source'] else ''}{several(group['pearson']['n'], 'model')}. "
            f"{_coefficient('Pearson', group['pearson'])}. "
            f"{_coefficient('Spearman', group['spearman'])}.",
            "quiet",
        )
        for group in groups
    ]


def points(
    title: Rich, x: Axis, y: Axis, dots: Sequence[Dot], *, diagonal: bool = False
) -> list[Block]:
    """A chart of models at (x, cell); published ones are one hollow series. None for too few."""
    if len(dots) < LEAST:
        return []
    user_dots = [dot for dot in dots if not dot[0]["source"]]
    papers = [dot for dot in dots if dot[0]["source"]]
    named = (
        [(dot[0]["name"], [dot]) for dot in user_dots]
        if len(user_dots) <= _MANY
        else [("runs", user_dots)]
    )
    series = [_series(name, some) for name, some in named]
    if papers:
        series.append(_series("published", papers, dashed=True))
    return [Only("page", [Chart("points", title, x, y, series, diagonal=diagonal)])]


def _series(name: str, dots: Sequence[Dot], *, dashed: bool = False) -> Series:
    cells = [cell for *_, cell in dots]
    cis = [cell.get("ci") for cell in cells]
    return Series(
        name,
        [x for _, x, _ in dots],
        [cell["mean"] for cell in cells],
        low=[ci[0] if ci else None for ci in cis],
        high=[ci[1] if ci else None for ci in cis],
        labels=[row["name"] for row, *_ in dots],
        dashed=dashed,
    )


def _coefficient(name: str, coefficient: Json) -> str:
    if coefficient["value"] is None:
        return f"{name} none: {coefficient['why']}"
    low, high = (_signed(end, ".2f") for end in coefficient["ci"] or (None, None))
    ends = f" ({low} to {high})" if coefficient["ci"] else ""
    return f"{name} {_signed(coefficient['value'], '.2f')}{ends}"


def _signed(value: float | None, form: str = ".4f") -> str:
    """With a sign, and a true minus; zero has none."""
    if value is None:
        return "–"
    digits = format(abs(value), form)
    return ("" if not float(digits) else "+" if value > 0 else "−") + digits


# ---- one table ----

Column = tuple[Head, Callable[[Json], Cell]]


def _drawn(table: Json) -> list[Block]:
    """Its numbers, with charts; one measure at a time where there are several places as well."""
    if table["kind"] in ("sweep", "delta"):
        blocks = [_measure(table, k) for k in range(len(table["measures"]))]
        if len(blocks) > 1:
            return [Menu("Measure", list(zip(table["measures"], blocks, strict=True)))]
        return blocks[0]
    if table["kind"] == "mean":
        return _mean(table)
    columns = [_values(table, label, k, 0) for k, label in enumerate(table["measures"])]
    if table["kind"] == "scatter":
        return _sizes(table, columns) if table["sizes"] else _scatter(table, columns)

    def gain(row: Json, at: int) -> Cell:
        return _signed(row["changes"][0][at]["difference"])

    for at, step in enumerate(table["rows"][0]["changes"][0]):
        columns.append((Head(f"{step['before']} → {step['after']}"), partial(gain, at=at)))
    return [_table(table["rows"], columns)]


def _table(
    rows: Sequence[Json],
    columns: Sequence[Column],
    caption: Rich | None = None,
    first: str = "Model",
) -> Table:
    table_rows = []
    for row in rows:
        cells = [cell(row) for _, cell in columns]
        model_cells = model_row(row, cells, [row["apart"]] if row["apart"] else [])
        if row["declining"] and row["declining"]["common"]:
            common = Span.quiet(f" {row['declining']['common']:,} answers in common")
            model_cells.cells[0] = [*model_cell(row), common]
        table_rows.append(model_cells)
    return Table([Head(first), *(head for head, _ in columns)], table_rows, caption, sortable=True)


def _values(table: Json, label: str, k: int, at: int) -> Column:
    head = estimates(label, [row["cells"][k][at] for row in table["rows"]])
    return head, lambda row: estimate(row["cells"][k][at])


def _spellings(keys: Sequence[str]) -> Rich:
    spans: list[str | Span] = []
    for key in keys:
        spans += [", ", Span.code(key)]
    return spans[1:]


def _measure(table: Json, k: int) -> list[Block]:
    """A measure over the places, as lines and numbers, with the changes from place to place."""
    measure, heading = table["measures"][k], table["group"] or table["title"]
    title = f"{heading}: {measure}" if measure else " → ".join(table["places"])
    blocks = _lines(table, k, title) if table["baseline"] is None else []
    columns = [_values(table, level, k, at) for at, level in enumerate(table["places"])]
    columns += _steps(table, k)
    rows = [row for row in table["rows"] if any(row["cells"][k])]
    blocks.append(_table(rows, columns, _spellings(table["metrics"][k])))
    if k == 0 and table["sizes"] and table["baseline"] is None:
        blocks += _lost_by_size(table)
    return blocks


def _steps(table: Json, k: int) -> list[Column]:
    """The changes of a measure step by step, and ranks at both ends."""
    changed = [row["changes"][k] for row in table["rows"] if row["changes"]]
    shares = any(change["relative"] is not None for line in changed for change in line)
    columns: list[Column] = []

    def difference(row: Json, at: int) -> Cell:
        change = row["changes"][k][at] if row["changes"] else None
        return Estimate(change["difference"], note=change["unlike"]) if change else None

    def share(row: Json, at: int) -> Cell:
        return row["changes"][k][at]["relative"] if row["changes"] else None

    def rank(row: Json, at: int) -> Cell:
        return row["ranks"][at] if row["ranks"] else None

    for at, step in enumerate(changed[0] if changed else ()):
        label = step["before"] if table["baseline"] else f"{step['before']} → {step['after']}"
        columns.append((Head(label, "estimate", low=-1.0, high=1.0), partial(difference, at=at)))
        if shares:
            heading = f"{label}: share lost" if table["lost"] else f"{label}: share"
            columns.append((Head(heading, "number", percent=True), partial(share, at=at)))
    if any(row["ranks"] for row in table["rows"]):
        for at, heading in enumerate(("rank, before", "rank, after", "rank difference")):
            columns.append((Head(heading, "number"), partial(rank, at=at)))
    return columns


def _lines(table: Json, k: int, title: str) -> list[Block]:
    """A line for each model over the places, which are numbers or names."""
    numbers = [float(level) for level in table["places"] if _NUMBER.fullmatch(level)]
    straight = len(numbers) == len(table["places"]) and numbers[0] <= numbers[-1]
    xs = numbers if straight else list(map(float, range(len(table["places"]))))
    series = []
    for row in table["rows"]:
        dots = [(row, x, c) for x, c in zip(xs, row["cells"][k], strict=True) if c]
        if dots:
            name = f"{row['name']} (published)" if row["source"] else row["name"]
            line = _series(name, dots, dashed=bool(row["source"]))
            line.labels = None
            series.append(line)
    if not any(len(line.x) > 1 for line in series):
        return []
    axis = Axis(ticks=None if straight else table["places"])
    return [Only("page", [Chart("lines", title, axis, Axis(table["measures"][k]), series)])]


def _lost_by_size(table: Json) -> list[Block]:
    charts: list[Block] = []
    for at, step in enumerate(table["rows"][0]["changes"][0]):
        dots = [
            (row, row["size"][0], {"mean": share})
            for row in table["rows"]
            if row["size"] and (share := row["changes"][0][at]["relative"]) is not None
        ]
        title = f"Share lost by size: {step['before']} → {step['after']}"
        charts += points(title, SIZES, Axis("share lost", percent=True), dots)
    return [Grid(charts)] if charts else []


def _scatter(table: Json, columns: Sequence[Column]) -> list[Block]:
    x, y = table["across"], 1 - table["across"]
    dots = [
        (row, cell["mean"] or 0.0, up)
        for row in table["rows"]
        if (cell := row["cells"][x][0]) and (up := row["cells"][y][0])
    ]
    low, high = (0.0, 1.0) if table["declining"] else (None, None)
    axes = [Axis(table["measures"][k], low, high) for k in (x, y)]
    blocks = points(
        table["group"] or table["title"], axes[0], axes[1], dots, diagonal=table["declining"]
    )
    blocks += coefficients(table["over_models"])
    caption: Rich = [Span.code(table["metrics"][0][0]), ", ", Span.code(table["metrics"][1][0])]

    def count(row: Json, name: str) -> Cell:
        value: Cell = (row["declining"] or {}).get(name)
        return value

    more: list[Column] = [
        (Head(heading, "number"), partial(count, name=name))
        for name, heading in (_DECLINING.items() if table["declining"] else ())
    ]
    return [*blocks, _table(table["rows"], [*columns, *more], caption)]


def _sizes(table: Json, columns: Sequence[Column]) -> list[Block]:
    blocks: list[Block] = []
    if len(table["rows"]) >= LEAST:
        sized = [row for row in table["rows"] if row["size"]]
        labeled = [
            (label, [(row, row["size"][0], cell) for row in sized if (cell := row["cells"][k][0])])
            for k, label in enumerate(table["measures"])
        ]
        series = [_series(label, dots) for label, dots in labeled if dots]
        title = table["group"] or table["title"]
        chart = Chart("points", title, SIZES, Axis(table["measures"][0]), series)
        blocks.append(Only("page", [chart]))
    size: list[Column] = [
        (Head("Size", "number", digits=1), lambda row: row["size"] and row["size"][0]),
        (Head("by"), lambda row: row["size"][1] if row["size"] else ""),
    ]
    numbers = _table(table["rows"], [*size, *columns], _spellings(table["metrics"][0]))
    blocks.append(Fold("Numbers", [numbers]))
    return blocks + _missing("a size (add it with --models FILE)", table)


def _mean(table: Json) -> list[Block]:
    def score(row: Json) -> Cell:
        note = None if row["placed_by"] is None else f"† ranked by {number(row['placed_by'])}"
        return Estimate(row["score"], note=note, rank=row["placed_by"])

    columns: list[Column] = [
        (
            Head("Organization"),
            lambda row: row["organization"] or [Span.quiet("not in the models table")],
        ),
        *(_values(table, level, 0, at) for at, level in enumerate(table["places"])),
        (Head("Combined", "estimate"), score),
    ]
    return [_table(table["rows"], columns, first="Best model"), *_missing("a task", table)]


def _missing(lacking: str, table: Json) -> list[Block]:
    names = ", ".join(table["missing"])
    return [Text(f"Left out, for want of {lacking}: {names}.", "quiet")] if names else []
