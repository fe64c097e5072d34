"""Metrics of grounding: claims against the contexts, gold facts against the response.

The definitions are in docs/metrics.md, "Grounding", and in Lee et al. 2024, section 3. If a
verdict is missing, the item has no score and gets the status of that verdict. A missing verdict
never counts as supported or as unsupported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

import numpy as np

from trueground.metrics.base import (
    Metric,
    MetricOption,
    abstain_option,
    apply_abstain,
)
from trueground.metrics.batch import Batch, Column, Options
from trueground.metrics.context import (
    NO_TEXT,
    BatchContext,
    Checked,
    ClaimCheck,
    ClaimRequest,
    Claims,
    claims_of,
)
from trueground.types import Claim, Failure, JudgeRequest, Status, Verdict

_SOURCE = "Lee et al. 2024, section 3"
_SCOPE = {"scope": MetricOption("input", ("input", "gold"))}
# How texts are cut for the judge: at sentence boundaries, or as the code of the paper does.
_VARIANT = {"variant": MetricOption("windows", ("windows", "reference-code"))}
Aggregate = Callable[[Sequence[float]], float]
Value = Callable[[Verdict], float | None]
_probability: Value = attrgetter("probability")


def _requests(context: BatchContext, check: ClaimCheck) -> list[list[ClaimRequest] | Failure]:
    """Return the requests of each item; a Failure if it has no contexts or no claims."""
    if check.subject in ("facts", "references"):
        return list(_requests_about_response(context.batch, check))
    return list(_requests_about_contexts(context, check))


def _requests_about_response(batch: Batch, check: ClaimCheck) -> Iterator[list[ClaimRequest]]:
    """Yield requests whether the response states each gold fact or reference."""
    all_facts = batch.gold_facts if check.subject == "facts" else batch.references
    items = zip(all_facts, batch.responses, batch.prior_turns, strict=True)
    for facts, response, question in items:
        requests = []
        for claim in claims_of(facts):
            request = JudgeRequest(claim.text, (response,), question, check.variant, "response")
            requests.append(ClaimRequest(claim, request))
        yield requests


def _requests_about_contexts(
    context: BatchContext, check: ClaimCheck
) -> Iterator[list[ClaimRequest] | Failure]:
    """Yield requests whether the contexts support each claim, or the whole response."""
    batch = context.batch
    if check.splits:
        all_claims: Sequence[Claims] = context.claims
    else:
        all_claims = [_response_as_claim(response) for response in batch.responses]
    for item, claims in enumerate(all_claims):
        numbers = batch.context_numbers(item, check.scope)
        texts = batch.texts(item, numbers)
        if not numbers:
            yield NO_TEXT
        elif isinstance(claims, Failure):
            yield claims
        else:
            requests = []
            for claim in claims:
                request = JudgeRequest(claim.text, texts, variant=check.variant)
                requests.append(ClaimRequest(claim, request, texts=numbers))
            yield requests


def _response_as_claim(response: str) -> list[Claim]:
    return [Claim(response, 0, len(response))] if response.strip() else []


def claim_check(subject: str, scope: str = "", variant: str = "") -> ClaimCheck:
    """Return a check of claims. Metrics with equal checks share verdicts.

    Args:
        subject: "claims" or "response", to be checked against the contexts, or "facts" or
            "references", to be checked against the response.
        scope: Which contexts are read: "input" or "gold".
        variant: The option `variant`, or "" for its default.
    """
    return ClaimCheck(subject, _requests, scope, variant)


def _check(subject: str) -> Callable[[Options], tuple[ClaimCheck, ...]]:
    """Return the function `queries` of a metric with one subject."""

    def checks(o: Options) -> tuple[ClaimCheck, ...]:
        variant = "" if o["variant"] == "windows" else o["variant"]
        return (claim_check(subject, o.get("scope", ""), variant),)

    return checks


_claims, _facts, _references, _response = map(_check, ("claims", "facts", "references", "response"))


def _both(o: Options) -> tuple[ClaimCheck, ...]:
    return (*_claims(o), *_facts(o))


def aggregate_verdicts(checked: list[Checked], value_of: Value, aggregate: Aggregate) -> Column:
    """Return one value per item, or the status of an item that has no value.

    Args:
        checked: The claims and verdicts of each item.
        value_of: Returns the value of a verdict. None makes the item `not_applicable`.
        aggregate: Returns the value of an item from those of its verdicts.
    """
    values = np.full(len(checked), np.nan)
    status = np.zeros(len(checked), np.uint8)
    for i, item in enumerate(checked):
        missing = item.unanswered
        if missing is not None:
            status[i] = (missing.status if isinstance(missing, Failure) else missing).code
        elif not item.verdicts:
            status[i] = Status.NO_CLAIMS.code
        else:
            verdict_values = [value_of(v) for v in item.verdicts]
            numbers = [value for value in verdict_values if value is not None]
            if len(numbers) < len(verdict_values):
                status[i] = Status.NOT_APPLICABLE.code
            else:
                values[i] = aggregate(numbers)
    return Column(values, status)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _supported(verdict: Verdict) -> float | None:
    return None if verdict.supported is None else float(verdict.supported)


def _metric(
    name: str,
    needs: tuple[str, ...],
    checks: Callable[[Options], tuple[ClaimCheck, ...]],
    doc: str,
    value_of: Value = _supported,
    aggregate: Aggregate = _mean,
) -> Metric:
    """Declare a metric of one check, or of the harmonic mean of two checks.

    The harmonic mean is 0 if the response has no claims, because recall may be defined then.
    """

    def compute(context: BatchContext, o: Options) -> Column:
        columns = [aggregate_verdicts(context.checks(c), value_of, aggregate) for c in checks(o)]
        column = Column.harmonic(*columns) if len(columns) == 2 else columns[0]
        if o.get("scope") == "gold":
            column = column.without(~context.batch.has("gold_contexts"), Status.MISSING_FIELD)
        return apply_abstain(column, context, o) if "abstain" in o else column

    correct = name == "correct_support"
    scope = {} if checks in (_facts, _references) else _SCOPE
    abstain = {} if correct else abstain_option("exclude")
    return Metric(
        name=name,
        family="correctness" if correct else "grounding",
        needs=needs,
        compute=compute,
        doc=doc,
        source="as support, with the references as claims" if correct else _SOURCE,
        options={**scope, **_VARIANT, **abstain},
        queries=checks,
    )


METRICS = (
    _metric(
        "grounding_precision",
        ("contexts",),
        _claims,
        "share of the response's claims that the contexts support (faithfulness)",
    ),
    _metric(
        "grounding_recall",
        ("gold_facts",),
        _facts,
        "share of the gold facts that the response states",
    ),
    _metric(
        "grounding_f1",
        ("contexts", "gold_facts"),
        _both,
        "harmonic mean of grounding precision and recall",
    ),
    _metric(
        "support",
        ("contexts",),
        _claims,
        "mean probability that the contexts support a claim of the response",
        _probability,
    ),
    _metric(
        "support_min",
        ("contexts",),
        _claims,
        "lowest probability that the contexts support a claim of the response",
        _probability,
        min,
    ),
    _metric(
        "correct_support",
        ("references",),
        _references,
        "probability that the response states a reference (the highest of all references)",
        _probability,
        max,
    ),
    _metric(
        "context_entails",
        ("contexts",),
        _response,
        "1 if one context entails the whole response (an earlier, looser definition)",
    ),
)
