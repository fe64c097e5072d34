"""KaLMA's studies as pictures: a line for each measure, pictures for each model."""

from __future__ import annotations

from dataclasses import replace

from trueground.reports.leaderboard.graphs.quality import ModelPair, ModelPairs, PairRow
from trueground.reports.leaderboard.graphs.settings import TEXT
from trueground.reports.leaderboard.graphs.studies import Study, places
from trueground.reports.leaderboard.plot import Dot, Plot, lines_plot, plot
from trueground.reports.leaderboard.scatter import SHAPES

_KINDS = {1.0: "general", 2.0: "specific"}
_SLOPE = (0.5, 1.0, 2.0, 2.5)  # where they stand, with room beside them


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


def pair_plots(pairs: ModelPairs, model: ModelPair) -> list[Plot]:
    """From general to specific questions: shares in one picture, ratings in another.

    Lines have the numbers of the table's rows. The pictures of all models have the same axes.
    """
    drawn = (_pair_plot(pairs, model, rated=rated) for rated in (False, True))
    return [one for one in drawn if one is not None]


def _pair_plot(pairs: ModelPairs, model: ModelPair, *, rated: bool) -> Plot | None:
    lines = [
        [
            Dot(x, cell.mean or 0.0, f"{row.measure}, {kind}: {cell.mean or 0.0:.4f}",
                number if x > 1 else None, (number - 1) % SHAPES, model.source,
                *(cell.ci or (None, None)))
            for (x, kind), cell in zip(_KINDS.items(), (row.general, row.specific), strict=True)
        ]
        for number, row in enumerate(model.rows, 1)
        if _is_rating(row) == rated
    ]  # fmt: skip
    ends = [
        end
        for one in pairs.models
        for row in one.rows
        if _is_rating(row) == rated
        for cell in (row.general, row.specific)
        for end in (cell.mean, *(cell.ci or ()))
        if end is not None
    ]
    found = plot(lines, joined=True, ticks=_SLOPE, ends=ends)
    if found is None:
        return None
    named = zip(found.x_ticks[1:-1], _KINDS.values(), strict=True)
    return replace(found, x_ticks=[(at, kind) for (at, _), kind in named])


def _is_rating(row: PairRow) -> bool:
    return row.measure in TEXT.values()
