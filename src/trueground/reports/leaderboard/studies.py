"""Declared studies (`benchmarks.studies`) and the board's runs → tables of numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueground.benchmarks.published import published
from trueground.benchmarks.studies import (
    Delta,
    Mean,
    Measure,
    Pivot,
    Scatter,
    Share,
    Study,
    Sweep,
    fits,
)
from trueground.errors import UsageError
from trueground.plugins import bare_name, split_key
from trueground.reports.leaderboard.board import (
    Board,
    BoardCell,
    BoardColumn,
    Entrant,
    cell,
    studies_of,
)
from trueground.reports.leaderboard.declining import Declining, count_declining, difference
from trueground.reports.leaderboard.groups import Group, group_columns
from trueground.reports.leaderboard.names import ModelFacts, short_names
from trueground.reports.leaderboard.results import (
    OTHERWISE,
    StudyRow,
    StudyTable,
    against,
    change_of,
    mean_of,
    over_models,
    ranked,
)
from trueground.reports.leaderboard.runs import Run

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
# "7b", "0.5B", "llama2:70b-chat"; not "8x7b", whose size is no product, and not "fp16b1".
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
Pick = tuple[BoardColumn, Run]


def study_tables(
    board: Board,
    facts: Mapping[str, ModelFacts],
    folders: Mapping[str, Path],
    baseline: str | None = None,
) -> list[StudyTable]:
    """Every declared table that has rows. Raises UsageError where no model is the `baseline`."""
    found = []
    for benchmark in dict.fromkeys(c.benchmark for c in board.columns if c.benchmark):
        maker = _Maker(board, benchmark, facts, folders)
        for study in studies_of(benchmark).studies:
            tables = list(maker.tables(study))
            found += tables
            if baseline is not None and isinstance(study, Delta) and study.baseline:
                found += [one for table in tables for one in against(table, board, baseline)]
    if baseline is not None and not any(table.baseline for table in found):
        named = sorted({e.name for e in board.entrants if e.runs})
        raise UsageError(
            f"--baseline {baseline}: no such model beside others in runs that have versions here. "
            f"Name one of: {', '.join(named) or 'none'}."
        )
    return found


class _Maker:
    """Makes the tables of one benchmark."""

    def __init__(
        self,
        board: Board,
        benchmark: str,
        facts: Mapping[str, ModelFacts],
        folders: Mapping[str, Path],
    ) -> None:
        self._board, self._benchmark, self._facts, self._folders = board, benchmark, facts, folders
        self._columns = [c for c in board.columns if c.benchmark == benchmark]
        self._bound = studies_of(benchmark).bound
        self._keys: dict[tuple[str, Measure, bool], str | None] = {}

    def tables(self, study: Study) -> Iterator[StudyTable]:
        """The study's tables, those without rows left out."""
        for group in group_columns(study, self._columns, self._bound):
            table = self._table_of(study, group)
            if table is not None and table.rows:
                yield table

    def _table_of(self, study: Study, group: Group) -> StudyTable | None:
        if isinstance(study, Sweep):
            return self._sweep(study, group)
        if isinstance(study, Delta):
            return self._delta(study, group)
        if isinstance(study, Mean):
            return self._mean(study, group)
        if isinstance(study, Scatter):
            return self._scatter(study, group)
        return self._pivot(study, group) if isinstance(study, Pivot) else None

    # ---- what runs measured ----

    def _key(self, column: BoardColumn, measure: Measure, paper: bool) -> str | None:
        """How the column's runs (or the paper's rows) spell a metric: as in the headline."""
        if not measure.metric:
            return column.metric
        place = (column.id, measure, paper)
        if place not in self._keys:
            keys = {
                key
                for e in self._board.entrants
                if (run := e.runs.get(column.id)) is not None and (run.source is not None) == paper
                for key in run.summary.metrics
                if bare_name(key) == measure.metric
            }
            head = split_key(column.metric)
            options = head.spec.removeprefix(bare_name(column.metric))

            def order(key: str) -> tuple[bool, bool, bool, bool, int, str]:
                own = split_key(key)
                return (
                    key != column.metric,
                    own.judge not in ("", head.judge),
                    measure.prefer not in key,
                    own.spec.removeprefix(bare_name(key)) != options,
                    len(key),
                    key,
                )

            self._keys[place] = min(keys, key=order, default=None)
        return self._keys[place]

    def _cell(
        self, entrant: Entrant, column: BoardColumn | None, measure: Measure | Share
    ) -> BoardCell | None:
        """What the model has there, where it has a mean."""
        run = entrant.runs.get(column.id) if column is not None else None
        if run is None or column is None:
            return None
        if isinstance(measure, Share):
            found = self._share(run, column, measure)
        elif not measure.metric or measure.metric == column.metric:
            found = entrant.cell(column)
        else:
            key = self._key(column, measure, run.source is not None)
            found = None if key is None else cell(run, key)
            if measure.part is not None and key is not None:
                name, value = measure.part
                entry = run.summary.by.get(name, {}).get(value, {}).get(key)
                found = None
                if entry is not None:
                    label = None if run.source else run.label
                    found = BoardCell(entry.mean, entry.ci, n=entry.n, scored=entry.scored,
                                      run=label, place=run.place)  # fmt: skip
        return found if found is not None and found.mean is not None else None

    def _share(self, run: Run, column: BoardColumn, share: Share) -> BoardCell | None:
        if share.certain and fits(share.certain, column.task, column.options):
            n = run.summary.n
            return BoardCell(1.0, n=n, scored=n, run=run.label) if n else None
        if run.source is not None:
            for table in published(self._benchmark):
                for number in table.numbers:
                    if (number.name, number.task) == (share.number, column.task):
                        return BoardCell(number.value, place=table.place)
            return None
        parts = run.summary.by.get(share.by, {})
        yes, no = (
            max((entry.n or 0 for entry in parts.get(name, {}).values()), default=0)
            for name in ("true", "false")
        )
        n = yes + no
        return BoardCell(yes / n, n=n, scored=n, run=run.label) if n else None

    # ---- tables ----

    def _table(
        self, study: Study, group: Group, places: list[str], rows: list[StudyRow], **more: Any
    ) -> StudyTable:
        """The table without measures that no row has."""
        kept = [
            k
            for k in range(len(study.measures))
            if isinstance(study, Scatter) or any(any(row.cells[k]) for row in rows)
        ]
        if isinstance(study, Sweep) and study.first:
            kept = kept[:1]
        measures = [study.measures[k] for k in kept]
        metrics = []
        for measure in measures:
            keys: dict[str, None] = {}
            for paper in (False, True):
                for _, column in group.columns if isinstance(measure, Measure) else ():
                    assert isinstance(measure, Measure)
                    if key := self._key(column, measure, paper):
                        keys[key] = None
                if keys:
                    break
            metrics.append(list(keys) or [study_label(measure)])
        return StudyTable(
            id=study.id,
            kind=type(study).__name__.lower(),
            benchmark=self._benchmark,
            title=study.title,
            note=study.note,
            group=group.title,
            places=places,
            measures=[study_label(measure) for measure in measures],
            metrics=metrics,
            rows=[
                replace(
                    row,
                    cells=[row.cells[k] for k in kept],
                    changes=[row.changes[k] for k in kept] if len(row.changes) > 1 else row.changes,
                )
                for row in rows
            ],
            short=study.short,
            **more,
        )

    def _row(
        self,
        entrant: Entrant,
        cells: list[list[BoardCell | None]],
        picks: Sequence[Pick],
        **more: Any,
    ) -> StudyRow:
        why = [entrant.apart[c.id] for c, _ in picks if c.id in entrant.apart]
        labels = [run.label for _, run in picks if run.source is None]
        return StudyRow(
            entrant.name, entrant.source, cells, apart=why[0] if why else None,
            runs=list(dict.fromkeys(labels)), **more,
        )  # fmt: skip

    def _pick(
        self, entrant: Entrant, columns: Sequence[BoardColumn], first: Run | None
    ) -> Pick | None:
        """The model's run in one of the columns; of several one over the same questions."""
        found = [(c, run) for c in columns if (run := entrant.runs.get(c.id)) is not None]
        if first is None:
            return found[0] if found else None
        return min(found, key=lambda pick: difference(first, pick[1]) is not None, default=None)

    def _sweep(self, study: Sweep, group: Group) -> StudyTable | None:
        values = list(dict.fromkeys(label for label, _ in group.columns))
        rows = []
        for entrant in self._board.entrants:
            if entrant.source is not None and not study.papers:
                continue
            picks = [self._pick(entrant, group.at(value), None) for value in values]
            cells = [
                [self._cell(entrant, pick[0], m) if pick else None for pick in picks]
                for m in study.measures
            ]
            if not any(sum(map(bool, line)) > 1 for line in cells):
                continue
            known = [pick for pick in picks if pick is not None]
            unlike = (difference(known[0][1], run) for _, run in known[1:])
            rows.append(self._row(entrant, cells, known, unlike=next(filter(None, unlike), None)))
        short = short_names(values)
        return self._table(study, group, [short[value] for value in values], rows)

    def _pivot(self, study: Pivot, group: Group) -> StudyTable | None:
        column = group.columns[0][1]
        labels = [study_label(measure) for measure in study.measures]
        rows = []
        for entrant in self._board.entrants:
            cells = [self._cell(entrant, column, m) for m in study.measures]
            if sum(map(bool, cells)) < study.least:
                continue
            changes = []
            for before, after in study.gains:
                a, b = (cells[labels.index(label)] for label in (before, after))
                changes.append(change_of(before, after, a, b, lost=False, relative=False))
            row = self._row(entrant, [[c] for c in cells], [(column, entrant.runs[column.id])],
                            changes=[changes])  # fmt: skip
            rows.append(row)
        return self._table(study, replace(group, title=column.title), [""], rows)

    def _scatter(self, study: Scatter, group: Group) -> StudyTable | None:
        at = [group.at(label) for label in (("0", "1") if study.at else ("", ""))]
        rows, missing = [], []
        for entrant in self._board.entrants:
            first = self._pick(entrant, at[0], None)
            second = self._pick(entrant, at[1], first[1] if first else None)
            if first is None or second is None:
                continue
            columns = [first[0], second[0]] + [first[0]] * (len(study.measures) - 2)
            cells = [
                self._cell(entrant, c, m) for c, m in zip(columns, study.measures, strict=True)
            ]
            size = size_of(entrant.model, self._facts.get(entrant.model))
            if (cells[0] is None) if study.sizes else not any(cells):
                continue
            if study.sizes and size is None:
                missing.append(entrant.name)
                continue
            more: dict[str, Any] = {"size": size} if study.sizes else {}
            if study.declining:
                if cells[0] is None or cells[1] is None:
                    continue
                more["declining"], more["unlike"] = self._declining(study, first, second, cells)
            rows.append(self._row(entrant, [[c] for c in cells], [first, second], **more))
        whole = [row for row in rows if all(line[0] for line in row.cells[:2])]
        if not whole and not study.sizes:
            return None
        rows.sort(key=_scatter_order(study))
        over = [] if study.sizes or study.declining else over_models(self._board, whole)
        return self._table(
            study, group, [""], rows, across=study.across, declining=study.declining,
            sizes=study.sizes, missing=missing, over_models=over,
        )  # fmt: skip

    def _declining(
        self, study: Scatter, first: Pick, second: Pick, cells: Sequence[BoardCell | None]
    ) -> tuple[Declining | None, str | None]:
        measures = [m for m in study.measures if isinstance(m, Measure)]
        paper = first[1].source is not None
        keys = [
            self._key(c, m, paper) or ""
            for (c, _), m in zip((first, second), measures, strict=True)
        ]
        a, b = cells
        assert a is not None
        assert b is not None
        folders = (self._folders.get(first[1].label), self._folders.get(second[1].label))
        return count_declining((first[1], second[1]), folders, (keys[0], keys[1]), (a, b))

    def _delta(self, study: Delta, group: Group) -> StudyTable | None:
        places = list(dict.fromkeys(label for label, _ in group.columns))
        steps = [step for step in study.steps if set(step) <= set(places)]
        if not steps:
            return None
        fullest = max(len(column.options) for _, column in group.columns)
        full = {label for label, column in group.columns if len(column.options) == fullest}
        rows = []
        for entrant in self._board.entrants:
            first = self._pick(entrant, group.at(places[0]), None)
            picks = {
                place: self._pick(entrant, group.at(place), first[1] if first else None)
                for place in places
            }
            cells = [
                [self._cell(entrant, pick[0], m) if (pick := picks[p]) else None for p in places]
                for m in study.measures
            ]
            known = {p: pick for p, pick in picks.items() if pick is not None}
            # Models that did not see what makes the group are in a group of their own.
            if not any(sum(map(bool, line)) > 1 for line in cells) or not full & known.keys():
                continue
            changes = []
            for measure, line in zip(study.measures, cells, strict=True):
                by_place = dict(zip(places, line, strict=True))
                changes.append(
                    [
                        change_of(a, b, by_place[a], by_place[b], lost=study.lost,
                                relative=measure.relative,
                                unlike=self._unlike(known, a, b, measure))
                        for a, b in steps
                    ]
                )  # fmt: skip
            size = size_of(entrant.model, self._facts.get(entrant.model)) if study.sizes else None
            rows.append(self._row(entrant, cells, list(known.values()), changes=changes, size=size))
        rows.sort(key=lambda row: (bool(row.apart), -mean_of(row.cells[0][0])))
        rows = ranked(rows) if study.ranks else rows
        return self._table(study, group, places, rows, lost=study.lost, sizes=study.sizes)

    def _unlike(
        self, known: Mapping[str, Pick], before: str, after: str, measure: Measure | Share
    ) -> str | None:
        """How two runs differ so that a change between them means nothing.

        Another task has other questions; then metric and limit must be the same.
        """
        if before not in known or after not in known:
            return None
        (a, one), (b, other) = known[before], known[after]
        if one.source is not None:
            return None
        if a.task == b.task:
            return difference(one, other)
        if one.manifest.limit != other.manifest.limit:
            return f"limit {one.manifest.limit or 'none'} and {other.manifest.limit or 'none'}"
        if isinstance(measure, Measure) and measure.metric:
            key, same = (self._key(c, measure, paper=False) for c in (a, b))
            signatures = [run.manifest.metrics.get(str(key)) for run in (one, other)]
            if key == same and len(set(signatures)) > 1:
                return f"{OTHERWISE} judge, claims or version of the metric"
        return None

    def _mean(self, study: Mean, group: Group) -> StudyTable | None:
        places = list(study.places)
        if {label for label, _ in group.columns} != set(places):
            return None
        best: dict[tuple[str, str], StudyRow] = {}
        missing = []
        for entrant in self._board.entrants:
            picks = [self._pick(entrant, group.at(place), None) for place in places]
            known = [pick for pick in picks if pick is not None]
            cells = [
                self._cell(entrant, pick[0], study.measures[0]) if pick else None for pick in picks
            ]
            if not all(cells):
                missing += [entrant.name] if known and entrant.source is None else []
                continue
            placed = [c.place_value or 0.0 for c in cells if c]
            fewer = any(c.placed_by is not None for c in cells if c)
            facts = self._facts.get(entrant.model)
            row = self._row(
                entrant, [list(cells)], known,
                organisation=facts.organisation if facts else None,
                score=sum(mean_of(c) for c in cells) / len(cells),
                placed_by=sum(placed) / len(placed) if fewer else None,
            )  # fmt: skip
            # A model of unknown origin competes with nobody, and none with a row that stands apart.
            key = ("", row.organisation) if row.organisation and not row.apart else (row.name, "")
            if key not in best or _placed_score(row) > _placed_score(best[key]):
                best[key] = row
        rows = sorted(best.values(), key=lambda r: (bool(r.apart), -_placed_score(r), r.name))
        return self._table(study, group, places, rows, missing=missing)


def study_label(measure: Measure | Share) -> str:
    """What a measure is called on the page."""
    return measure.label or (measure.metric if isinstance(measure, Measure) else measure.by)


def size_of(name: str, facts: ModelFacts | None) -> tuple[float, str] | None:
    """Billions of parameters and who says so: the models table, else the name ("…-7b-…")."""
    if facts is not None and facts.size:
        return facts.size, "models table"
    sizes = [float(size) for size in _SIZE.findall(name.rpartition("/")[2])]
    return (sizes[0], "name") if len(sizes) == 1 and sizes[0] > 0 else None


def _placed_score(row: StudyRow) -> float:
    return (row.score or 0.0) if row.placed_by is None else row.placed_by


def _scatter_order(study: Scatter) -> Callable[[StudyRow], tuple[Any, ...]]:
    def order(row: StudyRow) -> tuple[Any, ...]:
        first, second = (row.cells[k][0] for k in (0, 1))
        if study.sizes and row.size:
            return row.size[0], row.name.casefold(), row.source or ""
        if study.declining:
            return bool(row.apart), mean_of(second) - mean_of(first)
        whole = bool(first and second)
        return bool(row.apart), not whole, -mean_of(first), -mean_of(second)

    return order
