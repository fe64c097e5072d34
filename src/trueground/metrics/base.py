"""What a metric is: a declaration, and arithmetic from evidence to one value per item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueground.errors import UsageError
from trueground.metrics.column import CODES, Column, Floats, Options
from trueground.metrics.evidence import BatchContext
from trueground.plugins import write
from trueground.text.refusal import REFUSAL_RULES
from trueground.types import Status

Compute = Callable[[BatchContext, Options], Column]


@dataclass(frozen=True)
class Option:
    """One option of a metric: what it is without a word, and what may be said instead."""

    default: str
    allowed: tuple[str, ...] = ()  # empty: any word

    def check(self, metric: str, name: str, value: str) -> str:
        """The value, or a UsageError that lists the allowed ones."""
        if value.lower() in self.allowed:
            return value.lower()
        if self.allowed and value not in self.allowed:
            raise UsageError(
                f"{metric}: {name}={value!r} is not one of {', '.join(self.allowed)}; "
                f"leave it out for {self.default!r}"
            )
        return value


@dataclass(frozen=True)
class Metric:
    """A metric's declaration.

    `needs` are record fields; where one is absent the item is `missing_field`; `needs_by` tells
    them from the options, where these change them. `compute` gets the
    evidence of a batch and the options, all of them present. `checks` tells which claim checks it
    reads (see `Evidence.checks`), from its options; `rubric` the rubric by which it asks a rater,
    and what the rater is shown (see `Evidence.ratings`); `comparer` which model
    compares the response with other texts, as `NAME:MODEL(option=value)` (see
    `Evidence.comparisons`); `prepare` raises where an optional install or data is absent. `source`
    says where the definition stands.

    Of a whole run: `totals` gives hits and units of each item, both of shape (n,), units 0 where
    nothing counts; hits over units of all items is the micro value. `harmonic` names two metrics,
    of whose means the run's mean is the harmonic mean. `tells` is what else the evidence of an item
    should hold; what several metrics tell alike stands at the first of them.
    """

    name: str
    family: str
    needs: tuple[str, ...]
    compute: Compute
    doc: str
    source: str
    options: Mapping[str, Option] = field(default_factory=dict)
    checks: Callable[[Options], tuple[str, ...]] = lambda _options: ()
    rubric: Callable[[Options], tuple[str, str]] | None = None
    comparer: Callable[[Options], str] | None = None
    prepare: Callable[[Options], None] = lambda _options: None
    needs_by: Callable[[Options], tuple[str, ...]] | None = None
    totals: Callable[[BatchContext, Options], tuple[Floats, Floats]] | None = None
    harmonic: tuple[str, str] | None = None
    tells: Callable[[BatchContext, int], dict[str, Any]] | None = None
    extra: str | None = None
    in_default_set: bool = True
    higher_is_better: bool = True
    version: int = 1


@dataclass(frozen=True)
class Spec:
    """A metric with its options fixed. `key` names it in every output.

    `judge` is the number of the judge whose verdicts it reads, where there are several.
    """

    metric: Metric
    options: Options
    key: str
    judge: int = 0

    @property
    def signature(self) -> str:
        """Everything that fixes the value, sacrebleu style: `f1|v:1|normalizer:squad|lang:en`."""
        parts = [self.metric.name, f"v:{self.metric.version}"]
        parts += [f"{name}:{value}" for name, value in self.options.items()]
        # Which responses decline decides their values too.
        rules = self.options.get("abstain", "as_is") != "as_is"
        return "|".join([*parts, f"rules:{REFUSAL_RULES}"] if rules else parts)

    @property
    def needs(self) -> tuple[str, ...]:
        """The record fields that it needs under these options."""
        by = self.metric.needs_by
        return self.metric.needs if by is None else by(self.options)

    def column(self, evidence: BatchContext) -> Column:
        """Values and statuses of a batch; a missing field wins over what was computed."""
        column = self.metric.compute(evidence.of_judge(self.judge), self.options)
        present = np.ones(len(evidence.batch), np.bool_)
        for need in self.needs:
            present &= evidence.batch.has(need)
        missing = np.uint8(CODES[Status.MISSING_FIELD])
        return Column(
            np.where(present, column.values, np.nan),
            np.where(present, column.status, missing),
            column.notes,
        )

    def by_judge(self, number: int, label: str) -> Spec:
        """The same metric by another judge: `grounding_f1@bi-encoder`."""
        return replace(self, key=f"{self.key}@{label}", judge=number)


def make_spec(metric: Metric, given: Mapping[str, str]) -> Spec:
    """Fix a metric's options; only those that differ from the default stand in the key."""
    for name in given:
        if name not in metric.options:
            known = ", ".join(metric.options) or "none"
            raise UsageError(f"{metric.name} has no option {name!r}; it has: {known}")
    options = {
        name: option.check(metric.name, name, given.get(name, option.default))
        for name, option in metric.options.items()
    }
    changed = {n: v for n, v in options.items() if v != metric.options[n].default}
    return Spec(metric, options, write(metric.name, None, changed))
