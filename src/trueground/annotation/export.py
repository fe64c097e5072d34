"""`trueground annotate export`: a file of tasks for each annotator, and what they are told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import orjson

from trueground._version import __version__
from trueground.annotation.from_records import Pairing
from trueground.annotation.given import Given
from trueground.annotation.instructions import instructions_of
from trueground.annotation.kinds import get_kind
from trueground.annotation.lines import UNREADABLE, write_line
from trueground.annotation.sampling import sampled, shuffled
from trueground.annotation.sheets import LONGEST_CELL, sheet, too_long
from trueground.annotation.sources import OnBadRow, find_tasks
from trueground.errors import OutputError, UsageError
from trueground.runs.directory import check_out_file, replacing

Order = Literal["shuffled", "same"]
MOST_ANNOTATORS = 100


class _Earlier(msgspec.Struct):
    files: dict[str, list[str]]


class _Files(NamedTuple):
    """What an export writes: `people` are the files by annotator."""

    people: dict[str, list[Path]]
    instructions: Path
    facts: Path

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


def export(
    kind: str,
    sources: Sequence[str],
    out: Path,
    *,
    csv: bool = False,
    annotators: int = 2,
    sample: int | None = None,
    seed: int = 0,
    order: Order = "shuffled",
    pairing: Pairing = "gold",
    where: Mapping[str, str] | None = None,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "stop",
    overwrite: bool = False,
) -> Exported:
    """Write NAME-1.jsonl, NAME-2.jsonl … beside `out`, NAME-instructions.md and NAME-export.json.

    `where` takes only records whose fields are so, and tasks of a build by their `id` or what is
    shown; * stands for anything. `sample` tasks are chosen by seed and id, whatever the order of
    the sources. Each annotator has another order, so that all are tired over different tasks,
    unless `order` is "same". With `csv`
    the same tasks are also written as NAME-1.csv … All files are written, or none. `overwrite` also
    removes files of the earlier export that this one does not have.

    Raises UsageError, InputError, OutputError, WriteError.
    """
    chosen = get_kind(kind)
    _check_meant(annotators, sample)
    files = _files(out, annotators, ("jsonl", "csv") if csv else ("jsonl",))
    check_free(files.all, overwrite)
    stale = _stale(files, out)
    _check_unread([*files.all, *stale], sources)
    found = find_tasks(chosen, sources, pairing, mapping, on_bad_row, where)
    tasks = sampled(found.tasks, sample, seed)
    done = Exported(
        kind=chosen.name,
        tasks=len(tasks),
        found=len(found.tasks),
        files={who: [str(path) for path in paths] for who, paths in files.people.items()},
        instructions=str(files.instructions),
        sources=dict(found.sources),
        skipped=dict(found.skipped),
        warnings=_warnings(tasks, csv, stale),
    )
    contents = {files.instructions: instructions_of(chosen).encode()}
    for who, paths in files.people.items():
        mine = tasks if order == "same" else shuffled(tasks, seed, who)
        contents |= {path: content_of(path, [(task, who) for task in mine]) for path in paths}
    settings: dict[str, Any] = {"seed": seed, "sample": sample, "where": dict(where or {})}
    settings |= {"order": order, "annotators": annotators}
    contents[files.facts] = _facts(done, settings)
    write_all(contents)
    for path in stale:
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


def _check_meant(annotators: int, sample: int | None) -> None:
    if not 1 <= annotators <= MOST_ANNOTATORS:
        raise UsageError(f"{annotators} annotators; expected 1 to {MOST_ANNOTATORS}")
    if sample is not None and sample < 1:
        raise UsageError(f"a sample of {sample} tasks; expected at least 1")


def _files(out: Path, annotators: int, endings: Sequence[str]) -> _Files:
    folder, stem = out.parent, _stem(out)
    people = {
        str(number): [folder / f"{stem}-{number}.{ending}" for ending in endings]
        for number in range(1, annotators + 1)
    }
    return _Files(people, folder / f"{stem}-instructions.md", folder / f"{stem}-export.json")


def _check_unread(paths: Iterable[Path], sources: Sequence[str]) -> None:
    """No source is written over. Raises OutputError."""
    read = {Path(source).absolute() for source in sources}
    for path in paths:
        if path.absolute() in read:
            raise OutputError(f"{path} is one of the sources; choose another --out")


def _stale(files: _Files, out: Path) -> list[Path]:
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


def _warnings(tasks: Sequence[Given], csv: bool, stale: Sequence[Path]) -> list[str]:
    found = []
    if csv and (count := too_long(tasks)):
        found.append(
            f"{count:,} task{'' if count == 1 else 's'} with a text of more than {LONGEST_CELL:,} "
            "characters, which spreadsheets cut: use the JSON lines for these"
        )
    if stale:
        found.append(f"removed, as the earlier export's: {', '.join(map(str, stale))}")
    return found


def _facts(done: Exported, settings: Mapping[str, Any]) -> bytes:
    facts = {"trueground": __version__, **msgspec.to_builtins(done), **settings}
    return orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n"
