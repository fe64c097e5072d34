"""Results as the terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.labels.base import PlannedLabels
from trueground.reports.overview import RunText
from trueground.reports.run_pages import run_page
from trueground.reports.text import render_text
from trueground.runs.worst import WorstItem
from trueground.studies.calibration.page import calibration_page, show_stack
from trueground.studies.comparison_pages import comparison_page
from trueground.studies.leaderboard.page import leaderboard_page
from trueground.studies.sweep_pages import Finished, sweep_page
from trueground.studies.validation.page import validation_page
from trueground.wings.labeling.pages import show_plan
from trueground.wings.papers.errors.page import errors_page

Raw = Mapping[str, Any]


def run_text(summary: Raw, path: Path | None = None, manifest: Raw | None = None) -> str:
    """All metrics of a run."""
    text = RunText(path=path, shows_all=True)
    return render_text(run_page(summary, manifest or {}, text=text))


def overview_text(
    summary: Raw, path: Path | None = None, worst: Sequence[WorstItem] = (), **options: bool
) -> str:
    """The headline metrics and the worst answers."""
    text = RunText(path=path, worst=worst, **options)
    return render_text(run_page(summary, {}, text=text))


def sweep_text(runs: Sequence[Finished]) -> str:
    return render_text(sweep_page(runs))


def comparison_text(comparison: Raw, every: bool = False, width: int = 80) -> str:
    return render_text(comparison_page(comparison, shows_all=every), width)


def validation_text(raw: Raw) -> str:
    return render_text(validation_page(raw))


def calibration_text(raw: Raw) -> str:
    return render_text(calibration_page(raw))


def stack_text(raw: Raw) -> str:
    return render_text(show_stack(raw))


def errors_text(results: Raw) -> str:
    return render_text(errors_page(results))


def leaderboard_text(board: Raw) -> str:
    return render_text(leaderboard_page(board))


def plan_text(done: PlannedLabels) -> str:
    return render_text(show_plan(done))
