"""`trueground validate`, `judge calibrate` and `errors`: metrics and judges against the labels of
people."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import command_line, echo_json, progress_bar
from trueground.options import Overwrite
from trueground.studies.calibrate.study import calibrate as calibrate_judge
from trueground.studies.calibrate.study import fit_judge
from trueground.studies.errors import sort_errors
from trueground.studies.validate.study import validate as validate_metrics

judge = typer.Typer(name="judge", help="Judges: calibrate one, or weigh several, by human labels.")


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


@judge.callback()
def _group() -> None:
    """Judges: calibrate one, or weigh several, by human labels."""


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
        typer.Option(
            help="FILE.json, for --judge-calibration or NAME(calibration=…); FILE.html, the page; "
            "or a folder for both."
        ),
    ] = None,
    overwrite: Overwrite = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Choose a judge's threshold, and fit its probabilities, by human labels."""
    from trueground.studies.calibrate.result import check_free

    if out is not None:
        check_free(out, overwrite)
    with progress_bar(quiet or no_progress) as progress:
        result = calibrate_judge(files, judge, **options, progress=progress)
    if format_ is Format.JSON:
        echo_json(result.raw)
    elif not quiet:
        from trueground.reports.calibration import render

        typer.echo(render(result.raw))
    if out is not None:
        result.write(out, overwrite=overwrite)
        if format_ is Format.TEXT and not quiet:
            typer.echo(f"\nout    {out}")


@judge.command("fit")
@takes(fit_judge, before={"label": ("judges",), "mapping": ("out", "overwrite")})
def fit(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Records with `human` labels: JSONL, JSON, CSV or Parquet (.gz, .zst), -"
        ),
    ],
    *,
    judges: Annotated[
        str, typer.Option(help="Judges to weigh, with commas between: NAME or NAME:MODEL(…).")
    ] = "lexical",
    out: Annotated[
        Path | None, typer.Option(help="Write FILE.json, which --judge FILE.json reads.")
    ] = None,
    overwrite: Overwrite = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Weigh several judges by human labels, where that is better than the best of them alone."""
    from trueground.errors import InputError
    from trueground.studies.calibrate.stacking import check_free

    if out is not None:
        check_free(out, overwrite)
    with progress_bar(quiet or no_progress) as progress:
        result = fit_judge(files, judges, **options, progress=progress)
    if format_ is Format.JSON:
        echo_json(result.raw)
    elif not quiet:
        from trueground.reports.calibration import render_stack

        typer.echo(render_stack(result.raw))
    if result.refused is not None:
        raise InputError(result.refused)
    if out is not None:
        result.write(out, overwrite=overwrite)
        if format_ is Format.TEXT and not quiet:
            typer.echo(f"\nfile   {out}")


@takes(sort_errors, before={"seed": ("page",)})
def errors(
    source: Annotated[
        Path,
        typer.Argument(
            help="A finished run that kept its records, or a file that this command wrote."
        ),
    ],
    *,
    page: Annotated[
        Path | None, typer.Option(help="Also write the items as a page, FILE.html.")
    ] = None,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Answers that people call correct and a metric does not, by why; corrections are kept."""
    from trueground.reports.errors import format_errors
    from trueground.studies.error_lines import read_errors, read_selected

    if page is not None:
        from trueground.reports.errors import check_page

        check_page(page)
    if source.is_file():
        _check_of_file(source, options)
        result = read_errors(source)
    else:
        with progress_bar(quiet or no_progress) as progress:
            result = sort_errors(source, **options, progress=progress)
    file = Path(result["file"])
    if page is not None:
        from trueground.reports.errors import write_errors

        write_errors(page, result, read_selected(file))
    if format_ is Format.JSON:
        echo_json(result | {"items": read_selected(file)})
    elif not quiet:
        typer.echo(format_errors(result, file))
        if page is not None:
            typer.echo(f"page   {page}")


def _check_of_file(source: Path, options: Mapping[str, Any]) -> None:
    """UsageError for an option that means nothing where the items are read from a file."""
    from trueground.errors import UsageError

    declared = inspect.signature(sort_errors).parameters
    for name in ("proposer", "out", "metric", "at_most", "label", "seed", "resamples", "level"):
        always = name in ("seed", "resamples", "level")  # then it has its default here
        if name in options and not (always and options[name] == declared[name].default):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is for a run; {source} is a file. Leave it out.")
