"""Where a set comes from: a file of records, or a finished run by the records that it kept."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError, UsageError
from trueground.records import Check, RecordSource, open_records
from trueground.runs.directory import RECORDS
from trueground.studies.reading import FinishedRun, open_run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class LabelledSet:
    """One file of records, or a finished run (`run`), with the labels of those that have one.

    `labels` are as the statistics get them, `clusters` equal within a group; `votes` holds, for
    each annotator, rows and what was said of them. `unused` counts records without a label.
    """

    name: str
    path: str
    source: RecordSource
    check: Check
    run: FinishedRun | None = None
    sha256: str | None = None
    unused: Counter[str] = field(default_factory=Counter)
    labels: Floats = field(default_factory=lambda: np.empty(0))
    clusters: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    grouped: bool = False
    models: int | None = None
    votes: dict[str, tuple[array[int], array[float]]] = field(default_factory=dict)
    positives: int = 0
    number: int = 1

    @property
    def n(self) -> int:
        """Records with a label."""
        return len(self.labels)

    @property
    def groups(self) -> int | None:
        """Clusters among them; None where no record names a group."""
        return len(np.unique(self.clusters)) if self.grouped else None

    def annotations(self) -> tuple[list[str], Floats]:
        """Annotators, and what each said, shape (n, annotators), NaN where nothing."""
        table = np.full((self.n, len(self.votes)), np.nan)
        for column, (rows, values) in enumerate(self.votes.values()):
            table[np.array(rows, np.int64), column] = values
        return list(self.votes), table


def named(source: Any) -> list[tuple[Any, str]]:
    """Each source and a name for it, unlike all others. UsageError: a path twice."""
    paths = _paths(source)
    if paths is None:
        return [(source, "records")]
    if double := next((path for path in paths if paths.count(path) > 1), None):
        raise UsageError(f"{double} is given twice; name each file once")
    names = [_stem(path) for path in paths]
    return [
        (path, name if names.count(name) == 1 else path)
        for path, name in zip(paths, names, strict=True)
    ]


def _paths(source: Any) -> list[str] | None:
    if isinstance(source, str | PathLike):
        return [fspath(source)]
    if not isinstance(source, list | tuple) or not source:
        return None
    if not all(isinstance(item, str | PathLike) for item in source):
        return None
    return [fspath(item) for item in source]


def _stem(path: str) -> str:
    if path == "-":
        return "stdin"
    name = Path(path.rstrip("/")).name
    return name if Path(path).is_dir() else name.split(".")[0] or name


def open_set(
    one: Any,
    name: str,
    number: int,
    stack: ExitStack,
    mapping: Mapping[str, str] | None,
    on_bad_row: Literal["stop", "skip"],
    limit: int | None,
    progress: Callable[[int], None] | None,
) -> LabelledSet:
    """A file, or a finished run by its records. Raises InputError, UsageError, BadRowsError."""
    run, path = None, one if isinstance(one, str) else "the records given"
    if isinstance(one, str) and one != "-" and Path(one).is_dir():
        run = open_run(Path(one))
        if not run.has_records:
            raise InputError(
                f"{one}: this run kept no records, so there are no labels; name the file of "
                "records instead, or run again without --no-records"
            )
        one, mapping = str(run.path / RECORDS), None
    source = stack.enter_context(
        open_records(one, mapping=mapping, on_bad_row=on_bad_row, limit=limit)
    )
    check = source.check(progress)
    if run is None:
        sha256 = check.files[0].sha256 if check.files else None
    else:
        told = run.manifest.get("input") or [{}]
        sha256 = told[0].get("sha256") if len(told) == 1 else None
    return LabelledSet(name, path, source, check, run, sha256, number=number)
