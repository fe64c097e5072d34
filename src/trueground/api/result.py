"""Results as Python and notebooks show them."""

from __future__ import annotations

from dataclasses import dataclass

from trueground.evaluate import result as computed


class Summary(computed.Summary):
    """Metrics by name. A bare name also finds a metric that was requested with options."""

    def __repr__(self) -> str:
        from trueground.reports.overview import summary_page
        from trueground.reports.text import render_text

        return render_text(summary_page(self.raw))

    def _repr_html_(self) -> str:
        from trueground.reports.notebook import render_html
        from trueground.reports.overview import summary_page

        return render_html(summary_page(self.raw))


@dataclass(frozen=True, repr=False)
class Result(computed.Result):
    """A scored file: `summary` by metric, `items` as a data frame, `path` of the run directory.

    `path` is None if no output folder was requested. `lines` are those of items.jsonl, or the file
    that has them. `note` is what you should know in addition to the numbers. `texts` are questions
    and answers if they are in no folder.
    """

    summary: Summary

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"in {self.path}"
        return f"{self.summary!r}\n{where}; .items, .worst(20), .evidence, .summary"

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


def make_showable(result: computed.Result) -> Result:
    """Return the result with a text and a table for people."""
    summary = Summary(result.summary.raw)
    return Result(summary, result.path, result.lines, result.note, result.texts)
