"""Gates: limits for metrics and for shares of verdicts, as continuous integration sets them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from trueground.components import ResultKey
from trueground.errors import UsageError
from trueground.evaluate.plan import ABSTAINED
from trueground.metrics import AnswerVerdict
from trueground.options import DeclaredOption, Option, split_pair
from trueground.runs import Summary

_MOST_NAMED = 3  # metrics that one message names
_GATE_FORM = "METRIC=NUMBER, as in k_precision=0.8, or VERDICT=SHARE, as in grounded=0.5"
_GATE_LIMIT = DeclaredOption.of("limit", float, 0.0, Option(None))


# The name of a verdict and of a metric. A gate reads the metric if the run has it.
_ALSO_METRIC = "abstained"


@dataclass(frozen=True)
class Gate:
    """The mean of `metric` must not be below `limit`, or not above it where it is a `ceiling`.

    `metric` may be a verdict of answers: then it is the share of answers that have it. `written`
    is another tool's name by which the metric was asked for.
    """

    metric: str
    limit: float
    ceiling: bool = False
    written: str | None = None
    share: bool = False

    @classmethod
    def parse(cls, text: str, *, ceiling: bool = False) -> Self:
        """Parse `k_precision(abstain=zero)=0.8` or `grounded=0.5`. Raises UsageError."""
        from trueground.metrics import METRICS

        option = f"--fail-{'over' if ceiling else 'under'}"
        name, number = split_pair(option, text, _GATE_FORM, last=True)
        try:
            limit = _GATE_LIMIT.parse(number)
        except ValueError:
            raise UsageError(f"{option} {text!r} cannot be read; write {_GATE_FORM}") from None
        verdict = AnswerVerdict.FORMER_NAMES.get(name, name)
        if verdict in AnswerVerdict.NAMES and name != _ALSO_METRIC:
            if not 0 <= limit <= 1:
                raise UsageError(
                    f"{option} {text!r}: a share of answers lies between 0 and 1; 0.5 is 50 %"
                )
            return cls(verdict, limit, ceiling, None if verdict == name else name, share=True)
        _, plain, judge = ResultKey.parse(name)
        macro = METRICS.macro_key(plain)
        # A metric's own name comes first, then that of a micro value.
        micro = macro != plain and ResultKey.parse(plain).name not in METRICS.load()
        spec = METRICS.parse(macro if micro else plain)
        written = ResultKey.parse(macro if micro else plain).name
        label = f"@{judge.rstrip()}" if judge else ""
        return cls(
            (METRICS.micro_key(spec.key) if micro else spec.key) + label,
            limit,
            ceiling,
            written if written != spec.metric.name else None,
        )

    def reads_share(self, summary: Summary) -> bool:
        """Return whether the gate reads the share of a verdict, not the mean of a metric."""
        return self.share or (self.metric == _ALSO_METRIC and self.metric not in summary.metrics)

    @property
    def higher_is_better(self) -> bool | None:
        """Which way is better; None where that is not known."""
        from trueground.metrics import METRICS

        return self.metric == "grounded" if self.share else METRICS.higher_is_better(self.metric)

    def value_in(self, summary: Summary) -> float | None:
        """The mean, or the share, that a run has; None where nothing was scored."""
        if not self.reads_share(summary):
            return summary[self.metric].mean
        verdicts = summary.verdicts
        if verdicts is None or (verdicts["unscored"].share == 1 and self.metric != "unscored"):
            return None
        return verdicts[self.metric].share


@dataclass(frozen=True)
class GateOutcome:
    """What the gates say; `messages` tell why. Uncovered is also a run that scored nothing."""

    failed: bool
    uncovered: bool
    messages: tuple[str, ...]


@dataclass(frozen=True)
class Gates:
    """All gates of a run, and the share of items that each metric must have scored."""

    gates: tuple[Gate, ...] = ()
    min_coverage: float = 0.0

    @classmethod
    def parse(cls, floors: Sequence[str], ceilings: Sequence[str], min_coverage: float) -> Self:
        """Parse the texts of `--fail-under` and `--fail-over`. Raises UsageError."""
        gates = [Gate.parse(text) for text in floors]
        gates += [Gate.parse(text, ceiling=True) for text in ceilings]
        return cls(tuple(gates), min_coverage)

    @property
    def metrics(self) -> list[str]:
        """The metrics and verdicts that must be in the run."""
        return [gate.metric for gate in self.gates]

    def _describe_failures(self, summary: Summary) -> Iterator[str]:
        """Yield one line for each gate that a run fails."""
        for gate in self.gates:
            mean, is_share = gate.value_in(summary), gate.reads_share(summary)
            wanted = f"{'at most ' if gate.ceiling else ''}{gate.limit:g} wanted"
            if mean is None:
                what = "no answer that could be judged" if is_share else "no scored item"
                yield f"gate failed: {gate.metric} has {what}, {wanted}"
            elif mean > gate.limit if gate.ceiling else mean < gate.limit:
                of = " (share of answers)" if is_share else ""
                yield f"gate failed: {gate.metric} is {mean:.4f}{of}, {wanted}"

    def judge(self, summary: Summary, *, chosen: bool = True) -> GateOutcome:
        """Compare a run with the gates. A gate whose metric has no mean fails.

        Args:
            summary: The numbers of the run.
            chosen: Whether its metrics were chosen by name. If not, a run that only has whether
                answers decline counts as one in which nothing could be scored, unless its records
                say what can be answered.
        """
        gates, min_coverage = self.gates, self.min_coverage
        messages = [*self._describe_failures(summary)]
        failed = bool(messages)
        messages += [
            f"note: this gate reads {gate.written} as {gate.metric}"
            for gate in gates
            if gate.written
        ]
        messages += [
            f"note: {'higher' if gate.ceiling else 'lower'} is better for {gate.metric}; this gate "
            f"is a {'ceiling' if gate.ceiling else 'floor'}"
            for gate in gates
            if gate.higher_is_better is gate.ceiling
        ]
        scored = {name for name, m in summary.items() if m.scored}
        if scored == {ABSTAINED} and not chosen and summary.abstention is None:
            why = (summary.missing or "").partition(":")[0]  # the warning had the rest
            messages.append(
                f"nothing could be scored but whether answers decline{': ' * bool(why)}{why}. If "
                f"that is all you want, name it: --metrics {ABSTAINED}"
            )
            return GateOutcome(failed, True, tuple(messages))
        if not scored:
            messages.append(f"nothing could be scored; {_describe_unscored(summary)}")
            return GateOutcome(failed, True, tuple(messages))
        coverage = {name: entry.coverage for name, entry in summary.items()}
        low_coverage = sorted(
            (name for name in coverage if coverage[name] < min_coverage), key=coverage.__getitem__
        )
        if low_coverage:
            lowest, *others = low_coverage[:_MOST_NAMED]
            lines = [f"{lowest} was scored for {coverage[lowest]:.1%} of the items"]
            lines += [f"{name} for {coverage[name]:.1%}" for name in others]
            n_more = len(low_coverage) - len(lines)
            if n_more:
                lines.append(f"{n_more} more metric{'' if n_more == 1 else 's'} for too few")
            messages.append(f"coverage too low: {', '.join(lines)}, {min_coverage:.1%} wanted")
        return GateOutcome(failed, bool(low_coverage), tuple(messages))


def _describe_unscored(summary: Summary) -> str:
    """Return why metrics have no score, for the first of them."""
    from trueground.metrics import METRICS

    reasons = []
    for name, entry in summary.items():
        metric = METRICS.of_key(name)
        needs = ""
        if metric is not None and metric.default_needs and "missing_field" in entry.unscored:
            needs = f" (it needs {', '.join(metric.default_needs)})"
        statuses = ", ".join(f"{n:,} {status}" for status, n in entry.unscored.items())
        reasons.append(f"{name}: {statuses}{needs}")
    return "; ".join(reasons[:_MOST_NAMED])
