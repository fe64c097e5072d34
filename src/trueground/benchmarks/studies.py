"""What the study of a paper shows, declared as values: a leaderboard draws it from runs.

A benchmark's `studies.py` holds a `STUDIES` value: its tables and figures, and with which runs the
paper's printed numbers can be compared. Nothing here computes values or renders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

# An option, or `task` → the values that it may have; None is "not set".
Where = Mapping[str, tuple[str | None, ...]]
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Measure:
    """A metric by its bare name, "" for the headline of each task.

    Of several spellings that with the words `prefer` is taken. `part` is (field, value): over these
    items only, as summary.json has them under `by`. `relative`: a change has a share as well.

    With `share_of`, a field, it is no metric: the share of items of which the field is true, among
    those where it is known. It is 1 in runs that `certain` fits; `number` is the paper's own, by
    the task.
    """

    metric: str = ""
    label: str = ""
    prefer: str = ""
    part: tuple[str, str] | None = None
    relative: bool = True
    share_of: str = ""
    number: str = ""
    certain: Where = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        return self.label or self.metric

    def is_certain(self, task: str | None, options: Mapping[str, Any]) -> bool:
        """Return whether the share is 1 in a run with these options, by its setting."""
        return bool(self.certain) and fits(self.certain, task, options)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A section of the page: runs that `where` fits, one table for each way of asking.

    Within a table runs differ in the model, the study's dimension and `free` options only; the
    values of `named` head it. Columns without a value of an option that is in `Studies.bound` fit
    to those that have one. `short` heads its table in the terminal, None keeps it out of there.
    `papers`: printed numbers take part. `places` are the dimension: name → which runs stand there.
    """

    id: str
    title: str
    measures: tuple[Measure, ...]
    note: str = ""
    where: Where = field(default_factory=dict)
    free: tuple[str, ...] = ()
    named: tuple[str, ...] = ("task",)
    short: str | None = None
    papers: bool = True
    places: Mapping[str, Where] = field(default_factory=dict)

    def fits(self, task: str | None, options: Mapping[str, Any]) -> bool:
        """Return whether a run with this task and these options belongs to the study."""
        return fits(self.where, task, options)

    def list_places(self, settings: Iterable[tuple[str | None, Mapping[str, Any]]]) -> list[str]:
        """Return the places of the dimension in order.

        Args:
            settings: Task and options of every run that may belong to the study.
        """
        return list(self.places)

    def place_of(self, task: str | None, options: Mapping[str, Any]) -> str | None:
        """Return the first place that a run fits. None if it fits no place."""
        for place, where in self.places.items():
            if fits(where, task, options):
                return place
        return None

    def moved_options(self) -> set[str]:
        """Return the options in which the runs of one table may differ."""
        moved = set(self.free)
        for where in self.places.values():
            moved |= set(where)
        return moved

    def heading_of(self, task: str | None, options: Mapping[str, Any]) -> list[str]:
        """Return the values of `named`, of which the heading of a table consists."""
        return [value_of(name, task, options) or "" for name in self.named]


@dataclass(frozen=True, kw_only=True)
class Sweep(Study):
    """Measures by the option `by`, one line for each model. `first`: only the first measure there.

    Values that are no numbers stand in `order`; `falling` starts with the highest number.
    """

    by: str
    order: tuple[str, ...] = ()
    falling: bool = False
    first: bool = False

    def list_places(self, settings: Iterable[tuple[str | None, Mapping[str, Any]]]) -> list[str]:
        """Return the values of `by`: numbers by size, those of `order`, others."""
        values = {self.place_of(task, options) for task, options in settings}
        return sorted((value for value in values if value is not None), key=self._sort_key)

    def place_of(self, task: str | None, options: Mapping[str, Any]) -> str | None:
        """Return the value of `by`."""
        return value_of(self.by, task, options)

    def moved_options(self) -> set[str]:
        """Return `by` and the free options."""
        return {self.by, *self.free}

    def _sort_key(self, value: str) -> tuple[bool, float, str]:
        if value not in self.order and _NUMBER.fullmatch(value):
            return False, float(value) * (-1 if self.falling else 1), value
        rank = self.order.index(value) if value in self.order else len(self.order)
        return True, rank, value


@dataclass(frozen=True, kw_only=True)
class Pivot(Study):
    """Models by measures, task by task, for models with at least `least` of them.

    `gains` are pairs of labels: the second measure minus the first.
    """

    gains: tuple[tuple[str, str], ...] = ()
    least: int = 1


@dataclass(frozen=True, kw_only=True)
class Scatter(Study):
    """Two measures of one model against each other; `across` is the place of the horizontal one.

    Two `places` are there where they come from two runs. `declining`: both are rates of
    declining, the first where nothing can be answered, so that precision, recall and F1 follow.
    `sizes`: each measure against the model's size instead.
    """

    across: int = 0
    declining: bool = False
    sizes: bool = False


@dataclass(frozen=True, kw_only=True)
class Delta(Study):
    """Measures at several places, and their changes step by step.

    `lost`: a relative change is the share lost, (before - after) / before, else its negative.
    `ranks`: models are ranked at both ends of the one step. `sizes`: the share lost is drawn
    against the model's size too. `baseline`: models may be set against one of them.
    """

    steps: tuple[tuple[str, str], ...]
    lost: bool = False
    ranks: bool = False
    sizes: bool = False
    baseline: bool = False


@dataclass(frozen=True, kw_only=True)
class Mean(Study):
    """The mean of one measure over all `places`; of each organization the best model."""


@dataclass(frozen=True)
class PaperJudge:
    """Which model gave a paper's verdicts (`judge`) or ratings (`rater`), on these metrics."""

    metrics: tuple[str, ...]
    part: str
    model: str
    words: str


@dataclass(frozen=True)
class PaperCode:
    """A headline that starts so and lacks these words is not the paper's own; `words` say why."""

    metric: str
    lacking: str
    words: str


@dataclass(frozen=True)
class Studies:
    """What is known of a paper's runs. `tasks` are in the paper's order.

    `comparable` (task, options of the runs, options of a printed number) says whether the two can
    be compared; `printed` says in words what was published. `any_metric`: other metrics than the
    headline are compared too. `ignored` are options of metrics, `own` options that go with the
    tested model, `in_prompt` one that is part of the prompt, `bound` those whose absence says
    nothing, `original` names the task to which an original belongs, and `skips` is one that leaves
    questions out before the limit where it is "skip". `alike` (words → of options) must be the same
    in all runs of a column. Where options are `unlike_paper`, {option: (value, why)}, printed
    numbers stand apart.
    """

    studies: tuple[Study, ...] = ()
    tasks: tuple[str, ...] = ()
    comparable: Callable[[str, Mapping[str, Any], Mapping[str, Any]], bool] = lambda *_: False
    printed: str = ""
    any_metric: bool = False
    ignored: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    in_prompt: str = ""
    bound: frozenset[str] = frozenset()
    original: str = ""
    skips: str = ""
    alike: Mapping[str, Callable[[Mapping[str, Any]], str]] = field(default_factory=dict)
    judges: tuple[PaperJudge, ...] = ()
    code: PaperCode | None = None
    unlike_paper: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def fits(where: Where, task: str | None, options: Mapping[str, Any]) -> bool:
    """Whether a run's task and options have the values."""
    return all(value_of(name, task, options) in values for name, values in where.items())


def value_of(name: str, task: str | None, options: Mapping[str, Any]) -> str | None:
    """The task, or an option as text; None where it is not set."""
    value = task if name == "task" else options.get(name)
    return None if value is None else str(value)
