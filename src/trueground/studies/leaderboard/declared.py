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
    """Return every declared table that has rows.

    Raises:
        UsageError: No model is the `baseline`.
    """
    tables_found = []
    for benchmark in dict.fromkeys(c.benchmark for c in board.columns if c.benchmark):
        columns = [column for column in board.columns if column.benchmark == benchmark]
        evaluation = _Evaluation(board, benchmark)
        for study in studies_of(benchmark).studies:
            groups = group_columns(study, columns, studies_of(benchmark).bound)
            candidates = [evaluation.table(study, group) for group in groups]
            tables = [table for table in candidates if table.rows]
            tables_found += tables
            if baseline is not None and isinstance(study, Delta) and study.baseline:
                tables_found += [
                    compared
                    for table in tables
                    for compared in against(table, board.rows, baseline)
                ]
    if baseline is not None and not any(table.baseline for table in tables_found):
        named = sorted({row.name for row in board.rows if row.runs})
        raise UsageError(
            f"--baseline {baseline}: no run of that model can be compared with other models. "
            f"Name one of: {', '.join(named) or 'none'}."
        )
    return tables_found


# ---- columns of one table: those with the same settings ----


@dataclass(frozen=True)
class Group:
    """Columns with the same settings, each at its level of the study's dimension, in order."""

    title: str
    columns: list[tuple[str, BoardColumn]]

    @property
    def places(self) -> list[str]:
        """The distinct levels; one without a name if the study has no dimension."""
        return list(dict.fromkeys(place for place, _ in self.columns))


def group_columns(
    study: Study, columns: Sequence[BoardColumn], bound: frozenset[str]
) -> list[Group]:
    """Return the groups in the order of the columns; one per column if the study has no levels.

    The column with the most options makes a group, of all columns with the same values of the
    options that both have. So tasks without distractors join those with every kind of them.
    """
    levels_of_study = study.list_levels((column.task, column.options) for column in columns)
    moved = study.moved_options()
    fitting: list[tuple[str, BoardColumn]] = []
    for column in columns:
        if study.fits(column.task, column.options):
            level = study.level_of(column.task, column.options)
            if level is not None or not levels_of_study:
                fitting.append((level or "", column))
    rests = {column.id: _rest(column, moved, bound) for _, column in fitting}
    members_of: dict[str, list[tuple[str, BoardColumn]]] = {}
    taken: set[str] = set()
    for _, seed in sorted(fitting, key=lambda pair: -len(rests[pair[1].id])):
        if seed.id in taken:
            continue
        rest = rests[seed.id]
        members = [
            (level, column)
            for level, column in fitting
            if column is seed
            or (
                levels_of_study
                and all(rest[n] == v for n, v in rests[column.id].items() if n in rest)
            )
        ]
        taken |= {column.id for _, column in members}
        levels = {level for level, _ in members}
        if not levels_of_study or (
            levels == set(levels_of_study) if isinstance(study, Mean) else len(levels) > 1
        ):
            members_of[seed.id] = sorted(
                members, key=lambda m: levels_of_study.index(m[0]) if levels_of_study else 0
            )
    seeds = [column for column in columns if column.id in members_of]
    titles = _titles(seeds, rests, study, bound)
    return [Group(title, members_of[seed.id]) for title, seed in zip(titles, seeds, strict=True)]


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
    """Return the values of `named`, and the options in which a group differs from others."""
    heads = [study.heading_of(seed.task, seed.options) for seed in seeds]
    titles = []
    for seed, head in zip(seeds, heads, strict=True):
        alike = [rests[s.id] for s, other in zip(seeds, heads, strict=True) if other == head]
        options = {
            n: value for n, value in rests[seed.id].items() if n not in (*study.named, "task")
        }
        parts = [*filter(None, head), *tell_apart(options, alike, bound)]
        titles.append(short_checksums(", ".join(parts)))
    return titles


# ---- tables ----


