"""`trueground errors`: why correct answers have a low F1, by category."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import echo_json, progress_bar
from trueground.studies.errors import sort_errors


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
    from trueground.studies.error_counts import format_errors
    from trueground.studies.error_lines import read_errors, read_selected

    if page is not None:
        from trueground.reports.errors_page import check_page

        check_page(page)
    if source.is_file():
        _check_of_file(source, options)
        result = read_errors(source)
    else:
        with progress_bar(quiet or no_progress) as progress:
            result = sort_errors(source, **options, progress=progress)
    file = Path(result["file"])
    if page is not None:
        from trueground.reports.errors_page import write_errors

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
