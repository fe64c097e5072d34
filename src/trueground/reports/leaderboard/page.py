"""Several runs → leaderboard.html."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import OutputError
from trueground.reports.answers import STATUS_WORDS
from trueground.reports.leaderboard.board import BoardCell, BoardColumn
from trueground.reports.leaderboard.charts import bars
from trueground.reports.leaderboard.data import Leaderboard, leaderboard
from trueground.reports.leaderboard.graphs.draw import pair_plots, study_plots
from trueground.reports.leaderboard.grounding.draw import (
    definition_plot,
    drop_charts,
    outside_plot,
    size_plot,
    sweep_bars,
    sweep_plot,
)
from trueground.reports.leaderboard.qa.draw import (
    abstention_picture,
    plane_picture,
    retriever_bars,
    shapes,
    slope_picture,
)
from trueground.reports.leaderboard.scatter import HEIGHT, scatters, size_lines
from trueground.reports.leaderboard.short import few
from trueground.reports.manifest import refusal_rules
from trueground.reports.prompts import prompts_view
from trueground.reports.shell import draw
from trueground.runs.directory import check_ours, check_out_file, replacing
from trueground.text.refusal import MEASURED
from trueground.types import Status

# What tells our pages from other people's files.
MARK = '<meta name="generator" content="trueground leaderboard">'
_STEPS = 10  # shades of the heat map


def write_leaderboard(
    runs: Sequence[Path],
    out: Path,
    *,
    with_published: bool = False,
    models: Path | None = None,
    baseline: str | None = None,
    outside: Path | None = None,
    prompts: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Compare runs on one page and return its path. The same runs give the same bytes.

    `prompts` are studies of runs that differ in their prompts, as the JSON of a sweep has them.

    The arguments, and what is raised for them, are those of `leaderboard`. Raises OutputError where
    `out` is something else than an earlier leaderboard, WriteError where it cannot be written.
    """
    check_replaceable(out)
    board = leaderboard(
        runs, with_published=with_published, models=models, baseline=baseline, outside=outside
    )
    return write(board, out, prompts)


def write(board: Leaderboard, out: Path, prompts: Sequence[Mapping[str, Any]] = ()) -> Path:
    """Write the page of a leaderboard. Raises OutputError, WriteError."""
    check_replaceable(out)
    page = render(board, prompts)
    with replacing(out) as file:
        file.write(page.encode())
    return out


def check_replaceable(out: Path) -> None:
    """See that the page may be written to `out`. Raises OutputError."""
    check_out_file(out, "leaderboard.html")
    check_ours(out, MARK, "leaderboard of ours")


def is_leaderboard(path: Path) -> bool:
    """Whether the file is an earlier leaderboard; a sweep writes one beside its runs."""
    try:
        check_ours(path, MARK, "leaderboard of ours")
    except OutputError:
        return False
    return path.is_file()


def render(board: Leaderboard, prompts: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page as text."""
    lines = size_lines(board)
    view: dict[str, Any] = {
        "board": board,
        "fewer": board.fewer,
        "mark": MARK,
        "refusal_rules": refusal_rules({"abstention_rules": MEASURED}),
        "benchmarks": sorted({c.benchmark for c in board.columns if c.benchmark}),
        "models": _models(board),
        "sources": sorted({row.source for row in board.rows if row.source}),
        "places": _places(board),
        "levels": sorted({c.ci_level for r in board.rows for c in r.cells.values() if c.ci_level}),
        "averaged_over": {column.id: _averaged_over(board, column) for column in board.columns},
        "bars": bars(board),
        "sizes": lines,
        "scatters": scatters(board, lines),
        "height": HEIGHT,
        "total_usd": _total([run.usd for run in board.runs]),
        "why_not": _why_not,
        "coverage": _coverage,
        "interval": _interval,
        "settings": _settings,
        "shade": _shade,
        "signed": _signed,
        "signed_percent": _signed_percent,
        "drop_charts": drop_charts,
        "size_plot": size_plot,
        "definition_plot": definition_plot,
        "sweep_plot": sweep_plot,
        "sweep_bars": sweep_bars,
        "outside_plot": outside_plot,
        "study_plots": study_plots,
        "pair_plots": pair_plots,
        "spread": _spread,
        "few": few,
        "shapes": shapes(board.qa),
        "plane_picture": plane_picture,
        "abstention_picture": abstention_picture,
        "retriever_bars": retriever_bars,
        "slope_picture": slope_picture,
        "prompts": [prompts_view(study) for study in prompts],
    }
    styles = ("report.css", "leaderboard.css")
    return draw("leaderboard.html.j2", ["leaderboard.js"], styles, view)


def _models(board: Leaderboard) -> int:
    """How many models of the user's were asked; scoring runs do not say whose answers they read."""
    tasks = {column.id for column in board.columns if column.benchmark}
    return len({row.model for row in board.rows if not row.source and tasks & row.cells.keys()})


def _places(board: Leaderboard) -> list[str]:
    """Where the published numbers are printed; one cell may go back to several tables."""
    told = {cell.place or "" for row in board.rows for cell in row.cells.values()}
    return sorted({place for one in told for place in one.split("; ") if place})


def _averaged_over(board: Leaderboard, column: BoardColumn) -> str:
    """The numbers of datasets that the column's means are averages over; mostly one number."""
    cells = [row.cells[column.id] for row in board.rows if column.id in row.cells]
    return " or ".join(map(str, sorted({cell.averaged_over or 0 for cell in cells} - {0})))


def _interval(cell: BoardCell) -> str:
    return f"{cell.ci[0]:.4f} to {cell.ci[1]:.4f}" if cell.ci else ""


def _spread(cell: BoardCell) -> str:
    """How far repeated answers lie apart; empty for a single one."""
    if cell.sd is None:
        return ""
    return f"± {cell.sd:.4f}" + (f" over {cell.repeats} repeats" if cell.repeats else "")


def _coverage(cell: BoardCell) -> str:
    """How many items have a value; empty where it is not known."""
    if cell.scored is None or cell.n is None:
        return ""
    return f"{cell.scored:,} of {cell.n:,}"


def _why_not(cell: BoardCell, column: BoardColumn) -> list[str]:
    words = dict(STATUS_WORDS)
    if column.benchmark:
        words[Status.TOO_LONG] = "too long for the model"
    known = {status.value: text for status, text in words.items()}
    return [f"{count:,}: {known.get(why, why)}" for why, count in cell.unscored.items()]


def _settings(values: dict[str, Any]) -> list[str]:
    """`name=value` of each setting that is set."""
    return [
        f"{name}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in values.items()
        if value is not False and value not in (None, "", [], {})
    ]


def _shade(value: float) -> int:
    """0 to 10, for values from 0 to 1."""
    return round(_STEPS * min(max(value, 0.0), 1.0))


def _signed(value: float, form: str) -> str:
    """With a sign, and a true minus; zero has none."""
    shown = format(abs(value), form)
    if not float(shown):
        return shown
    return f"+{shown}" if value > 0 else f"−{shown}"


def _signed_percent(value: float) -> str:
    """Without a plus: 8.6 %, −5.1 %."""
    return f"{_signed(100 * value, '.1f').removeprefix('+')} %"


def _total(amounts: Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None
