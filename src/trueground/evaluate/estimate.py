"""What a run would cost, without a call: how many calls, how many tokens, at what price."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks.base import Task
from trueground.evaluate.identity import check_same, identity
from trueground.evaluate.run_settings import RunSettings, questionnaire, run_plan
from trueground.models.base import ChatModel
from trueground.models.cached import request_key
from trueground.models.estimate import estimate_tokens
from trueground.models.pricing import price_of
from trueground.net.cache import default_path, known_keys
from trueground.runs.directory import RESPONSES
from trueground.runs.responses import answered_before

# Where no limit is set, an answer is taken to be this long. FaithEval asks for a few words.
USUAL_TOKENS_OUT = 64


@dataclass(frozen=True)
class Estimate:
    """Calls and tokens of one run. `tokens_out` and `usd` are upper bounds where `bounded`."""

    items: int
    answered: int
    cached: int
    calls: int
    tokens_in: int
    tokens_out: int
    bounded: bool
    usd: float | None
    judged: bool  # language models judge or rate too, which is not counted


def estimate(task: Task, model: ChatModel, out: Path, settings: RunSettings) -> Estimate:
    """Count the calls that `out` and the cache do not spare, and estimate their tokens.

    Tokens of the input are a quarter of its characters: a rule of thumb for English. Reads only.
    Raises OutputError where `out` holds another run.
    """
    asked = questionnaire(task, settings)
    check_same(out, identity(asked, run_plan(task, settings), model.signature))
    before = answered_before(out / RESPONSES, retry_failed=settings.retry_failed)
    use_cache = settings.cache and model.cacheable
    items = answered = cached = tokens_in = 0
    with known_keys(default_path() if use_cache else None) as known:
        for call in asked.calls():
            items += 1
            if before(call.id, call.prompt):
                answered += 1
            elif known(request_key(model.signature, call.request)):
                cached += 1
            else:
                tokens_in += estimate_tokens(call.request.messages)
    calls = items - answered - cached
    limit = asked.params.max_tokens
    tokens_out = calls * (limit or USUAL_TOKENS_OUT)
    usd = None
    if settings.prices is not None:
        usd = price_of(model.name, settings.prices).cost(tokens_in, tokens_out)
    judged = settings.parts.spent is not None
    bounded = limit is not None
    return Estimate(items, answered, cached, calls, tokens_in, tokens_out, bounded, usd, judged)
