"""Scores and other numbers that papers published (`published.json`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Literal

import msgspec


class PublishedScore(msgspec.Struct, frozen=True):
    """A published score of a model.

    Attributes:
        model: The name in the models table.
        task: The task, or "" if the paper doesn't say which.
        metric: The metric.
        value: The score from 0 to 1, or a rating from 1 to 5.
        dataset: The dataset. None: the average.
        options: The options of the task that differ from the defaults.
        by: The subset of items, such as {"meta.popularity": "high"}. Empty: all items.
        printed: The name of the model as the paper prints it.
        sd: The standard deviation over runs, on the scale of `value`.
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
    """A published degradation rate: (baseline - model) / baseline, a fraction of 1."""

    model: str
    baseline: str
    task: str
    metric: str
    value: float


class PublishedRank(msgspec.Struct, frozen=True):
    """A published pair of ranks; 1 is the best. `difference` is original - new, as printed."""

    model: str
    task: str
    original: int
    new: int
    difference: int
    printed: str | None = None


class PublishedCorrelation(msgspec.Struct, frozen=True):
    """A published correlation of a metric with human labels over items, from -1 to 1.

    `judge` is the model behind a judged metric. `printed` is the name that the paper prints.
    """

    metric: str
    spearman: float
    kendall: float
    judge: str | None = None
    printed: str | None = None


class PublishedDistribution(msgspec.Struct, frozen=True):
    """A metric's values over the items with the human label `label`; fractions of 1."""

    metric: str
    label: int
    mean: float
    median: float
    sd: float
    judge: str | None = None
    printed: str | None = None


class PublishedNumber(msgspec.Struct, frozen=True):
    """A published number that isn't a model's score, such as a count or an agreement.

    Attributes:
        name: The name of the number.
        value: The number. Shares and relative changes are fractions of 1.
        unit: The unit of the value.
        of: The base of a share.
        task: The task. "": all tasks.
        of_label: The human label, if the number is an agreement with human labels.
    """

    name: str
    value: float
    unit: Literal["share", "count", "mean", "coefficient", "relative"]
    of: str = ""
    task: str = ""
    of_label: str = ""


class PublishedTable(msgspec.Struct, frozen=True):
    """A table of a paper, or the numbers of its running text (`text`).

    `place` is its location in the paper, such as "Table 2". `of_label` is the human label that the
    whole table is about, under its name in records.
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
            is_comparable: Whether to return scores with these options.
        """
        by_model: dict[str, list[PublishedScore]] = {}
        for score in self.scores:
            if score.task == task and is_comparable(score.options):
                by_model.setdefault(score.model, []).append(score)
        return by_model


def read_published(package: str) -> tuple[PublishedTable, ...]:
    """Return the tables of a package's `published.json`, or an empty tuple without one."""
    file = files(package) / "published.json"
    if not file.is_file():
        return ()
    content = msgspec.json.decode(file.read_bytes())
    source = content["source"]
    sections = [name for name in PublishedTable.__struct_fields__ if name in content]
    sections.remove("source")
    tables = []
    for id_, location in content["tables"].items():
        table = {"id": id_, "place": location, "source": source}
        for name in sections:
            if id_ in content[name]:
                table[name] = content[name][id_]
        tables.append(msgspec.convert(table, PublishedTable))
    return tuple(tables)
