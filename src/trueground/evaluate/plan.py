"""What a run computes: metrics, judge, decomposer, breakdowns, seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trueground.claims import Decomposer, get_decomposer
from trueground.errors import UsageError
from trueground.judges import Judge, get_judge
from trueground.metrics.base import Spec, make_spec
from trueground.metrics.registry import default_specs, get_metric, parse_specs
from trueground.records import Check
from trueground.records.fields import is_known

ABSTAINED = "abstained"


@dataclass(frozen=True)
class Plan:
    """A run's choices. `hidden` metrics are computed for the summary but not written out."""

    specs: tuple[Spec, ...]
    judge: Judge
    decomposer: Decomposer
    by: tuple[str, ...] = ()
    seed: int = 0
    resamples: int = 2_000
    level: float = 0.95
    keep_records: bool = True
    hidden: tuple[Spec, ...] = field(init=False)

    def __post_init__(self) -> None:
        known = any(spec.key == ABSTAINED for spec in self.specs)
        hidden = () if known else (make_spec(get_metric(ABSTAINED), {}),)
        object.__setattr__(self, "hidden", hidden)

    @property
    def width(self) -> int:
        """Number of metrics that are computed, the hidden ones too."""
        return len(self.specs) + len(self.hidden)

    @property
    def abstained_at(self) -> int:
        """The column that tells which responses declined."""
        return self.keys.index(ABSTAINED) if ABSTAINED in self.keys else len(self.specs)

    @property
    def keys(self) -> list[str]:
        """Names of the metrics in the outputs."""
        return [spec.key for spec in self.specs]

    @property
    def signatures(self) -> dict[str, str]:
        """Key → signature; for judged metrics with judge and decomposer."""
        tail = f"|judge:{self.judge.signature}|claims:{self.decomposer.signature}"
        return {
            spec.key: spec.signature + (tail if spec.metric.checks(spec.options) else "")
            for spec in self.specs
        }


def make_plan(
    fields: Sequence[str],
    metrics: str | Sequence[str | Spec] | None,
    judge: str | Judge,
    decomposer: str | Decomposer,
    **rest: object,
) -> Plan:
    """Read the names. `fields` are the record fields that occur. Raises UsageError."""
    specs = default_specs(fields) if metrics is None else parse_specs(metrics)
    return Plan(
        tuple(specs),
        get_judge(judge) if isinstance(judge, str) else judge,
        get_decomposer(decomposer) if isinstance(decomposer, str) else decomposer,
        **rest,  # type: ignore[arg-type]
    )


def see_breakdowns(by: Sequence[str], check: Check) -> None:
    """Breakdowns must name something that is there. Raises UsageError."""
    for name in by:
        if not is_known(name, check.breakdowns):
            known = ", ".join(check.breakdowns) or "none"
            raise UsageError(
                f"--by {name}: no record has this field; fields to break down by: {known}"
            )
