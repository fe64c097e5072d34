"""`trueground compare`: finished runs over the same items, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, Quiet, takes
from trueground.cli._output import echo_json
from trueground.studies.compare import compare as compare_runs


@takes(compare_runs)
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run directories; every later one is compared with the first."),
    ],
    *,
    out: Annotated[Path | None, typer.Option(help="Also write a page, FILE.html.")] = None,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Compare runs item by item: differences, intervals, tests, and which items changed."""
    from trueground.reports.comparison_page import check_writable, write_comparison

    if out is not None:
        check_writable(out)
    comparison = compare_runs(runs, **options).as_dict()
    if out is not None:
        write_comparison(out, comparison)
    if format_ is Format.JSON:
        echo_json(comparison)
    elif not quiet:
        from trueground.reports.comparison import render

        typer.echo(render(comparison))
        if out is not None:
            typer.echo(f"\npage   {out}")
