"""`trueground annotate export`: a file of tasks for each annotator, and what they are told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import orjson

from trueground._version import __version__
from trueground.annotation.base import LabelDraw, item_of
from trueground.annotation.files import LONGEST_CELL, ShownTask, format_tasks
from trueground.annotation.sources import FoundTasks
from trueground.errors import InputError, OutputError, UsageError
from trueground.records.problems import UNREADABLE
from trueground.runs.directory import check_out_file, replacing
from trueground.text.draws import draw_number

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
    """The files of an export, which may be written: `people` by annotator; `stale` ones go.

    Raises UsageError, OutputError.
    """

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
                f"{LONGEST_CELL:,} characters, which spreadsheets cut: use the JSON lines for these"
            )
        if self.stale:
            stale = ", ".join(map(str, self.stale))
            warnings.append(f"removed, as the earlier export's: {stale}")
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
            f"a sample of {sample:,} was asked for, but there are {len(tasks):,} tasks"
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
        check_out_file(path, "tasks.jsonl")
        if path.exists() and not overwrite:
            raise OutputError(
                f"{path} exists, and may hold answers; choose another name, or pass --overwrite"
            )


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write all these files; where one cannot be written, none is replaced. Raises WriteError."""
    with ExitStack() as stack:
        for path, content in contents.items():
            stack.enter_context(replacing(path)).write(content)


def _rank(task: ShownTask, seed: int, purpose: str) -> tuple[int, str]:
    item = item_of(task.id)
    return draw_number(seed, purpose, task.kind.name, item, separator="/"), task.id
