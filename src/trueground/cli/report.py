"""`trueground report` and `view`: the pages of runs, as files or in a browser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import takes
from trueground.cli._output import Screen, echo_note
from trueground.errors import InputError, UsageError

DEFAULT_OUT = Path("leaderboard.html")
MAX_ITEMS = 20_000
DEFAULT_PORT = 8421

Runs = Annotated[
    list[Path],
    typer.Argument(help="Run directories, or folders that contain them (up to two levels deep)."),
]


@takes()
def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option(help=f"File or folder of the leaderboard. Default: {DEFAULT_OUT}"),
    ] = None,
    with_published: Annotated[
        bool, typer.Option("--with-published", help="Include the results published in the papers.")
    ] = False,
    models: Annotated[
        Path | None, typer.Option(help="File with data on models: family, size, organization.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="truly-ground: model that the others are compared with."),
    ] = None,
    outside: Annotated[
        Path | None,
        typer.Option(help="CSV file of other scores (model,MMLU) to correlate with."),
    ] = None,
    max_items: Annotated[
        int | None,
        typer.Option(
            min=0, help=f"Maximum answers with details in a run's page. Default: {MAX_ITEMS:,}."
        ),
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Write the report page of a run, or a leaderboard of runs.

    Several runs or --with-published make a leaderboard.
    """
    from trueground.runs import RunFiles
    from trueground.studies import Leaderboard

    # `FOLDER/*` names the page of a sweep beside its runs.
    pages = [path for path in runs if Leaderboard.is_page(path)]
    if len(pages) < len(runs):  # else no run is named at all, and the error says so
        runs = [path for path in runs if path not in pages]
        for page in pages:
            echo_note(f"note: {page} is a leaderboard; passed over")
    if len(runs) == 1 and RunFiles(runs[0]).is_run and not with_published:
        only = {"--out": out, "--models": models, "--baseline": baseline, "--outside": outside}
        _refuse(only, "a leaderboard, and you gave one run")
        _one(runs[0], MAX_ITEMS if max_items is None else max_items, screen)
        return
    _refuse({"--max-items": max_items}, "the page of one run; this is a leaderboard")
    choices: dict[str, Any] = {"models": models, "baseline": baseline, "outside": outside}
    _several(runs, out or DEFAULT_OUT, {"with_published": with_published, **choices}, screen)


def _refuse(options: Mapping[str, object], belongs: str) -> None:
    """An option without effect is a misunderstanding, not something to pass over."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} is for {belongs}. Leave it out.")


def _one(run: Path, max_items: int, screen: Screen) -> None:
    from trueground.reports import write_run_page
    from trueground.studies import Leaderboard

    Leaderboard.check_runs([run])  # an unfinished run has no page
    page = write_run_page(run, max_items=max_items)
    screen.show({"page": str(page)}, lambda: f"page   {page}")


def _several(runs: list[Path], out: Path, choices: dict[str, Any], screen: Screen) -> None:
    from trueground.studies import Leaderboard

    Leaderboard.check_out(out)
    board = Leaderboard.of(runs, **choices)
    page = board.write(out)
    screen.show_page({**board.raw, "prompts": board.prompts, "page": str(page)}, board.page)
    screen.say(f"\npage   {page}")
    for warning in board.raw["warnings"]:
        echo_note(f"note: {warning}")


@takes()
def view(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Run directories, or folders that contain them. Default: runs/"),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write static pages to this folder instead of serving."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, help=f"Port. Default: {DEFAULT_PORT}, or a free port."),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the link without opening a browser.")
    ] = False,
    no_token: Annotated[
        bool,
        typer.Option(
            "--no-token", help="Allow all users of this machine, without the secret link."
        ),
    ] = False,
    *,
    screen: Screen,
) -> None:
    """Browse runs and their answers in a web browser.

    Shows a leaderboard, all answers of a run, and two runs side by side.
    """
    paths = _existing(runs or [Path("runs")])
    if bundle is not None:
        from trueground.view import write_bundle

        page = write_bundle(paths, bundle)
        screen.show({"page": str(page)}, lambda: f"page   {page}")
        return
    _serve(paths, port, screen, opens_browser=not no_browser, has_token=not no_token)


def _serve(
    paths: list[Path], port: int | None, screen: Screen, *, opens_browser: bool, has_token: bool
) -> None:
    from trueground.view import RunViewer

    viewer = RunViewer(
        paths,
        DEFAULT_PORT if port is None else port,
        takes_free_port=port is None,
        has_token=has_token,
    )
    typer.echo(f'{{"url": "{viewer.url}"}}' if screen.as_json else viewer.url)
    if has_token:
        screen.say("Only this machine, and only with this link, can reach it. Ctrl-C ends it.")
    else:
        screen.say("All accounts of this machine can read these runs. Ctrl-C ends it.")
    viewer.run(opens_browser=opens_browser)


def _existing(paths: list[Path]) -> list[Path]:
    for path in paths:
        if not path.is_dir():
            reason = "isn't a folder" if path.exists() else "doesn't exist"
            raise InputError(
                f"{path} {reason}. Give a folder of runs, or a run written by `trueground "
                "score` or `trueground run`"
            )
    return paths
