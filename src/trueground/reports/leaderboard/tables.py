"""Tables of studies → blocks of the page: numbers, and charts of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

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
from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.outside import Outside
from trueground.reports.leaderboard.results import Coefficients, RankedChange, StudyRow, StudyTable
from trueground.stats.correlation import Correlation

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_LEAST = 3  # models in a picture of points; two are better read in the table
_OPEN = 2  # tables of a study that need not be unfolded
_MANY = 8  # models of the user's with a colour each


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
            drawn = _DRAWN[table.kind](table)
            if len(own) > 1:
                label = table.group or " → ".join(table.places) or table.title
                blocks.append(Fold(label, drawn, open=place < _OPEN))
            else:
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
    low, high = cell.ci or (None, None)
    notes = []
    if cell.sd is not None:
        over = f" over {cell.repeats} repeats" if cell.repeats else ""
        notes.append(f"± {cell.sd:.4f}{over}")
    if cell.placed_by is not None:
        notes.append(f"† {cell.scored:,} of {cell.asked:,} asked: ranked by {cell.placed_by:.4f}")
    elif cell.scored is not None and cell.n is not None and cell.scored < cell.n:
        notes.append(f"{cell.scored:,} of {cell.n:,} scored")
    return Estimate(cell.mean, low, high, "; ".join(notes) or None, rank=cell.placed_by)


def estimates(label: Rich, cells: Iterable[BoardCell | None], higher: bool | None = None) -> Head:
    """A column of estimates, on a scale of 0 to 1 wherever that holds them."""
    ends = [e for c in cells if c for e in (c.mean, *(c.ci or ())) if e is not None]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    better = None if higher is None else "high" if higher else "low"
    return Head(
        label,
        "estimate",
        digits=4,
        low=0.0 if low >= 0 else math.floor(low),
        high=1.0 if high <= 1 else math.ceil(high),
        better=better,  # type: ignore[arg-type]
    )


def signed(value: float | None, form: str = ".4f", unit: str = "") -> str:
    """With a sign, and a true minus; zero has none."""
    if value is None:
        return "–"
    shown = format(abs(value), form)
    sign = "" if not float(shown) else "+" if value > 0 else "−"
    return f"{sign}{shown}{unit}"


def coefficients(groups: Sequence[Coefficients]) -> list[Block]:
    """A line for each group of models."""
    return [
        Text(
            [
                "Published. " if group.source else "",
                f"{group.pearson.n} {'model' if group.pearson.n == 1 else 'models'}. ",
                f"{_coefficient('Pearson', group.pearson)}. ",
                f"{_coefficient('Spearman', group.spearman)}.",
            ],
            "quiet",
        )
        for group in groups
    ]


def points(
    title: Rich,
    x: Axis,
    y: Axis,
    dots: Sequence[tuple[str, str | None, float, BoardCell]],
    *,
    diagonal: bool = False,
) -> list[Block]:
    """A chart of models at (x, cell); published ones are one hollow series. None for too few."""
    if len(dots) < _LEAST:
        return []
    own = [dot for dot in dots if dot[1] is None]
    named = [(dot[0], [dot]) for dot in own] if len(own) <= _MANY else [("runs", own)]
    papers = [dot for dot in dots if dot[1] is not None]
    series = [_series(name, some) for name, some in named]
    series += [_series("published", papers, dashed=True)] * bool(papers)
    return [Chart("points", title, x, y, series, diagonal=diagonal)]


def outside_section(outside: Outside) -> Part:
    """Scores elsewhere against the runs' means."""
    blocks: list[Block] = [
        Text(
            [
                "Each score of ",
                code(outside.file),
                " (across) against the runs' means (up). Intervals resample the models, so that "
                "few models give wide ones; a correlation over models says nothing about single "
                "answers.",
            ]
        )
    ]
    for score in outside.scores:
        pair = f"{score.score} → {score.title}"
        few = len(score.rows) < _LEAST
        dots = [(r.name, r.source, r.outside, BoardCell(r.mean)) for r in score.rows]
        blocks += points(
            [f"{pair} ", code(score.metric)], Axis(score.score), Axis(score.title), dots
        )
        if few:
            models = "1 model" if len(score.rows) == 1 else f"{len(score.rows)} models"
            told = f"{pair}: no correlation over {models} of at least {_LEAST}."
            blocks.append(Text(told, "quiet"))
        else:
            blocks += coefficients(score.over_models)
        rows = [model_row(r.name, r.source, [r.outside, r.mean]) for r in score.rows]
        head = [Head("Model"), Head(score.score, "number"), Head(score.title, "number")]
        blocks.append(Fold(f"{pair}: numbers", [Table(head, rows, sortable=True)]))
    if not outside.scores:
        blocks.append(Text("No model of the file stands in these runs."))
    for words, names in (
        ("In the file without a run here", outside.unmatched),
        ("Run here without a line in the file", outside.missing),
    ):
        if names:
            blocks.append(Text(f"{words}: {', '.join(names)}.", "quiet"))
    return Part("Scores elsewhere", blocks, id="outside")


