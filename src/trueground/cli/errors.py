"""`trueground errors`: why correct answers have a low F1, by category."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueground.cli._oldoptions import (
    Format,
    FormatOption,
    Level,
    NoCache,
    NoProgress,
    Quiet,
    Resamples,
    Seed,
)

Source = Annotated[
    Path,
    typer.Argument(help="A finished run that kept its records, or a file that this command wrote."),
]
Proposer = Annotated[
    str | None,
    typer.Option(help="Who proposes categories: llm:MODEL(option=value). Default: nobody."),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Where the items go, one line each. Default: errors.jsonl in the run."),
]
Metric = Annotated[
    str | None, typer.Option(help="The metric that is low, as the run names it. Default: f1.")
]
AtMost = Annotated[
    float | None,
    typer.Option("--at-most", "--max-f1", help="Items whose metric is at most this. Default: 0.3."),
]
Label = Annotated[
    str | None,
    typer.Option(help="The human label that says which items are right. Default: correct."),
]
SEED, RESAMPLES, LEVEL = 0, 2_000, 0.95
Page = Annotated[Path | None, typer.Option(help="Also write the items as a page, FILE.html.")]


def errors(
    source: Source,
    proposer: Proposer = None,
    out: Out = None,
    metric: Metric = None,
    at_most: AtMost = None,
    label: Label = None,
    page: Page = None,
    seed: Seed = SEED,
    resamples: Resamples = RESAMPLES,
    level: Level = LEVEL,
    no_cache: NoCache = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Answers that people call correct and a metric does not, by why; corrections are kept."""
    from trueground.cli._output import progress_bar
    from trueground.errors import UsageError
    from trueground.studies.error_counts import format_errors
    from trueground.studies.errors import (
        AT_MOST,
        LABEL,
        METRIC,
        read_errors,
        read_selected,
        sort_errors,
    )

    if page is not None:
        from trueground.reports.errors_page import check_page

        check_page(page)
    if source.is_file():
        of_a_run = {
            "--proposer": proposer,
            "--out": out,
            "--metric": metric,
            "--at-most": at_most,
            "--label": label,
            "--seed": None if seed == SEED else seed,
            "--resamples": None if resamples == RESAMPLES else resamples,
            "--level": None if level == LEVEL else level,
        }
        for name, value in of_a_run.items():
            if value is not None:
                raise UsageError(f"{name} is for a run; {source} is a file. Leave it out.")
        found = read_errors(source)
    else:
        with progress_bar(quiet or no_progress) as progress:
            found = sort_errors(
                source,
                proposer=proposer,
                out=out,
                metric=METRIC if metric is None else metric,
                at_most=AT_MOST if at_most is None else at_most,
                label=LABEL if label is None else label,
                seed=seed,
                resamples=resamples,
                level=level,
                cache=not no_cache,
                progress=progress,
            )
    file = Path(found["file"])
    if page is not None:
        from trueground.reports.errors_page import write_errors

        write_errors(page, found, read_selected(file))
    if format_ is Format.JSON:
        import orjson

        typer.echo(orjson.dumps(found | {"items": read_selected(file)}, option=orjson.OPT_INDENT_2))
    elif not quiet:
        typer.echo(format_errors(found, file))
        if page is not None:
            typer.echo(f"page   {page}")
