"""What a finished evaluation gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from trueground.components.specs import keys_named, split_key
from trueground.errors import UsageError, unknown_name
from trueground.evaluate.plan import ABSTAINED
from trueground.metrics.grounding import ANSWER_VERDICTS
from trueground.options import (
    Option,
    ValueRejectedError,
    declare,
    parse_value,
    split_pair,
)

if TYPE_CHECKING:
    import polars as pl

    from trueground.runs.worst import Texts, WorstItem


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

    @property
    def corrected(self) -> Mapping[str, Mapping[str, Any]]:
        """Metric → the rate that people would give, by their labels (docs/rates.md)."""
        found: Mapping[str, Mapping[str, Any]] = self.raw.get("corrected") or {}
        return found

    def __getitem__(self, name: str) -> MetricSummary:
        from trueground.metrics.registry import own_name

        theirs = own_name(name)  # as other tools call it
        near = keys_named(name, self._metrics) or keys_named(theirs, self._metrics)
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


@dataclass(frozen=True, repr=False)
class Result:
    """A scored file: `summary` by metric, `items` as a data frame, `path` of the run directory.

    `path` is None where no output folder was asked for. `lines` are those of items.jsonl, or the
    file that holds them. `note` is what the user should know beside the numbers. `texts` are
    questions and answers, where they lie in no folder.
    """

    summary: Summary
    path: Path | None
    lines: bytes | Path
    note: str | None = None
    texts: Sequence[tuple[str | None, str | None]] = ()

    def worst(self, n: int = 20) -> pl.DataFrame:
        """The `n` worst items: `id`, `question`, `response`, `verdict`, `score`, and lists of
        `unsupported` claims with their `reasons`.

        Worst are those called not grounded, then partly; in each the lowest `support`. Without
        verdicts it is the first metric that tells of grounding.
        `question` and `response` are null where no records are kept.
        """
        import polars as pl

        from trueground.runs.worst import COLUMNS

        text, texts = pl.String, pl.List(pl.String)
        types = (text, text, text, text, pl.Float64, texts, texts)
        return pl.DataFrame(
            self.worst_items(n), dict(zip(COLUMNS, types, strict=True)), orient="row"
        )

    def worst_items(self, n: int = 20) -> list[WorstItem]:
        """The same as tuples with names."""
        from trueground.runs.worst import worst_items

        return worst_items(self._lines, self._texts, n)

    def write_csv(self, path: str | Path) -> None:
        """Write all items, the worst first, as CSV: `rank` (1 is the worst) and what `worst` has.

        Several claims and reasons stand on lines of their own in their cell. The file is replaced
        as a whole. Raises WriteError.
        """
        from trueground.runs.worst import write_worst_csv

        write_worst_csv(Path(path), self._lines, self._texts)

    def _texts(self) -> Iterator[Texts]:
        """Questions and answers of the items, in their order."""
        from trueground.runs.worst import Texts, read_texts

        if self.path is not None:
            yield from read_texts(self.path)
        else:
            yield from (Texts(*pair) for pair in self.texts)
            yield from repeat(Texts())

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


_MOST_NAMED = 3  # metrics that one message names
_GATE_FORM = "METRIC=NUMBER, as in k_precision=0.8, or VERDICT=SHARE, as in grounded=0.5"
_GATE_LIMIT = declare("limit", float, 0.0, Option(None))


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

    @property
    def is_share(self) -> bool:
        """Whether the gate is about a verdict of answers."""
        return self.metric in ANSWER_VERDICTS

    @property
    def higher_is_better(self) -> bool | None:
        """Which way is better; None where that is not known."""
        from trueground.metrics.registry import higher_is_better

        return self.metric == "grounded" if self.is_share else higher_is_better(self.metric)

    def value_in(self, summary: Summary) -> float | None:
        """The mean, or the share, that a run has; None where nothing was scored."""
        if not self.is_share:
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


def parse_gate(text: str, *, ceiling: bool = False) -> Gate:
    """`k_precision(abstain=zero)=0.8` or `grounded=0.5` → Gate. Raises UsageError."""
    from trueground.evaluate.plan import macro_key, micro_key
    from trueground.metrics.registry import METRICS, parse_spec

    option = f"--fail-{'over' if ceiling else 'under'}"
    name, number = split_pair(option, text, _GATE_FORM, last=True)
    try:
        limit = parse_value(_GATE_LIMIT, number)
    except ValueRejectedError:
        raise UsageError(f"{option} {text!r} cannot be read; write {_GATE_FORM}") from None
    if name in ANSWER_VERDICTS:
        if not 0 <= limit <= 1:
            raise UsageError(
                f"{option} {text!r}: a share of answers lies between 0 and 1; 0.5 is 50 %"
            )
        return Gate(name, limit, ceiling)
    _, plain, judge = split_key(name)
    macro = macro_key(plain)
    # A metric's own name comes first, then that of a micro value.
    micro = macro != plain and split_key(plain).name not in METRICS.load()
    spec = parse_spec(macro if micro else plain)
    written = split_key(macro if micro else plain).name
    label = f"@{judge.rstrip()}" if judge else ""
    return Gate(
        (micro_key(spec.key) if micro else spec.key) + label,
        limit,
        ceiling,
        written if written != spec.metric.name else None,
    )


def judge_gates(
    summary: Summary, gates: Sequence[Gate], min_coverage: float, *, chosen: bool = True
) -> GateOutcome:
    """A gate whose metric has no mean fails: what was not measured was not reached.

    Where metrics were not `chosen` by name, a run that only tells whether answers decline counts as
    one in which nothing could be scored, unless its records say what can be answered.
    """
    from trueground.metrics.registry import metric_of_key

    messages = []
    for gate in gates:
        mean = gate.value_in(summary)
        wanted = f"{'at most ' if gate.ceiling else ''}{gate.limit:g} wanted"
        if mean is None:
            what = "no answer that could be judged" if gate.is_share else "no scored item"
            messages.append(f"gate failed: {gate.metric} has {what}, {wanted}")
        elif mean > gate.limit if gate.ceiling else mean < gate.limit:
            of = " (share of answers)" if gate.is_share else ""
            messages.append(f"gate failed: {gate.metric} is {mean:.4f}{of}, {wanted}")
    failed = bool(messages)
    messages += [
        f"note: this gate reads {gate.written} as {gate.metric}" for gate in gates if gate.written
    ]
    messages += [
        f"note: {'higher' if gate.ceiling else 'lower'} is better for {gate.metric}; this gate is "
        f"a {'ceiling' if gate.ceiling else 'floor'}"
        for gate in gates
        if gate.higher_is_better is gate.ceiling
    ]
    scored = {name for name, m in summary.items() if m.scored}
    if scored == {ABSTAINED} and not chosen and summary.raw["abstention"] is None:
        why = (summary.raw.get("missing") or "").partition(":")[0]  # the warning had the rest
        messages.append(
            f"nothing could be scored but whether answers decline{': ' * bool(why)}{why}. If that "
            f"is all you want, name it: --metrics {ABSTAINED}"
        )
        return GateOutcome(failed, True, tuple(messages))
    if not scored:
        reasons = []
        for name, m in summary.items():
            metric = metric_of_key(name)
            needs = ""
            if metric is not None and metric.default_needs and "missing_field" in m.unscored:
                needs = f" (it needs {', '.join(metric.default_needs)})"
            why = ", ".join(f"{n:,} {status}" for status, n in m.unscored.items())
            reasons.append(f"{name}: {why}{needs}")
        messages.append(f"nothing could be scored; {'; '.join(reasons[:_MOST_NAMED])}")
        return GateOutcome(failed, True, tuple(messages))
    short = {name: m.coverage for name, m in summary.items() if m.coverage < min_coverage}
    if short:
        (name, coverage), *rest = sorted(short.items(), key=lambda one: one[1])
        told = [f"{name} was scored for {coverage:.1%} of the items"]
        told += [f"{name} for {coverage:.1%}" for name, coverage in rest[: _MOST_NAMED - 1]]
        more = len(short) - len(told)
        told += [f"{more} more metric{'' if more == 1 else 's'} for too few"] * bool(more)
        messages.append(f"coverage too low: {', '.join(told)}, {min_coverage:.1%} wanted")
    return GateOutcome(failed, bool(short), tuple(messages))
