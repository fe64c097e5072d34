"""`trueground data`: benchmarks' data: fetched, still whole, and what is in them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trueground.benchmarks import count_data, fetch_data, verify_data
from trueground.cli._options import takes
from trueground.cli._output import Screen, echo_note
from trueground.errors import InputError

data = typer.Typer(name="data", help="Fetch, verify and count the data of benchmarks.")

NAME_HELP = "Name of a dataset; see `trueground list datasets`."


@data.command("fetch")
@takes(fetch_data)
def fetch(
    name: Annotated[str, typer.Argument(help=NAME_HELP)],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Download the data of a benchmark.

    Records the revision and checksum of each file.
    """
    import msgspec

    from trueground.benchmarks import get_dataset

    dataset = get_dataset(name)
    if not screen.quiet:
        typer.echo(f"{name}: {dataset.doc.rstrip('.')}. License: {dataset.license}", err=True)
    with screen.progress(files=True) as progress:
        fetched = fetch_data(name, **options, progress=progress)
    if fetched.missing:
        echo_note(f"--from {options['from_path']} does not hold: {', '.join(fetched.missing)}")
    lines = []
    for file in fetched.files:
        record = file.record
        origin = record.copied_from or f"{record.repo}@{record.revision}"
        state = "fetched" if file.new else "intact"
        lines.append(f"  {state:8}{record.local}  {record.size:,} bytes  {origin}")
    result = {
        "name": fetched.name,
        "folder": str(fetched.folder),
        "files": [msgspec.to_builtins(f.record) | {"new": f.new} for f in fetched.files],
        "missing": list(fetched.missing),
    }
    screen.show(result, lambda: "\n".join([*lines, f"in {fetched.folder}"]))


@data.command("verify")
@takes()
def verify(
    name: Annotated[
        str, typer.Argument(help=f"{NAME_HELP} Default: all downloaded datasets.")
    ] = "",
    *,
    screen: Screen,
) -> None:
    """Verify checksums of downloaded data.

    Exits 2 if a file differs from its first download.
    """
    checks = verify_data(name)
    results = [
        {"dataset": each, "file": str(c.path), "ok": c.problem is None, "problem": c.problem}
        for each, c in checks
    ]
    lines = [f"{each}  {check.path.name}  {check.problem or 'ok'}" for each, check in checks]
    screen.show(results, lambda: "\n".join(lines))
    wrong = sorted({each for each, check in checks if check.problem})
    if wrong:
        again = "; ".join(f"trueground data fetch {each}" for each in wrong)
        raise InputError(f"files differ from what was fetched. Fix them with: {again}")


@data.command("stats")
@takes(count_data)
def stats(
    name: Annotated[
        str,
        typer.Argument(
            help=(
                "A benchmark (kalma, truly-ground/conflict-dist), a dataset (nq-open), "
                "or a file of questions."
            )
        ),
    ],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Count questions, answers and passages of a benchmark.

    Shows the numbers of the paper too.
    """
    from dataclasses import asdict

    from trueground.cli._data_page import show_statistics

    counts = count_data(name, **options)
    screen.show_page([asdict(task) for task in counts], lambda: show_statistics(counts))
