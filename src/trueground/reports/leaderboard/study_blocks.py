"""Tables of studies → blocks of the page: numbers, and charts of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from trueground.reports.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Estimate,
    Fold,
    Grid,
    Head,
    Menu,
    Part,
    Rich,
    Row,
    Series,
    Span,
    Table,
    Text,
    code,
    number,
    quiet,
)
from trueground.reports.leaderboard.results import Coefficients, StudyRow, StudyTable
from trueground.reports.leaderboard.runs import BoardCell
from trueground.stats.correlation import Correlation

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
LEAST = 3  # models in a picture of points; two are better read in the table
_OPEN = 2  # tables of a study that need not be unfolded
_MANY = 8  # models of the user's with a colour each
Dot = tuple[str, str | None, float, BoardCell]  # name, source, x, y


def study_sections(tables: Sequence[StudyTable]) -> list[Part]:
    """A section for each study, in the order of the declarations; ids are those of the study.

    Where there are several tables, each is folded under what tells it from the others.
    """
    parts: dict[str, list[StudyTable]] = {}
    for table in tables:
        parts.setdefault(table.id, []).append(table)
    sections = []
    for name, own in parts.items():
        blocks: list[Block] = [Text(own[0].note)] if own[0].note else []
        for place, table in enumerate(own):
            drawn = _drawn(table)
            if len(own) > 1:
                label = table.group or " → ".join(table.places) or table.title
                drawn = [Fold(label, drawn, open=place < _OPEN)]
            blocks += drawn
        sections.append(Part(own[0].title, blocks, id=name))
    return sections


def model_cell(name: str, source: str | None) -> list[str | Span]:
    """A model's name; behind it whether its numbers are printed ones."""
    return [name, Span(" published", "quiet", title=source)] if source else [name]


def model_row(
    name: str, source: str | None, cells: Sequence[Cell], apart: Sequence[str] = ()
) -> Row:
    """A row of a model: the user's own, a paper's, or grey where it is not to be ranked."""
    title = f"stands apart: {'; '.join(dict.fromkeys(apart))}" if apart else None
    row = Row([model_cell(name, source), *cells], "published" if source else "own", title)
    if apart:
        row.tone = "apart"
    return row


def estimate(cell: BoardCell | None) -> Estimate | None:
    """A mean with its interval; below it what it leaves out, and by what it is ranked then."""
    if cell is None:
        return None
    notes = []
    if cell.sd is not None:
        over = f" over {cell.repeats} repeats" if cell.repeats else ""
        notes.append(f"± {cell.sd:.4f}{over}")
    if cell.placed_by is not None:
        notes.append(f"† {cell.scored:,} of {cell.asked:,} asked: ranked by {cell.placed_by:.4f}")
    elif cell.scored is not None and cell.n is not None and cell.scored < cell.n:
        notes.append(f"{cell.scored:,} of {cell.n:,} scored")
    low, high = cell.ci or (None, None)
    return Estimate(cell.mean, low, high, "; ".join(notes) or None, rank=cell.placed_by)


def estimates(label: Rich, cells: Iterable[BoardCell | None], higher: bool | None = None) -> Head:
    """A column of estimates, on a scale of 0 to 1 wherever that holds them."""
    ends = [e for c in cells if c for e in (c.mean, *(c.ci or ())) if e is not None]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    return Head(
        label,
        "estimate",
        digits=4,
        low=0.0 if low >= 0 else math.floor(low),
        high=1.0 if high <= 1 else math.ceil(high),
        better=None if higher is None else "high" if higher else "low",
    )


