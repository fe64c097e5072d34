"""Answers to what metrics ask of a rater or of comparers, as an evaluation gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trueground.metrics.base import Spec
from trueground.metrics.batch import Batch, Column
from trueground.metrics.context import BatchContext, Role
from trueground.types import Comparison, ComparisonRequest, Rating, RatingRequest, Record

Rate = Callable[[Sequence[RatingRequest]], list[Rating]]
Compare = Callable[[str, Sequence[ComparisonRequest]], list[Comparison]]


def rated_column(spec: Spec, records: Sequence[Record], rate: Rate) -> Column:
    """The metric's column; every different request is rated once."""
    context = BatchContext(Batch.of(records))
    assert spec.rating is not None
    different = list(dict.fromkeys(spec.rating.list_requests(context)))
    if different:
        answers = zip(different, rate(different), strict=True)
        context.results.answers[Role.rater()].update(answers)
    return spec.column(context)


def compared_columns(
    specs: Sequence[Spec], records: Sequence[Record], compare: Compare
) -> list[Column]:
    """The metrics' columns; every different request is answered once by each comparer."""
    context = BatchContext(Batch.of(records))
    for spec in specs:
        assert spec.comparer is not None
        (query,) = spec.queries
        known = context.results.answers[Role.comparer(spec.comparer)]
        requests = query.list_requests(context)
        different = list(dict.fromkeys(r for r in requests if r not in known))
        if different:
            known.update(zip(different, compare(spec.comparer, different), strict=True))
    return [spec.column(context) for spec in specs]
