"""Declared studies (`benchmarks.studies`) over the rows of a board → tables of numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

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
    Where,
    fits,
    value_of,
)
from trueground.errors import UsageError
from trueground.plugins import bare_name, split_key
from trueground.reports.leaderboard.board import (
    Board,
    BoardColumn,
    BoardRow,
    ModelFacts,
    short_names,
    studies_of,
)
from trueground.reports.leaderboard.results import (
    OTHERWISE,
    StudyRow,
    StudyTable,
    against,
    change_of,
    count_declining,
    mean_of,
    over_models,
    ranked,
)
from trueground.reports.leaderboard.runs import (
    BoardCell,
    Run,
    difference,
    limits,
    short_checksums,
)

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
# "7b", "0.5B", "llama2:70b-chat"; not "8x7b", whose size is no product, and not "fp16b1".
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
Rest = Mapping[str, Any]
Pick = tuple[BoardColumn, Run]
Cells = list[list[BoardCell | None]]


def study_tables(board: Board, baseline: str | None = None) -> list[StudyTable]:
    """Every declared table that has rows. Raises UsageError where no model is the `baseline`."""
    found = []
    for benchmark in dict.fromkeys(c.benchmark for c in board.columns if c.benchmark):
        columns = [column for column in board.columns if column.benchmark == benchmark]
        declared, keys = studies_of(benchmark), _Keys(board)
        for study in declared.studies:
            groups = group_columns(study, columns, declared.bound)
            tables = [_Evaluation(board, benchmark, study, group, keys).table() for group in groups]
            own = [table for table in tables if table is not None and table.rows]
            found += own
            if baseline is not None and isinstance(study, Delta) and study.baseline:
                found += [one for table in own for one in against(table, board.rows, baseline)]
    if baseline is not None and not any(table.baseline for table in found):
        named = sorted({row.name for row in board.rows if row.runs})
        raise UsageError(
            f"--baseline {baseline}: no such model beside others in runs that have versions here. "
            f"Name one of: {', '.join(named) or 'none'}."
        )
    return found


def study_label(measure: Measure | Share) -> str:
    """What a measure is called on the page."""
    return measure.label or (measure.metric if isinstance(measure, Measure) else measure.by)


def size_of(name: str, facts: ModelFacts | None) -> tuple[float, str] | None:
    """Billions of parameters and who says so: the models table, else the name ("…-7b-…")."""
    if facts is not None and facts.size:
        return facts.size, "models table"
    sizes = [float(size) for size in _SIZE.findall(name.rpartition("/")[2])]
    return (sizes[0], "name") if len(sizes) == 1 and sizes[0] > 0 else None


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
    places = _places(study, columns)
    moved = {name for where in places.values() for name in where} | set(study.free)
    known: list[tuple[str, BoardColumn]] = []
    for column in columns:
        if fits(study.where, column.task, column.options):
            at = [p for p, where in places.items() if fits(where, column.task, column.options)]
            known += [(place, column) for place in (at[:1] if places else [""])]
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
            if column is seed or (places and _alike(rests[column.id], own))
        ]
        taken |= {column.id for _, column in members}
        if not places or len({place for place, _ in members}) > 1:
            order = list(places)
            found[seed.id] = sorted(members, key=lambda one: order.index(one[0]) if order else 0)
    seeds = [column for column in columns if column.id in found]
    titles = _titles(seeds, rests, study)
    return [Group(title, found[seed.id]) for title, seed in zip(titles, seeds, strict=True)]


def _places(study: Study, columns: Sequence[BoardColumn]) -> Mapping[str, Where]:
    """The declared ones; of a sweep its values: numbers by size, those of `order`, others."""
    if not isinstance(study, Sweep):
        return study.places
    known = list(study.order)

    def place(value: str) -> tuple[bool, float, str]:
        if value in known or not _NUMBER.fullmatch(value):
            return True, known.index(value) if value in known else len(known), value
        return False, float(value) * (-1 if study.falling else 1), value

    values = {value_of(study.by, c.task, c.options) for c in columns} - {None}
    return {value: {study.by: (value,)} for value in sorted(map(str, values), key=place)}


def _rest(column: BoardColumn, moved: set[str], bound: frozenset[str]) -> Rest:
    """What tells a column from others, without the study's dimension."""
    rest = {"task": column.task, **column.options, "judge": split_key(column.metric).judge}
    return {
        name: value
        for name, value in rest.items()
        if name not in moved and not (value is None and name in bound)
    }


