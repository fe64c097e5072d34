"""What a build would ask, without a call: for each stage its calls, their tokens, the price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueground.builders.ask import Ask, AskedModel
from trueground.builders.base import BatchStage, BuildPlan, CallEstimate, Size
from trueground.builders.directory import WORK
from trueground.builders.flow import known_outcomes, read_source, run_batch, stage_key
from trueground.builders.manifest import model_names
from trueground.builders.store import BuildStore
from trueground.models.base import CHARACTERS_PER_TOKEN
from trueground.models.pricing import Prices, price_of

_AROUND = 150  # tokens of the lines around all that is filled in, and of answers


@dataclass(frozen=True)
class ExpectedCalls:
    """The calls of one role, or of one of `Plan.others`, in one stage.

    Tokens and calls are estimates from above, as a rule.
    """

    stage: str
    role: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    usd: float | None


@dataclass(frozen=True)
class BuildEstimate:
    """All that is expected; `items` are those of the sources, `done` outcomes that are there."""

    items: int
    done: int
    stages: Sequence[ExpectedCalls]


def estimate(
    plan: BuildPlan,
    folder: Path,
    models: Mapping[str, AskedModel],
    prices: Prices | None,
    limit: int | None = None,
) -> BuildEstimate:
    """Count what the folder does not hold yet, as if no further item were rejected. Reads only.

    What the response cache holds is not taken off. InputError: a source that cannot be read.
    """
    items, _, _ = read_source(plan.source, limit)
    count = len(items)
    source = sum(map(plan.tokens, items)) / count if count else 0.0
    ask, names = Ask(models, None), model_names(plan, models)
    more, done = 0.0, 0  # items beside `items` that nobody can know yet, at most
    expected: list[ExpectedCalls] = []
    with BuildStore(folder / WORK, read_only=True) as store:
        for stage in plan.stages:
            if isinstance(stage, BatchStage):
                if more:  # nobody can say what it keeps: all of them count
                    items, more = [], (len(items) + more) * stage.fan_out
                else:
                    items, _ = run_batch(stage, items)
                continue
            keys = [stage_key(stage, ask, item) for item in items]
            outcomes = known_outcomes(stage, store, keys)
            waiting = [one for key, one in zip(keys, items, strict=True) if key not in outcomes]
            for call in stage.calls:
                if call.role in names:
                    name = names[call.role]
                    expected.append(
                        _expected(stage.name, call, source, waiting, more, name, prices)
                    )
            done += len(outcomes)
            items = [one for key in keys if key in outcomes for one in outcomes[key].items]
            more = (len(waiting) + more) * stage.fan_out
    return BuildEstimate(count, done, expected)


def _expected(
    stage: str,
    call: CallEstimate,
    source: float,
    waiting: Sequence[Any],
    more: float,
    name: str,
    prices: Prices | None,
) -> ExpectedCalls:
    """`source` is the mean number of tokens of a source item."""
    asked = waiting if call.applies is None else [one for one in waiting if call.applies(one)]
    some = (len(asked) + more) * _size(call.calls, source)
    calls = round(some if call.most is None else min(some, call.most))
    size = _size(call.tokens_in, source)
    if call.prompt is not None:
        size += _AROUND + len(call.prompt.system + call.prompt.user) / CHARACTERS_PER_TOKEN
    tokens_in, tokens_out = round(calls * size), round(calls * _size(call.tokens_out, source))
    usd = None if prices is None else price_of(name, prices).cost(tokens_in, tokens_out)
    return ExpectedCalls(stage, call.role, name, calls, tokens_in, tokens_out, usd)


def _size(size: Size, source: float) -> float:
    return size(source) if callable(size) else size
