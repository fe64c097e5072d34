"""`trueground validate`: how far metrics agree with human labels."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trueground.cli.options import (
    Format,
    FormatOption,
    JudgeCalibration,
    Judges,
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
    Rater,
    Resamples,
    Seed,
)

Files = Annotated[
    list[str],
    typer.Argument(
        help="Records with `human` labels (JSONL, JSON, CSV, Parquet, .gz, .zst, -), or finished "
        "runs. Each is a set."
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(help="Names, comma-separated. Default: all whose fields are there. Repeatable."),
]
Decomposer = Annotated[
    str | None,
    typer.Option(help="Who splits answers into claims. Default: rules."),
]
Threshold = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, help="Where the verdict turns from no to yes; see --verdict."),
]


class Verdict(StrEnum):
    """Which scores are a yes."""

    ABOVE = "above"
    AT_LEAST = "at-least"


Out = Annotated[
    Path | None,
    typer.Option(help="Folder for numbers, page and items; or a .json or .html file."),
]


def validate(
    files: Files,
    label: LabelOption = None,
    labels: LabelFiles = None,
    metrics: Metrics = None,
    judge: Judges = None,
    decomposer: Decomposer = None,
    judge_calibration: JudgeCalibration = None,
    rater: Rater = None,
    no_cache: NoCache = False,
    positive_above: PositiveAbove = 0.5,
    ordinal: Annotated[
        bool, typer.Option("--ordinal", help="Labels are grades; correlate with them as they are.")
    ] = False,
    threshold: Threshold = 0.5,
    verdict: Annotated[
        Verdict | None,
        typer.Option(
            help="Which scores are the verdict yes. Default: above; with --with-published "
            "at-least, as in the papers' tables."
        ),
    ] = None,
    with_published: Annotated[
        bool,
        typer.Option("--with-published", help="Show what papers print of this label beside yours."),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=VALUE",
            help="Only records with this other label, as in relevant=1. Repeatable.",
        ),
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="`response` against `response_b`, human.preference.")
    ] = False,
    worst: Annotated[
        int, typer.Option(min=0, help="Disagreements to read, per metric and set.")
    ] = 10,
    map_: MapOption = None,
    on_bad_row: OnBadRowOption = OnBadRow.STOP,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N records of each set.")
    ] = None,
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    level: Level = 0.95,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes. Default: by size.")] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Measure how far metrics agree with human labels, set by set, each with an interval."""
    from trueground.cli.progress import progress_bar
    from trueground.records import parse_mapping
    from trueground.studies.labels import parse_keep
    from trueground.studies.validate.study import validate as validate_metrics

    with progress_bar(quiet or no_progress) as progress:
        found = validate_metrics(
            files,
            out=out,
            label=label,
            labels=labels or (),
            metrics=metrics,
            judge=judge,
            decomposer=decomposer,
            judge_calibration=judge_calibration,
            rater=rater,
            cache=not no_cache,
            positive_above=positive_above,
            ordinal=ordinal,
            threshold=threshold,
            verdict=None if verdict is None else verdict.value,
            with_published=with_published,
            keep=parse_keep(keep or ()),
            pairs=pairs,
            worst=worst,
            mapping={k: v for text in map_ or () for k, v in parse_mapping(text).items()},
            on_bad_row=on_bad_row.value,
            limit=limit,
            seed=seed,
            resamples=resamples,
            level=level,
            workers=workers,
            overwrite=overwrite,
            progress=progress,
            command=["trueground", *sys.argv[1:]],
        )
    if format_ is Format.JSON:
        typer.echo(found.to_json(), nl=False)
    elif not quiet:
        from trueground.reports.validation import render

        typer.echo(render(found.raw, out))