def _alike(one: Rest, other: Rest) -> bool:
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def _titles(seeds: Sequence[BoardColumn], rests: Mapping[str, Rest], study: Study) -> list[str]:
    """The values of `named`, and the options by which a group differs from its like."""
    heads = [[value_of(n, seed.task, seed.options) or "" for n in study.named] for seed in seeds]
    titles = []
    for seed, head in zip(seeds, heads, strict=True):
        like = [rests[s.id] for s, other in zip(seeds, heads, strict=True) if other == head]
        told = list(filter(None, head))
        for name in sorted({name for rest in like for name in rest} - {*study.named, "task"}):
            known = {orjson.dumps(rest[name]) for rest in like if name in rest}
            if len(known) > 1 and (value := rests[seed.id].get(name)):
                short = short_names(str(rest.get(name)) for rest in like)
                told.append(f"{name}={short[str(value)]}")
        titles.append(short_checksums(", ".join(told)))
    return titles


# ---- tables ----


class _Keys:
    """How the runs of a column, or the paper's rows there, spell a metric."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._found: dict[tuple[str, Measure, bool], str | None] = {}

    def find(self, column: BoardColumn, measure: Measure, paper: bool) -> str | None:
        """The spelling closest to that of the headline; None where none has the metric."""
        if not measure.metric:
            return column.metric
        place = (column.id, measure, paper)
        if place not in self._found:
            known = {
                key
                for run in self._board.runs(column)
                if (run.source is not None) == paper
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

            self._found[place] = min(known, key=order, default=None)
        return self._found[place]


class _Evaluation:
    """One study over columns that were asked alike."""

    def __init__(
        self, board: Board, benchmark: str, study: Study, group: Group, keys: _Keys
    ) -> None:
        self._board, self._benchmark, self._keys = board, benchmark, keys
        self._study, self._group, self._places = study, group, group.places
        self._skips = studies_of(benchmark).skips
        self._missing: list[str] = []  # models that lack something
        self._steps, self._full = [], set[str]()
        if isinstance(study, Delta):
            self._steps = [step for step in study.steps if set(step) <= set(self._places)]
            most = max(len(column.options) for _, column in group.columns)
            # Models that did not see what makes the group are in a group of their own.
            self._full = {at for at, column in group.columns if len(column.options) == most}

    def table(self) -> StudyTable | None:
        """The table, without measures that no row has; None where a place of a mean is missing."""
        study, places = self._study, self._places
        if isinstance(study, Mean) and len(places) < len(study.places):
            return None
        made = []
        for row in self._board.rows:
            if row.source is None or study.papers:
                picks = self._picks(row)
                cells = [[self._cell(row, pick, m) for pick in picks] for m in study.measures]
                if (found := self._row(row, picks, cells)) is not None:
                    made.append((row, found))
        rows, more = self._finished(made)
        kept = [
            k
            for k in range(len(study.measures))
            if isinstance(study, Scatter) or any(any(row.cells[k]) for row in rows)
        ]
        if isinstance(study, Sweep):
            short = short_names(places)
            places = [short[place] for place in places]
            kept = kept[:1] if study.first else kept
        elif isinstance(study, Pivot | Scatter):
            places = [""]
        measures = [study.measures[k] for k in kept]
        return StudyTable(
            id=study.id,
            kind=type(study).__name__.lower(),
            benchmark=self._benchmark,
            title=study.title,
            note=study.note,
            group=self._group.columns[0][1].title
            if isinstance(study, Pivot)
            else self._group.title,
            places=places,
            measures=[study_label(measure) for measure in measures],
            metrics=[self._spellings(measure) for measure in measures],
            rows=[
                replace(
                    row,
                    cells=[row.cells[k] for k in kept],
                    changes=[row.changes[k] for k in kept] if len(row.changes) > 1 else row.changes,
                )
                for row in rows
            ],
            short=study.short,
            missing=self._missing,
            **more,
        )

    def _spellings(self, measure: Measure | Share) -> list[str]:
        """Of a measure's metric: those of own runs, else those of papers, else its label."""
        for paper in (False, True) if isinstance(measure, Measure) else ():
            found = (self._keys.find(c, measure, paper) for _, c in self._group.columns)  # type: ignore[arg-type]
            if keys := list(dict.fromkeys(filter(None, found))):
                return keys
        return [study_label(measure)]

    # ---- what one model has ----

    def _picks(self, row: BoardRow) -> list[Pick | None]:
        """Its run at each place; of several one over the same questions as the first place's."""
        picks: list[Pick | None] = []
        for place in self._places:
            found = [
                (column, run)
                for at, column in self._group.columns
                if at == place and (run := row.runs.get(column.id)) is not None
            ]
            if picks and (first := picks[0]) and len(found) > 1:
                found.sort(key=lambda pick: difference(first[1], pick[1], self._skips) is not None)
            picks.append(found[0] if found else None)
        return picks

    def _cell(self, row: BoardRow, pick: Pick | None, measure: Measure | Share) -> BoardCell | None:
        """What the model has there, where it has a mean."""
        if pick is None:
            return None
        column, run = pick
        if isinstance(measure, Share):
            found = self._share(run, column, measure)
        elif measure.metric in ("", column.metric) and measure.part is None:
            found = row.cells.get(column.id)
        else:
            key = self._keys.find(column, measure, run.source is not None)
            found = None if key is None else run.cell(key, measure.part)
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

    def _row(self, row: BoardRow, picks: list[Pick | None], cells: Cells) -> StudyRow | None:
        """The model's row, None where it has too little for this study."""
        study, known = self._study, [pick for pick in picks if pick is not None]
        more: dict[str, Any] = {}
        if isinstance(study, Pivot):
            labels = [study_label(measure) for measure in study.measures]
            line = [one[0] for one in cells]
            if sum(map(bool, line)) < study.least:
                return None
            more["changes"] = [
                [
                    change_of(a, b, line[labels.index(a)], line[labels.index(b)], relative=False)
                    for a, b in study.gains
                ]
            ]
        elif isinstance(study, Mean):
            if not all(cells[0]):
                self._missing += [row.name] * bool(known and row.source is None)
                return None
            more = self._combined(row, [cell for cell in cells[0] if cell])
        elif isinstance(study, Scatter):
            cells = [[line[k if k < len(line) else 0]] for k, line in enumerate(cells)]
            if len(known) < len(picks):
                return None
            found = self._scattered(study, row, known, [line[0] for line in cells])
            if found is None:
                return None
            more = found
        elif not any(sum(map(bool, line)) > 1 for line in cells):
            return None
        elif isinstance(study, Delta):
            columns = {place: pick for place, pick in zip(self._places, picks, strict=True) if pick}
            if not self._steps or not self._full & columns.keys():
                return None
            more["changes"] = self._changes(study, columns, cells)
            more["size"] = size_of(row.model, row.facts) if study.sizes else None
        else:
            first = known[0][1]
            unlike = (difference(first, run, self._skips) for _, run in known[1:])
            more["unlike"] = next(filter(None, unlike), None)
        why = [row.apart[c.id] for c, _ in known if c.id in row.apart]
        labels = [run.label for _, run in known if run.source is None]
        return StudyRow(
            row.name, row.source, cells, apart=why[0] if why else None,
            runs=list(dict.fromkeys(labels)), **more,
        )  # fmt: skip

    def _combined(self, row: BoardRow, cells: Sequence[BoardCell]) -> dict[str, Any]:
        """The mean over the tasks, and what it is ranked by where one is over fewer items."""
        fewer = any(cell.placed_by is not None for cell in cells)
        return {
            "organisation": row.facts.organisation if row.facts else None,
            "score": sum(map(mean_of, cells)) / len(cells),
            "placed_by": sum(c.place_value or 0.0 for c in cells) / len(cells) if fewer else None,
        }

    def _scattered(
        self, study: Scatter, row: BoardRow, picks: Sequence[Pick], cells: list[BoardCell | None]
    ) -> dict[str, Any] | None:
        """The model's size, or how often it declined; None where what it takes is not there."""
        if study.sizes:
            size = size_of(row.model, row.facts)
            self._missing += [row.name] * bool(cells[0] and not size)
            return {"size": size} if cells[0] and size else None
        if not study.declining:
            return {} if any(cells) else None
        a, b = cells[:2]
        if a is None or b is None:
            return None
        (_, one), (_, other) = pair = picks[0], picks[-1]
        x, y = (
            self._keys.find(column, measure, run.source is not None) or ""
            for (column, run), measure in zip(pair, study.measures, strict=True)
            if isinstance(measure, Measure)
        )
        counts, unlike = count_declining((one, other), (x, y), (a, b), self._skips)
        return {"declining": counts, "unlike": unlike}

    def _changes(self, study: Delta, picks: Mapping[str, Pick], cells: Cells) -> list[list[Any]]:
        """By measure and step."""
        found = []
        for measure, line in zip(study.measures, cells, strict=True):
            at = dict(zip(self._places, line, strict=True))
            found.append([
                change_of(a, b, at[a], at[b], lost=study.lost, relative=measure.relative,
                          unlike=self._unlike(picks, a, b, measure))
                for a, b in self._steps
            ])  # fmt: skip
        return found

    def _unlike(
        self, picks: Mapping[str, Pick], before: str, after: str, measure: Measure | Share
    ) -> str | None:
        """How two runs differ so that a change between them means nothing.

        Another task has other questions; then metric and limit must be the same.
        """
        if before not in picks or after not in picks:
            return None
        (a, one), (b, other) = picks[before], picks[after]
        if one.source is not None:
            return None
        if a.task == b.task:
            return difference(one, other, self._skips)
        if one.manifest.limit != other.manifest.limit:
            return limits(one, other)
        if isinstance(measure, Measure) and measure.metric:
            key, same = (self._keys.find(c, measure, paper=False) for c in (a, b))
            signatures = {run.manifest.metrics.get(str(key)) for run in (one, other)}
            if key == same and len(signatures) > 1:
                return f"{OTHERWISE} judge, claims or version of the metric"
        return None

    # ---- all models together ----

    def _finished(
        self, made: Sequence[tuple[BoardRow, StudyRow]]
    ) -> tuple[list[StudyRow], dict[str, Any]]:
        """The rows in their order, and what the table says over models."""
        study, rows = self._study, [found for _, found in made]
        if isinstance(study, Delta):
            rows.sort(key=lambda row: (bool(row.apart), -mean_of(row.cells[0][0])))
            rows = ranked(rows) if study.ranks else rows
            return rows, {"lost": study.lost, "sizes": study.sizes}
        if isinstance(study, Mean):
            return _best_of_each(rows), {}
        if not isinstance(study, Scatter):
            return rows, {}
        whole = [
            (row, found.apart, mean_of(found.cells[0][0]), mean_of(found.cells[1][0]))
            for row, found in made
            if all(line[0] for line in found.cells[:2])
        ]
        if not whole and not study.sizes:
            return [], {}
        rows.sort(key=lambda row: _scatter_order(study, row))
        over = [] if study.sizes or study.declining else over_models(whole)
        return rows, {
            "across": study.across, "declining": study.declining, "sizes": study.sizes,
            "over_models": over,
        }  # fmt: skip


def _best_of_each(rows: Sequence[StudyRow]) -> list[StudyRow]:
    """Of each organisation the best model.

    One of unknown origin competes with nobody, and none with a row that stands apart.
    """
    best: dict[tuple[str, str], StudyRow] = {}
    for row in rows:
        key = ("", row.organisation) if row.organisation and not row.apart else (row.name, "")
        if key not in best or _placed_score(row) > _placed_score(best[key]):
            best[key] = row
    return sorted(best.values(), key=lambda r: (bool(r.apart), -_placed_score(r), r.name))


def _placed_score(row: StudyRow) -> float:
    return (row.score or 0.0) if row.placed_by is None else row.placed_by


def _scatter_order(study: Scatter, row: StudyRow) -> tuple[Any, ...]:
    if study.sizes and row.size:
        return row.size[0], row.name.casefold(), row.source or ""
    x, y = (mean_of(line[0]) for line in row.cells[:2])
    if study.declining:
        return bool(row.apart), y - x
    whole = bool(row.cells[0][0] and row.cells[1][0])
    return bool(row.apart), not whole, -x, -y
