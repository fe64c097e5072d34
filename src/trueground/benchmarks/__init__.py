"""Benchmarks, a paper a folder; their data: fetched, still whole, and what is in them."""

# No `from __future__ import annotations`: the command line reads the options here as values.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trueground.options import Option, Progress, no_progress

if TYPE_CHECKING:
    from trueground.benchmarks.datasets import FileCheck
    from trueground.benchmarks.fetching import Fetched
    from trueground.benchmarks.instruct_qa.statistics import Statistics


def fetch_data(
    name: str,
    *,
    from_path: Annotated[
        Path | None, Option("Take a copy on disk: a folder or a file.", "--from")
    ] = None,
    progress: Progress = no_progress,
) -> "Fetched":
    """Bring a dataset's files into `datasets.folder(name)`.

    From the origin: at the revision of the first fetch, once there was one; what is intact stays.
    From a folder or file on disk: whatever it has of the dataset. InputError: not there, or other
    content than recorded. UnreachableError, UsageError, WriteError.
    """
    from trueground.benchmarks.fetching import fetch

    return fetch(name, from_path, progress)


def verify_data(name: str = "") -> "list[tuple[str, FileCheck]]":
    """Read every fetched file of a dataset, or of all, and compare it with its record. InputError.

    Each check stands behind its dataset's name.
    """
    from trueground.benchmarks.datasets import fetched_names, verify
    from trueground.errors import InputError

    names = [name] if name else fetched_names()
    if not names:
        raise InputError("nothing is fetched yet: trueground data fetch NAME")
    return [(each, check) for each in names for check in verify(each)]


def count_data(
    name: str,
    *,
    corpus: Annotated[
        Path | None, Option("Count the passages of a corpus or of an index too.")
    ] = None,
) -> "list[Statistics]":
    """The numbers of a dataset's questions, one entry for each file; or of a file of questions.

    UsageError: neither a dataset nor a path. InputError: not fetched, a broken row.
    """
    from trueground.benchmarks.instruct_qa.statistics import statistics

    return statistics(name, corpus)
