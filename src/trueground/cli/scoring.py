"""`trueground score`: score answers that already exist."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueground.cli.options import (
    Decomposer,
    Format,
    FormatOption,
    JudgeCalibration,
    Judges,
    MapOption,
    NoCache,
    NoProgress,
    OnBadRow,
    OnBadRowOption,
    Overwrite,
    Quiet,
    Rater,
    Seed,
)

if TYPE_CHECKING:
    from trueground.evaluate.gates import GateOutcome
    from trueground.evaluate.result import Result

GATE_FAILED = 1
COVERAGE_FAILED = 3

Files = Annotated[
    list[str], typer.Argument(help="JSONL, JSON, CSV or Parquet (also .gz, .zst), a URL, or -")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(help='Names, comma-separated: "f1,k_precision(abstain=zero)". Repeatable.'),
]
Out = Annotated[Path | None, typer.Option(help="Run directory. Default: runs/<utc-time>-<name>/")]
By = Annotated[list[str] | None, typer.Option(help="Break down by a field. Repeatable.")]
FailUnder = Annotated[
    list[str] | None, typer.Option(help="METRIC=X: exit 1 if the mean is below X. Repeatable.")
]
MinCoverage = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Exit 3 if a smaller share could be scored.")
]


def score(
    files: Files,
    metrics: Metrics = None,
    judge: Judges = None,
    judge_calibration: JudgeCalibration = None,
    decomposer: Decomposer = "rules",
    rater: Rater = None,
    no_cache: NoCache = False,
    out: Out = None,
    overwrite: Overwrite = False,
    by: By = None,
    repeats_of: Annotated[
        str | None,
        typer.Option(
            help="Field that tells which question is answered, where questions have several "
            "answers: group, question, meta.… Default: ids such as q7#2, with meta.repeat."
        ),
    ] = None,
    map_: MapOption = None,
    on_bad_row: OnBadRowOption = OnBadRow.STOP,
    fail_under: FailUnder = None,
    min_coverage: MinCoverage = 0.0,
    format_: FormatOption = Format.TEXT,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N records.")] = None,
    seed: Seed = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes. Default: by size.")] = None,
    no_records: Annotated[
        bool, typer.Option("--no-records", help="Do not keep the records with the run.")
    ] = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Score a file of answers: item by item and as a whole, in a folder with a page."""
    from trueground.cli.progress import progress_bar
    from trueground.evaluate.gates import judge_gates, parse_gate
    from trueground.evaluate.score import Settings, evaluate
    from trueground.records import parse_mapping
    from trueground.runs.directory import default_path

    gates = [parse_gate(text) for text in fail_under or ()]
    mapping = {k: v for text in map_ or () for k, v in parse_mapping(text).items()}
    unique = out is None
    if out is None:
        out = default_path("stdin" if files[0] == "-" else Path(files[0]).name.split(".")[0])
    with progress_bar(quiet or no_progress) as progress:
        settings = Settings(
            metrics=metrics,
            judge=judge or "lexical",
            judge_calibration=judge_calibration,
            decomposer=decomposer,
            rater=rater,
            cache=not no_cache,
            by=by or (),
            repeats_of=repeats_of,
            mapping=mapping,
            on_bad_row=on_bad_row.value,
            limit=limit,
            seed=seed,
            workers=workers,
            overwrite=overwrite,
            unique=unique,
            keep_records=not no_records,
            progress=progress,
            command=["trueground", *sys.argv[1:]],
            require=[gate.metric for gate in gates],
        )
        result = evaluate(files, out, settings)
    if result.note:
        typer.echo(f"trueground: {result.note}", err=True)
    if format_ is Format.JSON or not quiet:
        _show(result, format_)
    _leave(judge_gates(result.summary, gates, min_coverage))


def _show(result: Result, format_: Format) -> None:
    if format_ is Format.JSON:
        import orjson

        raw = {**result.summary.raw, "out": str(result.path)}
        typer.echo(orjson.dumps(raw, option=orjson.OPT_INDENT_2))
        return
    from trueground.reports.terminal import render

    typer.echo(render(result.summary.raw, result.path))


def _leave(verdict: GateOutcome) -> None:
    for line in verdict.messages:
        typer.echo(f"trueground: {line}", err=True)
    if verdict.failed:
        raise typer.Exit(GATE_FAILED)
    if verdict.uncovered:
        raise typer.Exit(COVERAGE_FAILED)
