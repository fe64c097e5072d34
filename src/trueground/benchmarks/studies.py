"""Declarations of a paper's tables and figures, from which a leaderboard is built.

A benchmark's `studies.py` defines `STUDIES`: its tables and figures, and which runs are comparable
with the paper's printed numbers. This module computes and renders nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Allowed values by option, or by `task`. None means "not set".
Where = Mapping[str, tuple[str | None, ...]]
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Measure:
    """A metric to show, or the share of items for which a field is true.

    Attributes:
        metric: The name of the metric without options. "": the headline of each task.
        label: The name to show. "": the name of the metric.
        prefer: Text that selects one of several variants of the metric.
        part: Field and value of a subset of items, as under `by` in summary.json.
        relative: Whether to show changes as a share, too.
        share_of: A field. The measure is the share of items for which it is true, among those
            for which it is known.
        number: The name of the paper's number for `share_of`, for each task.
        certain: Runs in which the share is always 1.
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
        """The label, or the name of the metric without a label."""
        return self.label or self.metric

    def is_certain(self, task: str | None, options: Mapping[str, Any]) -> bool:
        """Return whether the share is always 1 in a run with this task and these options."""
        return bool(self.certain) and fits(self.certain, task, options)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A section of the page, with one table for each combination of the other options.

    Within a table, runs differ only in the model, the level of the study, and `free` options. A
    run without an option of `Studies.bound` matches runs that have any value of it.

    Attributes:
        id: The id of the section.
        title: The title of the section.
        measures: The measures to show.
        note: An explanation below the title.
        where: The runs that belong to the study.
        free: Options in which the runs of a table may differ.
        named: Options whose values are in the heading of a table.
        short: The heading in the terminal. None: not shown in the terminal.
        papers: Whether to show printed numbers.
        levels: The levels that the study compares, such as options: name → its runs.
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
    levels: Mapping[str, Where] = field(default_factory=dict)

    def fits(self, task: str | None, options: Mapping[str, Any]) -> bool:
        """Return whether a run with this task and these options belongs to the study."""
        return fits(self.where, task, options)

    def list_levels(self, settings: Iterable[tuple[str | None, Mapping[str, Any]]]) -> list[str]:
        """Return the levels in order.

        Args:
            settings: Task and options of every run that may belong to the study.
        """
        return list(self.levels)

    def level_of(self, task: str | None, options: Mapping[str, Any]) -> str | None:
        """Return the first level that a run fits. None if it fits none."""
        for level, where in self.levels.items():
            if fits(where, task, options):
                return level
        return None

    def moved_options(self) -> set[str]:
        """Return the options in which the runs of one table may differ."""
        moved = set(self.free)
        for where in self.levels.values():
            moved |= set(where)
        return moved

    def heading_of(self, task: str | None, options: Mapping[str, Any]) -> list[str]:
        """Return the values of `named`, which make up the heading of a table."""
        return [value_of(name, task, options) or "" for name in self.named]


@dataclass(frozen=True, kw_only=True)
class Sweep(Study):
    """Measures by the values of an option, one line per model.

    Attributes:
        by: The option.
        order: The order of values that aren't numbers.
        falling: Whether to start with the highest number.
        first: Whether to draw only the first measure.
    """

    by: str
    order: tuple[str, ...] = ()
    falling: bool = False
    first: bool = False

    def list_levels(self, settings: Iterable[tuple[str | None, Mapping[str, Any]]]) -> list[str]:
        """Return the values of `by`: numbers by size, those of `order`, others."""
        values = {self.level_of(task, options) for task, options in settings}
        return sorted((value for value in values if value is not None), key=self._sort_key)

    def level_of(self, task: str | None, options: Mapping[str, Any]) -> str | None:
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
    """Table of models by measures, one for each task.

    Attributes:
        gains: Pairs of labels. Each shows the second measure minus the first.
        least: Models with fewer measures are left out.
    """

    gains: tuple[tuple[str, str], ...] = ()
    least: int = 1


