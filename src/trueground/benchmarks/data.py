"""Benchmarks, a paper a folder; their data: fetched, still whole, and what is in them."""

# No `from __future__ import annotations`: the command line reads the options here as values.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trueground.options import Option, Progress, do_nothing

if TYPE_CHECKING:
    from trueground.benchmarks.datasets import FileCheck
    from trueground.benchmarks.fetching import Fetched
    from trueground.benchmarks.statistics import TaskStatistics


def fetch_data(
    name: str,
    *,
    from_path: Annotated[
        Path | None, Option("Take a copy on disk: a folder or a file.", "--from")
    ] = None,
    progress: Progress = do_nothing,
) -> "Fetched":
    """Bring a dataset's files into the folder of the dataset.

    From the origin: at the revision of the first fetch, once there was one; what is intact stays.
    From a folder or file on disk: whatever it has of the dataset. InputError: not there, or other
    content than recorded. UnreachableError, UsageError, WriteError.
    """
    from trueground.benchmarks.fetching import fetch

    return fetch(name, from_path, progress)


def verify_data(name: str = "") -> "list[tuple[str, FileCheck]]":
    """Every fetched file of a dataset, or of all, with its dataset's name, as read. InputError."""
    from trueground.benchmarks.datasets import fetched_names, get_dataset
    from trueground.errors import InputError

    names = [name] if name else fetched_names()
    if not names:
        raise InputError("nothing is fetched yet: trueground data fetch NAME")
    return [(each, check) for each in names for check in get_dataset(each).verify()]


def count_data(
    name: str,
    *,
    data: Annotated[
        Path | None, Option("A benchmark's data: a file or folder of your own.")
    ] = None,
    corpus: Annotated[
        Path | None, Option("Count the passages of a corpus or of an index too.")
    ] = None,
) -> "list[TaskStatistics]":
    """The numbers of a benchmark's questions, one entry for each task (NAME or NAME/TASK).

    Or of a dataset of questions, or a file of them, one entry for each file. UsageError: neither a
    benchmark nor a dataset nor a path. InputError: not fetched, a broken row.
    """
    from trueground.benchmarks.statistics import count_questions

    return count_questions(name, data, corpus)
