"""Scores of records, batch by batch, for studies that draw their own conclusions from them.

Nothing is written and nothing summarised: no folder, no page, no bootstrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trueground.evaluate.mapper import choose_workers, map_batches
from trueground.evaluate.parts import Parts
from trueground.evaluate.plan import Plan, make_plan
from trueground.evaluate.scorer import Scored
from trueground.evaluate.scoring import make_job
from trueground.evaluate.work import small_batches
from trueground.metrics.base import Spec
from trueground.types import Record


@dataclass(frozen=True)
class Stream:
    """Metrics and who supplies them; `scored` works records off."""

    plan: Plan

    @property
    def keys(self) -> list[str]:
        """Names of the metrics: the first columns of `Scored.values`, in this order."""
        return self.plan.keys

    @property
    def signatures(self) -> dict[str, str]:
        """What fixes each metric's value."""
        return self.plan.signatures

    @property
    def judges(self) -> list[str]:
        """Signatures of the judges that are asked; none where no metric reads verdicts."""
        return [judge.signature for judge in self.plan.parts.judges] if self.plan.checks else []

    @property
    def decomposer(self) -> str | None:
        """Signature of who splits answers into claims; None where nobody does."""
        claims = any(check.splits for check in self.plan.checks)
        return self.plan.parts.decomposer.signature if claims else None

    def scored(
        self, batches: Iterator[list[Record]], n: int, workers: int | None
    ) -> Iterator[Scored]:
        """Each batch in turn; batches of several sources may follow one another.

        `n` records are expected, which decides on processes where `workers` is None. Where a
        language model is asked, batches are cut smaller; none ever joins two. Raises
        UnreachableError, WorkerError.
        """
        job = make_job(self.plan)
        if self.plan.parts.spent is not None:
            batches = small_batches(batches)
        yield from map_batches(self.plan, batches, choose_workers(workers, n) if job else 1, job)


def make_stream(
    fields: Sequence[str], metrics: str | Sequence[str | Spec] | None, parts: Parts
) -> Stream:
    """Read the names. `fields` are the record fields that occur anywhere.

    Raises UsageError; MissingExtraError and InputError for what a metric needs.
    """
    plan = make_plan(fields, metrics, parts, keep_records=False)
    for spec in plan.specs:
        spec.metric.prepare(spec.options)
    return Stream(plan)
