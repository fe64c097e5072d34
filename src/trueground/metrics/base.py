"""What a metric is: a declaration, and arithmetic from texts and verdicts to one value an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from trueground.components import ComponentSpec
from trueground.errors import ProtocolError, UsageError
from trueground.metrics.batch import Column, Counts, Floats, Options, check_column
from trueground.metrics.context import BatchContext, ClaimCheck, ComparisonQuery, Query, RatingQuery
from trueground.text import REFUSAL_RULES, Normalizer
from trueground.types import Status

Compute = Callable[[BatchContext, Options], Column]
Details = Callable[[BatchContext, int], dict[str, Any]]


@dataclass(frozen=True)
class MetricOption:
    """One option of a metric: its default, and what may be given instead."""

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


# Options that several metrics share.
LEXICAL = {"normalizer": MetricOption("squad", Normalizer.NAMES), "lang": MetricOption("en")}
# answer: only the part of a response that answers, for replies that give their reasons too.
READ = {"read": MetricOption("whole", ("whole", "answer"))}
FAITHEVAL_SOURCE = "Ming et al. 2024 (FaithEval), section 4"


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """What a metric needs before it can compute.

    Attributes:
        extra: The optional install of this package.
        check: Raises an error for options that exclude each other, or for what isn't installed.
    """

    extra: str | None = None
    check: Callable[[Options], None] = lambda _options: None


@dataclass(frozen=True, kw_only=True)
class Aggregation:
    """What a run has besides the mean over its items.

    Attributes:
        totals: Returns hits and units of each item, both of shape (n,), units 0 where nothing
            counts. Hits over units of all items is the micro value.
        harmonic: Two metrics. The run's mean is the harmonic mean of theirs.
    """

    totals: Callable[[BatchContext, Options], tuple[Floats, Floats]] | None = None
    harmonic: tuple[str, str] | None = None


_LABEL_OF_FAMILY = {"faithfulness": "faithful", "grounding": "faithful", "correctness": "correct"}
# The labels that metrics predict.
PREDICTED_LABELS = tuple(dict.fromkeys(_LABEL_OF_FAMILY.values()))


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric's declaration.

    A metric asks nobody. An evaluation collects the queries of all metrics, and hands the answers
    to `compute` with the batch.

    Attributes:
        name: The name in commands and outputs.
        family: correctness, faithfulness, grounding, citations, rated, abstention or other.
        doc: What it measures, in one line.
        source: Where the definition is published.
        needs: Record fields without which an item is `missing_field`; a function of the options
            if these change them.
        compute: Returns the Column of a batch from its context, and the options, all present.
        options: The options by name.
        queries: Returns what it asks of judges, the rater or a comparer.
        aggregation: What a run has besides the mean over items.
        requires: What must be installed, and which options exclude each other.
        higher_is_better: Whether more of it is better.
        version: A new one for each change of values. It is part of the signature.
    """

    name: str
    family: str
    doc: str
    source: str
    compute: Compute
    needs: tuple[str, ...] | Callable[[Options], tuple[str, ...]] = ()
    options: Mapping[str, MetricOption] = field(default_factory=dict)
    queries: Callable[[Options], tuple[Query, ...]] = lambda _options: ()
    aggregation: Aggregation = Aggregation()
    requires: Requirement = Requirement()
    higher_is_better: bool = True
    version: int | str = 1

    @property
    def predicted_label(self) -> str | None:
        """The label of people that the metric predicts. None if it predicts none.

        How much of the contexts an answer uses doesn't say whether it is faithful to them.
        """
        if not self.higher_is_better or (self.family != "correctness" and "recall" in self.name):
            return None
        return _LABEL_OF_FAMILY.get(self.family)

    @classmethod
    def counted(
        cls,
        *,
        counts: Callable[[BatchContext, Options], Counts],
        details: Callable[[Options], Details],
        **declared: Any,
    ) -> Metric:
        """Declare a citation metric: hits over units, with a micro value over a run."""

        def compute(context: BatchContext, o: Options) -> Column:
            return replace(counts(context, o).column, details=details(o))

        def totals(context: BatchContext, o: Options) -> tuple[Floats, Floats]:
            return counts(context, o).totals

        aggregation = Aggregation(totals=totals)
        return cls(family="citations", compute=compute, aggregation=aggregation, **declared)

    @classmethod
    def counted_f1(
        cls,
        *,
        parts: tuple[str, str],
        precision: Callable[[BatchContext, Options], Counts],
        recall: Callable[[BatchContext, Options], Counts],
        details: Callable[[Options], Details],
        **declared: Any,
    ) -> Metric:
        """Declare the harmonic mean of two citation metrics.

        Args:
            parts: The names of the metrics, precision first.
            precision: Counts of the first.
            recall: Counts of the second.
            details: As in `counted`.
            declared: Other fields of the metric.
        """

        def compute(context: BatchContext, o: Options) -> Column:
            column = Column.harmonic(precision(context, o).column, recall(context, o).column)
            return replace(column, details=details(o))

        aggregation = Aggregation(harmonic=parts)
        return cls(family="citations", compute=compute, aggregation=aggregation, **declared)

    @property
    def default_options(self) -> Options:
        """Every option with its default."""
        return {name: option.default for name, option in self.options.items()}

    @property
    def default_needs(self) -> tuple[str, ...]:
        """The record fields that it needs with default options."""
        return self.needs_with(self.default_options)

    def needs_with(self, options: Options) -> tuple[str, ...]:
        """The record fields that it needs with these options."""
        return self.needs(options) if callable(self.needs) else self.needs

    @property
    def is_asked(self) -> bool:
        """Whether a rater or a comparer computes it."""
        queries = self.queries(self.default_options)
        return any(not isinstance(query, ClaimCheck) for query in queries)


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
        return "|".join([*parts, f"rules:{REFUSAL_RULES.name}"] if rules else parts)

    @property
    def needs(self) -> tuple[str, ...]:
        """The record fields that it needs under these options."""
        return self.metric.needs_with(self.options)

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """What it asks under these options."""
        return self.metric.queries(self.options)

    @cached_property
    def checks(self) -> tuple[ClaimCheck, ...]:
        """The claim checks that it reads under these options."""
        return tuple(query for query in self.queries if isinstance(query, ClaimCheck))

    @property
    def rating(self) -> RatingQuery | None:
        """What it asks the rater under these options; None if it asks nothing."""
        return next((query for query in self.queries if isinstance(query, RatingQuery)), None)

    @property
    def comparer(self) -> str | None:
        """The comparer that it asks under these options; None if it asks none."""
        comparers = (q.comparer for q in self.queries if isinstance(q, ComparisonQuery))
        return next(comparers, None)

    def column(self, context: BatchContext) -> Column:
        """Values and statuses of a batch; a missing field wins over what was computed."""
        column = self._compute(context.of_judge(self.judge))
        present = np.ones(len(context.batch), np.bool_)
        for need in self.needs:
            present &= context.batch.has(need)
        missing = np.uint8(Status.MISSING_FIELD.code)
        return Column(
            np.where(present, column.values, np.nan),
            np.where(present, column.status, missing),
            column.notes,
            column.details,
        )

    def _compute(self, context: BatchContext) -> Column:
        """What the metric computes; ProtocolError if it is no Column of the batch's items."""
        metric = f"the metric {self.metric.name!r}"
        try:
            column = self.metric.compute(context, self.options)
        except ProtocolError as error:  # of `Column.of`, which does not know the metric
            raise ProtocolError(f"{metric}: {error}") from None
        check_column(metric, column, len(context.batch))
        return column

    def with_options(self, chosen: Mapping[str, str]) -> Spec:
        """The same metric with these options, the others at their defaults."""
        return make_spec(self.metric, chosen)

    def hits(self, name: str) -> Spec:
        """The hits of a metric with totals as a column; `name` is put after the key."""
        return self._total(0, name)

    def units(self, name: str) -> Spec:
        """The units of a metric with totals as a column; `name` is put after the key."""
        return self._total(1, name)

    def _total(self, which: int, name: str) -> Spec:
        totals = self.metric.aggregation.totals
        assert totals is not None

        def compute(context: BatchContext, o: Options) -> Column:
            return Column.of(totals(context, o)[which])

        metric = replace(self.metric, compute=compute, aggregation=Aggregation())
        return replace(self, metric=metric, key=f"{self.key}{name}")

    def by_judge(self, number: int, label: str) -> Spec:
        """The same metric by another judge: `grounding_f1@bi-encoder`."""
        return replace(self, key=f"{self.key}@{label}", judge=number)


