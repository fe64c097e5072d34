"""`trueground annotate export`: tasks of builds and records → a file for each annotator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import orjson

from trueground._version import __version__
from trueground.errors import InputError, OutputError, UsageError
from trueground.files import OutputPath
from trueground.labels import LabelDraw, decode_lines
from trueground.options import split_pair
from trueground.records import UNREADABLE, field_text
from trueground.runs import RunFiles
from trueground.text import draw_number
from trueground.wings.labeling.base import item_of
from trueground.wings.labeling.files import LONGEST_CELL, ShownTask, format_tasks, render_value
from trueground.wings.labeling.kinds import KINDS, AnnotationTask, TaskKind
from trueground.wings.labeling.record_parts import MissingPart, Pairing

ANNOTATE = "annotate"  # the folder of tasks in that of a build
_LONGEST_LINE = 16 << 20  # bytes; a record of a run may be longer
OnBadRow = Literal["stop", "skip"]
# A task with its place; or what a record lacks.
Found = tuple[str, AnnotationTask] | str


class FoundTasks(NamedTuple):
    """The tasks, the sources by the number that ids have, and why records gave none."""

    tasks: list[ShownTask]
    sources: Mapping[str, str]
    skipped: Mapping[str, int]


def parse_where(texts: Sequence[str]) -> dict[str, str]:
    """Return {"meta.task": "general"} of `meta.task=general`. Raises UsageError."""
    form = "FIELD=VALUE, each field once"
    values: dict[str, str] = {}
    for text in texts:
        field, value = split_pair("--where", text, form, allow_empty=True)
        if field in values:
            raise UsageError(f"--where {text!r} cannot be read; write {form}")
        values[field] = value
    return values


def find_tasks(
    kind: TaskKind,
    sources: Sequence[str],
    pairing: Pairing = "gold",
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "stop",
    where: Mapping[str, str] | None = None,
) -> FoundTasks:
    """The tasks of all sources, in their order.

    With several sources the id of a record's task has the number of its source before it ("2:q7"),
    not its name: who wrote an answer must not show. A build's tasks keep their ids, by which the
    build finds its labels again; the same task of two builds is one. InputError, UsageError.
    """
    if len(set(sources)) < len(sources):
        raise UsageError("a source is listed twice; list each source once")
    where = where or {}
    # What a field must be; * stands for anything.
    wanted = {
        field: re.compile(".*".join(map(re.escape, value.split("*"))), re.DOTALL)
        for field, value in where.items()
    }
    numbers = {str(number): source for number, source in enumerate(sources, 1)}
    tasks: dict[str, ShownTask] = {}
    skipped: dict[str, int] = {}
    for number, source in numbers.items():
        built, records = _open_source(kind, source)
        mark = f"{number}:" if len(sources) > 1 and built is None else ""
        found = (
            _read_records(kind, records, pairing, mapping or {}, on_bad_row, wanted)
            if built is None
            else _read_built(kind, built, wanted)
        )
        own: set[str] = set()
        for one in found:
            if isinstance(one, str):
                skipped[one] = skipped.get(one, 0) + 1
                continue
            place, task = one
            shown = ShownTask.of(msgspec.structs.replace(task, id=mark + task.id), kind, place)
            if shown.id in own:
                raise InputError(f"{place}: the task id {shown.id!r} occurs twice")
            if tasks.setdefault(shown.id, shown).check != shown.check:
                raise InputError(
                    f"{place}: another source has the task id {shown.id!r} with another "
                    "text; export the sources separately"
                )
            own.add(shown.id)
    if not tasks:
        here = "".join(f" where {field}={value}" for field, value in where.items())
        why = ", ".join(f"{count:,} without {lack}" for lack, count in skipped.items())
        raise InputError(
            f"no tasks of kind {kind.name} in {', '.join(sources)}{here}{': ' if why else ''}{why}"
        )
    return FoundTasks(list(tasks.values()), numbers, skipped)


def _open_source(kind: TaskKind, source: str) -> tuple[Path | None, str]:
    """A build's file of tasks where the source is or has one; else the records. InputError."""
    path = Path(source)
    if not path.is_dir():
        return path if not kind.of_records or _holds_tasks(path) else None, source
    folder = path / ANNOTATE
    if (folder / f"{kind.name}.jsonl").is_file():
        return folder / f"{kind.name}.jsonl", source
    if folder.is_dir() or not kind.of_records:
        there = sorted(file.stem for file in folder.glob("*.jsonl") if file.stem in KINDS)
        raise InputError(
            f"{path} has no tasks of kind {kind.name} ({ANNOTATE}/{kind.name}.jsonl); it has "
            f"{', '.join(there) or 'none'}. `trueground build` writes them"
        )
    records = RunFiles(path).records
    if not records.is_file():
        raise InputError(
            f"{path} is a folder with neither {ANNOTATE}/{kind.name}.jsonl nor {records.name}; "
            "name the folder of a build or of a run, or a file of records"
        )
    return None, str(records)


