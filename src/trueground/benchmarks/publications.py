"""Numbers that a paper published (`published.json`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Literal

import msgspec


class PublishedScore(msgspec.Struct, frozen=True):
    """One printed number, a fraction of 1 (a rating stays on its scale of 1 to 5).

    `model` is its name in the models table, `printed` how the paper writes it there. `task` is ""
    where the paper does not say which. `dataset` is None for the average; `by` names the part of
    the items, as in {"meta.popularity": "high"}, and is empty for all of them. `options` are the
    task's options where they are not the default ones, `sd` the standard deviation over runs where
    one is printed, on the scale of the value.
    """

    model: str
    task: str
    metric: str
    value: float
    dataset: str | None = None
    options: dict[str, str | bool | None] = {}
    by: dict[str, str] = {}
    printed: str | None = None
    sd: float | None = None


class PublishedRate(msgspec.Struct, frozen=True):
    """One printed degradation rate: (baseline - model) / baseline, a fraction of 1."""

    model: str
    baseline: str
    task: str
    metric: str
    value: float


class PublishedRank(msgspec.Struct, frozen=True):
    """One printed row of ranks; 1 is the best. `difference` is printed too: original - new."""

    model: str
    task: str
    original: int
    new: int
    difference: int
    printed: str | None = None


class PublishedCorrelation(msgspec.Struct, frozen=True):
    """How far one metric agrees with people, item by item; coefficients from -1 to 1.

    `judge` is the model behind a judged metric, `printed` how the paper names the two.
    """

    metric: str
    spearman: float
    kendall: float
    judge: str | None = None
    printed: str | None = None


class PublishedDistribution(msgspec.Struct, frozen=True):
    """One metric's values over the items that people gave `label`; fractions of 1."""

    metric: str
    label: int
    mean: float
    median: float
    sd: float
    judge: str | None = None
    printed: str | None = None


class PublishedNumber(msgspec.Struct, frozen=True):
    """A printed number that is no model's score: a count, an agreement, a share of something.

    A share and a relative change are fractions of 1. `of` says what a share is a share of, `task`
    is "" where the number is over all tasks. `of_label` is the human label that it tells of, where
    it says how far people and a metric, or people among themselves, agree.
    """

    name: str
    value: float
    unit: Literal["share", "count", "mean", "coefficient", "relative"]
    of: str = ""
    task: str = ""
    of_label: str = ""


class PublishedTable(msgspec.Struct, frozen=True):
    """One table, or the numbers of the running text (`text`); `place` says where it stands.

    `of_label` is the human label that all of the table is about, as records have it.
    """

    id: str
    place: str
    source: str
    scores: tuple[PublishedScore, ...] = ()
    ranks: tuple[PublishedRank, ...] = ()
    rates: tuple[PublishedRate, ...] = ()
    correlations: tuple[PublishedCorrelation, ...] = ()
    distributions: tuple[PublishedDistribution, ...] = ()
    numbers: tuple[PublishedNumber, ...] = ()
    of_label: str = ""

    def scores_by_model(
        self, task: str | None, is_comparable: Callable[[Mapping[str, Any]], bool]
    ) -> dict[str, list[PublishedScore]]:
        """Return the scores of a task by model, in the order of the table.

        Args:
            task: The task.
            is_comparable: Whether scores with these options are wanted.
        """
        found: dict[str, list[PublishedScore]] = {}
        for score in self.scores:
            if score.task == task and is_comparable(score.options):
                found.setdefault(score.model, []).append(score)
        return found


def read_published(package: str) -> tuple[PublishedTable, ...]:
    """Return the tables of the paper whose benchmark is in a package. Empty without a file."""
    file = files(package) / "published.json"
    if not file.is_file():
        return ()
    found = msgspec.json.decode(file.read_bytes())
    parts = {name: found[name] for name in PublishedTable.__struct_fields__ if name in found}
    source = parts.pop("source")
    return tuple(
        msgspec.convert(
            {"id": id_, "place": place, "source": source}
            | {name: tables[id_] for name, tables in parts.items() if id_ in tables},
            PublishedTable,
        )
        for id_, place in found["tables"].items()
    )