def make_spec(metric: Metric, chosen: Mapping[str, str]) -> Spec:
    """Fix a metric's options; only those that differ from the default stand in the key."""
    for name in chosen:
        if name not in metric.options:
            known = ", ".join(metric.options) or "none"
            raise UsageError(f"{metric.name} has no option {name!r}; it has: {known}")
    options = {
        name: option.check(metric.name, name, chosen.get(name, option.default))
        for name, option in metric.options.items()
    }
    changed = {n: v for n, v in options.items() if v != metric.options[n].default}
    key = ComponentSpec("metric", metric.name, None, changed).written
    return Spec(metric, options, key)


def abstain_option(default: str) -> dict[str, MetricOption]:
    """The option `abstain`: what becomes of items whose response declines to answer."""
    return {"abstain": MetricOption(default, ("as_is", "exclude", "one", "zero"))}


def apply_abstain(column: Column, context: BatchContext, options: Options) -> Column:
    """Return the column under the metric's policy on responses that abstain.

    A refusal makes no claims, so the policy covers items without claims, too.
    """
    policy = options["abstain"]
    if policy == "as_is":
        return column
    without_claims = column.status == Status.NO_CLAIMS.code
    covered = context.abstained & ((column.status == 0) | without_claims)
    if policy == "exclude":
        value, status = np.nan, Status.ABSTAINED
    else:
        value, status = float(policy == "one"), Status.SCORED
    return replace(
        column,
        values=np.where(covered, value, column.values),
        status=np.where(covered, np.uint8(status.code), column.status),
    )
