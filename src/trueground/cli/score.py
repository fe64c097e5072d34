"""`trueground score` scores answers that already exist, `trueground merge` joins shards of runs."""

from __future__ import annotations

from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.api import score as score_records
from trueground.cli._options import takes
from trueground.cli._output import Screen, command_line, echo_note
from trueground.cli.exit_codes import Outcome, check_scored, end_with
from trueground.errors import InputError, OutputError, UsageError
from trueground.evaluate import ShardsRequest

if TYPE_CHECKING:
    from trueground.reports import Page
    from trueground.runs import Result


_BRIEF_WORST = 3  # answers that are shown without --worst


@takes(
    ShardsRequest,
    before={
        "limit": ("fail_under", "fail_over", "min_coverage", "all_", "worst", "out_csv", "format_")
    },
)
def score(
    files: Annotated[
        list[str],
        typer.Argument(
            help=(
                "Answers to score: JSONL, JSON, CSV or Parquet (.gz and .zst too), a "
                "URL, or - for stdin."
            )
        ),
    ],
    *,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=X",
            help="Exit 1 if the metric is below X. For grounded=X, if the share of "
            "grounded answers is below X. Repeatable.",
        ),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=X",
            help="Exit 1 if the metric, or the share of answers (not_grounded=X), is above X. "
            "Repeatable.",
        ),
    ] = None,
    min_coverage: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Exit 3 if a smaller share of items could be scored."),
    ] = 0.0,
    all_: Annotated[
        bool, typer.Option("--all", help="Print all metrics, not only the headline metrics.")
    ] = False,
    worst: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of worst answers to print: not grounded, then partly grounded, each by "
            "lowest support. Default: 3, in brief.",
        ),
    ] = None,
    out_csv: Annotated[
        Path | None,
        typer.Option(help="Write all answers to this CSV file, worst first."),
    ] = None,
    screen: Screen,
    **options: Any,
) -> None:
    """Score a file of answers.

    Writes scores per item, a summary and a report page to a run directory.
    """
    from trueground.evaluate import Gates
    from trueground.files import OutputPath
    from trueground.runs import RunDirectory

    gates = Gates.parse(fail_under or (), fail_over or (), min_coverage)
    if out_csv is not None:
        OutputPath(out_csv, "--out-csv").check_file(
            "worst.csv", overwrite=options.get("overwrite", False)
        )
        if out_csv.exists() and any(Path(f).exists() and out_csv.samefile(f) for f in files):
            raise OutputError(f"{out_csv} is an input file. Choose another --out-csv")
    unique = "out" not in options
    if unique and options.get("shard"):
        raise UsageError(f"--shard {options['shard']} needs --out, which all shards share")
    if unique:
        name = "stdin" if files[0] == "-" else Path(files[0]).name.split(".")[0]
        options["out"] = RunDirectory.default_path(name)
    with screen.progress() as progress:
        options |= {
            "require": gates.metrics,
            "command": command_line(),
            "progress": progress,
        }
        in_shards = any(options.get(name) for name in ("engine", "shards", "shard"))
        if in_shards or "://" in str(options["out"]):
            from trueground.api import score_shards

            result = score_shards(files, **options)
            if result is None:
                return
        else:
            result = score_records(files, **options, unique=unique)
    if out_csv is not None:
        result.write_csv(out_csv)
    _show(result, str(options["out"]), screen, worst, whole=all_ or "metrics" in options)
    verdict = gates.judge(result.summary, chosen="metrics" in options)
    for line in verdict.messages:
        echo_note(line)
    end_with(Outcome(gate_failed=verdict.failed, uncovered=verdict.uncovered))


def _show(
    result: Result, out: str, screen: Screen, worst: int | None = None, *, whole: bool = False
) -> None:
    """Print a run; `whole`: every metric of it. `worst` None: the first few answers in brief."""
    from trueground.net import redact_urls

    def page() -> Page:
        from trueground.reports import RunReport

        items = result.worst_items(_BRIEF_WORST if worst is None else worst)
        report = RunReport(result.summary.raw, path=result.path)
        return report.terminal_page(items, is_brief=worst is None, shows_all=whole)

    echo_note(result.note)
    location = str(result.path or redact_urls(out))
    screen.show_page({**result.summary.raw, "out": location}, page)
    if result.path is None:
        screen.say(f"\nfiles  {location}/")


@takes()
def merge(
    out: Annotated[str, typer.Argument(help="The --out of the shards: a folder or URL.")],
    *,
    screen: Screen,
) -> None:
    """Merge the shards of a run.

    The shards come from `score`, `run` or `build` with --shard.
    """
    from trueground.api import merge as merge_shards
    from trueground.evaluate import ShardedRun
    from trueground.runs import RunFiles

    parts = RunFiles(Path(out)).shards.folders()
    if parts:
        joined, text = _join(Path(out), parts[0])
        screen.show({"out": out, **joined}, lambda: text)
        return
    plan = ShardedRun(out).plan  # merging removes it
    result = screen.call(merge_shards, out, command=command_line())
    _show(result, out, screen)
    end_with(check_scored(result.summary, chosen=plan is None or plan.settings.metrics is not None))


def _read_manifest(part: Path) -> dict[str, Any]:
    """Return the manifest of a shard of a run or a build, or nothing if there is none."""
    import orjson

    from trueground.runs import RunFiles

    path = part / RunFiles.MANIFEST_NAME
    try:
        manifest = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read ({error}). Choose another --out") from None
    return manifest if isinstance(manifest, dict) else {}


def _join(out: Path, part: Path) -> tuple[dict[str, Any], str]:
    """Bring together what shards of a build or a run were paid for; what to do next, in words."""
    from trueground.components import EntryPoint

    manifest = _read_manifest(part)
    for entry in EntryPoint.of_group("trueground.shards"):
        if entry.name in manifest:
            complete = entry.load()(out)
            rest = (
                " without --shard"
                if complete
                else (": with --shard for another round, or without, which does the rest")
            )
            return {"complete": complete}, f"all is in {out}. Go on with the same command{rest}"
    from trueground.evaluate import ShardedRun

    replies, command = ShardedRun(out).join_logs()
    text = f"{replies:,} replies are in {out}. Score them with:\n  {join(command)}"
    return {"replies": replies, "next": join(command)}, text
