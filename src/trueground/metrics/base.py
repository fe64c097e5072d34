"""What a metric is: a declaration, and arithmetic from texts and verdicts to one value an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueground.components.specs import ComponentSpec
from trueground.errors import ProtocolError, UsageError
from trueground.metrics.batch import CODES, Column, Counts, Floats, Options, check_column
from trueground.metrics.context import BatchContext, ClaimCheck
from trueground.text.normalize import NORMALIZERS
from trueground.text.refusal import REFUSAL_RULES
from trueground.types import ComparisonRequest, RatingRequest, Status

Compute = Callable[[BatchContext, Options], Column]


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
LEXICAL = {"normalizer": MetricOption("squad", NORMALIZERS), "lang": MetricOption("en")}
# answer: only the part of a response that answers, for replies that give their reasons too.
READ = {"read": MetricOption("whole", ("whole", "answer"))}
FAITHEVAL_SOURCE = "Ming et al. 2024 (FaithEval), section 4"


@dataclass(frozen=True)
class Metric:
    """A metric's declaration.

    `needs` are record fields; where one is absent the item is `missing_field`; `needs_by` tells
    them from the options, where these change them. `compute` gets the context of a batch and the
    options, all of them present. Of what is asked for it, each from its options: `checks` are the
    claim checks that it reads (`BatchContext.checks`). `rating_requests` gives what a rater is
    asked of each item, `rubric` the rubric and what the rater is shown. `comparison_requests` gives
    what the model `comparer`, `NAME:MODEL(option=value)`, is asked of each item. Requests are None
    for items that are not asked about. A metric asks nobody: an evaluation collects the requests of
    all metrics, and gives the answers with the batch. `prepare` raises where an optional install or
    data is absent. `source` says where the definition stands.

    Of a whole run: `totals` gives hits and units of each item, both of shape (n,), units 0 where
    nothing counts; hits over units of all items is the micro value. `harmonic` names two metrics,
    of whose means the run's mean is the harmonic mean. `details` gives, from the
    options, the function that returns what else the evidence of an item should hold; where several
    metrics have the same function, the first of them holds it.
    """

    name: str
    family: str
    needs: tuple[str, ...]
    compute: Compute
    doc: str
    source: str
    options: Mapping[str, MetricOption] = field(default_factory=dict)
    checks: Callable[[Options], tuple[ClaimCheck, ...]] = lambda _options: ()
    rubric: Callable[[Options], tuple[str, str]] | None = None
    rating_requests: Callable[[BatchContext, Options], list[RatingRequest | None]] | None = None
    comparer: Callable[[Options], str] | None = None
    comparison_requests: (
        Callable[[BatchContext, Options], list[ComparisonRequest | None]] | None
    ) = None
    prepare: Callable[[Options], None] = lambda _options: None
    needs_by: Callable[[Options], tuple[str, ...]] | None = None
    totals: Callable[[BatchContext, Options], tuple[Floats, Floats]] | None = None
    harmonic: tuple[str, str] | None = None
    details: Callable[[Options], Callable[[BatchContext, int], dict[str, Any]]] | None = None
    extra: str | None = None
    in_default_set: bool = True
    higher_is_better: bool = True
    version: int | str = 1


def counted(
    name: str,
    needs: tuple[str, ...],
    counts: Callable[[BatchContext, Options], Counts],
    doc: str,
    source: str,
    options: Mapping[str, MetricOption],
    **rest: Any,
) -> Metric:
    """A citation metric whose value is hits over units, with a micro value over a run."""
    return Metric(
        name,
        "citations",
        needs,
        lambda context, o: counts(context, o).column,
        doc,
        source,
        options,
        totals=lambda context, o: counts(context, o).totals,
        **rest,
    )


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

    @property
    def checks(self) -> tuple[ClaimCheck, ...]:
        """The claim checks that it reads under these options."""
        return self.metric.checks(self.options)

    @property
    def comparer(self) -> str | None:
        """The model that compares for it under these options; None where none does."""
        return self.metric.comparer(self.options) if self.metric.comparer else None

    def column(self, context: BatchContext) -> Column:
        """Values and statuses of a batch; a missing field wins over what was computed."""
        column = self._compute(context.of_judge(self.judge))
        present = np.ones(len(context.batch), np.bool_)
        for need in self.needs:
            present &= context.batch.has(need)
        missing = np.uint8(CODES[Status.MISSING_FIELD])
        return Column(
            np.where(present, column.values, np.nan),
            np.where(present, column.status, missing),
            column.notes,
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
    without_claims = column.status == CODES[Status.NO_CLAIMS]
    covered = context.abstained & ((column.status == 0) | without_claims)
    if policy == "exclude":
        value, status = np.nan, Status.ABSTAINED
    else:
        value, status = float(policy == "one"), Status.SCORED
    return replace(
        column,
        values=np.where(covered, value, column.values),
        status=np.where(covered, np.uint8(CODES[status]), column.status),
    )