class _Evaluation:
    """Builder of the tables of one benchmark."""

    def __init__(self, board: Board, benchmark: str) -> None:
        self._board, self._benchmark = board, benchmark
        self._skips = studies_of(benchmark).skips
        self._keys: dict[tuple[str, Measure, bool], str | None] = {}

    def table(self, study: Study, group: Group) -> StudyTable:
        """Return the table, without measures that no row has."""
        pairs: list[tuple[BoardRow, StudyRow]] = []
        missing: list[str] = []
        for row in self._board.rows:
            if row.source is None or study.papers:
                study_row = self._row(study, group, row, missing)
                pairs += [(row, study_row)] if study_row else []
        rows, title, places = [study_row for _, study_row in pairs], group.title, group.places
        coefficients: list[Coefficients] = []
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
            rows, coefficients = scattered(study, pairs)
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
            over_models=coefficients,
        )

    # ---- one model ----

    def _row(
        self, study: Study, group: Group, row: BoardRow, missing: list[str]
    ) -> StudyRow | None:
        """Return the model's row, or None if it has too few runs for this study.

        Models that lack a single number are added to `missing`.
        """
        picks = self._picks(group, row)
        present = [pick for pick in picks.values() if pick]
        cells = [
            [self._cell(row, pick, measure) for pick in picks.values()]
            for measure in study.measures
        ]
        extra: dict[str, Any] | None = None
        if isinstance(study, Pivot):
            by_measure = {m.name: line[0] for m, line in zip(study.measures, cells, strict=True)}
            if sum(map(bool, by_measure.values())) >= study.least:
                gains = study.gains
                extra = {
                    "changes": [
                        [change_of(*g, *map(by_measure.get, g), relative=False) for g in gains]
                    ]
                }
        elif isinstance(study, Mean):
            extra = _combined(row, cells[0]) if all(cells[0]) else None
            if extra is None and present and row.source is None:
                missing.append(row.name)
        elif isinstance(study, Scatter):
            # The first two measures are of the two places, if there are two.
            cells = [[line[k if k < len(line) else 0]] for k, line in enumerate(cells)]
            if len(present) == len(picks) and any(line[0] for line in cells):
                extra = self._point(study, row, present, [line[0] for line in cells], missing)
        elif any(sum(map(bool, line)) > 1 for line in cells):
            unlike = (difference(present[0][1], run, self._skips) for _, run in present[1:])
            extra = {"unlike": next(filter(None, unlike), None)}
            if isinstance(study, Delta):
                extra = self._changes(study, group, picks, cells)
                if extra and study.sizes:
                    extra["size"] = size_of(row.model, row.facts)
        if extra is None:
            return None
        reasons = [row.apart[c.id] for c, _ in present if c.id in row.apart]
        labels = [run.label for _, run in present if run.source is None]
        return StudyRow(
            row.name, row.source, cells, apart=reasons[0] if reasons else None,
            runs=list(dict.fromkeys(labels)), **extra,
        )  # fmt: skip

    def _picks(self, group: Group, row: BoardRow) -> dict[str, Pick | None]:
        """Return the run at each level, if possible over the questions of the first level's."""
        picks: dict[str, Pick | None] = {}
        first: Pick | None = None
        for place in group.places:
            matches = [
                (column, run)
                for level, column in group.columns
                if level == place and (run := row.runs.get(column.id)) is not None
            ]
            if first is not None and len(matches) > 1:
                first_run = first[1]
                matches.sort(
                    key=lambda pick: difference(first_run, pick[1], self._skips) is not None
                )
            picks[place] = matches[0] if matches else None
            first = picks[group.places[0]]
        return picks

    def _cell(self, row: BoardRow, pick: Pick | None, measure: Measure) -> BoardCell | None:
        """Return the model's cell if it has a mean."""
        if pick is None:
            return None
        column, run = pick
        cell: BoardCell | None = None
        if measure.share_of:
            cell = self._share(run, column, measure)
        elif measure.metric in ("", column.metric) and measure.part is None:
            cell = row.cells.get(column.id)
        elif key := self._key(column, measure, run.source is not None):
            cell = run.cell(key, measure.part)
        return cell if cell is not None and cell.mean is not None else None

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

    def _key(self, column: BoardColumn, measure: Measure, of_paper: bool) -> str | None:
        """Return the spelling of a metric in user runs or papers that is closest to the headline.

        None if no run has the metric.
        """
        if not measure.metric:
            return column.metric
        cache_key = (column.id, measure, of_paper)
        if cache_key in self._keys:
            return self._keys[cache_key]
        head = ResultKey.parse(column.metric)
        options = head.spec.removeprefix(ResultKey.parse(column.metric).name)

        def order(key: str) -> tuple[bool, bool, bool, bool, int, str]:
            parsed = ResultKey.parse(key)
            return (
                key != column.metric,
                parsed.judge not in ("", head.judge),
                measure.prefer not in key,
                parsed.spec.removeprefix(ResultKey.parse(key).name) != options,
                len(key),
                key,
            )

        runs = self._board.runs(column, published=of_paper)
        spellings = {
            key
            for r in runs
            for key in r.summary.metrics
            if ResultKey.parse(key).name == measure.metric
        }
        self._keys[cache_key] = min(spellings, key=order, default=None)
        return self._keys[cache_key]

    def _spellings(self, group: Group, measure: Measure) -> list[str]:
        """Return the spellings of a measure's metric in user runs, else in papers."""
        if not measure.share_of:
            for paper in (False, True):
                keys = [self._key(column, measure, paper) for _, column in group.columns]
                if any(keys):
                    return list(dict.fromkeys(filter(None, keys)))
        return [measure.name]

    # ---- several runs of one model ----

    def _point(
        self,
        study: Scatter,
        row: BoardRow,
        picks: Sequence[Pick],
        cells: Sequence[BoardCell | None],
        missing: list[str],
    ) -> dict[str, Any] | None:
        """Return the model's size, or how often it declined; None if that is unknown."""
        if study.sizes:
            size = size_of(row.model, row.facts)
            if cells[0] and not size:
                missing.append(row.name)
            return {"size": size} if cells[0] and size else None
        if not study.declining:
            return {}
        a, b = cells[:2]
        if a is None or b is None:
            return None
        (_, run_a), (_, run_b) = ends = (picks[0], picks[-1])
        x, y = (
            self._key(column, measure, run_a.source is not None) or ""
            for (column, _), measure in zip(ends, study.measures, strict=True)
            if not measure.share_of
        )
        counts, unlike = count_declining((run_a, run_b), (x, y), (a, b), self._skips)
        return {"declining": counts, "unlike": unlike}

    def _changes(
        self, study: Delta, group: Group, picks: Mapping[str, Pick | None], cells: Cells
    ) -> dict[str, Any] | None:
        """Return the changes by measure and step, or None if the model belongs to another group.

        Models without the columns that make the group have a separate group.
        """
        steps = [(a, b) for a, b in study.steps if a in picks and b in picks]
        max_options = max(len(column.options) for _, column in group.columns)
        full = {at for at, column in group.columns if len(column.options) == max_options}
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
        """Return the difference that makes two runs incomparable, or None.

        Different tasks have different questions, so only metric and limit must be the same.
        """
        if before is None or after is None or before[1].source is not None:
            return None
        (a, run_a), (b, run_b) = before, after
        if a.task == b.task:
            return difference(run_a, run_b, self._skips)
        if run_a.manifest.limit != run_b.manifest.limit:
            return limits(run_a, run_b)
        if measure.metric:
            key, same = (self._key(column, measure, of_paper=False) for column in (a, b))
            signatures = {run.manifest.metrics.get(str(key)) for run in (run_a, run_b)}
            if key == same and len(signatures) > 1:
                return f"{OTHERWISE} judge, claims or version of the metric"
        return None


def _combined(row: BoardRow, cells_of_row: Sequence[BoardCell | None]) -> dict[str, Any]:
    """Return the mean over the tasks, and its rank value if one is over fewer items."""
    cells = [cell for cell in cells_of_row if cell]
    placed_by = math.fsum(cell.place_value or 0.0 for cell in cells) / len(cells)
    return {
        "organization": row.facts.organization if row.facts else None,
        "score": math.fsum(map(mean_of, cells)) / len(cells),
        "placed_by": placed_by if any(cell.placed_by is not None for cell in cells) else None,
    }
