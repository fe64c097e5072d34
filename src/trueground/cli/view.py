"""`trueground view`: a browser on a folder of runs, or the same as static files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueground.cli._options import Quiet

DEFAULT_PORT = 8421


def view(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Run directories, or folders that hold them. Default: runs/"),
    ] = None,
    bundle: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write static files there and end.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help=f"Default: {DEFAULT_PORT}, or a free one.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, open nothing.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Browse runs: each with all its answers, two side by side, a leaderboard of all."""
    paths = _existing(runs or [Path("runs")])
    if bundle is not None:
        from trueground.web.pages import write_bundle

        page = write_bundle(paths, bundle)
        if not quiet:
            typer.echo(f"page   {page}")
        return
    from trueground.errors import UsageError
    from trueground.studies.leaderboard.runs import is_run
    from trueground.web.runs import RunFolders
    from trueground.web.server import LOOPBACK, bind, run
    from trueground.web.view import view_app

    try:
        listening, address = bind(LOOPBACK, DEFAULT_PORT if port is None else port)
    except UsageError:
        if port is not None:
            raise
        listening, address = bind(LOOPBACK, 0)
    url = f"{address.url}/"
    if len(paths) == 1 and is_run(paths[0]):
        url += f"run/{RunFolders(paths).runs()[0].key}/"
    typer.echo(url)
    if not quiet:
        typer.echo("Only this machine can reach it. Ctrl-C ends it.")
    run(listening, view_app(address, paths), open_url=None if no_browser else url)


def _existing(paths: list[Path]) -> list[Path]:
    from trueground.errors import InputError

    for path in paths:
        if not path.is_dir():
            what = "is no folder" if path.exists() else "is not there"
            raise InputError(
                f"{path} {what}; name a folder of runs, or a run that `trueground score` or "
                "`trueground run` has written"
            )
    return paths
