"""Tasks that a project takes in: out of files of `annotate export`, or straight out of runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sql
from sqlalchemy import Connection

from trueground.errors import InputError, UsageError
from trueground.metrics import METRICS
from trueground.records import RecordSource
from trueground.runs import RunFiles
from trueground.studies import FinishedRun
from trueground.text import draw_number
from trueground.types import Answered, Record
from trueground.wings.labeling.base import item_of
from trueground.wings.labeling.export import draw_sample, find_tasks
from trueground.wings.labeling.files import ShownTask, read_filled
from trueground.wings.labeling.kinds import get_kind
from trueground.wings.labeling.web.database import insert_row
from trueground.wings.labeling.web.hints import WholeAnswer, find_hints, find_place
from trueground.wings.labeling.web.project import encode
from trueground.wings.labeling.web.schema import PLACES, sources, tasks

# A task about a claim of the answer, and where the claim stands in what is shown.
_OF_ANSWER = re.compile(r"#(response|sentence)-[^#]*\Z")
_CLAIM = {"response": "fact", "sentence": "sentence"}
_MARK = re.compile(r"[0-9]+:")


@dataclass
class NewTasks:
    """Tasks to be taken in. `sources` are by the mark before their ids ("2:"), "" for a single one.

    `ranks` put the worst first, where tasks were chosen or ordered by a metric.
    """

    tasks: dict[tuple[str, str], ShownTask] = field(default_factory=dict)
    sources: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    ranks: dict[tuple[str, str], float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, task: ShownTask, place: str, source: tuple[str, str] | None) -> None:
        """Take one task in, once. InputError: another text under the same id."""
        name = task.kind.name, task.id
        if self.tasks.setdefault(name, task).check != task.check:
            raise InputError(f"{place}: the task {task.id!r} shows another text than elsewhere")
        if source is not None:
            self.sources[name] = source


def read_files(paths: Sequence[Path]) -> NewTasks:
    """The tasks of files that `annotate export` wrote for annotators; a task of several, once.

    InputError: a file that cannot be read, is a spreadsheet, or has a line that is no such task.
    """
    found = NewTasks()
    for path in paths:
        if path.is_dir():
            raise InputError(
                f"{path} is a folder; expected a file of `trueground annotate export`. Tasks are "
                f"made of a run with --from-run {path}"
            )
        if path.suffix.lower() == ".csv":
            raise InputError(
                f"{path}: a spreadsheet can't be served; use its file of JSON lines, "
                f"{path.with_suffix('.jsonl')}"
            )
        problems = list[str]()
        filled = 0
        known = _exported_sources(path)
        for line in read_filled(path, problems.append):
            task, check = line.task, line.line.check
            if check and check != task.check:
                problems.append(f"{line.place}: the task {task.id!r} was changed after the export")
                continue
            filled += any(value is not None for value in line.line.answer.values())
            mark = match[0] if (match := _MARK.match(task.id)) and len(known) > 1 else ""
            found.add(task, line.place, (mark, known[mark]) if mark in known else None)
        if problems:
            raise InputError("\n".join([*problems[:10], f"{path}: nothing was taken in"]))
        if filled:
            found.notes.append(
                f"{path}: {filled:,} of its tasks are filled in; the tasks are used, but not the "
                "answers (pass the file to `annotate import` for them)"
            )
    return found


def find_in_runs(
    runs: Sequence[str], kind: str, sample: int | None, worst: str | None, seed: int
) -> NewTasks:
    """The tasks of the answers of some runs: all, some drawn at random, or the worst by a metric.

    Of those drawn at random each tells its probability; of the worst none does, as they tell
    nothing of the others. InputError, UsageError.
    """
    chosen = get_kind(kind)
    if not chosen.of_records:
        raise UsageError(
            f"tasks of kind {kind} are made by `trueground build`, not of a run; export them and "
            "give the file"
        )
    all_found = find_tasks(chosen, runs)
    marks = {f"{n}:": path for n, path in all_found.sources.items()} if len(runs) > 1 else {}
    found, listed = NewTasks(), all_found.tasks
    if worst is None:
        listed = draw_sample(listed, sample, seed)
    else:
        if sample is not None and sample > len(listed):
            raise InputError(
                f"a sample of {sample:,} tasks was requested, but there are only {len(listed):,}"
            )
        values, sign = _read_values(runs, worst)
        scored = []
        for task in listed:
            mark, record = record_of(task.id, bool(marks))
            value = values.get((mark, record))
            scored.append((value, draw_number(seed, "worst", task.id), task))
        known = [one for one in scored if one[0] is not None]
        if not known:
            raise InputError(f"no answer of {', '.join(runs)} has a value of {worst}")
        known.sort(key=lambda one: (sign * (one[0] or 0.0), one[1]))
        unknown = sorted((one for one in scored if one[0] is None), key=lambda one: one[1])
        listed = []
        for value, _, task in (known + unknown)[:sample]:
            listed.append(replace(task, drawn=None) if sample is not None else task)
            if value is not None:
                found.ranks[chosen.name, task.id] = sign * value
        if sample is not None:
            found.notes.append(
                f"the {sample:,} worst answers by {worst} aren't a random sample, so their labels "
                "can't estimate a rate for all answers"
            )
    for task in listed:
        mark, _ = record_of(task.id, bool(marks))
        found.add(task, runs[0], (mark, marks.get(mark, runs[0])))
    found.notes += [f"skipped {n:,} without {why}" for why, n in all_found.skipped.items()]
    return found


def take_in(connection: Connection, new: NewTasks, parts: Mapping[Any, Any], seed: int) -> int:
    """Add those that the project does not have; how many. InputError: another text under an id."""
    known = {
        (row.kind, row.id): row
        for row in connection.execute(sql.select(tasks.c.kind, tasks.c.id, tasks.c.check))
    }
    numbers = _number_sources(connection, new)
    rows = list[dict[str, Any]]()
    for name, task in new.tasks.items():
        ranked = {"rank": new.ranks.get(name)}
        if name in known:
            if known[name].check != task.check:
                raise InputError(
                    f"the task {task.id!r} of kind {task.kind.name} is in the project with another "
                    "text; begin a new project"
                )
            if ranked["rank"] is not None:
                connection.execute(
                    sql.update(tasks)
                    .where(tasks.c.kind == name[0], tasks.c.id == name[1])
                    .values(ranked)
                )
            continue
        rows.append(
            {
                "kind": task.kind.name,
                "id": task.id,
                "check": task.check,
                "shown": encode(task.shown),
                "drawn": None if task.drawn is None else encode(task.drawn),
                "place": draw_number(seed, "place", *name) % PLACES,
                "part": None if (part := parts.get(name)) is None else encode(part),
                "hints": encode(find_hints(task.shown or {})),
                "source": numbers.get(new.sources.get(name, ("", ""))),
                **ranked,
            }
        )
    # Numbers are seen by annotators: they must not tell in which order the tasks came.
    rows.sort(key=lambda row: int(row["place"]))
    if rows:
        connection.execute(sql.insert(tasks), rows)
    return len(rows)


def has_ranks(connection: Connection) -> bool:
    """Whether any task is known to be better or worse than others."""
    return bool(connection.scalar(sql.select(sql.func.count(tasks.c.rank))))


def find_parts(new: NewTasks) -> dict[tuple[str, str], WholeAnswer]:
    """The whole answers of tasks that ask about a claim of one, where the records are known."""
    wanted: dict[tuple[str, str], list[tuple[tuple[str, str], str]]] = {}
    for name, source in new.sources.items():
        if found := _OF_ANSWER.search(item_of(name[1])):
            claim = (new.tasks[name].shown or {}).get(_CLAIM[found[1]])
            if isinstance(claim, str):
                wanted.setdefault(source, []).append((name, claim))
    parts = {}
    for (mark, path), of_source in wanted.items():
        by_record: dict[str, list[tuple[tuple[str, str], str]]] = {}
        for name, claim in of_source:
            by_record.setdefault(record_of(name[1], bool(mark))[1], []).append((name, claim))
        for record in read_source(path):
            for name, claim in by_record.get(record.id, ()):
                parts[name] = find_place(claim, record.response)
    return parts


def read_source(path: str) -> Iterator[Record]:
    """Every record of a run, or of a file of records. InputError."""
    place = Path(path)
    source = str(RunFiles(place).records) if place.is_dir() else path
    with RecordSource.open(source) as records:
        records.check()
        for batch in records.batches():
            yield from batch


def record_of(task: str, marked: bool) -> tuple[str, str]:
    """The mark of a task's source, and the id of the record that it was made of."""
    item = item_of(task)
    mark = ""
    if marked and (found := _MARK.match(item)):
        mark, item = found[0], item[found.end() :]
    return mark, re.sub(r"#(?:gold|response|sentence|context)-[^#]*\Z", "", item)


