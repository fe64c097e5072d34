"""Scores of labelled sets: computed here, or read from a finished run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from itertools import islice
from typing import IO, Any

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.evaluate.plan import Plan
from trueground.evaluate.scoring import score_batches
from trueground.metrics.column import STATUSES
from trueground.options import Progress
from trueground.runs.directory import ITEMS, RECORDS
from trueground.studies.finished import FinishedRun
from trueground.studies.labelled import LabelledSet, LabelledSets
from trueground.studies.scores import read_scores

Floats = NDArray[np.float64]


class _Evidence(msgspec.Struct):
    evidence: dict[str, Any] = {}


_decode = msgspec.json.Decoder(_Evidence).decode


@dataclass
class ScoredSet:
    """A set with the scores of its labelled records, all of shape (n,), by metric.

    `scores` are NaN where `status` (codes of STATUSES) is not 0, scored. `open_items` opens lines
    of items.jsonl, in which `places` (n,) are the numbers of the labelled records.
    """

    set: LabelledSet
    scores: dict[str, Floats]
    status: dict[str, NDArray[np.uint8]]
    places: NDArray[np.int64]
    open_items: Callable[[], IO[bytes]]

    def unscored(self, metric: str) -> dict[str, int]:
        """How many records have no score, by status."""
        codes = np.bincount(self.status[metric], minlength=len(STATUSES)).tolist()
        return {STATUSES[i].value: count for i, count in enumerate(codes) if i and count}

    def read_evidence(self, rows: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """The evidence of these rows (at least one), by row."""
        wanted = {int(self.places[row]): row for row in rows}
        with self.open_items() as items:
            return {
                wanted[number]: _decode(line).evidence
                for number, line in enumerate(islice(items, max(wanted) + 1))
                if number in wanted
            }


def score_sets(
    sets: LabelledSets,
    plan: Plan | None,
    run_keys: Mapping[int, Sequence[str]],
    workers: int | None,
    progress: Progress,
) -> Iterator[ScoredSet]:
    """The sets that are runs, with the scores that these have; then the others, newly scored.

    `run_keys` are the metrics of each run, by the number of its set. All other sets are one stream
    of batches. Only labelled records are scored: nothing is paid for the others. InputError: the
    records of a run are not those of its items.
    """
    for one in sets.sets:
        if one.run is not None:
            yield _read_run(sets, one, one.run, run_keys[one.number])
    if plan is None:
        return
    fresh = [one for one in sets.sets if one.run is None]
    total, done, keys = sum(one.n for one in fresh), 0, plan.keys
    labelled = (batch for one in fresh for batch in sets.batches(one) if batch)
    records = ([record for record, _ in batch] for batch in labelled)
    batches = score_batches(plan, records, total, workers)
    for one in fresh:
        n = 0
        values: list[Floats] = []
        status: list[NDArray[np.uint8]] = []
        with tempfile.TemporaryFile() as file:  # what is behind the scores is wanted of a few items
            with zstandard.ZstdCompressor(level=1).stream_writer(file, closefd=False) as packed:
                while n < one.n:
                    batch = next(batches)
                    values.append(batch.values[:, : len(keys)])
                    status.append(batch.status[:, : len(keys)])
                    packed.write(batch.items)
                    n += batch.n
                    done += batch.n
                    progress("score", done, total)
            yield ScoredSet(
                one,
                _columns(keys, np.concatenate(values)),
                _columns(keys, np.concatenate(status)),
                np.arange(one.n),
                partial(_unpack, file),
            )


def _unpack(file: IO[bytes]) -> IO[bytes]:
    file.seek(0)
    return BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, closefd=False))


def _read_run(
    sets: LabelledSets, one: LabelledSet, run: FinishedRun, keys: Sequence[str]
) -> ScoredSet:
    scores = read_scores(run, keys)
    ids, used = sets.mask(one)
    if not np.array_equal(scores.ids[: len(ids)], ids):
        raise InputError(
            f"{run.path / RECORDS}: the ids are not those of {ITEMS}; run again, or name the "
            "file of records instead of the run"
        )
    rows = np.flatnonzero(used)
    values, status = _columns(keys, scores.values[rows]), _columns(keys, scores.status[rows])
    return ScoredSet(one, values, status, rows, lambda: (run.path / ITEMS).open("rb"))


def _columns(keys: Sequence[str], table: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """`table` (n, metrics) by metric."""
    return {key: np.ascontiguousarray(table[:, i]) for i, key in enumerate(keys)}
