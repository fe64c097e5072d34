"""`trueground compare`: finished runs over the same items, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueground.cli._oldoptions import Format, FormatOption, Level, Quiet, Resamples, Seed

Runs = Annotated[
    list[Path], typer.Argument(help="Run directories; every later one is compared with the first.")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(help="Names, comma-separated. Default: all that both runs have. Repeatable."),
]
AllowMismatch = Annotated[
    bool,
    typer.Option(
        "--allow-mismatch",
        help="Compare the common items although items, questions, signatures or tasks differ.",
    ),
]
Out = Annotated[Path | None, typer.Option(help="Also write a page, FILE.html.")]
Flips = Annotated[
    int, typer.Option(min=0, help="Changed items to name, per metric, won and lost each.")
]
Power = Annotated[
    float, typer.Option(help="Probability with which a difference shall be found, 0.5 to 1.")
]
Detect = Annotated[
    list[float] | None,
    typer.Option(
        help="How many items does this difference need? 0.02 (the default) is 2 points. Repeatable."
    ),
]


def compare(
    runs: Runs,
    metrics: Metrics = None,
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    level: Level = 0.95,
    allow_mismatch: AllowMismatch = False,
    flips: Flips = 20,
    power: Power = 0.8,
    detect: Detect = None,
    out: Out = None,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
) -> None:
    """Compare runs item by item: differences, intervals, tests, and which items changed."""
    from trueground.metrics.registry import split_specs
    from trueground.reports.comparison_page import check_writable, write_comparison
    from trueground.studies.compare import compare as compare_runs

    if out is not None:
        check_writable(out)
    comparison = compare_runs(
        runs,
        metrics=None if metrics is None else [n for text in metrics for n in split_specs(text)],
        seed=seed,
        resamples=resamples,
        level=level,
        allow_mismatch=allow_mismatch,
        flips=flips,
        power=power,
        detect=detect or (0.02,),
    ).as_dict()
    if out is not None:
        write_comparison(out, comparison)
    if format_ is Format.JSON:
        import orjson

        typer.echo(orjson.dumps(comparison, option=orjson.OPT_INDENT_2))
    elif not quiet:
        from trueground.reports.comparison import render

        typer.echo(render(comparison))
        if out is not None:
            typer.echo(f"\npage   {out}")
