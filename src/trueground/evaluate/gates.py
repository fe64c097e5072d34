"""Gates for continuous integration: limits of means, and a coverage to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.errors import UsageError
from trueground.evaluate.result import Summary
from trueground.plugins import bare_name, split_key


@dataclass(frozen=True)
class Gate:
    """The mean of `metric` must not be below `limit`, or not above it where it is a `ceiling`."""

    metric: str
    limit: float
    ceiling: bool = False

    @property
    def wanted(self) -> str:
        """What the mean must be."""
        return f"{'at most ' if self.ceiling else ''}{self.limit:g} wanted"

    def holds(self, mean: float) -> bool:
        """Whether this mean passes; on the limit it does."""
        return mean <= self.limit if self.ceiling else mean >= self.limit


@dataclass(frozen=True)
class GateOutcome:
    """What the gates say; `messages` tell why. Uncovered is also a run that scored nothing."""

    failed: bool
    uncovered: bool
    messages: tuple[str, ...]


def parse_gate(text: str, *, ceiling: bool = False) -> Gate:
    """`k_precision(abstain=zero)=0.8` → Gate. Raises UsageError."""
    from trueground.evaluate.run_level import macro_key, micro_key
    from trueground.metrics.registry import all_metrics, parse_spec

    name, equals, number = text.rpartition("=")
    try:
        if not equals or not name:
            raise ValueError
        limit = float(number)
        if limit != limit:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--fail-{'over' if ceiling else 'under'} {text!r} cannot be read; "
            "write METRIC=NUMBER, as in k_precision=0.8"
        ) from None
    _, plain, judge = split_key(name)
    macro = macro_key(plain)
    # A metric's own name comes first, then that of a micro value.
    micro = macro != plain and bare_name(plain) not in all_metrics()
    key = parse_spec(macro if micro else plain).key
    label = f"@{judge.rstrip()}" if judge else ""
    return Gate((micro_key(key) if micro else key) + label, limit, ceiling)


def judge_gates(summary: Summary, gates: Sequence[Gate], min_coverage: float) -> GateOutcome:
    """A gate whose metric has no mean fails: what was not measured was not reached."""
    from trueground.metrics.registry import higher_is_better

    messages = []
    for gate in gates:
        mean = summary[gate.metric].mean
        if mean is None:
            messages.append(f"gate failed: {gate.metric} has no scored item, {gate.wanted}")
        elif not gate.holds(mean):
            messages.append(f"gate failed: {gate.metric} is {mean:.4f}, {gate.wanted}")
    failed = bool(messages)
    messages += [
        f"note: {'higher' if gate.ceiling else 'lower'} is better for {gate.metric}; this gate is "
        f"a {'ceiling' if gate.ceiling else 'floor'}"
        for gate in gates
        if higher_is_better(gate.metric) is gate.ceiling
    ]
    short = {name: m.coverage for name, m in summary.items() if m.coverage < min_coverage}
    if not any(m.scored for m in summary.values()):
        reasons = [
            f"{name}: {', '.join(f'{n:,} {why}' for why, n in m.unscored.items())}"
            f"{_format_needs(name)}"
            for name, m in summary.items()
        ]
        messages.append(f"nothing could be scored; {'; '.join(reasons[:3])}")
        return GateOutcome(failed, True, tuple(messages))
    for name, coverage in short.items():
        messages.append(
            f"coverage too low: {name} was scored for {coverage:.1%} of the items, "
            f"{min_coverage:.1%} wanted"
        )
    return GateOutcome(failed, bool(short), tuple(messages))


def _format_needs(key: str) -> str:
    """The record fields that a metric needs, for what is said where it has not scored."""
    from trueground.metrics.registry import metric_of_key

    metric = metric_of_key(key)
    return f" (it needs {', '.join(metric.needs)})" if metric and metric.needs else ""
