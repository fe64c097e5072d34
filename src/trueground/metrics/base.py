"""What a metric is: a declaration, and arithmetic from evidence to one value per item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.types import Status

if TYPE_CHECKING:
    from trueground.metrics.evidence import Evidence

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

STATUSES = tuple(Status)
CODES = {status: code for code, status in enumerate(STATUSES)}
Options = Mapping[str, str]


@dataclass
class Column:
    """One metric over a batch: `values` (n,) are NaN exactly where `status` (n,) is not scored."""

    values: Floats
    status: NDArray[np.uint8]

    @classmethod
    def of(cls, values: NDArray[np.floating] | NDArray[np.integer] | Mask) -> Column:
        """A column in which every item is scored."""
        return cls(np.asarray(values, np.float64), np.zeros(len(values), np.uint8))

    def without(self, mask: Mask, status: Status) -> Column:
        """The same, but the masked items get this status; an earlier status stays."""
        mask = mask & (self.status == 0)
        code = np.uint8(CODES[status])
        return Column(np.where(mask, np.nan, self.values), np.where(mask, code, self.status))

    def replaced(self, mask: Mask, value: float) -> Column:
        """The same, but the masked items that are scored get this value."""
        return Column(np.where(mask & (self.status == 0), value, self.values), self.status)


@dataclass(frozen=True)
class Option:
    """One option of a metric: what it is without a word, and what may be said instead."""

    default: str
    allowed: tuple[str, ...] = ()  # empty: any word

    def check(self, metric: str, name: str, value: str) -> str:
        """The value, or a UsageError that lists the allowed ones."""
        if self.allowed and value not in self.allowed:
            raise UsageError(
                f"{metric}: {name}={value!r} is not one of {', '.join(self.allowed)}; "
                f"leave it out for {self.default!r}"
            )
        return value


@dataclass(frozen=True)
class Metric:
    """A metric's declaration.

    `needs` are record fields; where one is absent the item is `missing_field`. `compute` gets the
    evidence of a batch and the options, all of them present. `checks` tells which claim checks it
    reads (see `Evidence.checks`), from its options; `prepare` raises where an optional install or
    data is absent. `source` says where the definition stands.
    """

    name: str
    family: str
    needs: tuple[str, ...]
    compute: Callable[[Evidence, Options], Column]
    doc: str
    source: str
    options: Mapping[str, Option] = field(default_factory=dict)
    checks: Callable[[Options], tuple[str, ...]] = lambda _options: ()
    prepare: Callable[[Options], None] = lambda _options: None
    extra: str | None = None
    in_default_set: bool = True
    higher_is_better: bool = True
    version: int = 1


@dataclass(frozen=True)
class Spec:
    """A metric with its options fixed. `key` names it in every output."""

    metric: Metric
    options: Options
    key: str

    @property
    def signature(self) -> str:
        """Everything that fixes the value, sacrebleu style: `f1|v:1|normalizer:squad|lang:en`."""
        parts = [self.metric.name, f"v:{self.metric.version}"]
        return "|".join(parts + [f"{name}:{value}" for name, value in self.options.items()])

    def column(self, evidence: Evidence) -> Column:
        """Values and statuses of a batch; a missing field wins over what was computed."""
        column = self.metric.compute(evidence, self.options)
        present = np.ones(len(evidence.batch), np.bool_)
        for need in self.metric.needs:
            present &= evidence.batch.has(need)
        missing = np.uint8(CODES[Status.MISSING_FIELD])
        return Column(
            np.where(present, column.values, np.nan), np.where(present, column.status, missing)
        )


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
    changed = [f"{n}={v}" for n, v in options.items() if v != metric.options[n].default]
    key = f"{metric.name}({','.join(changed)})" if changed else metric.name
    return Spec(metric, options, key)
