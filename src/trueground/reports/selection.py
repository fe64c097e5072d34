"""The numbers of a run's items, and which items a page shows."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from trueground.metrics import METRICS
from trueground.runs import Gaps, RunFiles
from trueground.stats import sum_counts

_BLOCK = 4096
_LARGEST = float(np.finfo(np.float32).max)
_MAX_MEMORY_BYTES = 1_000_000  # of a column; a larger one is on disk


class Numbers(Mapping[str, NDArray[np.float32]]):
    """Metric → its scores, shape (count,), NaN where an item has none.

    Each column is in a temporary file and is read on access, so that only one column needs to be
    in memory.
    """

    def __init__(self) -> None:
        self.count = 0
        self.lines = array("q")  # 0-based lines of items.jsonl, filled if some are left out
        self._files: dict[str, IO[bytes]] = {}

    def append(self, block: Sequence[Mapping[str, float | None]]) -> None:
        """Add the scores of some items, in their order."""
        for name in set().union(*block) - self._files.keys():
            self._files[name] = tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES)  # noqa: SIM115
            self._files[name].write(np.full(self.count, np.nan, np.float32).tobytes())
        for name, file in self._files.items():
            scores = [item_scores.get(name) for item_scores in block]
            column = [np.nan if score is None else score for score in scores]
            file.write(short_numbers(np.array(column)).tobytes())
        self.count += len(block)

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        file = self._files[name]
        file.seek(0)
        return np.frombuffer(file.read(), np.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for file in self._files.values():
            file.close()


def short_numbers(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the values as 32-bit floats, clipped to their range."""
    return values.clip(-_LARGEST, _LARGEST).astype(np.float32)


@dataclass(frozen=True)
class Selection:
    """The items on a page.

    Attributes:
        rows: Their 0-based line numbers in ascending order, shape (n,).
        total: The number of items of the run.
        worst: How many are selected for their value of `metric`. The others are sampled.
        metric: The metric of the worst items.
        seed: The seed of the sample.
    """

    rows: NDArray[np.int64]
    total: int
    worst: int
    metric: str | None
    seed: int

    def statement(self) -> str | None:
        """Return which items are listed; None if all are."""
        n_listed = len(self.rows)
        if n_listed == self.total:
            return None
        method = f"a seeded sample ({n_listed - self.worst:,}, seed {self.seed})"
        if self.worst:
            method += f" plus the worst by {self.metric} ({self.worst:,})"
        return f"{n_listed:,} of {self.total:,} items: {method}."


def read_numbers(run: RunFiles, gaps: Gaps | None = None) -> Numbers:
    """Read the scores of every line of items.jsonl; the caller closes the result.

    Args:
        run: The run.
        gaps: Counts lines that aren't items, which are left out. None: they raise an error.

    Raises:
        InputError: A line isn't an item.
    """
    with ExitStack() as stack:
        numbers = stack.enter_context(Numbers())
        if gaps is None:
            scores = (item.scores for item in run.iter_scores())
        else:
            scores = _readable_scores(run, gaps, numbers.lines)
        while block := list(islice(scores, _BLOCK)):
            numbers.append(block)
        stack.pop_all()  # keeps the files open for the caller
    return numbers


def _readable_scores(
    run: RunFiles, gaps: Gaps, lines: array[int]
) -> Generator[dict[str, float | None]]:
    for row, item, _ in run.iter_answers(gaps):
        lines.append(row)
        yield item.scores


def choose_items(
    values: NDArray[np.float32] | None, total: int, *, metric: str | None, limit: int, seed: int
) -> Selection:
    """Select all items, or a sample for half of `limit` and the worst items for the other half.

    The worst items have the lowest values, or the highest if lower is better for the metric. If
    not enough items are scored, the sample is larger. Ties keep the input order.

    Args:
        values: The scores of the metric, shape (total,), NaN if an item has none.
        total: The number of items.
        metric: The metric of the values.
        limit: The most items to select.
        seed: The seed of the sample.
    """
    if total <= limit:
        return Selection(np.arange(total), total, 0, metric, seed)
    shuffled = np.random.default_rng(seed).permutation(total)
    taken = np.zeros(total, dtype=bool)
    taken[shuffled[: limit // 2]] = True
    worst = np.empty(0, dtype=np.int64)
    if values is not None:
        lower = metric is not None and METRICS.higher_is_better(metric) is False
        order = np.argsort(-values if lower else values, kind="stable")  # NaN is last
        free = ~np.isnan(values[order]) & ~taken[order]
        worst = order[free][: limit - limit // 2]
        taken[worst] = True
    rest = shuffled[~taken[shuffled]]
    taken[rest[: limit - sum_counts(taken)]] = True
    return Selection(np.flatnonzero(taken), total, len(worst), metric, seed)
