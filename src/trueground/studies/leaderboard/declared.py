"""Declared studies (`benchmarks.studies`) over the rows of a board → tables of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueground.benchmarks import (
    Delta,
    Mean,
    Measure,
    Pivot,
    Scatter,
    Study,
    Sweep,
)
from trueground.components import ResultKey
from trueground.errors import UsageError
from trueground.reports import short_checksums
from trueground.studies.leaderboard.board import (
    Board,
    BoardColumn,
    BoardRow,
    find_benchmark,
    short_names,
    studies_of,
    tell_apart,
)
from trueground.studies.leaderboard.model_info import size_of
from trueground.studies.leaderboard.results import (
    OTHERWISE,
    Coefficients,
    StudyRow,
    StudyTable,
    against,
    best_of_each,
    change_of,
    count_declining,
    mean_of,
    ranked,
    scattered,
)
from trueground.studies.leaderboard.runs import BoardCell, Run, difference, limits

Rest = Mapping[str, Any]
Pick = tuple[BoardColumn, Run]
Cells = list[list[BoardCell | None]]


def study_tables(board: Board, baseline: str | None = None) -> list[StudyTable]:
    """Every declared table that has rows. Raises UsageError where no model is the `baseline`."""
    found = []
    for benchmark in dict.fromkeys(c.benchmark for c in board.columns if c.benchmark):
        columns = [column for column in board.columns if column.benchmark == benchmark]
        evaluation = _Evaluation(board, benchmark)
        for study in studies_of(benchmark).studies:
            groups = group_columns(study, columns, studies_of(benchmark).bound)
            made = [evaluation.table(study, group) for group in groups]
            tables = [table for table in made if table.rows]
            found += tables
            if baseline is not None and isinstance(study, Delta) and study.baseline:
                found += [one for table in tables for one in against(table, board.rows, baseline)]
    if baseline is not None and not any(table.baseline for table in found):
        named = sorted({row.name for row in board.rows if row.runs})
        raise UsageError(
            f"--baseline {baseline}: no such model beside others in runs that have versions here. "
            f"Name one of: {', '.join(named) or 'none'}."
        )
    return found


# ---- which columns stand in one table: those that were asked alike ----


@dataclass(frozen=True)
class Group:
    """Columns that were asked alike, each at its place of the study's dimension, in order."""

    title: str
    columns: list[tuple[str, BoardColumn]]

    @property
    def places(self) -> list[str]:
        """Each once; one without a name where the study has no dimension."""
        return list(dict.fromkeys(place for place, _ in self.columns))


def group_columns(
    study: Study, columns: Sequence[BoardColumn], bound: frozenset[str]
) -> list[Group]:
    """The groups in the order of the columns; a study without places has one for each column.

    A group is made by its fullest column: with it stand all whose options are the same wherever
    both have them. So the tasks without distractors stand beside those with every kind of them.
    """
    places = study.list_levels((column.task, column.options) for column in columns)
    moved = study.moved_options()
    known: list[tuple[str, BoardColumn]] = []
    for column in columns:
        if study.fits(column.task, column.options):
            place = study.level_of(column.task, column.options)
            if place is not None or not places:
                known.append((place or "", column))
    rests = {column.id: _rest(column, moved, bound) for _, column in known}
    found: dict[str, list[tuple[str, BoardColumn]]] = {}
    taken: set[str] = set()
    for _, seed in sorted(known, key=lambda one: -len(rests[one[1].id])):
        if seed.id in taken:
            continue
        own = rests[seed.id]
        members = [
            (place, column)
            for place, column in known
            if column is seed
            or (places and all(own[n] == v for n, v in rests[column.id].items() if n in own))
        ]
        taken |= {column.id for _, column in members}
        here = {place for place, _ in members}
        if not places or (here == set(places) if isinstance(study, Mean) else len(here) > 1):
            found[seed.id] = sorted(members, key=lambda m: places.index(m[0]) if places else 0)
    seeds = [column for column in columns if column.id in found]
    titles = _titles(seeds, rests, study, bound)
    return [Group(title, found[seed.id]) for title, seed in zip(titles, seeds, strict=True)]


