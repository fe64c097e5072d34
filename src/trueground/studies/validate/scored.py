"""Scores of labelled sets: computed here, or read from a finished run."""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any, Protocol

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.evaluate.scorer import Scored
from trueground.evaluate.stream import Stream
from trueground.evaluate.work import Progress
from trueground.metrics.column import STATUSES
from trueground.runs.directory import ITEMS, RECORDS
from trueground.studies.finished import FinishedRun
from trueground.studies.labelled.sets import LabelledSet, LabelledSets
from trueground.studies.scores import read_scores
from trueground.types import Record

Floats = NDArray[np.float64]
Evidence = Mapping[str, Any]


class Lines(Protocol):
    """Lines of items.jsonl that can be asked for by row."""

    def read(self, rows: Sequence[int]) -> dict[int, Evidence]:
        """The evidence of these rows, by row."""
        ...

    def close(self) -> None:
        """Give back what the lines take."""
        ...


@dataclass
class ScoredSet:
    """A set with the scores of its labelled records, all of shape (n,), by metric.

    `scores` are NaN where `status` (codes of STATUSES) is not 0, scored. `lines` has the evidence.
    """

    set: LabelledSet
    scores: dict[str, Floats]
    status: dict[str, NDArray[np.uint8]]
    lines: Lines

    def unscored(self, metric: str) -> dict[str, int]:
        """How many records have no score, by status."""
        codes = np.bincount(self.status[metric], minlength=len(STATUSES)).tolist()
        return {STATUSES[i].value: count for i, count in enumerate(codes) if i and count}


class KeptLines:
    """Lines of items, packed, in a temporary file; a block of them is unpacked when asked for."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._starts: list[int] = []
        self._places: list[tuple[int, int]] = []
        self._n = 0

    def append(self, lines: bytes, n: int) -> None:
        """Add n lines."""
        packed = zstandard.ZstdCompressor(level=1).compress(lines)
        self._starts.append(self._n)
        self._places.append((self._file.tell(), len(packed)))
        self._file.write(packed)
        self._n += n

    def read(self, rows: Sequence[int]) -> dict[int, Evidence]:
        """The evidence of these rows, by row."""
        by_block: dict[int, list[int]] = {}
        for row in sorted(set(rows)):
            by_block.setdefault(bisect_right(self._starts, row) - 1, []).append(row)
        found: dict[int, Evidence] = {}
        for block, wanted in by_block.items():
            place, size = self._places[block]
            self._file.seek(place)
            lines = zstandard.ZstdDecompressor().decompress(self._file.read(size)).splitlines()
            for row in wanted:
                found[row] = _evidence(lines[row - self._starts[block]])
        self._file.seek(0, 2)
        return found

    def close(self) -> None:
        """Give the temporary file back."""
        self._file.close()


@dataclass
class RunLines:
    """The same of a finished run; `rows` are the numbers of the labelled records in its items."""

    run: FinishedRun
    rows: NDArray[np.int64]

    def read(self, rows: Sequence[int]) -> dict[int, Evidence]:
        """The evidence of these rows, by row."""
        wanted = {int(self.rows[row]): row for row in rows}
        found: dict[int, Evidence] = {}
        if not wanted:
            return found
        with (self.run.path / ITEMS).open("rb") as lines:
            for number, line in enumerate(islice(lines, max(wanted) + 1)):
                if number in wanted:
                    found[wanted[number]] = _evidence(line)
        return found

    def close(self) -> None:
        """The file is the run's."""


@dataclass
class _Gathered:
    """Columns of one set while they come in."""

    set: LabelledSet
    lines: KeptLines = field(default_factory=KeptLines)
    values: list[Floats] = field(default_factory=list)
    status: list[NDArray[np.uint8]] = field(default_factory=list)
    n: int = 0

    def add(self, scored: Scored, width: int) -> None:
        self.values.append(scored.values[:, :width])
        self.status.append(scored.status[:, :width])
        self.lines.append(scored.items, scored.n)
        self.n += scored.n

    def done(self, keys: Sequence[str]) -> ScoredSet:
        values, status = np.concatenate(self.values), np.concatenate(self.status)
        return ScoredSet(
            self.set,
            {key: np.ascontiguousarray(values[:, i]) for i, key in enumerate(keys)},
            {key: np.ascontiguousarray(status[:, i]) for i, key in enumerate(keys)},
            self.lines,
        )


def score_sets(
    sets: LabelledSets,
    chosen: Sequence[LabelledSet],
    stream: Stream,
    workers: int | None,
    progress: Progress,
) -> Iterator[ScoredSet]:
    """Score the labelled records of these sets, all in one stream of batches.

    Only labelled records are scored: nothing is paid for the others.
    """
    total, done = sum(one.n for one in chosen), 0
    scored = stream.scored(_records(sets, chosen), total, workers)
    for one in chosen:
        gathered = _Gathered(one)
        while gathered.n < one.n:
            part = next(scored)
            gathered.add(part, len(stream.keys))
            done += part.n
            progress("score", done, total)
        yield gathered.done(stream.keys)


def _records(sets: LabelledSets, chosen: Sequence[LabelledSet]) -> Iterator[list[Record]]:
    for one in chosen:
        for batch in sets.batches(one):
            if batch:
                yield [record for record, _ in batch]


def read_run(sets: LabelledSets, one: LabelledSet, keys: Sequence[str]) -> ScoredSet:
    """The scores that a finished run has. InputError: its records are not those of its items."""
    run = one.run
    if run is None:
        raise InputError(f"{one.path}: no finished run; its records are to be scored")
    found = read_scores(run, keys)
    ids, kept = sets.mask(one)
    if not np.array_equal(found.ids[: len(ids)], ids):
        raise InputError(
            f"{run.path / RECORDS}: the ids are not those of {ITEMS}; run again, or name the "
            "file of records instead of the run"
        )
    rows = np.flatnonzero(kept)
    return ScoredSet(
        one,
        {key: found.values[rows, i] for i, key in enumerate(keys)},
        {key: found.status[rows, i] for i, key in enumerate(keys)},
        RunLines(run, rows),
    )


class _Line(msgspec.Struct):
    evidence: dict[str, Any] = {}


_decode = msgspec.json.Decoder(_Line).decode


def _evidence(line: bytes) -> Evidence:
    return _decode(line).evidence