def coefficients(groups: Sequence[Coefficients]) -> list[Block]:
    """A line for each group of models."""
    return [
        Text(
            f"{'Published. ' if group.source else ''}"
            f"{group.pearson.n} {'model' if group.pearson.n == 1 else 'models'}. "
            f"{_coefficient('Pearson', group.pearson)}. "
            f"{_coefficient('Spearman', group.spearman)}.",
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
    own = [dot for dot in dots if dot[1] is None]
    papers = [dot for dot in dots if dot[1] is not None]
    series = (
        [_series(dot[0], [dot]) for dot in own] if len(own) <= _MANY else [_series("runs", own)]
    )
    series += [_series("published", papers, dashed=True)] * bool(papers)
    return [Chart("points", title, x, y, series, diagonal=diagonal)]


def _series(name: str, dots: Sequence[Dot], *, dashed: bool = False) -> Series:
    cells = [cell for *_, cell in dots]
    return Series(
        name,
        [x for _, _, x, _ in dots],
        [cell.mean for cell in cells],
        low=[cell.ci[0] if cell.ci else None for cell in cells],
        high=[cell.ci[1] if cell.ci else None for cell in cells],
        labels=[label for label, *_ in dots],
        dashed=dashed,
    )


def _coefficient(name: str, found: Correlation) -> str:
    if found.value is None:
        return f"{name} none: {found.why}"
    ends = f" ({_signed(found.ci[0], '.2f')} to {_signed(found.ci[1], '.2f')})" if found.ci else ""
    return f"{name} {_signed(found.value, '.2f')}{ends}"


def _signed(value: float | None, form: str = ".4f") -> str:
    """With a sign, and a true minus; zero has none."""
    if value is None:
        return "–"
    shown = format(abs(value), form)
    return ("" if not float(shown) else "+" if value > 0 else "−") + shown


# ---- one table ----


def _drawn(table: StudyTable) -> list[Block]:
    """Its numbers, with charts; one measure at a time where there are several places as well."""
    if table.kind in ("sweep", "delta"):
        blocks = [_measure(table, k) for k in range(len(table.measures))]
        if len(blocks) > 1:
            return [Menu("Measure", list(zip(table.measures, blocks, strict=True)))]
        return blocks[0]
    by_measure = [(label, k, 0) for k, label in enumerate(table.measures)]
    if table.kind == "pivot":
        gains = [f"{c.before} → {c.after}" for line in table.rows[0].changes for c in line]

        def differences(row: StudyRow) -> list[Cell]:
            return [_signed(change.difference) for line in row.changes for change in line]

        return [_table(table, by_measure, after=(list(map(Head, gains)), differences))]
    if table.kind == "mean":
        return _mean(table)
    return _sizes(table, by_measure) if table.sizes else _scatter(table, by_measure)


More = tuple[Sequence[Head], Callable[[StudyRow], Sequence[Cell]]]
_NO_MORE: More = ((), lambda _: ())


def _table(
    table: StudyTable,
    columns: Sequence[tuple[str, int, int]],
    *,
    before: More = _NO_MORE,
    after: More = _NO_MORE,
    caption: Rich | None = None,
    first: str = "Model",
) -> Table:
    """Models by columns (label, measure, place), with further heads and cells at both sides."""
    rows = [row for row in table.rows if any(row.cells[k][at] for _, k, at in columns)]
    heads = [Head(first), *before[0]]
    heads += [
        estimates(label, [row.cells[k][at] for row in table.rows]) for label, k, at in columns
    ]
    drawn = []
    for row in rows:
        cells = [estimate(row.cells[k][at]) for _, k, at in columns]
        cells_of: list[Cell] = [*before[1](row), *cells, *after[1](row)]
        one = model_row(row.name, row.source, cells_of, [row.apart] if row.apart else [])
        if row.declining and row.declining.common:
            common = quiet(f" {row.declining.common:,} answers in common")
            one.cells[0] = [*model_cell(row.name, row.source), common]
        drawn.append(one)
    return Table([*heads, *after[0]], drawn, caption, sortable=True)


def _spellings(keys: Sequence[str]) -> Rich:
    """The metrics of a measure, as a caption."""
    told: list[str | Span] = []
    for key in keys:
        told += [", "] * bool(told) + [code(key)]
    return told


def _measure(table: StudyTable, k: int) -> list[Block]:
    """A measure over the places, as lines and numbers, with the changes from place to place."""
    measure, heading = table.measures[k], table.group or table.title
    title = f"{heading}: {measure}" if measure else " → ".join(table.places)
    blocks = _lines(table, k, title) if table.baseline is None else []
    columns = [(place, k, at) for at, place in enumerate(table.places)]
    caption = _spellings(table.metrics[k])
    blocks.append(_table(table, columns, after=_steps(table, k), caption=caption))
    if k == 0 and table.sizes and table.baseline is None:
        blocks += _lost_by_size(table)
    return blocks


def _steps(table: StudyTable, k: int) -> More:
    """The changes of a measure step by step, and ranks at both ends."""
    steps = next((row.changes[k] for row in table.rows if row.changes), [])
    shares = any(c.relative is not None for r in table.rows if r.changes for c in r.changes[k])
    ranks = any(row.ranks for row in table.rows)
    heads = []
    for step in steps:
        label = step.before if table.baseline else f"{step.before} → {step.after}"
        heads.append(Head(label, "estimate", low=-1.0, high=1.0))
        share = f"{label}: share lost" if table.lost else f"{label}: share"
        heads += [Head(share, "number", percent=True)] * shares
    if ranks:
        names = ("rank, before", "rank, after", "rank difference")
        heads += [Head(name, "number") for name in names]

    def cells(row: StudyRow) -> list[Cell]:
        found: list[Cell] = []
        for change in row.changes[k] if row.changes else [None] * len(steps):
            found.append(Estimate(change.difference, note=change.unlike) if change else None)
            found += [change.relative if change else None] * shares
        return found + (list(row.ranks or [None] * 3) if ranks else [])

    return heads, cells


def _lines(table: StudyTable, k: int, title: str) -> list[Block]:
    """A line for each model over the places, which are numbers or names."""
    numbers = [float(place) for place in table.places if _NUMBER.fullmatch(place)]
    straight = len(numbers) == len(table.places) and numbers[0] <= numbers[-1]
    xs = numbers if straight else list(map(float, range(len(table.places))))
    series = []
    for row in table.rows:
        dots = [("", row.source, x, c) for x, c in zip(xs, row.cells[k], strict=True) if c]
        if dots:
            name = f"{row.name} (published)" if row.source else row.name
            one = _series(name, dots, dashed=bool(row.source))
            one.labels = None
            series.append(one)
    if not any(len(one.x) > 1 for one in series):
        return []
    axis = Axis(ticks=None if straight else table.places)
    return [Chart("lines", title, axis, Axis(table.measures[k]), series)]


def _lost_by_size(table: StudyTable) -> list[Block]:
    """The share lost at each step against the model's size, a chart for each step."""
    charts: list[Block] = []
    for at, step in enumerate(table.rows[0].changes[0]):
        dots = [
            (row.name, row.source, row.size[0], BoardCell(share))
            for row in table.rows
            if row.size and (share := row.changes[0][at].relative) is not None
        ]
        title = f"Share lost by size: {step.before} → {step.after}"
        x = Axis("billions of parameters", log=True)
        charts += points(title, x, Axis("share lost", percent=True), dots)
    return [Grid(charts)] if charts else []


def _scatter(table: StudyTable, columns: Sequence[tuple[str, int, int]]) -> list[Block]:
    x, y = table.across, 1 - table.across
    dots = [
        (row.name, row.source, cell.mean or 0.0, up)
        for row in table.rows
        if (cell := row.cells[x][0]) and (up := row.cells[y][0])
    ]
    low, high = (0.0, 1.0) if table.declining else (None, None)
    axes = [Axis(table.measures[k], low, high) for k in (x, y)]
    blocks = points(table.group or table.title, axes[0], axes[1], dots, diagonal=table.declining)
    blocks += coefficients(table.over_models)
    more = _NO_MORE
    if table.declining:
        rates = [f"{name} of declining" for name in ("precision", "recall", "F1")]
        counted = ("nothing: declined", "answered", "gold: declined", "answered")
        more = ([Head(name, "number") for name in (*rates, *counted)], _declining)
    caption: Rich = [code(table.metrics[0][0]), ", ", code(table.metrics[1][0])]
    return [*blocks, _table(table, columns, after=more, caption=caption)]


def _declining(row: StudyRow) -> list[Cell]:
    found = row.declining
    if found is None:
        return [None] * 7
    return [
        found.precision, found.recall, found.f1,
        found.declined, found.missed, found.declined_wrongly, found.answered,
    ]  # fmt: skip


def _sizes(table: StudyTable, columns: Sequence[tuple[str, int, int]]) -> list[Block]:
    series = [
        _series(label, dots)
        for label, k, at in columns
        if (dots := [(row.name, row.source, row.size[0], cell) for row in table.rows
                     if row.size and (cell := row.cells[k][at])])
    ]  # fmt: skip
    blocks: list[Block] = []
    if len(table.rows) >= LEAST:
        x, y = Axis("billions of parameters", log=True), Axis(table.measures[0])
        blocks.append(Chart("points", table.group or table.title, x, y, series))
    size: More = (
        [Head("Size", "number", digits=1), Head("by")],
        lambda row: row.size or (None, ""),
    )
    numbers = _table(table, columns, before=size, caption=_spellings(table.metrics[0]))
    blocks.append(Fold("Numbers", [numbers]))
    told = "Left out, for want of a size (add it with --models FILE)"
    return blocks + _missing(told, table.missing)


def _mean(table: StudyTable) -> list[Block]:
    def organisation(row: StudyRow) -> list[Cell]:
        return [row.organisation or [quiet("not in the models table")]]

    def score(row: StudyRow) -> list[Cell]:
        note = None if row.placed_by is None else f"† ranked by {number(row.placed_by)}"
        return [Estimate(row.score, note=note, rank=row.placed_by)]

    drawn = _table(
        table,
        [(place, 0, at) for at, place in enumerate(table.places)],
        before=([Head("Organisation")], organisation),
        after=([Head("Combined", "estimate")], score),
        first="Best model",
    )
    return [drawn, *_missing("Left out, for want of a task", table.missing)]


def _missing(words: str, names: Sequence[str]) -> list[Block]:
    return [Text(f"{words}: {', '.join(names)}.", "quiet")] if names else []
