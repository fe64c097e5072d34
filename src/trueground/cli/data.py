"""`trueground data`: benchmarks' data: fetched, still whole, and what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.benchmarks import count_data, fetch_data, verify_data
from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import download_bar, echo_json, echo_note

if TYPE_CHECKING:
    from trueground.benchmarks.fetching import Fetched

data = typer.Typer(name="data", help="Benchmarks' data: fetch, verify, and count.")

NAME_HELP = "A dataset; `trueground list datasets` shows them."


@data.command("fetch")
@takes(fetch_data)
def fetch(
    name: Annotated[str, typer.Argument(help=NAME_HELP)],
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Download a benchmark's data, and record revision and checksum of each file."""
    from trueground.benchmarks.datasets import get_dataset

    dataset = get_dataset(name)
    if not quiet:
        typer.echo(f"{name}: {dataset.doc.rstrip('.')}. Licence: {dataset.licence}", err=True)
    with download_bar(quiet or no_progress) as progress:
        fetched = fetch_data(name, **options, progress=progress)
    if fetched.missing:
        echo_note(f"--from {options['from_path']} does not hold: {', '.join(fetched.missing)}")
    if format_ is Format.JSON:
        echo_json(_as_json(fetched))
    elif not quiet:
        for file in fetched.files:
            record = file.record
            origin = record.copied_from or f"{record.repo}@{record.revision}"
            state = "fetched" if file.new else "intact"
            typer.echo(f"  {state:8}{record.local}  {record.size:,} bytes  {origin}")
        typer.echo(f"in {fetched.folder}")


@data.command("verify")
def verify(
    name: Annotated[str, typer.Argument(help=f"{NAME_HELP} Without it: all fetched.")] = "",
    format_: FormatOption = Format.TEXT,
) -> None:
    """Compare fetched files with the checksums of their first fetch; exit 2 if one differs."""
    checks = verify_data(name)
    if format_ is Format.JSON:
        echo_json(
            [
                {
                    "dataset": each,
                    "file": str(c.path),
                    "ok": c.problem is None,
                    "problem": c.problem,
                }
                for each, c in checks
            ]
        )
    else:
        for each, check in checks:
            typer.echo(f"{each}  {check.path.name}  {check.problem or 'ok'}")
    wrong = sorted({each for each, check in checks if check.problem})
    if wrong:
        from trueground.errors import InputError

        again = "; ".join(f"trueground data fetch {each}" for each in wrong)
        raise InputError(f"files differ from what was fetched. Fix them with: {again}")


@data.command("stats")
@takes(count_data)
def stats(
    name: Annotated[
        str,
        typer.Argument(
            help="A benchmark, as in kalma or truly-ground/conflict-dist; nq-open, hotpotqa, "
            "topiocqa, or a file of questions."
        ),
    ],
    *,
    format_: FormatOption = Format.TEXT,
    **options: Any,
) -> None:
    """Count questions, words of the answers, and passages; the paper's numbers beside them."""
    from dataclasses import asdict

    counts = count_data(name, **options)
    if format_ is Format.JSON:
        echo_json([asdict(one) for one in counts])
    else:
        from trueground.reports.listings import render_statistics

        for one in counts:
            typer.echo(render_statistics(one))


def _as_json(fetched: Fetched) -> dict[str, object]:
    import msgspec

    files = [msgspec.to_builtins(file.record) | {"new": file.new} for file in fetched.files]
    return {
        "name": fetched.name,
        "folder": str(fetched.folder),
        "files": files,
        "missing": list(fetched.missing),
    }