def _coefficient(name: str, found: Correlation) -> str:
    if found.value is None:
        return f"{name} none: {found.why}"
    ends = f" ({signed(found.ci[0], '.2f')} to {signed(found.ci[1], '.2f')})" if found.ci else ""
    return f"{name} {signed(found.value, '.2f')}{ends}"


def _series(
    name: str, dots: Sequence[tuple[str, str | None, float, BoardCell]], *, dashed: bool = False
) -> Series:
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


# ---- one kind of study each ----


def _row(row: StudyRow, cells: Sequence[Cell]) -> Row:
    return model_row(row.name, row.source, cells, [row.apart] if row.apart else [])


def _heading(table: StudyTable) -> str:
    return table.group or table.title


def _metrics(table: StudyTable, k: int) -> Rich:
    """The spellings of a measure, as a caption."""
    keys = table.metrics[k]
    told: list[str | Span] = []
    for key in keys:
        told += [", "] * bool(told) + [code(key)]
    return told


def _by_measure(table: StudyTable, blocks: Sequence[list[Block]]) -> list[Block]:
    """One measure at a time where there are several."""
    if len(blocks) == 1:
        return blocks[0]
    return [Menu("Measure", list(zip(table.measures, blocks, strict=True)))]


def _lines(table: StudyTable, k: int, title: str) -> list[Block]:
    """A line for each model over the places, which are numbers or names."""
    numbers = all(_NUMBER.fullmatch(place) for place in table.places)
    falling = numbers and float(table.places[0]) > float(table.places[-1])
    straight = numbers and not falling
    xs = [float(p) if straight else float(at) for at, p in enumerate(table.places)]
    series = []
    for row in table.rows:
        known = [(x, c) for x, c in zip(xs, row.cells[k], strict=True) if c]
        if known:
            name = f"{row.name} (published)" if row.source else row.name
            dots = [("", row.source, x, c) for x, c in known]
            one = _series(name, dots, dashed=bool(row.source))
            one.labels = None
            series.append(one)
    if not any(len(one.x) > 1 for one in series):
        return []
    axis = Axis(table.group if not straight else "", ticks=None if straight else table.places)
    axis.label = ""
    return [Chart("lines", title, axis, Axis(table.measures[k]), series)]


def _sweep(table: StudyTable) -> list[Block]:
    blocks = []
    for k, measure in enumerate(table.measures):
        columns = [Head("Model")]
        columns += [
            estimates(place, [row.cells[k][at] for row in table.rows])
            for at, place in enumerate(table.places)
        ]
        rows = [
            _row(row, [estimate(c) for c in row.cells[k]])
            for row in table.rows
            if any(row.cells[k])
        ]
        part = _lines(table, k, f"{_heading(table)}: {measure}")
        part.append(Table(columns, rows, _metrics(table, k), sortable=True))
        blocks.append(part)
    return _by_measure(table, blocks)


def _list(names: Sequence[str]) -> str:
    return f"{', '.join(names)}."


def _pivot(table: StudyTable) -> list[Block]:
    columns = [Head("Model")]
    columns += [
        estimates(label, [row.cells[k][0] for row in table.rows])
        for k, label in enumerate(table.measures)
    ]
    gains = table.rows[0].changes[0] if table.rows[0].changes else []
    columns += [Head(f"{gain.before} → {gain.after}", "text") for gain in gains]
    rows = [
        _row(row, [
            *(estimate(line[0]) for line in row.cells),
            *(signed(gain.difference) for line in row.changes for gain in line),
        ])
        for row in table.rows
    ]  # fmt: skip
    return [Table(columns, rows, sortable=True)]


def _scatter(table: StudyTable) -> list[Block]:
    if table.sizes:
        return _sizes(table)
    x, y = table.across, 1 - table.across
    dots = [
        (row.name, row.source, cell.mean or 0.0, up)
        for row in table.rows
        if (cell := row.cells[x][0]) and (up := row.cells[y][0])
    ]
    low, high = (0.0, 1.0) if table.declining else (None, None)
    blocks = points(
        _heading(table),
        Axis(table.measures[x], low, high),
        Axis(table.measures[y], low, high),
        dots,
        diagonal=table.declining,
    )
    blocks += coefficients(table.over_models)
    columns = [Head("Model")]
    columns += [
        estimates(label, [row.cells[k][0] for row in table.rows])
        for k, label in enumerate(table.measures)
    ]
    if table.declining:
        heads = ("precision", "recall", "F1")
        columns += [Head(f"{head} of declining", "number") for head in heads]
        counted = ("nothing: declined", "answered", "gold: declined", "answered")
        columns += [Head(head, "number") for head in counted]
    rows = []
    for row in table.rows:
        cells: list[Cell] = [estimate(line[0]) for line in row.cells]
        shown = _row(row, cells + (_declining_cells(row) if table.declining else []))
        if row.declining and row.declining.common:
            told = quiet(f" {row.declining.common:,} answers in common")
            shown.cells[0] = [*model_cell(row.name, row.source), told]
        rows.append(shown)
    caption: Rich = [code(table.metrics[0][0]), ", ", code(table.metrics[1][0])]
    blocks.append(Table(columns, rows, caption, sortable=True))
    return blocks


