"""Declarations of metrics: names, options, and how a batch becomes one value per item."""

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
    """One option of a metric.

    Attributes:
        default: The value if the option isn't set.
        allowed: The possible values; empty if any text is allowed.
        doc: What the option does, in one or two sentences.
    """

    default: str
    allowed: tuple[str, ...] = ()
    doc: str = ""

    def check(self, metric: str, name: str, value: str) -> str:
        """Return the value in its canonical form. UsageError if it isn't allowed."""
        if value.lower() in self.allowed:
            return value.lower()
        if self.allowed and value not in self.allowed:
            raise UsageError(
                f"{metric}: {name}={value!r} is invalid; expected one of "
                f"{', '.join(self.allowed)} (default: {self.default})"
            )
        return value


# Options that several metrics share.
LEXICAL = {
    "normalizer": MetricOption(
        "squad", Normalizer.NAMES, "How texts are normalized before they are compared."
    ),
    "lang": MetricOption("en", doc="Language of the texts; only unicode-1 uses it."),
}
READ = {
    "read": MetricOption(
        "whole",
        ("whole", "answer"),
        "Which part of a response is read. answer: its final answer, without the reasoning.",
    )
}
FAITHEVAL_SOURCE = "Ming et al. 2024 (FaithEval), section 4"


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """What a metric needs before it can compute.

    Attributes:
        extra: The extra of this package to install, such as "hf".
        check: Raises an error if options exclude each other or a resource isn't installed.
    """

    extra: str | None = None
    check: Callable[[Options], None] = lambda _options: None


@dataclass(frozen=True, kw_only=True)
class Aggregation:
    """How the value of a run is computed, if it isn't just the mean over items.

    Attributes:
        totals: Returns hits and units of each item, both of shape (n,). Units are 0 for an item
            that doesn't count. The micro value is the sum of hits over the sum of units.
        harmonic: Names of two metrics. The value of a run is the harmonic mean of their values.
    """

    totals: Callable[[BatchContext, Options], tuple[Floats, Floats]] | None = None
    harmonic: tuple[str, str] | None = None