def _holds_tasks(path: Path) -> bool:
    """Whether the first line of a file is a task, which no record is."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            beginning = file.readline(_LONGEST_LINE)
        msgspec.json.decode(beginning.removeprefix(b"\xef\xbb\xbf"), type=AnnotationTask)
    except (OSError, *UNREADABLE):
        return False
    return True


def _read_built(
    kind: TaskKind, path: Path, where: Mapping[str, re.Pattern[str]]
) -> Iterator[Found]:
    expected = (
        "not a task",
        "expected a line that `trueground build` wrote, with kind, id and shown",
    )
    for number, task in decode_lines(path, AnnotationTask, *expected):
        place = f"{path}, line {number}"
        if task.kind != kind.name:
            raise InputError(f"{place}: a task of kind {task.kind!r}; expected {kind.name!r}")
        fields = {**task.shown, "id": task.item}
        if all(p.fullmatch(render_value(fields.get(name))) for name, p in where.items()):
            yield place, task


def _read_records(
    kind: TaskKind,
    source: str,
    pairing: Pairing,
    mapping: Mapping[str, str],
    on_bad_row: OnBadRow,
    where: Mapping[str, re.Pattern[str]],
) -> Iterator[Found]:
    from trueground.records import RecordSource

    with RecordSource.open(source, mapping=mapping, on_bad_row=on_bad_row) as records:
        for _ in range(records.check().bad_total):
            yield "a form that can be read"
        for record in (record for batch in records.batches() for record in batch):
            if all(
                p.fullmatch(record.id if name == "id" else field_text(record, name) or "")
                for name, p in where.items()
            ):
                try:
                    for task, _ in kind.tasks_of(record, pairing):
                        yield f"{records.name}, record {record.id!r}", task
                except MissingPart as missing:
                    yield str(missing)


MOST_ANNOTATORS = 100


class Exported(msgspec.Struct):
    """What was exported: `files` by annotator; `sources` by the number that ids begin with."""

    kind: str
    tasks: int
    found: int
    files: dict[str, list[str]]
    instructions: str
    sources: dict[str, str]
    skipped: dict[str, int]
    warnings: list[str]


class ExportPlan:
    """The files of an export: `people` by annotator; `stale` ones go. UsageError, OutputError."""

    def __init__(
        self, out: Path, annotators: int, csv: bool, sources: Sequence[str], overwrite: bool
    ) -> None:
        if not 1 <= annotators <= MOST_ANNOTATORS:
            raise UsageError(f"{annotators} annotators; expected 1 to {MOST_ANNOTATORS}")
        if out.suffix.lower() != ".jsonl":
            raise UsageError(
                f"--out {out} must end in .jsonl; files are named after it, such as "
                f"{out.stem or 'tasks'}-1.jsonl, and with --csv also {out.stem or 'tasks'}-1.csv"
            )
        endings = ("jsonl", "csv") if csv else ("jsonl",)
        self.people = {
            str(number): [out.with_name(f"{out.stem}-{number}.{ending}") for ending in endings]
            for number in range(1, annotators + 1)
        }
        self.csv = csv
        self.instructions = out.with_name(f"{out.stem}-instructions.md")
        self.summary = out.with_name(f"{out.stem}-export.json")
        files = [path for paths in self.people.values() for path in paths]
        files += [self.instructions, self.summary]
        check_free(files, overwrite)
        self.stale: list[Path] = []
        try:  # what the earlier export wrote for annotators, as it says
            earlier = msgspec.json.decode(self.summary.read_bytes(), type=_EarlierExport)
        except (OSError, *UNREADABLE):
            pass
        else:
            ours = re.compile(rf"{re.escape(out.stem)}-[0-9]+\.(?:jsonl|csv)")
            names = {Path(path).name for paths in earlier.files.values() for path in paths}
            there = [out.with_name(name) for name in sorted(names) if ours.fullmatch(name)]
            self.stale = [path for path in there if path not in files and path.is_file()]
        read = {Path(source).absolute() for source in sources}
        for path in [*files, *self.stale]:
            if path.absolute() in read:
                raise OutputError(f"{path} is one of the sources; choose another --out")

    def write(
        self, found: FoundTasks, tasks: Sequence[ShownTask], settings: Mapping[str, Any]
    ) -> Exported:
        """Write the tasks for each annotator; all files, or none. Raises WriteError.

        `settings` are what the export's summary tells beside what was exported.
        """
        warnings = []
        cut = [task for task in tasks if max(map(len, task.cells.values())) > LONGEST_CELL]
        if self.csv and (count := len(cut)):
            warnings.append(
                f"{count:,} task{'' if count == 1 else 's'} with a text of more than "
                f"{LONGEST_CELL:,} characters, which spreadsheets truncate; use the JSON lines"
            )
        if self.stale:
            stale = ", ".join(map(str, self.stale))
            warnings.append(f"removed files of the earlier export: {stale}")
        kind = tasks[0].kind
        done = Exported(
            kind=kind.name,
            tasks=len(tasks),
            found=len(found.tasks),
            files={who: [str(path) for path in paths] for who, paths in self.people.items()},
            instructions=str(self.instructions),
            sources=dict(found.sources),
            skipped=dict(found.skipped),
            warnings=warnings,
        )
        contents = {self.instructions: kind.page().encode()}
        for who, paths in self.people.items():
            own = list(tasks)
            if settings["order"] == "shuffled":  # another order for each
                own.sort(key=lambda task: _rank(task, settings["seed"], f"annotator {who}"))
            contents |= {path: format_tasks(path, own, who) for path in paths}
        summary = {"trueground": __version__, **msgspec.to_builtins(done), **settings}
        contents[self.summary] = orjson.dumps(summary, option=orjson.OPT_INDENT_2) + b"\n"
        write_all(contents)
        for path in self.stale:
            path.unlink(missing_ok=True)
        return done


class _EarlierExport(msgspec.Struct):
    files: dict[str, list[str]]


def draw_sample(tasks: Sequence[ShownTask], sample: int | None, seed: int) -> list[ShownTask]:
    """The chosen tasks in their order; None: all. InputError, UsageError: there are not so many.

    They are chosen by seed and item, whatever the order of the source: answers of several models to
    the same questions give samples of the same questions. Each tells with which probability it was
    drawn: with that of an earlier draw, if there was one.
    """
    if sample is None:
        return list(tasks)
    if sample < 1:
        raise UsageError(f"a sample of {sample} tasks; expected at least 1")
    if sample > len(tasks):
        raise InputError(
            f"a sample of {sample:,} tasks was requested, but there are only {len(tasks):,}"
        )
    ranked = sorted(tasks, key=lambda task: _rank(task, seed, "sample"))
    chosen = {task.id for task in ranked[:sample]}
    drawn = []
    for task in (task for task in tasks if task.id in chosen):
        before = task.drawn or LabelDraw(1.0)
        share = sample / len(tasks) * before.probability
        drawn.append(replace(task, drawn=LabelDraw(share, before.stratum)))
    return drawn


def check_free(paths: Iterable[Path], overwrite: bool) -> None:
    """See that these files may be written. Raises OutputError."""
    for path in paths:
        OutputPath(path).check_file("tasks.jsonl")
        if path.exists() and not overwrite:
            raise OutputError(
                f"{path} exists, and may hold answers; choose another name, or pass --overwrite"
            )


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write all these files; where one cannot be written, none is replaced. Raises WriteError."""
    with ExitStack() as stack:
        for path, content in contents.items():
            stack.enter_context(OutputPath(path).replacing()).write(content)


def _rank(task: ShownTask, seed: int, purpose: str) -> tuple[int, str]:
    item = item_of(task.id)
    return draw_number(seed, purpose, task.kind.name, item, separator="/"), task.id
