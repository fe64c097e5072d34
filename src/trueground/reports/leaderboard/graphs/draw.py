"""KaLMA's studies as pictures: a line for each measure, a picture for each model."""

from __future__ import annotations

from trueground.reports.leaderboard.graphs.studies import Study, places
from trueground.reports.leaderboard.plot import Plot, lines_plot


def study_plots(study: Study) -> list[Plot | None]:
    """A picture for each row, all on the same axes; None where a value is no number."""
    xs = places(study)
    ticks = [x for x in xs if x is not None]
    cells = [cell for row in study.rows for line in row.cells for cell in line if cell]
    ends = [e for c in cells for e in (c.mean, *(c.ci or ())) if e is not None]
    return [
        lines_plot(
            xs,
            [(f"{row.name}, {words}", row.source, line)
             for words, line in zip(study.measures, row.cells, strict=True)],
            ticks=ticks,
            ends=ends,
        )
        for row in study.rows
    ]  # fmt: skip
