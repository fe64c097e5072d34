"""`trueground validate` and `judge`: metrics and judges against human labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import takes
from trueground.cli._output import Screen, command_line
from trueground.errors import InputError
from trueground.options import Overwrite
from trueground.studies import calibrate as calibrate_judge, fit_judge, validate as validate_metrics

judge = typer.Typer(name="judge", help="Calibrate or combine judges with human labels.")


@takes(validate_metrics)
def validate(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Records with `human` labels (JSONL, JSON, CSV or Parquet, .gz and .zst too, or - "
            "for stdin), or finished runs. Each is one set."
        ),
    ],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Measure how well metrics agree with human labels.

    Each file is one set. All results have confidence intervals.
    """
    result = screen.call(validate_metrics, files, **options, command=command_line())
    if screen.as_json:
        typer.echo(result.to_json(), nl=False)
    else:
        screen.show_page(None, result.page)
        if options.get("out"):
            screen.say(f"\nout    {options['out']}")


@judge.callback()
def _group() -> None:
    """Calibrate or combine judges with human labels."""


Labeled = Annotated[
    list[str],
    typer.Argument(
        help=(
            "Records with `human` labels: JSONL, JSON, CSV or Parquet (.gz and "
            ".zst too), or - for stdin."
        )
    ),
]


@judge.command("calibrate")
@takes(calibrate_judge, before={"label": ("judge",), "mapping": ("out", "overwrite")})
def calibrate(
    files: Labeled,
    *,
    judge: Annotated[
        str, typer.Option(help="Judge to calibrate, such as lexical or llm:gpt-4o.")
    ] = "lexical",
    out: Annotated[
        Path | None,
        typer.Option(
            help="FILE.json for --judge-calibration or NAME(calibration=FILE), FILE.html for a "
            "page, or a folder for both."
        ),
    ] = None,
    overwrite: Overwrite = False,
    screen: Screen,
    **options: Any,
) -> None:
    """Fit a judge's threshold and probabilities to human labels."""
    from trueground.judges import CalibrationFile

    if out is not None:
        CalibrationFile.check_free(out, overwrite)
    result = screen.call(calibrate_judge, files, judge, **options)
    screen.show_page(result.raw, result.page)
    if out is not None:
        result.write(out, overwrite=overwrite)
        screen.say(f"\nout    {out}")


@judge.command("fit")
@takes(fit_judge, before={"label": ("judges",), "mapping": ("out", "overwrite")})
def fit(
    files: Labeled,
    *,
    judges: Annotated[
        str, typer.Option(help="Judges to combine, comma-separated: NAME or NAME:MODEL.")
    ] = "lexical",
    out: Annotated[
        Path | None, typer.Option(help="FILE.json to write. Use it as --judge FILE.json.")
    ] = None,
    overwrite: Overwrite = False,
    screen: Screen,
    **options: Any,
) -> None:
    """Combine several judges by human labels.

    Fails if the combination isn't better than the best single judge.
    """
    from trueground.judges import StackFile

    if out is not None:
        StackFile.check_free(out, overwrite)
    result = screen.call(fit_judge, files, judges, **options)
    screen.show_page(result.raw, result.blocks)
    if result.refused is not None:
        raise InputError(result.refused)
    if out is not None:
        result.write(out, overwrite=overwrite)
        screen.say(f"\nfile   {out}")
