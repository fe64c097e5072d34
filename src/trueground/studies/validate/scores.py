"""Scores of labelled sets: computed here, or read from a finished run."""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.evaluate.stream import Stream
from trueground.evaluate.work import Progress
from trueground.metrics.column import STATUSES
from trueground.runs.directory import ITEMS, RECORDS
from trueground.studies.finished import FinishedRun
from trueground.studies.labelled import LabelledSet, LabelledSets
from trueground.studies.scores import read_scores
from trueground.types import Record

Floats = NDArray[np.float64]


class _Evidence(msgspec.Struct):
    evidence: dict[str, Any] = {}


_decode = msgspec.json.Decoder(_Evidence).decode


class PackedLines:
    """Lines of items.jsonl, packed, in a temporary file; a block is unpacked when asked for."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._starts: list[int] = []
        self._places: list[tuple[int, int]] = []

    def append(self, lines: bytes, start: int) -> None:
        """Add a block of lines, the first of which is number `start`."""
        packed = zstandard.ZstdCompressor(level=1).compress(lines)
        self._starts.append(start)
        self._places.append((self._file.tell(), len(packed)))
        self._file.write(packed)

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """These lines, with their numbers. Afterwards no more can be added."""
        by_block: dict[int, list[int]] = {}
        for row in rows:
            by_block.setdefault(bisect_right(self._starts, row) - 1, []).append(row)
        for block, wanted in by_block.items():
            place, size = self._places[block]
            self._file.seek(place)
            lines = zstandard.ZstdDecompressor().decompress(self._file.read(size)).splitlines()
            for row in wanted:
                yield row, lines[row - self._starts[block]]

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()


@dataclass
class ScoredSet:
    """A set with the scores of its labelled records, all of shape (n,), by metric.

    `scores` are NaN where `status` (codes of STATUSES) is not 0, scored. The evidence stands in
    `lines`, or in a run, whose `run_rows` are the numbers of the labelled records in its items.
    """

    set: LabelledSet
    scores: dict[str, Floats]
    status: dict[str, NDArray[np.uint8]]
    lines: PackedLines | None
    run_rows: NDArray[np.int64] | None = None

    def unscored(self, metric: str) -> dict[str, int]:
        """How many records have no score, by status."""
        codes = np.bincount(self.status[metric], minlength=len(STATUSES)).tolist()
        return {STATUSES[i].value: count for i, count in enumerate(codes) if i and count}

    def read_evidence(self, rows: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """The evidence of these rows, by row."""
        if self.lines is not None:
            return {row: _decode(line).evidence for row, line in self.lines.read(rows)}
        found: dict[int, Mapping[str, Any]] = {}
        if self.set.run is not None and self.run_rows is not None and rows:
            wanted = {int(self.run_rows[row]): row for row in rows}
            with (self.set.run.path / ITEMS).open("rb") as lines:
                for number, line in enumerate(islice(lines, max(wanted) + 1)):
                    if number in wanted:
                        found[wanted[number]] = _decode(line).evidence
        return found

    def close(self) -> None:
        """Remove what was kept of the items."""
        if self.lines is not None:
            self.lines.close()


def score_sets(
    sets: LabelledSets, stream: Stream, workers: int | None, progress: Progress
) -> Iterator[ScoredSet]:
    """Score the labelled records of all sets that are no runs, in one stream of batches.

    Only labelled records are scored: nothing is paid for the others.
    """
    fresh = [one for one in sets.sets if one.run is None]
    total, done, keys = sum(one.n for one in fresh), 0, stream.keys
    batches = stream.scored(_records(sets, fresh), total, workers)
    for one in fresh:
        lines, n = PackedLines(), 0
        values: list[Floats] = []
        status: list[NDArray[np.uint8]] = []
        while n < one.n:
            batch = next(batches)
            values.append(batch.values[:, : len(keys)])
            status.append(batch.status[:, : len(keys)])
            lines.append(batch.items, n)
            n += batch.n
            done += batch.n
            progress("score", done, total)
        yield ScoredSet(
            one,
            _columns(keys, np.concatenate(values)),
            _columns(keys, np.concatenate(status)),
            lines,
        )


def read_run(
    sets: LabelledSets, one: LabelledSet, run: FinishedRun, keys: Sequence[str]
) -> ScoredSet:
    """The scores that a finished run has. InputError: its records are not those of its items."""
    scores = read_scores(run, keys)
    ids, used = sets.mask(one)
    if not np.array_equal(scores.ids[: len(ids)], ids):
        raise InputError(
            f"{run.path / RECORDS}: the ids are not those of {ITEMS}; run again, or name the "
            "file of records instead of the run"
        )
    rows = np.flatnonzero(used)
    values, status = _columns(keys, scores.values[rows]), _columns(keys, scores.status[rows])
    return ScoredSet(one, values, status, None, rows)


def _records(sets: LabelledSets, fresh: Sequence[LabelledSet]) -> Iterator[list[Record]]:
    for one in fresh:
        for batch in sets.batches(one):
            if batch:
                yield [record for record, _ in batch]


def _columns(keys: Sequence[str], table: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """`table` (n, metrics) by metric."""
    return {key: np.ascontiguousarray(table[:, i]) for i, key in enumerate(keys)}
