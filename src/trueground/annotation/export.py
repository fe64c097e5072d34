"""`trueground annotate export`: a file of tasks for each annotator, and what they are told."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import msgspec
import orjson

from trueground._version import __version__
from trueground.annotation.base import Kind
from trueground.annotation.from_records import Pairing
from trueground.annotation.given import Given
from trueground.annotation.kinds import get_kind
from trueground.annotation.lines import write_line
from trueground.annotation.sheets import LONGEST_CELL, sheet, too_long
from trueground.annotation.sources import OnBadRow, find_tasks
from trueground.annotation.values import NONE
from trueground.errors import InputError, OutputError, UsageError
from trueground.runs.directory import replacing
from trueground.runs.outfile import see_out_file

Order = Literal["shuffled", "same"]
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
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "stop",
    overwrite: bool = False,
) -> Exported:
    """Write NAME-1.jsonl, NAME-2.jsonl … beside `out`, NAME-instructions.md and NAME-export.json.

    `sample` tasks are chosen by seed and id, whatever the order of the sources. Each annotator has
    another order, so that all are tired over different tasks, unless `order` is "same". With `csv`
    the same tasks are also written as NAME-1.csv … All files are written, or none.

    Raises UsageError, InputError, OutputError, WriteError.
    """
    chosen = get_kind(kind)
    _see_meant(annotators, sample)
    folder, stem = out.parent, _stem(out)
    people = [str(number) for number in range(1, annotators + 1)]
    endings = ("jsonl", "csv") if csv else ("jsonl",)
    files = {who: [folder / f"{stem}-{who}.{end}" for end in endings] for who in people}
    instructions, facts = folder / f"{stem}-instructions.md", folder / f"{stem}-export.json"
    see_free([*(p for each in files.values() for p in each), instructions, facts], overwrite)
    found = find_tasks(chosen, sources, pairing, mapping, on_bad_row)
    tasks = _sampled(found.tasks, sample, seed)
    done = Exported(
        kind=chosen.name,
        tasks=len(tasks),
        found=len(found.tasks),
        files={who: [str(path) for path in paths] for who, paths in files.items()},
        instructions=str(instructions),
        sources=dict(found.sources),
        skipped=dict(found.skipped),
        warnings=_warnings(tasks, csv),
    )
    contents = {instructions: _instructions(chosen).encode()}
    for who, paths in files.items():
        mine = tasks if order == "same" else _shuffled(tasks, seed, who)
        contents |= {path: content_of(path, [(task, who) for task in mine]) for path in paths}
    settings = {"seed": seed, "sample": sample, "order": order, "annotators": annotators}
    contents[facts] = _facts(done, settings)
    write_all(contents)
    return done


def content_of(path: Path, rows: Sequence[tuple[Given, str]]) -> bytes:
    """A file for annotators: CSV where its name ends so, else JSON lines. Tasks of one kind."""
    if path.suffix.lower() == ".csv":
        return sheet(rows, rows[0][0].kind)
    return b"".join(write_line(given, annotator) + b"\n" for given, annotator in rows)


def see_free(paths: Iterable[Path], overwrite: bool) -> None:
    """See that these files may be written. Raises OutputError."""
    for path in paths:
        see_out_file(path, "tasks.jsonl")
        if path.exists() and not overwrite:
            raise OutputError(
                f"{path} exists, and may hold answers; choose another name, or pass --overwrite"
            )


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write all these files; where one cannot be written, none is replaced. Raises WriteError."""
    with ExitStack() as stack:
        for path, content in contents.items():
            stack.enter_context(replacing(path)).write(content)


def _see_meant(annotators: int, sample: int | None) -> None:
    if not 1 <= annotators <= MOST_ANNOTATORS:
        raise UsageError(f"{annotators} annotators; expected 1 to {MOST_ANNOTATORS}")
    if sample is not None and sample < 1:
        raise UsageError(f"a sample of {sample} tasks; expected at least 1")


def _stem(out: Path) -> str:
    if out.suffix.lower() != ".jsonl":
        raise UsageError(
            f"--out {out} must end in .jsonl; files are named after it, such as "
            f"{out.stem or 'tasks'}-1.jsonl, and with --csv also {out.stem or 'tasks'}-1.csv"
        )
    return out.stem


def _sampled(tasks: Sequence[Given], sample: int | None, seed: int) -> list[Given]:
    """The chosen tasks in their order."""
    if sample is None:
        return list(tasks)
    if sample > len(tasks):
        raise InputError(
            f"a sample of {sample:,} was asked for, but there are {len(tasks):,} tasks"
        )
    chosen = {
        task.id for task in sorted(tasks, key=lambda task: _rank(task, seed, "sample"))[:sample]
    }
    return [task for task in tasks if task.id in chosen]


def _shuffled(tasks: Sequence[Given], seed: int, annotator: str) -> list[Given]:
    return sorted(tasks, key=lambda task: _rank(task, seed, f"annotator {annotator}"))


def _rank(task: Given, seed: int, purpose: str) -> bytes:
    return hashlib.sha256(f"{seed}/{purpose}/{task.kind.name}/{task.id}".encode()).digest()


def _warnings(tasks: Sequence[Given], csv: bool) -> list[str]:
    if csv and (count := too_long(tasks)):
        return [
            f"{count:,} task{'' if count == 1 else 's'} with a text of more than {LONGEST_CELL:,} "
            "characters, which spreadsheets cut: use the JSON lines for these"
        ]
    return []


def _facts(done: Exported, settings: Mapping[str, Any]) -> bytes:
    facts = {"trueground": __version__, **msgspec.to_builtins(done), **settings}
    return orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n"


def _instructions(kind: Kind) -> str:
    """What annotators are told, as Markdown."""
    shown = "\n".join(
        f"- `{name}`: {words}{' (may be empty)' if name in kind.optional else ''}"
        for name, words in kind.shows.items()
    )
    fields = "\n".join(f"- `{field.name}`: {field.doc}" for field in kind.fields)
    sets = any(field.form == "choices" for field in kind.fields)
    return f"""# {kind.name}: {kind.doc}

{kind.instructions}
## What you see

{shown}

## What you fill in

{fields}
- `seconds`: how long the task took you, if you know
- `comment`: anything that was hard to decide

In a `.jsonl` file replace the `null` in `answer`; `options` says what may stand there. Several
values are a list: `["1", "3"]`, and `[]` for none. In a spreadsheet write into the empty cells; the
first row says what may stand there.{_several() if sets else ""}
Change nothing else: the other cells are checked. Leave a task empty if you have not done it.
Save a spreadsheet as "CSV UTF-8". You may put your name in place of the number in `annotator`, in
all rows.

After: {kind.source}
"""


def _several() -> str:
    return f" Numbers or words go with spaces between them: `1 3`; `{NONE}` if none applies."