def _read_values(runs: Sequence[str], wanted: str) -> tuple[dict[tuple[str, str], float], float]:
    """The metric's value by source and record, and the sign that puts the worst first."""
    values: dict[tuple[str, str], float] = {}
    sign = 1.0
    for number, path in enumerate(runs, 1):
        run = FinishedRun.open(Path(path))
        keys = run.metrics_named(wanted)
        if len(keys) != 1:
            there = ", ".join(keys or run.signatures)
            raise UsageError(
                f"{path}: {'no' if not keys else 'more than one'} metric {wanted!r}; expected one "
                f"of {there}"
            )
        sign = -1.0 if METRICS.higher_is_better(keys[0]) is False else 1.0
        mark = f"{number}:" if len(runs) > 1 else ""
        column = run.read_scores(keys).values[:, 0].tolist()
        for record, value in zip(run.iter_records(Answered), column, strict=True):
            if value == value:
                values[mark, record.id] = value
    return values, sign


def _exported_sources(path: Path) -> dict[str, str]:
    """Where the tasks of a file are from, by the mark before their ids, as the export says."""
    stem = re.sub(r"-(?:[0-9]+|third)\Z", "", path.stem)
    try:
        told = msgspec.json.decode(path.with_name(f"{stem}-export.json").read_bytes())
        named = {str(number): str(source) for number, source in told["sources"].items()}
    except (OSError, msgspec.DecodeError, KeyError, TypeError, AttributeError, UnicodeDecodeError):
        return {}
    there = {n: str(Path(one).absolute()) for n, one in named.items() if Path(one).exists()}
    if len(named) == 1:
        return dict(zip([""], there.values(), strict=False))
    return {f"{number}:": one for number, one in there.items()}


def _number_sources(connection: Connection, new: NewTasks) -> dict[tuple[str, str], int]:
    numbers = {}
    for mark, path in dict.fromkeys(new.sources.values()):
        whole = str(Path(path).absolute())
        found = connection.scalar(sql.select(sources.c.number).where(sources.c.path == whole))
        if found is None:
            found = insert_row(connection, sources, path=whole, mark=mark)
        numbers[mark, path] = found
    return numbers
