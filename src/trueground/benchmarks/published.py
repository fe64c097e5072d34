"""A paper's own numbers, as they stand in `published.json` beside its benchmark."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from trueground.benchmarks.base import Value


class PublishedScore(msgspec.Struct, frozen=True):
    """One printed number, a fraction of 1.

    `model` is its name in the models table, `printed` how the paper writes it there. `dataset` is
    None for the average. `options` are the task's options where they are not the default ones.
    """

    model: str
    task: str
    metric: str
    value: float
    dataset: str | None = None
    options: dict[str, Value] = {}
    printed: str | None = None


class PublishedRank(msgspec.Struct, frozen=True):
    """One printed row of ranks; 1 is the best. `difference` is printed too: original - new."""

    model: str
    task: str
    original: int
    new: int
    difference: int
    printed: str | None = None


class PublishedTable(msgspec.Struct, frozen=True):
    """One table, or the numbers of the running text (`text`); `place` says where it stands."""

    id: str
    place: str
    source: str
    scores: tuple[PublishedScore, ...] = ()
    ranks: tuple[PublishedRank, ...] = ()


class _File(msgspec.Struct):
    source: str
    tables: dict[str, str]
    scores: dict[str, tuple[PublishedScore, ...]]
    ranks: dict[str, tuple[PublishedRank, ...]]


@cache
def published(benchmark: str) -> tuple[PublishedTable, ...]:
    """The paper's tables, in its order; empty where nothing was published for the benchmark."""
    file = files("trueground.benchmarks") / benchmark / "published.json"
    if not file.is_file():
        return ()
    found = msgspec.json.decode(file.read_bytes(), type=_File)
    return tuple(
        PublishedTable(
            name, place, found.source, found.scores.get(name, ()), found.ranks.get(name, ())
        )
        for name, place in found.tables.items()
    )
