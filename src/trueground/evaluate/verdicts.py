"""What the metrics of a plan need to know about a batch: collected, asked once, told as values.

Metrics declare requests; here they are collected, and each judge, the decomposer, the rater and
each comparer is asked once about those that differ. Nothing is asked twice, also where a batch is
scored again in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from trueground.claims import Decomposed, Decomposer
from trueground.errors import fails_alone
from trueground.evaluate.plan import Plan
from trueground.judges import ask
from trueground.judges.base import each_once
from trueground.metrics.context import (
    DECLINED,
    NO_TEXT,
    BatchContext,
    Checked,
    ClaimCheck,
    ClaimRequest,
    Results,
)
from trueground.types import ComparisonRequest, Failure, RatingRequest, Status, Verdict

T = TypeVar("T")


def decompose(
    decomposer: Decomposer, texts: Sequence[str], known: dict[str, Decomposed] | None = None
) -> list[Decomposed]:
    """The claims of each text; equal texts, and those in `known`, which takes the others, are split
    once. A text on which the decomposer fails has a Failure with the status `error`.
    """

    def lost(reason: str) -> Decomposed:
        return Failure(Status.ERROR, reason)

    who = f"the decomposer {decomposer.name!r}"
    return each_once(who, "lists of claims", decomposer.decompose, texts, lost, known)[0]


def new_results(plan: Plan) -> Results:
    """No answers yet, under a plan."""
    splitting = [check for check in plan.checks if check.splits]
    return Results(
        verdicts=[{} for _ in plan.parts.judges],
        spare=plan.spare,
        spare_claims=plan.spare.issuperset(splitting),
    )


def collect_results(plan: Plan, context: BatchContext) -> None:
    """Ask all parts of the plan what its metrics need about this batch, and is not known yet."""
    parts, results = plan.parts, context.results
    specs = (*plan.specs, *plan.hidden)
    checks = list(dict.fromkeys(check for spec in specs for check in spec.checks))
    if any(check.splits for check in checks):
        texts = _requests_of(lambda: context.texts_to_split)
        decompose(parts.decomposer, texts, results.claims)
    items: list[list[ClaimRequest] | Failure] = []
    for check in checks:
        items += _requests_of(context.requests, check)
    claims = [claim for item in items if not isinstance(item, Failure) for claim in item]
    requests = [claim.request for claim in claims if claim.request is not None]
    for judge, verdicts in zip(parts.judges, results.verdicts, strict=True):
        ask(judge, requests, verdicts)
    ratings: list[RatingRequest] = []
    comparisons: dict[str, list[ComparisonRequest]] = {}
    for spec in specs:
        if spec.metric.rating_requests:
            ratings += _requests_of(spec.metric.rating_requests, context, spec.options)
        if spec.comparer and spec.metric.comparison_requests:
            asked = _requests_of(spec.metric.comparison_requests, context, spec.options)
            comparisons.setdefault(spec.comparer, []).extend(asked)
    if ratings and parts.rater is not None:
        from trueground.judges.rating import rate

        rate(parts.rater, ratings, results.ratings)
    for name, asked in comparisons.items():
        from trueground.judges.comparing import compare

        compare(parts.comparer(name), asked, results.comparisons[name])


def _requests_of(make: Callable[..., Sequence[T | None]], *args: Any) -> list[T]:
    """The requests about items that are asked about.

    None where they cannot be made: the metric that needs them will fail for the same reason.
    """
    try:
        return [request for request in make(*args) if request is not None]
    except BaseException as error:
        if not fails_alone(error):
            raise
        return []


def check_as_json(checked: Checked, check: ClaimCheck) -> dict[str, Any]:
    """The evidence of one item as it stands in items.jsonl; empty where nothing was checked."""
    if checked.failure is not None:
        shown = checked.failure not in (NO_TEXT, DECLINED)
        return {"reason": checked.failure.reason} if shown else {}
    if not checked.claims:
        return {}
    subject, pairs = check.subject, zip(checked.claims, checked.verdicts, strict=True)
    if subject in ("facts", "references"):
        return {subject: [{"text": c.text, **_verdict_as_json(v)} for c, v in pairs]}
    if subject == "response":
        return {subject: [{"text_index": v.text, **_verdict_as_json(v)} for _, v in pairs]}
    return {
        subject: [
            {
                "text": c.text,
                "start": c.start,
                "end": c.end,
                **({"text_index": v.text} if check.splits else {"sentence": c.sentence}),
                **_verdict_as_json(v),
            }
            for c, v in pairs
        ]
    }


def _verdict_as_json(v: Verdict) -> dict[str, Any]:
    fields = {
        "supported": v.supported,
        "probability": v.probability,
        "status": v.status,
        "window": None if v.start is None else [v.start, v.end],
        "reasons": v.reasons,
    }
    more = {"kind": v.kind, "score": v.score, "reply": v.reply}
    return fields | {name: value for name, value in more.items() if value is not None}
