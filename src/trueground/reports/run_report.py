"""A run as it is reported: its pages, its texts, and what they say about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.reports.overview import RunText, format_spread, summary_page
from trueground.reports.page import Page
from trueground.reports.sentences import has_verdicts, input_names, notices
from trueground.runs import Summary, WorstItem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class RunReport:
    """What pages and texts say about a run.

    Attributes:
        summary: The content of summary.json; empty if the run isn't finished.
        manifest: The content of manifest.json; empty if the run was made in Python and has none.
        path: The run directory; None if nothing was written.
    """

    summary: Mapping[str, Any]
    manifest: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    @property
    def notices(self) -> list[str]:
        """What every page of the run must say, such as that something in it is made up."""
        return notices(self.manifest)

    @property
    def has_verdicts(self) -> bool:
        """Whether any answer could be judged."""
        return has_verdicts(self.summary)

    @property
    def input_names(self) -> list[str]:
        """The names of the input files, without their folders."""
        return input_names(self.manifest.get("input"))

    def spread(self, metric: str) -> str | None:
        """Return how far the means of repeats are apart; None if questions have one answer."""
        entry = self.summary["averages"].get(Summary.REPEAT_FIELD, {}).get(metric)
        return format_spread(entry) if entry else None

    def page(self, numbers: Mapping[str, NDArray[np.float32]] | None = None) -> Page:
        """Return the page of a finished run; its answers are where the viewer finds them.

        Args:
            numbers: The scores of each metric, shape (n,), NaN for items without a score.
        """
        from trueground.reports.run_pages import run_page

        return run_page(self.summary, self.manifest, run_dir=self.path, numbers=numbers)

    def unfinished_page(self, *, has_answers: bool) -> Page:
        """Return the page of a run that isn't finished: the answers that it has so far."""
        from trueground.reports.run_pages import unfinished_run_page

        assert self.path is not None
        return unfinished_run_page(self.manifest, self.path, has_answers=has_answers)

    def terminal_page(
        self,
        worst: Sequence[WorstItem] = (),
        *,
        is_brief: bool = False,
        shows_all: bool = False,
    ) -> Page:
        """Return what a terminal shows of the run.

        Args:
            worst: The worst answers.
            is_brief: Of each of the worst answers show only the first claim without support.
            shows_all: Show all metrics and all breakdowns instead of the headline metrics.
        """
        from trueground.reports.run_pages import run_page

        text = RunText(path=self.path, worst=worst, is_brief=is_brief, shows_all=shows_all)
        return run_page(self.summary, self.manifest, text=text)

    def short_page(self) -> Page:
        """Return what Python and notebooks show of the summary, in at most 24 lines of text."""
        return summary_page(self.summary)
