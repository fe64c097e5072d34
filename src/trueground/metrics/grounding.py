"""The strict definition of grounding: claims against contexts, gold facts against the response.

Definitions: metrics.md, "Grounding"; Lee et al. 2024, section 3. A missing verdict makes the whole
item unscored with that verdict's status; it never counts as supported, nor as unsupported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trueground.metrics.base import Metric, Option
from trueground.metrics.column import CODES, Column, Options, harmonic
from trueground.metrics.evidence import BatchContext, Checked
from trueground.metrics.options import abstain_option, apply_abstain
from trueground.types import Status, Verdict

SOURCE = "Lee et al. 2024, section 3"
_ABSTAIN = abstain_option("exclude")
_SCOPE = {"scope": Option("input", ("input", "gold"))}
# How texts are cut for the judge: windows on sentence boundaries, or as the paper's own code does.
_VARIANT = {"variant": Option("windows", ("windows", "reference-code"))}
Aggregate = Callable[[Sequence[float]], float]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; the values are not empty."""
    return sum(values) / len(values)


def _column(
    checked: list[Checked], value_of: Callable[[Verdict], float | None], how: Aggregate
) -> Column:
    values = np.full(len(checked), np.nan)
    status = np.zeros(len(checked), np.uint8)
    for i, item in enumerate(checked):
        failed = next((v.status for v in item.verdicts if v.status is not Status.SCORED), None)
        if item.failure is not None:
            status[i] = CODES[item.failure.status]
        elif not item.verdicts:
            status[i] = CODES[Status.NO_CLAIMS]
        elif failed is not None:
            status[i] = CODES[failed]
        else:
            numbers = [value_of(v) for v in item.verdicts]
            given = [n for n in numbers if n is not None]
            if len(given) < len(numbers):
                status[i] = CODES[Status.NOT_APPLICABLE]
            else:
                values[i] = how(given)
    return Column(values, status)


def _supported(verdict: Verdict) -> float | None:
    return None if verdict.supported is None else float(verdict.supported)


def _probability(verdict: Verdict) -> float | None:
    return verdict.probability


def _kind(first: str, options: Options) -> str:
    """The kind of check: `claims:input`, `facts`, `references`, `claims:gold:reference-code`."""
    parts = [first, *([options["scope"]] if "scope" in options else [])]
    if options["variant"] != "windows":
        parts.append(options["variant"])
    return ":".join(parts)


def _references(options: Options) -> tuple[str, ...]:
    return (_kind("references", options),)


def _claims(options: Options) -> tuple[str, ...]:
    return (_kind("claims", options),)


def _facts(options: Options) -> tuple[str, ...]:
    return (_kind("facts", options),)


def _both(options: Options) -> tuple[str, ...]:
    return (*_claims(options), *_facts(options))


def _precision(evidence: BatchContext, o: Options) -> Column:
    return _column(evidence.checks(*_claims(o)), _supported, mean)


def _recall(evidence: BatchContext, o: Options) -> Column:
    return _column(evidence.checks(*_facts(o)), _supported, mean)


def _f1(evidence: BatchContext, o: Options) -> Column:
    """0 without response claims, as the recall of an item may still be defined then."""
    return harmonic(_precision(evidence, o), _recall(evidence, o))


def _metric(
    name: str,
    needs: tuple[str, ...],
    compute: Callable[[BatchContext, Options], Column],
    doc: str,
    checks: Callable[[Options], tuple[str, ...]] = _claims,
    in_default_set: bool = True,
) -> Metric:
    def with_policy(evidence: BatchContext, o: Options) -> Column:
        column = compute(evidence, o)
        if o.get("scope") == "gold":
            column = column.without(~evidence.batch.has("gold_contexts"), Status.MISSING_FIELD)
        return apply_abstain(column, evidence, o)

    scoped = {} if name == "grounding_recall" else _SCOPE
    return Metric(
        name,
        "grounding",
        needs,
        with_policy,
        doc,
        SOURCE,
        {**scoped, **_VARIANT, **_ABSTAIN},
        checks,
        in_default_set=in_default_set,
    )


def _support(how: Aggregate) -> Callable[[BatchContext, Options], Column]:
    return lambda evidence, o: _column(evidence.checks(*_claims(o)), _probability, how)


def _whole(options: Options) -> tuple[str, ...]:
    return (_kind("response", options),)


def _entails(evidence: BatchContext, o: Options) -> Column:
    return _column(evidence.checks(*_whole(o)), _supported, mean)


def _stated(evidence: BatchContext, o: Options) -> Column:
    return _column(evidence.checks(*_references(o)), _probability, max)


METRICS = (
    _metric(
        "grounding_precision",
        ("contexts",),
        _precision,
        "share of the response's claims that the contexts support",
    ),
    _metric(
        "grounding_recall",
        ("gold_facts",),
        _recall,
        "share of the gold facts that the response states",
        _facts,
    ),
    _metric(
        "grounding_f1",
        ("contexts", "gold_facts"),
        _f1,
        "harmonic mean of grounding precision and recall",
        _both,
    ),
    _metric("support", ("contexts",), _support(mean), "mean probability that a claim is supported"),
    _metric("support_min", ("contexts",), _support(min), "probability of the weakest claim"),
    Metric(
        "correct_support",
        "correctness",
        ("references",),
        _stated,
        "probability that the response states a reference, the likeliest of them",
        "as support, with the references as claims",
        dict(_VARIANT),
        _references,
        in_default_set=False,
    ),
    _metric(
        "context_entails",
        ("contexts",),
        _entails,
        "whether some context entails the whole response: the earlier, looser definition",
        _whole,
        in_default_set=False,
    ),
)
