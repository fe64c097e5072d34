"""`trueground judge calibrate`: a judge's threshold and probabilities from human labels."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trueground.cli.options import (
    Format,
    FormatOption,
    LabelFiles,
    LabelOption,
    Level,
    MapOption,
    NoCache,
    NoProgress,
    OnBadRow,
    OnBadRowOption,
    Overwrite,
    PositiveAbove,
    Quiet,
    Resamples,
    Seed,
)

judge = typer.Typer(name="judge", help="Judges: calibrate one against human labels.")


class Objective(StrEnum):
    """What the threshold is chosen for."""

    BALANCED_ACCURACY = "balanced_accuracy"
    F1 = "f1"
    ACCURACY = "accuracy"
    MATTHEWS = "matthews"
    CORRELATION = "correlation"
    KAPPA = "kappa"


class Method(StrEnum):
    """Which curve leads from scores to probabilities."""

    PLATT = "platt"
    ISOTONIC = "isotonic"


Files = Annotated[
    list[str],
    typer.Argument(help="Records with `human` labels: JSONL, JSON, CSV or Parquet (.gz, .zst), -"),
]
Decomposer = Annotated[
    str | None,
    typer.Option(help="Split answers; the weakest claim counts. Default: answers as a whole."),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Write FILE.json, for --judge-calibration or NAME(calibration=…)."),
]


@judge.callback()
def _group() -> None:
    """Judges: calibrate one against human labels."""


@judge.command("calibrate")
def calibrate(
    files: Files,
    judge: Annotated[str, typer.Option(help="NAME or NAME:MODEL(option=value).")] = "lexical",
    label: LabelOption = None,
    labels: LabelFiles = None,
    positive_above: PositiveAbove = 0.5,
    decomposer: Decomposer = None,
    objective: Annotated[
        Objective | None,
        typer.Option(help="What the threshold is chosen for. Default: balanced_accuracy."),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Instead of --objective: the lowest threshold with this precision."),
    ] = None,
    method: Annotated[Method, typer.Option(help="How probabilities are fitted.")] = Method.PLATT,
    out: Out = None,
    overwrite: Overwrite = False,
    map_: MapOption = None,
    on_bad_row: OnBadRowOption = OnBadRow.STOP,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N records of each file.")
    ] = None,
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    level: Level = 0.95,
    no_cache: NoCache = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Choose a judge's threshold, and fit its probabilities, by human labels."""
    from trueground.cli.progress import progress_bar
    from trueground.records import parse_mapping
    from trueground.studies.calibrate.result import check_free
    from trueground.studies.calibrate.study import calibrate as calibrate_judge

    if out is not None:
        check_free(out, overwrite)
    with progress_bar(quiet or no_progress) as progress:
        found = calibrate_judge(
            files,
            judge,
            label=label,
            labels=labels or (),
            positive_above=positive_above,
            decomposer=decomposer,
            objective=None if objective is None else objective.value,
            precision=precision,
            method=method.value,
            mapping={k: v for text in map_ or () for k, v in parse_mapping(text).items()},
            on_bad_row=on_bad_row.value,
            limit=limit,
            seed=seed,
            resamples=resamples,
            level=level,
            cache=not no_cache,
            progress=progress,
        )
    if out is not None:
        found.write(out, overwrite=overwrite)
    if format_ is Format.JSON:
        import orjson

        typer.echo(orjson.dumps(found.raw, option=orjson.OPT_INDENT_2))
    elif not quiet:
        from trueground.reports.calibration import render

        typer.echo(render(found.raw))
        if out is not None:
            typer.echo(f"\nfile   {out}")
