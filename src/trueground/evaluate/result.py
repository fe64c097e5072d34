"""What a finished evaluation gives back, and the gates that it must pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from trueground.errors import UsageError, unknown_name
from trueground.metrics.grounding import ANSWER_VERDICTS
from trueground.plugins import bare_name, keys_named, split_key

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class MetricSummary:
    """One metric over a run: `mean` and `ci` are None where nothing could be scored."""

    mean: float | None
    ci: tuple[float, float] | None
    ci_level: float
    n: int
    scored: int
    unscored: Mapping[str, int]

    @property
    def coverage(self) -> float:
        """Share scored among the items to which the metric applies; 1 if it applies to none."""
        applies = self.n - self.unscored.get("not_applicable", 0)
        return self.scored / applies if applies else 1.0


@dataclass(frozen=True)
class VerdictShare:
    """How many answers have a verdict, their share of all, and its interval."""

    n: int
    share: float | None
    ci: tuple[float, float] | None


class Summary(Mapping[str, MetricSummary]):
    """Metrics by name. A bare name finds its metric also where that was given with options."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self._metrics = {key: MetricSummary(**entry) for key, entry in raw["metrics"].items()}

    @property
    def verdicts(self) -> dict[str, VerdictShare] | None:
        """How many answers are grounded, partly, not, declined, unscored.

        None where no metric checked the claims of the answers against contexts.
        """
        told = self.raw.get("verdicts")
        return told and {name: VerdictShare(**told[name]) for name in ANSWER_VERDICTS}

    def __getitem__(self, name: str) -> MetricSummary:
        near = keys_named(name, self._metrics) or keys_named(_our_name(name), self._metrics)
        if len(near) != 1:
            raise KeyError(str(unknown_name("metric of this run", name, self._metrics)))
        return self._metrics[near[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)


class _Item(msgspec.Struct):
    id: str
    scores: dict[str, float | None]
    status: dict[str, str]


@dataclass(frozen=True)
class Result:
    """A scored file: `summary` by metric, `items` as a data frame, `path` of the run directory.

    `path` is None where no output folder was asked for. `lines` are those of items.jsonl, or the
    file that holds them. `note` is what the user should know beside the numbers.
    """

    summary: Summary
    path: Path | None
    lines: bytes | Path
    note: str | None = None

    def _lines(self) -> Iterator[bytes]:
        if isinstance(self.lines, bytes):
            yield from self.lines.splitlines()
            return
        with self.lines.open("rb") as file:
            yield from file

    @cached_property
    def evidence(self) -> list[dict[str, Any]]:
        """The lines of items.jsonl: id, scores, status and evidence of each item."""
        return [orjson.loads(line) for line in self._lines()]

    @cached_property
    def items(self) -> pl.DataFrame:
        """One row per item: `id`, a column per metric, and its status as `<metric>:status`.

        Numbers that only a whole run has, `…_micro`, are no columns.
        """
        import polars as pl

        decode = msgspec.json.Decoder(_Item).decode
        columns: dict[str, list[Any]] = {"id": []}
        keys: list[str] = []
        for line in self._lines():
            item = decode(line)
            if not keys:
                keys = list(item.scores)
                for key in keys:
                    columns |= {key: [], f"{key}:status": []}
            columns["id"].append(item.id)
            for key in keys:
                columns[key].append(item.scores[key])
                columns[f"{key}:status"].append(item.status[key])
        floats = dict.fromkeys(keys, pl.Float64)
        return pl.DataFrame(columns, schema_overrides=floats)


# Gates for continuous integration: a mean that must be reached, a coverage that must be kept.


@dataclass(frozen=True)
class Gate:
    """The mean of `metric` must not be below `least`."""

    metric: str
    least: float


@dataclass(frozen=True)
class GateOutcome:
    """What the gates say; `messages` tell why. Uncovered is also a run that scored nothing."""

    failed: bool
    uncovered: bool
    messages: tuple[str, ...]


def parse_gate(text: str) -> Gate:
    """`k_precision(abstain=zero)=0.8` → Gate. Raises UsageError."""
    from trueground.evaluate.run_level import macro_key, micro_key
    from trueground.metrics.registry import all_metrics, parse_spec

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
    _, plain, judge = split_key(name)
    macro = macro_key(plain)
    # A metric's own name comes first, then that of a micro value.
    micro = macro != plain and bare_name(plain) not in all_metrics()
    key = parse_spec(macro if micro else plain).key
    label = f"@{judge.rstrip()}" if judge else ""
    return Gate((micro_key(key) if micro else key) + label, least)


def judge_gates(summary: Summary, gates: Sequence[Gate], min_coverage: float) -> GateOutcome:
    """A gate whose metric has no mean fails: what was not measured was not reached."""
    from trueground.metrics.registry import higher_is_better

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


def _our_name(name: str) -> str:
    """The name of a metric that other tools call so; else the name."""
    from trueground.metrics.other_names import SAME, plain_name

    return SAME.get(plain_name(name), name)
