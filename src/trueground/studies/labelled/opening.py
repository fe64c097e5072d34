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
from trueground.studies.finished import FinishedRun, open_run
from trueground.studies.labelled.merged import LabelFiles
from trueground.studies.labelled.rule import Votes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class Votings:
    """What each annotator said, in rows of their own: one for each record that anybody voted on."""

    _given: dict[str, tuple[array[int], array[float]]] = field(default_factory=dict)
    _keys: array[int] = field(default_factory=lambda: array("q"))

    @property
    def annotators(self) -> list[str]:
        """Who voted, sorted."""
        return sorted(self._given)

    def add(self, votes: Votes, cluster: int) -> None:
        """Count the votes on one record in, if there are any."""
        if not votes:
            return
        for name, value in votes.items():
            rows, values = self._given.setdefault(name, (array("q"), array("d")))
            rows.append(len(self._keys))
            values.append(value)
        self._keys.append(cluster)

    def table(self) -> tuple[Floats, Ints]:
        """Votes, shape (records, annotators), NaN where there is none; clusters, (records,)."""
        table = np.full((len(self._keys), len(self._given)), np.nan)
        for column, name in enumerate(self.annotators):
            rows, values = self._given[name]
            table[np.array(rows, np.int64), column] = values
        return table, np.array(self._keys, np.int64)


@dataclass
class LabelledSet:
    """One file of records, or a finished run (`run`), with the labels of those that have one.

    `labels` are as the statistics get them, `clusters` equal within a group. `unused` counts
    records without a label. `votes` are what annotators said, those of tied records too: a record
    that people are split on tells of them, though it has no label. So does `people_mean`, what they
    say on average.
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
    votes: Votings = field(default_factory=lambda: Votings())
    positives: int = 0
    number: int = 1
    people_mean: float | None = None
    fields: Counter[str] = field(default_factory=Counter)  # in how many labelled records each is

    @property
    def n(self) -> int:
        """Records with a label."""
        return len(self.labels)

    @property
    def groups(self) -> int | None:
        """Clusters among them; None where no record names a group."""
        return len(np.unique(self.clusters)) if self.grouped else None

    @property
    def grouping(self) -> Ints | None:
        """The clusters; None where no record names a group."""
        return self.clusters if self.grouped else None


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
    labels: LabelFiles | None = None,
) -> LabelledSet:
    """A file, or a finished run by its records. Raises InputError, UsageError, BadRowsError.

    Where `labels` are of parts of records, a run is no more than its records: its scores are of
    whole responses.
    """
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
    if labels is not None and labels.of_parts:
        run = None
    return LabelledSet(name, path, source, check, run, sha256, number=number)
