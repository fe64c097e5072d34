"""First pass over items.jsonl: the numbers alone, and which items the page shows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError

HEADLINE_ORDER = ("grounding_f1", "grounding_precision", "k_precision", "f1")


class _Scores(msgspec.Struct):
    scores: dict[str, float | None]


@dataclass(frozen=True)
class Numbers:
    """`scores[metric]` has shape (count,), NaN where an item has no score."""

    count: int
    scores: dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Selection:
    """The items on the page: `rows` are 0-based line numbers, ascending.

    `worst` of them were taken for their low value of `metric`, the others by chance.
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


def read_numbers(items: Path) -> Numbers:
    """Read the scores of every line of items.jsonl, four bytes a number.

    Raises InputError for a line that is no item.
    """
    decoder = msgspec.json.Decoder(_Scores)
    columns: dict[str, array[float]] = {}
    count = 0
    if not items.exists():
        raise InputError(f"{items}: not found. Is {items.parent} a finished run directory?")
    with items.open("rb") as lines:
        for line in lines:
            try:
                scores = decoder.decode(line).scores
            except msgspec.DecodeError as error:
                raise InputError(f"{items}, line {count + 1}: not an item ({error})") from error
            for name in scores.keys() - columns.keys():
                columns[name] = array("f", [np.nan]) * count
            for name, column in columns.items():
                value = scores.get(name)
                column.append(np.nan if value is None else value)
            count += 1
    return Numbers(count, {n: np.frombuffer(c, dtype=np.float32) for n, c in columns.items()})


def headline_metric(names: Iterable[str]) -> str | None:
    """The metric that the page puts first: the strictest one there is, else the first."""
    known = list(names)
    return next((name for name in HEADLINE_ORDER if name in known), known[0] if known else None)


def choose_items(
    values: NDArray[np.float32] | None, total: int, *, metric: str | None, limit: int, seed: int
) -> Selection:
    """All items, or half of `limit` by chance and half with the lowest `values`.

    Where fewer items are scored than wanted, chance fills the rest. Ties keep the input order.
    """
    if total <= limit:
        return Selection(np.arange(total), total, 0, metric, seed)
    shuffled = np.random.default_rng(seed).permutation(total)
    taken = np.zeros(total, dtype=bool)
    taken[shuffled[: limit // 2]] = True
    worst = np.empty(0, dtype=np.int64)
    if values is not None:
        ascending = np.argsort(values, kind="stable")
        free = ~np.isnan(values[ascending]) & ~taken[ascending]
        worst = ascending[free][: limit - limit // 2]
        taken[worst] = True
    rest = shuffled[~taken[shuffled]]
    taken[rest[: limit - int(taken.sum())]] = True
    return Selection(np.flatnonzero(taken), total, len(worst), metric, seed)
