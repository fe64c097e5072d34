"""A task's files, and the questions in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from trueground.benchmarks.instruct_qa import QaOptions
from trueground.benchmarks.instruct_qa.items import QaQuestion
from trueground.benchmarks.instruct_qa.nq_gold import with_gold
from trueground.benchmarks.instruct_qa.own import read_own
from trueground.benchmarks.instruct_qa.readers import (
    Rows,
    read_hotpotqa,
    read_nq,
    read_topiocqa,
)
from trueground.errors import InputError, UsageError
from trueground.records.files import data_files
from trueground.records.reading import plain_rows

READERS: dict[str, Callable[[Rows], Iterator[QaQuestion]]] = {
    "questions": read_own,
    "nq": read_nq,
    "hotpotqa": read_hotpotqa,
    "topiocqa": read_topiocqa,
}
DATASETS = {"nq": "nq-open", "hotpotqa": "hotpotqa", "topiocqa": "topiocqa"}
_SPLITS = ("valid", "dev")


def check_data(task: str, data: Path | None) -> None:
    """UsageError where a user's own questions are asked for, and none are named."""
    if task == "questions" and data is None:
        raise UsageError(
            "instruct-qa asks your own questions, and none are named: add --data FILE (rows of "
            '"question" and "references") and --corpus PATH (your documents), or run a published '
            "dataset: instruct-qa/nq, instruct-qa/hotpotqa, instruct-qa/topiocqa"
        )


def task_files(settings: QaOptions, data: Path | None) -> list[Path]:
    """The files of the questions: in the folder, the file itself, or the fetched ones.

    InputError: there is none, or not only one.
    """
    task = settings.task
    if data is None:
        from trueground.benchmarks.datasets import local_files

        part = settings.variant if task == "hotpotqa" else "validation"
        return local_files(DATASETS[task], part)
    files = data_files(data)
    if not data.is_dir() or task == "questions" or len(files) == 1:
        return files
    names = {file: str(file.relative_to(data)).lower() for file in files}
    named = [file for file in files if any(split in names[file] for split in _SPLITS)]
    if task == "hotpotqa":
        named = [file for file in named if settings.variant in names[file]]
    if not named or len({file.suffixes[-1] for file in named}) > 1:
        seen = ", ".join(names[file] for file in files[:6])
        what = f"{settings.variant} and " * (task == "hotpotqa")
        raise InputError(
            f"{data}: found {seen}; expected one file, or shards, with {what}dev or validation in "
            "the name. Name the file itself with --data"
        )
    return named


def read_items(settings: QaOptions, files: Sequence[Path]) -> list[QaQuestion]:
    """Every question in order. InputError: a broken row, an id that occurs twice, no row."""
    rows = chain.from_iterable(map(plain_rows, files))
    items = list(READERS[settings.task](rows))
    if not items:
        raise InputError(f"{', '.join(map(str, files))}: found no questions; expected one a row")
    first: dict[str, str] = {}
    for item in items:
        if first.setdefault(item.id, item.place) is not item.place:
            raise InputError(
                f"{item.place}: found the id {item.id!r} as in {first[item.id]}; expected ids "
                "that differ"
            )
    return items if settings.gold is None else with_gold(items, settings.gold)
