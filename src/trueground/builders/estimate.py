"""What a build would ask, without a call: for each stage its calls, their tokens, the price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trueground.builders.ask import Ask, Asked
from trueground.builders.base import Plan, Stage, Whole
from trueground.builders.directory import known_outcomes
from trueground.builders.flow import do_whole, read_source, stage_key
from trueground.models.pricing import Prices, price_of


@dataclass(frozen=True)
class Expected:
    """The calls of one role in one stage. Tokens and calls are estimates from above, as a rule."""

    stage: str
    role: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    usd: float | None


@dataclass(frozen=True)
class Estimated:
    """All that is expected; `items` are those of the sources, `done` outcomes that are there."""

    items: int
    done: int
    stages: Sequence[Expected]


@dataclass
class _Known:
    """The items that are known without a call, and how many more there will be at most."""

    items: list[Any]
    unknown: float = 0.0


def estimate(
    plan: Plan, folder: Path, models: Mapping[str, Asked], prices: Prices | None
) -> Estimated:
    """Count what the folder does not hold yet, as if no further item fell. Reads only.

    What the response cache holds is not taken off. InputError: a source that cannot be read.
    """
    items, _ = read_source(plan.source)
    count = len(items)
    tokens = sum(map(plan.tokens, items)) / count if count else 0.0
    ask = Ask(models, None)
    known, done = _Known(items), 0
    expected: list[Expected] = []
    for stage in plan.stages:
        if isinstance(stage, Whole):
            known = _through_whole(stage, known)
            continue
        known, found, calls = _through(stage, known, ask, folder)
        done += found
        expected += [_expected(stage, u, calls, models, prices) for u in stage.usual(tokens)]
    return Estimated(count, done, expected)


def _through_whole(stage: Whole[Any, Any], known: _Known) -> _Known:
    """With items unknown nobody can say what it keeps: all of them count."""
    if known.unknown:
        return _Known([], (len(known.items) + known.unknown) * stage.fan_out)
    return _Known(do_whole(stage, known.items)[0])


def _through(
    stage: Stage[Any, Any], known: _Known, ask: Ask, folder: Path
) -> tuple[_Known, int, float]:
    """(what comes out, outcomes that are there, items that the stage must still work on)."""
    outcomes = known_outcomes(folder, stage.name)
    decode = msgspec.json.Decoder(stage.gives).decode
    out = _Known([])
    done = 0
    for item in known.items:
        outcome = outcomes.get(stage_key(stage, ask, item))
        if outcome is None:
            out.unknown += stage.fan_out
        else:
            done += 1
            out.items += [decode(raw) for raw in outcome.kept]
    out.unknown += known.unknown * stage.fan_out
    return out, done, len(known.items) - done + known.unknown


def _expected(
    stage: Stage[Any, Any],
    usual: Any,
    items: float,
    models: Mapping[str, Asked],
    prices: Prices | None,
) -> Expected:
    calls = round(items * usual.calls) if usual.role in models else 0
    tokens_in, tokens_out = round(calls * usual.tokens_in), round(calls * usual.tokens_out)
    name = models[usual.role].model.name if usual.role in models else ""
    usd = None
    if prices is not None and name:
        usd = price_of(name, prices).cost(tokens_in, tokens_out)
    return Expected(stage.name, usual.role, name, calls, tokens_in, tokens_out, usd)
