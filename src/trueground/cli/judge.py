"""`trueground judge calibrate`: a judge's threshold and probabilities from human labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import echo_json, progress_bar
from trueground.options import Overwrite
from trueground.studies.calibrate.study import calibrate as calibrate_judge

judge = typer.Typer(name="judge", help="Judges: calibrate one against human labels.")


@judge.callback()
def _group() -> None:
    """Judges: calibrate one against human labels."""


@judge.command("calibrate")
@takes(
    calibrate_judge,
    before={"label": ("judge",), "mapping": ("out", "overwrite")},
)
def calibrate(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Records with `human` labels: JSONL, JSON, CSV or Parquet (.gz, .zst), -"
        ),
    ],
    *,
    judge: Annotated[str, typer.Option(help="NAME or NAME:MODEL(option=value).")] = "lexical",
    out: Annotated[
        Path | None,
        typer.Option(help="Write FILE.json, for --judge-calibration or NAME(calibration=…)."),
    ] = None,
    overwrite: Overwrite = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Choose a judge's threshold, and fit its probabilities, by human labels."""
    from trueground.studies.calibrate.statistics import check_free

    if out is not None:
        check_free(out, overwrite)
    with progress_bar(quiet or no_progress) as progress:
        result = calibrate_judge(files, judge, **options, progress=progress)
    if out is not None:
        result.write(out, overwrite=overwrite)
    if format_ is Format.JSON:
        echo_json(result.raw)
    elif not quiet:
        from trueground.reports.calibration import render

        typer.echo(render(result.raw))
        if out is not None:
            typer.echo(f"\nfile   {out}")
