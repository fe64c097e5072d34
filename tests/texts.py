"""Results as the terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.reports.overview import RunText
from trueground.reports.page import Page
from trueground.reports.run_pages import run_page
from trueground.runs.worst import WorstItem
from trueground.studies.calibration.page import calibration_page, show_stack
from trueground.studies.comparison_pages import comparison_page
from trueground.studies.leaderboard.page import leaderboard_page
from trueground.studies.planned_labels import PlannedLabels
from trueground.studies.sweep_pages import Finished, sweep_page
from trueground.studies.validation.page import validation_page
from trueground.wings.papers.errors.page import errors_page

Raw = Mapping[str, Any]


def run_text(summary: Raw, path: Path | None = None, manifest: Raw | None = None) -> str:
    """All metrics of a run."""
    text = RunText(path=path, shows_all=True)
    return run_page(summary, manifest or {}, text=text).to_text()


def overview_text(
    summary: Raw, path: Path | None = None, worst: Sequence[WorstItem] = (), **options: bool
) -> str:
    """The headline metrics and the worst answers."""
    text = RunText(path=path, worst=worst, **options)
    return run_page(summary, {}, text=text).to_text()


def sweep_text(runs: Sequence[Finished]) -> str:
    return sweep_page(runs).to_text()


def comparison_text(comparison: Raw, every: bool = False, width: int = 80) -> str:
    return comparison_page(comparison, shows_all=every).to_text(width)


def validation_text(raw: Raw) -> str:
    return validation_page(raw).to_text()


def calibration_text(raw: Raw) -> str:
    return calibration_page(raw).to_text()


def stack_text(raw: Raw) -> str:
    return Page.of(show_stack(raw)).to_text()


def errors_text(results: Raw) -> str:
    return errors_page(results).to_text()


def leaderboard_text(board: Raw) -> str:
    return leaderboard_page(board).to_text()


def plan_text(done: PlannedLabels) -> str:
    return Page.of(done.blocks()).to_text()
