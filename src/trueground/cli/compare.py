"""`trueground compare`: finished runs over the same items, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import takes
from trueground.cli._output import Screen, echo_note
from trueground.cli.exit_codes import Outcome, end_with
from trueground.studies import compare as compare_runs


@takes(compare_runs)
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run directories; every later one is compared with the first."),
    ],
    *,
    fail_if_worse: Annotated[
        list[str] | None,
        typer.Option(
            help="METRIC or METRIC=X: exit 1 if a later run is surely worse by more than X "
            "(default 0). Repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write a page: a folder, or FILE.html.")
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Print all statistics, and all items listed.")
    ] = False,
    screen: Screen,
    **options: Any,
) -> None:
    """Compare runs item by item: which is better on what, how sure that is, which items changed."""
    from trueground.reports import find_page
    from trueground.studies import COMPARISON_MARK, comparison_page, parse_limits, write_comparison

    limits = parse_limits(fail_if_worse or ())
    if out is not None:
        out = find_page(out, COMPARISON_MARK)
    compared = compare_runs(runs, **options)
    worse = compared.find_worse(limits)
    comparison = compared.as_dict()
    if out is not None:
        write_comparison(out, comparison)
    screen.show_page(comparison, lambda: comparison_page(comparison, shows_all=all_))
    more = [] if all_ else ["all statistics: --all"]
    more.append("as a page: --out FOLDER or FILE.html" if out is None else f"page   {out}")
    screen.say("\n" + "\n".join(more))
    for why in worse:
        echo_note(f"gate failed: {why}")
    end_with(Outcome(gate_failed=bool(worse)))
