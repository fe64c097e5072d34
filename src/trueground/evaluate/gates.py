"""Gates for continuous integration: a mean that must be reached, a coverage that must be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.errors import UsageError
from trueground.evaluate.result import Summary
from trueground.evaluate.run_level import macro_key, micro_key
from trueground.metrics.base import Spec
from trueground.metrics.registry import all_metrics, higher_is_better, parse_spec
from trueground.plugins import split_key


@dataclass(frozen=True)
class Gate:
    """The mean of `metric` must not be below `least`."""

    metric: str
    least: float


@dataclass(frozen=True)
class GateOutcome:
    """What the gates say; `messages` tell why."""

    failed: bool
    uncovered: bool
    messages: tuple[str, ...]


def parse_gate(text: str) -> Gate:
    """`k_precision(abstain=zero)=0.8` → Gate. Raises UsageError."""
    name, equals, number = text.rpartition("=")
    try:
        if not equals or not name:
            raise ValueError
        least = float(number)
        if least != least:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--fail-under {text!r} cannot be read; write METRIC=NUMBER, as in k_precision=0.8"
        ) from None
    plain, label = _by_judge(name)
    spec, micro = _read(plain)
    return Gate((micro_key(spec.key) if micro else spec.key) + label, least)


def _read(name: str) -> tuple[Spec, bool]:
    """The metric that is meant, and whether its micro value is: a metric's own name comes first."""
    plain = macro_key(name)
    micro = plain != name and name.partition("(")[0].strip() not in all_metrics()
    return parse_spec(plain if micro else name), micro


def _by_judge(name: str) -> tuple[str, str]:
    """`grounding_f1@bi-encoder` → the metric, and the rest that names another judge."""
    _, spec, judge = split_key(name)
    return spec, f"@{judge.rstrip()}" if judge else ""


def judge_gates(summary: Summary, gates: Sequence[Gate], min_coverage: float) -> GateOutcome:
    """A gate whose metric has no mean fails: what was not measured was not reached."""
    messages = []
    for gate in gates:
        mean = summary[gate.metric].mean
        if mean is None:
            messages.append(f"gate failed: {gate.metric} has no scored item, {gate.least:g} wanted")
        elif mean < gate.least:
            messages.append(f"gate failed: {gate.metric} is {mean:.4f}, {gate.least:g} wanted")
    failed = bool(messages)
    messages += [
        f"note: lower is better for {gate.metric}; this gate is a floor"
        for gate in gates
        if higher_is_better(gate.metric) is False
    ]
    short = {name: m.coverage for name, m in summary.items() if m.coverage < min_coverage}
    for name, coverage in short.items():
        messages.append(
            f"coverage too low: {name} was scored for {coverage:.1%} of the items, "
            f"{min_coverage:.1%} wanted"
        )
    return GateOutcome(failed, bool(short), tuple(messages))
