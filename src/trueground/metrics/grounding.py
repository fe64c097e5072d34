"""The strict definition of grounding: claims against contexts, gold facts against the response.

Definitions: metrics.md, "Grounding"; Lee et al. 2024, section 3. A missing verdict makes the whole
item unscored with that verdict's status; it never counts as supported, nor as unsupported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import attrgetter

import numpy as np

from trueground.metrics.base import (
    Metric,
    MetricOption,
    abstain_option,
    apply_abstain,
)
from trueground.metrics.batch import Column, Options
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
# How texts are cut for the judge: windows on sentence boundaries, or as the paper's own code does.
_VARIANT = {"variant": MetricOption("windows", ("windows", "reference-code"))}
Aggregate = Callable[[Sequence[float]], float]
Value = Callable[[Verdict], float | None]
_probability: Value = attrgetter("probability")


def _requests(context: BatchContext, check: ClaimCheck) -> list[list[ClaimRequest] | Failure]:
    """Claims or whole responses against contexts, facts or references against responses."""
    batch = context.batch
    if check.subject in ("facts", "references"):
        all_facts = batch.gold_facts if check.subject == "facts" else batch.references
        return [
            [
                ClaimRequest(
                    claim,
                    JudgeRequest(claim.text, (response,), question, check.variant, "response"),
                )
                for claim in claims_of(facts)
            ]
            for facts, response, question in zip(
                all_facts, batch.responses, batch.prior_turns, strict=True
            )
        ]
    requests: list[list[ClaimRequest] | Failure] = []
    to_check: Sequence[Claims] = (
        context.claims
        if check.splits
        else [[Claim(text, 0, len(text))] if text.strip() else [] for text in batch.responses]
    )
    for i, claims in enumerate(to_check):
        numbers = batch.context_numbers(i, check.scope)
        texts, variant = batch.texts(i, numbers), check.variant
        if not numbers:
            requests.append(NO_TEXT)
        elif isinstance(claims, Failure):
            requests.append(claims)
        else:
            asked = (JudgeRequest(claim.text, texts, variant=variant) for claim in claims)
            pairs = zip(claims, asked, strict=True)
            requests.append([ClaimRequest(claim, one, texts=numbers) for claim, one in pairs])
    return requests


def claim_check(subject: str, scope: str = "", variant: str = "") -> ClaimCheck:
    """What is judged: "claims" or the "response" against the contexts of the scope, "input" or
    "gold"; "facts" or "references" against the response. Metrics with equal checks share verdicts.
    """
    return ClaimCheck(subject, _requests, scope, variant)


def _check(subject: str) -> Callable[[Options], tuple[ClaimCheck, ...]]:
    """The checks of one subject under the options `scope` and `variant`."""

    def checks(o: Options) -> tuple[ClaimCheck, ...]:
        variant = "" if o["variant"] == "windows" else o["variant"]
        return (claim_check(subject, o.get("scope", ""), variant),)

    return checks


_claims, _facts, _references, _response = map(_check, ("claims", "facts", "references", "response"))


def _both(o: Options) -> tuple[ClaimCheck, ...]:
    return (*_claims(o), *_facts(o))


def aggregate_verdicts(checked: list[Checked], value_of: Value, aggregate: Aggregate) -> Column:
    """One value an item from the values of its verdicts, or the status that says why there is none.

    A verdict whose value is None makes its item `not_applicable`.
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
            numbers = [value_of(v) for v in item.verdicts]
            known = [n for n in numbers if n is not None]
            if len(known) < len(numbers):
                status[i] = Status.NOT_APPLICABLE.code
            else:
                values[i] = aggregate(known)
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
    """Of two checks the harmonic mean: 0 without response claims, as recall may be defined then."""

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
        "share of the response's claims that the contexts support",
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
        "mean probability that a claim is supported",
        _probability,
    ),
    _metric(
        "support_min", ("contexts",), _claims, "probability of the weakest claim", _probability, min
    ),
    _metric(
        "correct_support",
        ("references",),
        _references,
        "probability that the response states a reference, the likeliest of them",
        _probability,
        max,
    ),
    _metric(
        "context_entails",
        ("contexts",),
        _response,
        "whether some context entails the whole response: the earlier, looser definition",
    ),
)