_LABEL_OF_FAMILY = {"faithfulness": "faithful", "grounding": "faithful", "correctness": "correct"}
# The labels that metrics predict.
PREDICTED_LABELS = tuple(dict.fromkeys(_LABEL_OF_FAMILY.values()))


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The declaration of a metric.

    A metric never calls a model. An evaluation collects the queries of all metrics, gets the
    answers, and passes them to `compute` with the batch.

    Attributes:
        name: The name in commands and outputs.
        family: correctness, faithfulness, grounding, citations, rated, abstention or other.
        doc: What it measures, in one line.
        source: Where the definition is published.
        needs: Record fields without which an item is `missing_field`; a function of the options
            if these change them.
        compute: Returns the Column of a batch. It gets the batch's context and all options.
        options: The options by name.
        queries: Returns the queries to judges, the rater or a comparer under the options.
        aggregation: How the value of a run is computed, if it isn't just the mean over items.
        requires: What must be installed, and which options exclude each other.
        higher_is_better: Whether higher values are better.
        version: Part of the signature. Change it whenever the values change.

    Example:
        >>> from trueground.metrics import Column
        >>> def compute(context, options):
        ...     return Column.of([len(response) for response in context.batch.responses])
        >>> length = tg.Metric(
        ...     name="length",
        ...     family="other",
        ...     doc="number of characters of the response",
        ...     source="",
        ...     compute=compute,
        ... )
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
        """The human label that the metric predicts, or None.

        Recall against the contexts predicts none: an answer that uses little of the contexts may
        still be faithful to them.
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
        """Declare a citation metric: hits over units, with a micro value for a run.

        Args:
            counts: Returns hits and units of each item.
            details: Returns, under the options, the function for the evidence of one item.
            declared: Other fields of the metric.
        """

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
            precision: Returns the counts of the first metric.
            recall: Returns the counts of the second metric.
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
        """Return the record fields that it needs with these options."""
        return self.needs(options) if callable(self.needs) else self.needs

    @property
    def is_asked(self) -> bool:
        """Whether a rater or a comparer computes it."""
        queries = self.queries(self.default_options)
        return any(not isinstance(query, ClaimCheck) for query in queries)


@dataclass(frozen=True)
class Spec:
    """A metric with its options.

    Attributes:
        metric: The metric.
        options: All its options.
        key: Its name in every output, with the options that differ from their defaults.
        judge: Number of the judge whose verdicts it reads.
    """

    metric: Metric
    options: Options
    key: str
    judge: int = 0

    @property
    def signature(self) -> str:
        """Name, version and options in sacrebleu style: `f1|v:1|normalizer:squad|lang:en`."""
        parts = [self.metric.name, f"v:{self.metric.version}"]
        parts += [f"{name}:{value}" for name, value in self.options.items()]
        if self.options.get("abstain", "as_is") != "as_is":
            # The values depend on which responses abstain.
            parts.append(f"rules:{REFUSAL_RULES.name}")
        return "|".join(parts)

    @property
    def needs(self) -> tuple[str, ...]:
        """The record fields that it needs under these options."""
        return self.metric.needs_with(self.options)

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """All queries under these options."""
        return self.metric.queries(self.options)

    @cached_property
    def checks(self) -> tuple[ClaimCheck, ...]:
        """The claim checks that it reads under these options."""
        return tuple(query for query in self.queries if isinstance(query, ClaimCheck))

    @property
    def rating(self) -> RatingQuery | None:
        """The query to the rater under these options; None if there is none."""
        return next((query for query in self.queries if isinstance(query, RatingQuery)), None)

    @property
    def comparer(self) -> str | None:
        """The comparer that it needs under these options; None if it needs none."""
        comparers = (q.comparer for q in self.queries if isinstance(q, ComparisonQuery))
        return next(comparers, None)

    def column(self, context: BatchContext) -> Column:
        """Return values and statuses of a batch. Items without a needed field have no value."""
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
        """Return the metric's column. ProtocolError if it isn't a Column of the batch's items."""
        metric = f"the metric {self.metric.name!r}"
        try:
            column = self.metric.compute(context, self.options)
        except ProtocolError as error:  # `Column.of` doesn't know the name of the metric.
            raise ProtocolError(f"{metric}: {error}") from None
        check_column(metric, column, len(context.batch))
        return column

    def with_options(self, chosen: Mapping[str, str]) -> Spec:
        """Return the same metric with these options and the defaults of the others."""
        return make_spec(self.metric, chosen)

    def hits(self, name: str) -> Spec:
        """Return a metric whose values are the hits. `name` is appended to the key."""
        return self._total(0, name)

    def units(self, name: str) -> Spec:
        """Return a metric whose values are the units. `name` is appended to the key."""
        return self._total(1, name)

    def _total(self, which: int, name: str) -> Spec:
        totals = self.metric.aggregation.totals
        assert totals is not None

        def compute(context: BatchContext, o: Options) -> Column:
            return Column.of(totals(context, o)[which])

        metric = replace(self.metric, compute=compute, aggregation=Aggregation())
        return replace(self, metric=metric, key=f"{self.key}{name}")

    def by_judge(self, number: int, label: str) -> Spec:
        """Return the same metric with another judge: `grounding_f1@bi-encoder`."""
        return replace(self, key=f"{self.key}@{label}", judge=number)


def make_spec(metric: Metric, chosen: Mapping[str, str]) -> Spec:
    """Return a metric with its options. The key has those that differ from their defaults."""
    for name in chosen:
        if name not in metric.options:
            supported = ", ".join(metric.options) or "none"
            raise UsageError(f"{metric.name} has no option {name!r}. Its options are: {supported}")
    options = {}
    for name, option in metric.options.items():
        options[name] = option.check(metric.name, name, chosen.get(name, option.default))
    changed = {n: v for n, v in options.items() if v != metric.options[n].default}
    key = ComponentSpec("metric", metric.name, None, changed).written
    return Spec(metric, options, key)


def abstain_option(default: str) -> dict[str, MetricOption]:
    """Return the option `abstain`, the policy for responses that abstain."""
    doc = (
        "Responses that decline to answer are scored like others (as_is), left out (exclude), or "
        "get the value 1 or 0 (one, zero)."
    )
    return {"abstain": MetricOption(default, ("as_is", "exclude", "one", "zero"), doc)}


def apply_abstain(column: Column, context: BatchContext, options: Options) -> Column:
    """Return the column under the metric's policy for responses that abstain.

    A refusal makes no claims, so the policy includes items without claims.
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
