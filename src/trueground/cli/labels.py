"""`trueground validate`, `judge calibrate` and `errors`: metrics and judges against the labels of
people."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import takes
from trueground.cli._output import Screen, command_line
from trueground.errors import InputError, UsageError
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
    screen: Screen,
    **options: Any,
) -> None:
    """Measure how far metrics agree with human labels, set by set, each with an interval."""
    from trueground.studies.validate.page import validation_page

    result = screen.call(validate_metrics, files, **options, command=command_line())
    if screen.as_json:
        typer.echo(result.to_json(), nl=False)
    else:
        screen.show_page(None, lambda: validation_page(result.raw))
        if options.get("out"):
            screen.say(f"\nout    {options['out']}")


@judge.callback()
def _group() -> None:
    """Judges: calibrate one, or weigh several, by human labels."""


Labelled = Annotated[
    list[str],
    typer.Argument(help="Records with `human` labels: JSONL, JSON, CSV or Parquet (.gz, .zst), -"),
]


@judge.command("calibrate")
@takes(calibrate_judge, before={"label": ("judge",), "mapping": ("out", "overwrite")})
def calibrate(
    files: Labelled,
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
    screen: Screen,
    **options: Any,
) -> None:
    """Choose a judge's threshold, and fit its probabilities, by human labels."""
    from trueground.studies.calibrate.page import calibration_page
    from trueground.studies.calibrate.result import check_free

    if out is not None:
        check_free(out, overwrite)
    result = screen.call(calibrate_judge, files, judge, **options)
    screen.show_page(result.raw, lambda: calibration_page(result.raw))
    if out is not None:
        result.write(out, overwrite=overwrite)
        screen.say(f"\nout    {out}")


@judge.command("fit")
@takes(fit_judge, before={"label": ("judges",), "mapping": ("out", "overwrite")})
def fit(
    files: Labelled,
    *,
    judges: Annotated[
        str, typer.Option(help="Judges to weigh, with commas between: NAME or NAME:MODEL(…).")
    ] = "lexical",
    out: Annotated[
        Path | None, typer.Option(help="Write FILE.json, which --judge FILE.json reads.")
    ] = None,
    overwrite: Overwrite = False,
    screen: Screen,
    **options: Any,
) -> None:
    """Weigh several judges by human labels, where that is better than the best of them alone."""
    from trueground.studies.calibrate.page import show_stack
    from trueground.studies.calibrate.stacking import check_free

    if out is not None:
        check_free(out, overwrite)
    result = screen.call(fit_judge, files, judges, **options)
    screen.show_page(result.raw, lambda: show_stack(result.raw))
    if result.refused is not None:
        raise InputError(result.refused)
    if out is not None:
        result.write(out, overwrite=overwrite)
        screen.say(f"\nfile   {out}")


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
    screen: Screen,
    **options: Any,
) -> None:
    """Answers that people call correct and a metric does not, by why; corrections are kept."""
    from trueground.studies.error_lines import read_errors, read_selected
    from trueground.studies.errors_page import check_page, errors_page, write_errors

    if page is not None:
        check_page(page)
    if source.is_file():
        _check_of_file(source, options)
        result = read_errors(source)
    else:
        result = screen.call(sort_errors, source, **options)
    file = Path(result["file"])
    if page is not None:
        write_errors(page, result, read_selected(file))
    if screen.as_json:
        result = result | {"items": read_selected(file)}
    screen.show_page(result, lambda: errors_page(result))
    screen.say(f"\nfile   {file}")
    if page is not None:
        screen.say(f"page   {page}")


def _check_of_file(source: Path, options: Mapping[str, Any]) -> None:
    """UsageError for an option that means nothing where the items are read from a file."""
    declared = inspect.signature(sort_errors).parameters
    for name in ("proposer", "out", "metric", "at_most", "label", "seed", "resamples", "level"):
        always = name in ("seed", "resamples", "level")  # then it has its default here
        if name in options and not (always and options[name] == declared[name].default):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is for a run; {source} is a file. Leave it out.")
