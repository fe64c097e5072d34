"""Command `trueground errors`: sort correct answers with a low score into categories."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli import Screen, takes
from trueground.errors import UsageError
from trueground.wings.papers.errors.study import sort_errors


@takes(sort_errors, before={"seed": ("page",)})
def errors(
    source: Annotated[
        Path,
        typer.Argument(
            help="A finished run that includes its records, or a file written by this command."
        ),
    ],
    *,
    page: Annotated[
        Path | None, typer.Option(help="Also write the items to this page, FILE.html.")
    ] = None,
    screen: Screen,
    **options: Any,
) -> None:
    """Analyze correct answers that a metric scores low.

    Groups them by the cause of the low score. Your corrections in the file are kept.
    """
    from trueground.wings.papers.errors.lines import read_errors, read_selected
    from trueground.wings.papers.errors.page import check_page, errors_page, write_errors

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
    """Raise UsageError for options that have no effect if the items come from a file."""
    declared = inspect.signature(sort_errors).parameters
    for name in ("proposer", "out", "metric", "at_most", "label", "seed", "resamples", "level"):
        # The command line always passes these three, with their defaults.
        is_default = name in ("seed", "resamples", "level") and (
            options.get(name) == declared[name].default
        )
        if name in options and not is_default:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} is only for a run, but {source} is a file. Leave the option out"
            )