@dataclass(frozen=True, kw_only=True)
class Scatter(Study):
    """Scatter plot of two measures per model.

    If the two measures come from two runs, the study has two levels.

    Attributes:
        across: The index of the measure on the horizontal axis.
        declining: Whether both measures are abstention rates, the first one for questions that
            can't be answered. Precision, recall and F1 of abstaining follow from them.
        sizes: Whether to plot each measure against the model's size instead.
    """

    across: int = 0
    declining: bool = False
    sizes: bool = False


@dataclass(frozen=True, kw_only=True)
class Delta(Study):
    """Measures at several levels, and their changes from level to level.

    Attributes:
        steps: Pairs of levels to compare.
        as_loss: Whether a relative change is the share lost, (before - after) / before. If not,
            it is the negative of that.
        ranks: Whether to rank models at both ends of the step.
        sizes: Whether to plot the share lost against the model's size, too.
        baseline: Whether models can be compared with a baseline model.
    """

    steps: tuple[tuple[str, str], ...]
    as_loss: bool = False
    ranks: bool = False
    sizes: bool = False
    baseline: bool = False


@dataclass(frozen=True, kw_only=True)
class Mean(Study):
    """Mean of a measure over all levels, for the best model of each organization."""


@dataclass(frozen=True)
class PaperJudge:
    """The model behind a paper's verdicts or ratings.

    Attributes:
        metrics: The metrics.
        part: `judge` for verdicts, `rater` for ratings.
        model: The model.
        description: A short description for warnings.
    """

    metrics: tuple[str, ...]
    part: str
    model: str
    description: str


@dataclass(frozen=True)
class PaperCode:
    """A metric for which the paper used other code than this package.

    Attributes:
        metric: The start of the metric's name.
        lacking: Text of the name that identifies the paper's code.
        reason: Why other scores aren't comparable.
    """

    metric: str
    lacking: str
    reason: str


@dataclass(frozen=True)
class Studies:
    """The tables and figures of a paper, and which runs are comparable with its numbers.

    Attributes:
        studies: The tables and figures.
        tasks: The tasks in the paper's order.
        comparable: Returns whether runs are comparable with a printed number. Its arguments are
            the task, the options of the runs, and the options of the number.
        printed: A description of what the paper published.
        any_metric: Whether to compare other metrics than the headline, too.
        ignored: Options of metrics, which don't affect the comparison.
        model_options: Options that depend on the tested model.
        in_prompt: The option that is part of the prompt.
        bound: Options whose absence doesn't matter.
        original: The option that names the task of the original question.
        skips: The option that leaves out questions before the limit if it is "skip".
        alike: Values that must be equal in all runs of a column: description → function of the
            options.
        judges: The models behind verdicts and ratings of the paper.
        code: The metric for which the paper used other code.
        unlike_paper: Options that make printed numbers incomparable: {option: (value, reason)}.
    """

    studies: tuple[Study, ...] = ()
    tasks: tuple[str, ...] = ()
    comparable: Callable[[str, Mapping[str, Any], Mapping[str, Any]], bool] = lambda *_: False
    printed: str = ""
    any_metric: bool = False
    ignored: frozenset[str] = frozenset()
    model_options: frozenset[str] = frozenset()
    in_prompt: str = ""
    bound: frozenset[str] = frozenset()
    original: str = ""
    skips: str = ""
    alike: Mapping[str, Callable[[Mapping[str, Any]], str]] = field(default_factory=dict)
    judges: tuple[PaperJudge, ...] = ()
    code: PaperCode | None = None
    unlike_paper: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def fits(where: Where, task: str | None, options: Mapping[str, Any]) -> bool:
    """Return whether a run's task and options have the allowed values."""
    return all(value_of(name, task, options) in values for name, values in where.items())


def value_of(name: str, task: str | None, options: Mapping[str, Any]) -> str | None:
    """Return an option, or the task, as text. None if it isn't set."""
    value = task if name == "task" else options.get(name)
    return None if value is None else str(value)