def _rest(column: BoardColumn, moved: set[str], bound: frozenset[str]) -> Rest:
    rest = {"task": column.task, **column.options, "judge": ResultKey.parse(column.metric).judge}
    return {
        name: value
        for name, value in rest.items()
        if name not in moved and not (value is None and name in bound)
    }


def _titles(
    seeds: Sequence[BoardColumn], rests: Mapping[str, Rest], study: Study, bound: frozenset[str]
) -> list[str]:
    """The values of `named`, and the options by which a group differs from its like."""
    heads = [study.heading_of(seed.task, seed.options) for seed in seeds]
    titles = []
    for seed, head in zip(seeds, heads, strict=True):
        like = [rests[s.id] for s, other in zip(seeds, heads, strict=True) if other == head]
        own = {n: value for n, value in rests[seed.id].items() if n not in (*study.named, "task")}
        told = [*filter(None, head), *tell_apart(own, like, bound)]
        titles.append(short_checksums(", ".join(told)))
    return titles


# ---- tables ----


class _Evaluation:
    """Makes the tables of one benchmark."""

    def __init__(self, board: Board, benchmark: str) -> None:
        self._board, self._benchmark = board, benchmark
        self._skips = studies_of(benchmark).skips
        self._keys: dict[tuple[str, Measure, bool], str | None] = {}

    def table(self, study: Study, group: Group) -> StudyTable:
        """The table, without measures that no row has."""
        made: list[tuple[BoardRow, StudyRow]] = []
        missing: list[str] = []
        for row in self._board.rows:
            if row.source is None or study.papers:
                found = self._row(study, group, row, missing)
                made += [(row, found)] if found else []
        rows, title, places = [found for _, found in made], group.title, group.places
        over: list[Coefficients] = []
        if isinstance(study, Sweep):
            short = short_names(places)
            places = [short[place] for place in places]
        elif isinstance(study, Delta):
            rows.sort(key=lambda row: (bool(row.apart), -mean_of(row.cells[0][0])))
            rows = ranked(rows) if study.ranks else rows
        elif isinstance(study, Mean):
            rows = best_of_each(rows)
        elif isinstance(study, Pivot):
            title = group.columns[0][1].title
        elif isinstance(study, Scatter):
            places = [""]
            rows, over = scattered(study, made)
        kept = [
            k
            for k in range(len(study.measures))
            if isinstance(study, Scatter) or any(any(row.cells[k]) for row in rows)
        ]
        kept = kept[:1] if isinstance(study, Sweep) and study.first else kept
        shared = ("id", "title", "note", "short", "across", "declining", "lost", "sizes")
        return StudyTable(
            **{name: getattr(study, name) for name in shared if hasattr(study, name)},
            kind=type(study).__name__.lower(),
            benchmark=self._benchmark,
            group=title,
            places=places,
            measures=[study.measures[k].name for k in kept],
            metrics=[self._spellings(group, study.measures[k]) for k in kept],
            rows=[row.of_measures(kept) for row in rows],
            missing=missing,
            over_models=over,
        )

    # ---- what one model has ----

    def _row(
        self, study: Study, group: Group, row: BoardRow, missing: list[str]
    ) -> StudyRow | None:
        """The model's row, None where it has too little for this study.

        Names of models that lack one thing only are added to `missing`.
        """
        picks = self._picks(group, row)
        known = [pick for pick in picks.values() if pick]
        cells = [
            [self._cell(row, pick, measure) for pick in picks.values()]
            for measure in study.measures
        ]
        more: dict[str, Any] | None = None
        if isinstance(study, Pivot):
            at = {m.name: line[0] for m, line in zip(study.measures, cells, strict=True)}
            if sum(map(bool, at.values())) >= study.least:
                gains = study.gains
                more = {
                    "changes": [[change_of(*g, *map(at.get, g), relative=False) for g in gains]]
                }
        elif isinstance(study, Mean):
            more = _combined(row, cells[0]) if all(cells[0]) else None
            missing += [row.name] * bool(more is None and known and row.source is None)
        elif isinstance(study, Scatter):
            # The first two measures are of the two places, if there are two.
            cells = [[line[k if k < len(line) else 0]] for k, line in enumerate(cells)]
            if len(known) == len(picks) and any(line[0] for line in cells):
                more = self._point(study, row, known, [line[0] for line in cells], missing)
        elif any(sum(map(bool, line)) > 1 for line in cells):
            unlike = (difference(known[0][1], run, self._skips) for _, run in known[1:])
            more = {"unlike": next(filter(None, unlike), None)}
            if isinstance(study, Delta):
                more = self._changes(study, group, picks, cells)
                if more and study.sizes:
                    more["size"] = size_of(row.model, row.facts)
        if more is None:
            return None
        why = [row.apart[c.id] for c, _ in known if c.id in row.apart]
        labels = [run.label for _, run in known if run.source is None]
        return StudyRow(
            row.name, row.source, cells, apart=why[0] if why else None,
            runs=list(dict.fromkeys(labels)), **more,
        )  # fmt: skip

    def _picks(self, group: Group, row: BoardRow) -> dict[str, Pick | None]:
        """Its run at each place; of several one over the same questions as the first place's."""
        picks: dict[str, Pick | None] = {}
        first: Pick | None = None
        for place in group.places:
            found = [
                (column, run)
                for at, column in group.columns
                if at == place and (run := row.runs.get(column.id)) is not None
            ]
            if first is not None and len(found) > 1:
                one = first[1]
                found.sort(key=lambda pick: difference(one, pick[1], self._skips) is not None)
            picks[place] = found[0] if found else None
            first = picks[group.places[0]]
        return picks

    def _cell(self, row: BoardRow, pick: Pick | None, measure: Measure) -> BoardCell | None:
        """What the model has there, where it has a mean."""
        if pick is None:
            return None
        column, run = pick
        found: BoardCell | None = None
        if measure.share_of:
            found = self._share(run, column, measure)
        elif measure.metric in ("", column.metric) and measure.part is None:
            found = row.cells.get(column.id)
        elif key := self._key(column, measure, run.source is not None):
            found = run.cell(key, measure.part)
        return found if found is not None and found.mean is not None else None

    def _share(self, run: Run, column: BoardColumn, share: Measure) -> BoardCell | None:
        if share.is_certain(column.task, column.options):
            n = run.summary.n
            return BoardCell(1.0, n=n, scored=n, run=run.label) if n else None
        if run.source is not None:
            benchmark = find_benchmark(self._benchmark)
            printed = (
                BoardCell(number.value, place=table.place)
                for table in (benchmark.published if benchmark else ())
                for number in table.numbers
                if (number.name, number.task) == (share.number, column.task)
            )
            return next(printed, None)
        parts = run.summary.by.get(share.share_of, {})
        yes, no = (
            max((entry.n or 0 for entry in parts.get(name, {}).values()), default=0)
            for name in ("true", "false")
        )
        n = yes + no
        return BoardCell(yes / n, n=n, scored=n, run=run.label) if n else None

    def _key(self, column: BoardColumn, measure: Measure, paper: bool) -> str | None:
        """How own runs of a column, or a paper's, spell a metric: as closely as can be to the
        headline; None where none has the metric.
        """
        if not measure.metric:
            return column.metric
        place = (column.id, measure, paper)
        if place in self._keys:
            return self._keys[place]
        head = ResultKey.parse(column.metric)
        options = head.spec.removeprefix(ResultKey.parse(column.metric).name)

        def order(key: str) -> tuple[bool, bool, bool, bool, int, str]:
            own = ResultKey.parse(key)
            return (
                key != column.metric,
                own.judge not in ("", head.judge),
                measure.prefer not in key,
                own.spec.removeprefix(ResultKey.parse(key).name) != options,
                len(key),
                key,
            )

        runs = self._board.runs(column, published=paper)
        known = {
            key
            for r in runs
            for key in r.summary.metrics
            if ResultKey.parse(key).name == measure.metric
        }
        self._keys[place] = min(known, key=order, default=None)
        return self._keys[place]

    def _spellings(self, group: Group, measure: Measure) -> list[str]:
        """Of a measure's metric: those of own runs, else those of papers, else its label."""
        if not measure.share_of:
            for paper in (False, True):
                found = [self._key(column, measure, paper) for _, column in group.columns]
                if any(found):
                    return list(dict.fromkeys(filter(None, found)))
        return [measure.name]

    # ---- what its runs tell together ----

    def _point(
        self,
        study: Scatter,
        row: BoardRow,
        picks: Sequence[Pick],
        cells: Sequence[BoardCell | None],
        missing: list[str],
    ) -> dict[str, Any] | None:
        """The model's size, or how often it declined; None where what it takes is not there."""
        if study.sizes:
            size = size_of(row.model, row.facts)
            missing += [row.name] * bool(cells[0] and not size)
            return {"size": size} if cells[0] and size else None
        if not study.declining:
            return {}
        a, b = cells[:2]
        if a is None or b is None:
            return None
        (_, one), (_, other) = ends = (picks[0], picks[-1])
        x, y = (
            self._key(column, measure, one.source is not None) or ""
            for (column, _), measure in zip(ends, study.measures, strict=True)
            if not measure.share_of
        )
        counts, unlike = count_declining((one, other), (x, y), (a, b), self._skips)
        return {"declining": counts, "unlike": unlike}

    def _changes(
        self, study: Delta, group: Group, picks: Mapping[str, Pick | None], cells: Cells
    ) -> dict[str, Any] | None:
        """The changes by measure and step; None for a model that stands in another group too.

        Models that did not see what makes the group are in a group of their own.
        """
        steps = [(a, b) for a, b in study.steps if a in picks and b in picks]
        most = max(len(column.options) for _, column in group.columns)
        full = {at for at, column in group.columns if len(column.options) == most}
        if not steps or not any(picks[place] for place in full):
            return None
        changes = []
        for measure, line in zip(study.measures, cells, strict=True):
            at = dict(zip(picks, line, strict=True))
            changes.append([
                change_of(a, b, at[a], at[b], lost=study.as_loss, relative=measure.relative,
                          unlike=self._unlike_step(picks[a], picks[b], measure))
                for a, b in steps
            ])  # fmt: skip
        return {"changes": changes}

    def _unlike_step(self, before: Pick | None, after: Pick | None, measure: Measure) -> str | None:
        """How two runs differ so that a change between them means nothing.

        Another task has other questions; then metric and limit must be the same.
        """
        if before is None or after is None or before[1].source is not None:
            return None
        (a, one), (b, other) = before, after
        if a.task == b.task:
            return difference(one, other, self._skips)
        if one.manifest.limit != other.manifest.limit:
            return limits(one, other)
        if measure.metric:
            key, same = (self._key(column, measure, paper=False) for column in (a, b))
            signatures = {run.manifest.metrics.get(str(key)) for run in (one, other)}
            if key == same and len(signatures) > 1:
                return f"{OTHERWISE} judge, claims or version of the metric"
        return None


def _combined(row: BoardRow, line: Sequence[BoardCell | None]) -> dict[str, Any]:
    """The mean over the tasks, and what it is ranked by where one is over fewer items."""
    cells = [cell for cell in line if cell]
    placed = math.fsum(cell.place_value or 0.0 for cell in cells) / len(cells)
    return {
        "organization": row.facts.organization if row.facts else None,
        "score": math.fsum(map(mean_of, cells)) / len(cells),
        "placed_by": placed if any(cell.placed_by is not None for cell in cells) else None,
    }