def _declining_cells(row: StudyRow) -> list[Cell]:
    found = row.declining
    if found is None:
        return [None] * 7
    return [
        found.precision, found.recall, found.f1,
        found.declined, found.missed, found.declined_wrongly, found.answered,
    ]  # fmt: skip


def _sizes(table: StudyTable) -> list[Block]:
    dots = {
        label: [
            (row.name, row.source, row.size[0], cell)
            for row in table.rows
            if row.size and (cell := row.cells[k][0])
        ]
        for k, label in enumerate(table.measures)
    }
    series = [_series(label, some) for label, some in dots.items() if some]
    blocks: list[Block] = []
    if len(table.rows) >= _LEAST:
        x = Axis("billions of parameters", log=True)
        blocks.append(Chart("points", _heading(table), x, Axis(table.measures[0]), series))
    columns = [Head("Model"), Head("Size", "number", digits=1), Head("by")]
    columns += [
        estimates(label, [row.cells[k][0] for row in table.rows])
        for k, label in enumerate(table.measures)
    ]
    rows = [
        _row(row, [*(row.size or (None, "")), *(estimate(line[0]) for line in row.cells)])
        for row in table.rows
    ]
    blocks.append(Fold("Numbers", [Table(columns, rows, _metrics(table, 0), sortable=True)]))
    if table.missing:
        told = f"Left out, for want of a size (add it with --models FILE): {_list(table.missing)}"
        blocks.append(Text(told, "quiet"))
    return blocks


def _delta(table: StudyTable) -> list[Block]:
    blocks = []
    for k, measure in enumerate(table.measures):
        columns = [Head("Model")]
        columns += [
            estimates(place, [row.cells[k][at] for row in table.rows])
            for at, place in enumerate(table.places)
        ]
        steps = next((row.changes[k] for row in table.rows if row.changes), [])
        word = "lost" if table.lost else ""
        for step in steps:
            label = step.before if table.baseline else f"{step.before} → {step.after}"
            columns.append(Head(label, "estimate", low=-1.0, high=1.0))
            columns += [Head(f"{label}: share {word}".rstrip(), "number", percent=True)] * bool(
                _has_shares(table, k)
            )
        if any(row.ranks for row in table.rows):
            heads = ("rank, before", "rank, after", "rank difference")
            columns += [Head(head, "number") for head in heads]
        rows = [
            _row(
                row,
                [*(estimate(c) for c in row.cells[k]), *_change_cells(table, row, k, len(steps))],
            )
            for row in table.rows
            if any(row.cells[k])
        ]
        title = f"{_heading(table)}: {measure}" if measure else " → ".join(table.places)
        part = _lines(table, k, title) if table.baseline is None else []
        part.append(Table(columns, rows, _metrics(table, k), sortable=True))
        blocks.append(part)
    if table.sizes and table.baseline is None:
        blocks[0] += _lost_by_size(table)
    return _by_measure(table, blocks)


def _has_shares(table: StudyTable, k: int) -> bool:
    return any(c.relative is not None for row in table.rows if row.changes for c in row.changes[k])


def _change_cells(table: StudyTable, row: StudyRow, k: int, steps: int) -> list[Cell]:
    cells: list[Cell] = []
    shares = _has_shares(table, k)
    changes: Sequence[RankedChange | None] = row.changes[k] if row.changes else [None] * steps
    for change in changes:
        cells.append(Estimate(change.difference, note=change.unlike) if change else None)
        cells += [change.relative if change else None] * shares
    if any(one.ranks for one in table.rows):
        cells += list(row.ranks) if row.ranks else [None] * 3
    return cells


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


def _mean(table: StudyTable) -> list[Block]:
    columns = [Head("Best model"), Head("Organisation")]
    columns += [
        estimates(place, [row.cells[0][at] for row in table.rows])
        for at, place in enumerate(table.places)
    ]
    columns.append(Head("Combined", "estimate"))
    rows = []
    for row in table.rows:
        note = None if row.placed_by is None else f"† ranked by {number(row.placed_by)}"
        score = Estimate(row.score, note=note, rank=row.placed_by)
        where: Cell = row.organisation or [quiet("not in the models table")]
        rows.append(_row(row, [where, *(estimate(c) for c in row.cells[0]), score]))
    blocks: list[Block] = [Table(columns, rows, sortable=True)]
    if table.missing:
        told = f"Left out, for want of a task: {_list(table.missing)}"
        blocks.append(Text(told, "quiet"))
    return blocks


_DRAWN = {
    "sweep": _sweep, "pivot": _pivot, "scatter": _scatter, "delta": _delta, "mean": _mean,
}  # fmt: skip
