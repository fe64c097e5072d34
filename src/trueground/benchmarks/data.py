"""Fetch, verify, and count the data of benchmarks."""

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
        Path | None, Option("Copy from this folder or file instead of downloading.", "--from")
    ] = None,
    progress: Progress = do_nothing,
) -> "Fetched":
    """Download a dataset's files, or copy them from disk.

    A repeated fetch uses the revision of the first one, and downloads only files that are missing
    or damaged.

    Args:
        name: The name of the dataset.
        from_path: A folder or file to copy from. None: download from the origin.
        progress: Receives the progress: file name, bytes done, total or None.

    Raises:
        InputError: The files don't exist, or differ from the recorded ones.
        UnreachableError: The origin can't be reached.
        UsageError: The dataset is unknown, or can only be copied from disk.
        WriteError: A file can't be written.
    """
    from trueground.benchmarks.fetching import fetch

    return fetch(name, from_path, progress)


def verify_data(name: str = "") -> "list[tuple[str, FileCheck]]":
    """Read fetched files and compare them with their records.

    Args:
        name: The name of the dataset. "": all datasets.

    Returns:
        The name of the dataset and the result, for each file.

    Raises:
        InputError: Nothing is fetched.
    """
    from trueground.benchmarks.datasets import fetched_names, get_dataset
    from trueground.errors import InputError

    names = [name] if name else fetched_names()
    if not names:
        raise InputError("no data is fetched yet. Fetch a dataset with: trueground data fetch NAME")
    checks = []
    for dataset in names:
        checks += [(dataset, check) for check in get_dataset(dataset).verify()]
    return checks


def count_data(
    name: str,
    *,
    data: Annotated[Path | None, Option("Data of a benchmark: your file or folder.")] = None,
    corpus: Annotated[Path | None, Option("Also count the passages of a corpus or index.")] = None,
) -> "list[TaskStatistics]":
    """Return statistics of the questions of a benchmark, a dataset, or a file.

    Args:
        name: A benchmark (NAME or NAME/TASK), a dataset of questions, or a file.
        data: The benchmark's data. None: the fetched files.
        corpus: A corpus or index whose passages to count as well.

    Returns:
        One entry per task or file.

    Raises:
        InputError: The data isn't fetched, or a row is invalid.
        UsageError: The name isn't a benchmark, dataset or path.
    """
    from trueground.benchmarks.statistics import count_questions

    return count_questions(name, data, corpus)
