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
from trueground.runs import Gaps, ItemScores, RunFiles
from trueground.stats import sum_counts

_BLOCK = 4096
_LARGEST = float(np.finfo(np.float32).max)
_IN_MEMORY = 1_000_000  # bytes of a column


class Numbers(Mapping[str, NDArray[np.float32]]):
    """Metric → its scores, shape (count,), NaN where an item has none.

    Each column lies in a temporary file and is read when it is asked for: only one of them needs
    to be in memory, however many items there are.
    """

    def __init__(self) -> None:
        self.count = 0
        self.lines = array("q")  # of items.jsonl, counted from 0, where some are left out
        self._files: dict[str, IO[bytes]] = {}

    def append(self, block: Sequence[Mapping[str, float | None]]) -> None:
        """Add the scores of some items, in their order."""
        for name in {name for scores in block for name in scores} - self._files.keys():
            self._files[name] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
            self._files[name].write(np.full(self.count, np.nan, np.float32).tobytes())
        for name, file in self._files.items():
            column = [np.nan if (v := scores.get(name)) is None else v for scores in block]
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
    """The same in 32 bits; what is too large for these is the largest that they have."""
    return values.clip(-_LARGEST, _LARGEST).astype(np.float32)


@dataclass(frozen=True)
class Selection:
    """The items on the page: `rows` are 0-based line numbers, ascending.

    `worst` of them were taken for their value of `metric`, the others by chance.
    """

    rows: NDArray[np.int64]
    total: int
    worst: int
    metric: str | None
    seed: int

    def statement(self) -> str | None:
        """What is shown and how it was chosen; None where every item is shown."""
        shown = len(self.rows)
        if shown == self.total:
            return None
        how = f"a seeded sample ({shown - self.worst:,}, seed {self.seed})"
        if self.worst:
            how += f" plus the worst by {self.metric} ({self.worst:,})"
        return f"{shown:,} of {self.total:,} items: {how}."


def read_numbers(run: RunFiles, gaps: Gaps | None = None) -> Numbers:
    """Read the scores of every line of items.jsonl; the caller closes the result.

    Raises InputError for a line that is no item; with `gaps` it is left out, and counted there.
    """
    with ExitStack() as stack:
        numbers = stack.enter_context(Numbers())
        if gaps is None:
            scores = (item.scores for item in run.iter_items(ItemScores))
        else:
            scores = _readable_scores(run, gaps, numbers.lines)
        while block := list(islice(scores, _BLOCK)):
            numbers.append(block)
        stack.pop_all()  # all went well: the files stay open for the caller
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
    """All items, or half of `limit` by chance and half with the worst `values`.

    The worst are the lowest, or the highest where less of the metric is better. Where fewer items
    are scored than wanted, chance fills the rest. Ties keep the input order.
    """
    if total <= limit:
        return Selection(np.arange(total), total, 0, metric, seed)
    shuffled = np.random.default_rng(seed).permutation(total)
    taken = np.zeros(total, dtype=bool)
    taken[shuffled[: limit // 2]] = True
    worst = np.empty(0, dtype=np.int64)
    if values is not None:
        lower = metric is not None and METRICS.higher_is_better(metric) is False
        order = np.argsort(-values if lower else values, kind="stable")  # NaN stands last
        free = ~np.isnan(values[order]) & ~taken[order]
        worst = order[free][: limit - limit // 2]
        taken[worst] = True
    rest = shuffled[~taken[shuffled]]
    taken[rest[: limit - sum_counts(taken)]] = True
    return Selection(np.flatnonzero(taken), total, len(worst), metric, seed)
