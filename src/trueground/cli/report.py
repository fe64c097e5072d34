"""`trueground report`: one run's page again, or several runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, Quiet
from trueground.cli._output import echo_json, echo_note

DEFAULT_OUT = Path("leaderboard.html")
MAX_ITEMS = 20_000

Runs = Annotated[
    list[Path], typer.Argument(help="Run directories, or folders that hold them (two levels deep).")
]


def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option(help=f"The leaderboard's file or folder. Default: {DEFAULT_OUT}"),
    ] = None,
    with_published: Annotated[
        bool, typer.Option("--with-published", help="Show a paper's models beside yours.")
    ] = False,
    models: Annotated[
        Path | None, typer.Option(help="A file that adds models: family, size, organisation …")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="truly-ground: the model against which the others' loss is told."),
    ] = None,
    outside: Annotated[
        Path | None,
        typer.Option(help="A CSV file of other scores, `model,MMLU,…`: correlation over models."),
    ] = None,
    max_items: Annotated[
        int | None,
        typer.Option(min=0, help=f"Answers with details inside one run's page: {MAX_ITEMS:,}."),
    ] = None,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
) -> None:
    """Draw one run's page again; several runs, or --with-published, make a leaderboard."""
    from trueground.studies.leaderboard.runs import is_run

    runs = _without_pages(runs)
    if len(runs) == 1 and is_run(runs[0]) and not with_published:
        only = {"--out": out, "--models": models, "--baseline": baseline, "--outside": outside}
        _refuse(only, "a leaderboard; one run has a page of its own")
        _one(runs[0], MAX_ITEMS if max_items is None else max_items, format_, quiet)
        return
    _refuse({"--max-items": max_items}, "the page of one run; this is a leaderboard")
    choices: dict[str, Any] = {"models": models, "baseline": baseline, "outside": outside}
    _several(
        runs, out or DEFAULT_OUT, {"with_published": with_published, **choices}, format_, quiet
    )


def _without_pages(paths: list[Path]) -> list[Path]:
    """The paths without leaderboards: `FOLDER/*` names the page of a sweep beside its runs."""
    from trueground.reports.leaderboard.page import is_leaderboard

    pages = [path for path in paths if is_leaderboard(path)]
    if len(pages) == len(paths):
        return paths  # no run is named at all, and the error says so
    for page in pages:
        echo_note(f"note: {page} is a leaderboard; passed over")
    return [path for path in paths if path not in pages]


def _refuse(options: Mapping[str, object], belongs: str) -> None:
    """An option without effect is a misunderstanding, not something to pass over."""
    from trueground.errors import UsageError

    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} is for {belongs}. Leave it out.")


def _one(run: Path, max_items: int, format_: Format, quiet: bool) -> None:
    from trueground.reports.run_page import write_run_page
    from trueground.studies.leaderboard.runs import read_runs

    read_runs([run])  # an unfinished run has no page
    page = write_run_page(run, max_items=max_items)
    if format_ is Format.JSON:
        echo_json({"page": str(page)})
    elif not quiet:
        typer.echo(f"page   {page}")


def _several(
    runs: list[Path], out: Path, choices: dict[str, Any], format_: Format, quiet: bool
) -> None:
    from trueground.reports.leaderboard.page import MARK, write
    from trueground.reports.leaderboard.terminal import render
    from trueground.reports.noise import render_prompts
    from trueground.reports.viewer import find_page
    from trueground.studies.leaderboard.runs import find_runs
    from trueground.studies.leaderboard.study import leaderboard_data
    from trueground.studies.prompts import in_order, prompt_studies

    find_page(out, MARK)
    board = leaderboard_data(runs, **choices)
    prompts = prompt_studies(in_order(find_runs(runs)[0]))
    page = write(board, out, prompts)
    if format_ is Format.JSON:
        echo_json({**board, "prompts": prompts, "page": str(page)})
    elif not quiet:
        for study in prompts:
            typer.echo(render_prompts(study) + "\n")
        typer.echo(render(board, page))
    for warning in board["warnings"]:
        echo_note(f"note: {warning}")
