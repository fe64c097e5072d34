"""The labelled sets of a validation: every row checked, and every label read, before any work."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError, UsageError
from trueground.records import Check, RecordSource, open_records
from trueground.runs.directory import RECORDS
from trueground.studies.reading import FinishedRun, hashes, open_run
from trueground.studies.validate.labels import (
    DEFAULT_LABEL,
    LabelRule,
    Told,
    choose_label,
    label_names,
)
from trueground.studies.validate.merged import LabelFiles
from trueground.types import Record

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Use = Callable[[Record], str | None]


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


class LabelledSets:
    """Several sets under one label.

    `use` tells of a record why it cannot serve, if so. InputError: no such label, labels of one
    kind only, a bad row, a file or run that cannot be read. UsageError: a file twice.
    """

    def __init__(
        self,
        source: Any,
        *,
        label: str | None,
        rule: Mapping[str, Any],
        labels: LabelFiles | None = None,
        default: str = DEFAULT_LABEL,
        use: Use = lambda _record: None,
        mapping: Mapping[str, str] | None = None,
        on_bad_row: Literal["stop", "skip"] = "stop",
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._use = use
        self._files = labels
        self.notes: list[str] = []
        with ExitStack() as stack:
            self.sets = [
                _open(one, name, number, stack, mapping, on_bad_row, limit, progress)
                for number, (one, name) in enumerate(_named(source), 1)
            ]
            if labels is None:
                where = ", ".join(one.path for one in self.sets)
                label = choose_label(label, self._names(), where, default)
            else:
                label = labels.label
            self.rule = LabelRule(label, **rule)
            for one in self.sets:
                self._gather(one)
            self._see()
            self._open = stack.pop_all()

    @property
    def n(self) -> int:
        """Labelled records of all sets."""
        return sum(one.n for one in self.sets)

    def batches(self, of: LabelledSet) -> Iterator[list[tuple[Record, Told]]]:
        """The labelled records of a set with their labels, in input order."""
        for batch in of.source.batches():
            told = [self._read(record, of) for record in batch]
            pairs = zip(batch, told, strict=True)
            yield [(record, what) for record, what in pairs if isinstance(what, Told)]

    def mask(self, of: LabelledSet) -> tuple[Ints, NDArray[np.bool_]]:
        """Of every record of a set, shape (records,): the hash of its id, and whether it serves."""
        ids, kept = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        for batch in of.source.batches():
            ids.append(hashes(record.id for record in batch))
            kept.append(np.array([isinstance(self._read(r, of), Told) for r in batch], np.bool_))
        return np.concatenate(ids), np.concatenate(kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def _read(self, record: Record, of: LabelledSet) -> Told | str:
        others = None if self._files is None else self._files.of(record, of.number)
        told = self.rule.read(record, others)
        return told if isinstance(told, str) else self._use(record) or told

    def _names(self) -> Counter[str]:
        names: Counter[str] = Counter()
        for one in self.sets:
            for batch in one.source.batches():
                for record in batch:
                    names.update(label_names(record.human or ()))
        return names

    def _gather(self, one: LabelledSet) -> None:
        """Read the labels of a set once; nothing but numbers is kept of them."""
        labels, clusters = array("d"), [np.empty(0, np.int64)]
        models: set[str] = set()
        for batch in one.source.batches():
            kept = []
            for record in batch:
                told = self._read(record, one)
                if isinstance(told, str):
                    one.unused[told] += 1
                    continue
                for name, value in told.votes.items():
                    rows, values = one.votes.setdefault(name, (array("q"), array("d")))
                    rows.append(len(labels))
                    values.append(value)
                labels.append(told.value)
                kept.append(record)
                one.grouped |= record.group is not None
                if record.model is not None:
                    models.add(record.model)
            clusters.append(hashes(_cluster(record, one.number) for record in kept))
        one.labels, one.clusters = np.array(labels), np.concatenate(clusters)
        one.positives = sum(map(self.rule.is_positive, labels))
        one.models = len(models) or None
        one.votes = dict(sorted(one.votes.items()))
        if one.check.bad_total:
            one.unused["bad_row"] = one.check.bad_total

    def _see(self) -> None:
        """Leave out what has no label. InputError where nothing is left, or of one kind only."""
        for one in self.sets:
            if not one.n:
                told = ", ".join(f"{count:,} {why}" for why, count in sorted(one.unused.items()))
                self.notes.append(
                    f"{one.name}: no record has the label {self.rule.label!r} ({told})"
                )
        self.sets = [one for one in self.sets if one.n]
        if not self.sets:
            raise InputError("; ".join(self.notes))
        n, positives = self.n, sum(one.positives for one in self.sets)
        same = len(np.unique(np.concatenate([one.labels for one in self.sets]))) == 1
        if self.rule.graded or (self.rule.ordinal and not same):
            return
        if positives in (0, n):
            raise InputError(
                f"label {self.rule.label!r}: {positives:,} of {n:,} labelled records are positive "
                f"(above {self.rule.positive_above:g}); expected some of both kinds. Another limit "
                "is set by --positive-above"
            )


def _named(source: Any) -> list[tuple[Any, str]]:
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


def _open(
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


def _cluster(record: Record, number: int) -> str:
    """Equal for records of one group, in whichever set; a record without group is alone."""
    return f"i{number}:{record.id}" if record.group is None else f"g{record.group}"
