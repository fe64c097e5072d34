"""`trueground data`: benchmarks' data: fetched, still whole, and what is in them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trueground.benchmarks import count_data, fetch_data, verify_data
from trueground.cli._options import takes
from trueground.cli._output import Screen, echo_note
from trueground.errors import InputError

data = typer.Typer(name="data", help="Benchmarks' data: fetch, verify, and count.")

NAME_HELP = "A dataset; `trueground list datasets` shows them."


@data.command("fetch")
@takes(fetch_data)
def fetch(
    name: Annotated[str, typer.Argument(help=NAME_HELP)],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Download a benchmark's data, and record revision and checksum of each file."""
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
    told = {
        "name": fetched.name,
        "folder": str(fetched.folder),
        "files": [msgspec.to_builtins(f.record) | {"new": f.new} for f in fetched.files],
        "missing": list(fetched.missing),
    }
    screen.show(told, lambda: "\n".join([*lines, f"in {fetched.folder}"]))


@data.command("verify")
@takes()
def verify(
    name: Annotated[str, typer.Argument(help=f"{NAME_HELP} Without it: all fetched.")] = "",
    *,
    screen: Screen,
) -> None:
    """Compare fetched files with the checksums of their first fetch; exit 2 if one differs."""
    checks = verify_data(name)
    told = [
        {"dataset": each, "file": str(c.path), "ok": c.problem is None, "problem": c.problem}
        for each, c in checks
    ]
    lines = [f"{each}  {check.path.name}  {check.problem or 'ok'}" for each, check in checks]
    screen.show(told, lambda: "\n".join(lines))
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
            help="A benchmark, as in kalma or truly-ground/conflict-dist; nq-open, hotpotqa, "
            "topiocqa, or a file of questions."
        ),
    ],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Count questions, words of the answers, and passages; the paper's numbers beside them."""
    from dataclasses import asdict

    from trueground.cli._data_page import show_statistics

    counts = count_data(name, **options)
    screen.show_page([asdict(one) for one in counts], lambda: show_statistics(counts))
