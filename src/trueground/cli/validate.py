"""`trueground validate`: how far metrics agree with human labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import command_line, progress_bar
from trueground.studies.validate.study import validate as validate_metrics


@takes(validate_metrics)
def validate(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Records with `human` labels (JSONL, JSON, CSV, Parquet, .gz, .zst, -), or "
            "finished runs. Each is a set."
        ),
    ],
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Measure how far metrics agree with human labels, set by set, each with an interval."""
    with progress_bar(quiet or no_progress) as progress:
        result = validate_metrics(files, **options, progress=progress, command=command_line())
    if format_ is Format.JSON:
        typer.echo(result.to_json(), nl=False)
    elif not quiet:
        from trueground.reports.validation import render

        typer.echo(render(result.raw, options.get("out")))
