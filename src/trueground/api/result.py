"""Results as Python and notebooks show them."""

from __future__ import annotations

from dataclasses import dataclass

from trueground.runs import Result as ScoredRun, Summary as SummaryFile


class Summary(SummaryFile, kw_only=True, omit_defaults=True):
    __doc__ = SummaryFile.__doc__

    def __repr__(self) -> str:
        from trueground.reports import RunReport

        return RunReport(self.raw).short_page().to_text()

    def _repr_html_(self) -> str:
        from trueground.reports import RunReport

        return RunReport(self.raw).short_page().to_notebook()


@dataclass(frozen=True, repr=False)
class Result(ScoredRun):
    __doc__ = ScoredRun.__doc__

    summary: Summary

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"in {self.path}"
        return f"{self.summary!r}\n{where}; .items, .worst(20), .evidence, .summary"

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


def make_showable(result: ScoredRun) -> Result:
    """Return the result with a text and a table for people."""
    fields = {name: getattr(result.summary, name) for name in SummaryFile.__struct_fields__}
    return Result(Summary(**fields), result.path, result.lines, result.note, result.texts)
