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
        typer.Argument(help="Run directories. The first is the baseline."),
    ],
    *,
    all_: Annotated[bool, typer.Option("--all", help="Print all statistics and items.")] = False,
    screen: Screen,
    **options: Any,
) -> None:
    """Compare runs over the same items.

    Shows the difference of each metric with a confidence interval, and which items changed.
    """
    compared = compare_runs(runs, **options)
    screen.show_page(compared.as_dict(), lambda: compared.page(shows_all=all_))
    more = [] if all_ else ["all statistics: --all"]
    out = compared.page_path
    more.append("as a page: --out FOLDER or FILE.html" if out is None else f"page   {out}")
    screen.say("\n" + "\n".join(more))
    for reason in compared.worse:
        echo_note(f"gate failed: {reason}")
    end_with(Outcome(gate_failed=bool(compared.worse)))
