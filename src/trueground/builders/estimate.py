"""What a build would ask, without a call: for each stage its calls, their tokens, the price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueground.builders.asking.ask import Ask, AskedModel
from trueground.builders.base import BatchStage, BuildPlan, CallEstimate, ItemStage, Size
from trueground.builders.manifest import names_of
from trueground.builders.stages.accounts import do_whole, read_source
from trueground.builders.stages.flow import known, stage_key
from trueground.builders.stages.worklog import known_outcomes
from trueground.models.base import CHARACTERS_PER_TOKEN
from trueground.models.pricing import Prices, price_of


@dataclass(frozen=True)
class Expected:
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
    stages: Sequence[Expected]


@dataclass
class _Items:
    """The items that are known without a call, and how many more there will be at most."""

    items: list[Any]
    unknown: float = 0.0


def estimate(
    plan: BuildPlan,
    folder: Path,
    models: Mapping[str, AskedModel],
    prices: Prices | None,
    limit: int | None = None,
) -> BuildEstimate:
    """Count what the folder does not hold yet, as if no further item fell. Reads only.

    What the response cache holds is not taken off. InputError: a source that cannot be read.
    """
    items, _, _ = read_source(plan.source, limit)
    count = len(items)
    tokens = sum(map(plan.tokens, items)) / count if count else 0.0
    ask, names = Ask(models, None), names_of(plan, models)
    there, done = _Items(items), 0
    expected: list[Expected] = []
    for stage in plan.stages:
        if isinstance(stage, BatchStage):
            there = _through_whole(stage, there)
            continue
        left, there, found = _through(stage, there, ask, folder)
        done += found
        expected += [
            _expected(stage.name, call, tokens, left, names[call.role], prices)
            for call in stage.calls
            if call.role in names
        ]
    return BuildEstimate(count, done, expected)


def _through_whole(stage: BatchStage[Any, Any], items: _Items) -> _Items:
    """With items unknown nobody can say what it keeps: all of them count."""
    if items.unknown:
        return _Items([], (len(items.items) + items.unknown) * stage.fan_out)
    return _Items(do_whole(stage, items.items)[0])


def _through(stage: ItemStage, items: _Items, ask: Ask, folder: Path) -> tuple[_Items, _Items, int]:
    """(items that the stage must still work on, what comes out, outcomes that are there)."""
    keys = [stage_key(stage, ask, item) for item in items.items]
    made = known(stage, known_outcomes(folder, stage.name), keys)
    waiting = [item for key, item in zip(keys, items.items, strict=True) if key not in made]
    left = _Items(waiting, items.unknown)
    out = _Items([one for key in keys if key in made for one in made[key].kept])
    out.unknown = (len(waiting) + items.unknown) * stage.fan_out
    return left, out, len(made)


def _expected(
    stage: str,
    call: CallEstimate,
    source: float,
    left: _Items,
    name: str,
    prices: Prices | None,
) -> Expected:
    """`source` is the mean number of tokens of a source item."""
    known = left.items if call.applies is None else [one for one in left.items if call.applies(one)]
    some = (len(known) + left.unknown) * _size(call.calls, source)
    calls = round(some if call.most is None else min(some, call.most))
    size = _size(call.tokens_in, source)
    if call.prompt is not None:
        size += len(call.prompt.system + call.prompt.user) / CHARACTERS_PER_TOKEN
    tokens_in, tokens_out = round(calls * size), round(calls * _size(call.tokens_out, source))
    usd = None if prices is None else price_of(name, prices).cost(tokens_in, tokens_out)
    return Expected(stage, call.role, name, calls, tokens_in, tokens_out, usd)


def _size(size: Size, source: float) -> float:
    return size(source) if callable(size) else size
