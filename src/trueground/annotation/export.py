"""`trueground annotate export`: a file of tasks for each annotator, and what they are told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import orjson

from trueground._version import __version__
from trueground.annotation.base import TaskKind
from trueground.annotation.given import Given
from trueground.annotation.instructions import instructions_of
from trueground.annotation.lines import UNREADABLE, write_line
from trueground.annotation.sampling import shuffled
from trueground.annotation.sheets import LONGEST_CELL, sheet, too_long
from trueground.annotation.sources import FoundTasks
from trueground.errors import OutputError, UsageError
from trueground.runs.directory import check_out_file, replacing

MOST_ANNOTATORS = 100


class _Earlier(msgspec.Struct):
    files: dict[str, list[str]]


@dataclass(frozen=True)
class TaskFiles:
    """What an export writes: `people` are the files by annotator; `stale` goes."""

    people: dict[str, list[Path]]
    instructions: Path
    facts: Path
    stale: list[Path] = field(default_factory=list)

    @property
    def all(self) -> list[Path]:
        each = [path for paths in self.people.values() for path in paths]
        return [*each, self.instructions, self.facts]


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


def plan_files(
    out: Path, annotators: int, csv: bool, sources: Sequence[str], overwrite: bool
) -> TaskFiles:
    """The files of an export, which may be written. Raises UsageError, OutputError."""
    folder, stem, endings = out.parent, _stem(out), ("jsonl", "csv") if csv else ("jsonl",)
    people = {
        str(number): [folder / f"{stem}-{number}.{ending}" for ending in endings]
        for number in range(1, annotators + 1)
    }
    files = TaskFiles(people, folder / f"{stem}-instructions.md", folder / f"{stem}-export.json")
    check_free(files.all, overwrite)
    files.stale.extend(_stale(files, out))
    read = {Path(source).absolute() for source in sources}
    for path in [*files.all, *files.stale]:
        if path.absolute() in read:
            raise OutputError(f"{path} is one of the sources; choose another --out")
    return files


def write_tasks(
    kind: TaskKind,
    files: TaskFiles,
    found: FoundTasks,
    tasks: Sequence[Given],
    settings: Mapping[str, Any],
) -> Exported:
    """Write the tasks for each annotator; all files, or none. Raises WriteError."""
    done = Exported(
        kind=kind.name,
        tasks=len(tasks),
        found=len(found.tasks),
        files={who: [str(path) for path in paths] for who, paths in files.people.items()},
        instructions=str(files.instructions),
        sources=dict(found.sources),
        skipped=dict(found.skipped),
        warnings=_warnings(tasks, files),
    )
    contents = {files.instructions: instructions_of(kind).encode()}
    for who, paths in files.people.items():
        mine = tasks if settings["order"] == "same" else shuffled(tasks, settings["seed"], who)
        contents |= {path: content_of(path, [(task, who) for task in mine]) for path in paths}
    contents[files.facts] = _facts(done, settings)
    write_all(contents)
    for path in files.stale:
        path.unlink(missing_ok=True)
    return done


def content_of(path: Path, rows: Sequence[tuple[Given, str]]) -> bytes:
    """A file for annotators: CSV where its name ends so, else JSON lines. Tasks of one kind."""
    if path.suffix.lower() == ".csv":
        return sheet(rows, rows[0][0].kind)
    return b"".join(write_line(given, annotator) + b"\n" for given, annotator in rows)


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


def check_meant(annotators: int, sample: int | None) -> None:
    """Raises UsageError."""
    if not 1 <= annotators <= MOST_ANNOTATORS:
        raise UsageError(f"{annotators} annotators; expected 1 to {MOST_ANNOTATORS}")
    if sample is not None and sample < 1:
        raise UsageError(f"a sample of {sample} tasks; expected at least 1")


def _stale(files: TaskFiles, out: Path) -> list[Path]:
    """Files that the earlier export wrote for annotators, as it says, and this one does not."""
    try:
        earlier = msgspec.json.decode(files.facts.read_bytes(), type=_Earlier)
    except (OSError, *UNREADABLE):
        return []
    ours = re.compile(rf"{re.escape(out.stem)}-[0-9]+\.(?:jsonl|csv)")
    names = {Path(one).name for paths in earlier.files.values() for one in paths}
    there = [out.parent / name for name in sorted(names) if ours.fullmatch(name)]
    return [path for path in there if path not in files.all and path.is_file()]


def _stem(out: Path) -> str:
    if out.suffix.lower() != ".jsonl":
        raise UsageError(
            f"--out {out} must end in .jsonl; files are named after it, such as "
            f"{out.stem or 'tasks'}-1.jsonl, and with --csv also {out.stem or 'tasks'}-1.csv"
        )
    return out.stem


def _warnings(tasks: Sequence[Given], files: TaskFiles) -> list[str]:
    found = []
    csv = any(path.suffix == ".csv" for path in files.all)
    if csv and (count := too_long(tasks)):
        found.append(
            f"{count:,} task{'' if count == 1 else 's'} with a text of more than {LONGEST_CELL:,} "
            "characters, which spreadsheets cut: use the JSON lines for these"
        )
    if files.stale:
        stale = ", ".join(map(str, files.stale))
        found.append(f"removed, as the earlier export's: {stale}")
    return found


def _facts(done: Exported, settings: Mapping[str, Any]) -> bytes:
    facts = {"trueground": __version__, **msgspec.to_builtins(done), **settings}
    return orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n"
