"""The flow of items through the stages of a plan: what is done already is taken, the rest made.

In a dry run the rest is counted instead: its calls, their tokens, the price.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from trueground.errors import CoverageError, ProtocolError, UnreachableError
from trueground.models import ChatRequest, Price, PriceTable
from trueground.options import Progress
from trueground.wings.papers.builders.base import (
    CALL_FAILED,
    REASONS,
    BatchStage,
    BuildPlan,
    CallEstimate,
    ItemStage,
    LLMStage,
    Rejected,
    Size,
    SourceStep,
)
from trueground.wings.papers.builders.client import ModelClient, RoleModel
from trueground.wings.papers.builders.json_reply import schema_of
from trueground.wings.papers.builders.store import BuildStore

T = TypeVar("T")
# Part of every key: a change of what an outcome means must not meet older ones.
_VERSION = 3
_WITHOUT_MODEL = 8  # items at once where no model says how many
_SLACK = 1e-9
_FIRST = 5  # items that fail at the beginning of a stage: the rest would fare no better
_AROUND = 150  # tokens of the lines around all that a prompt is filled with, and of answers
_canonical = msgspec.json.Encoder(order="sorted").encode


@dataclass
class StageAccount:
    """How many items came into a stage and went out, what was rejected and why.

    `again` is what of it the next session tries once more; `failed` counts the items of that, and
    `left` those that other shards do.
    """

    name: str
    doc: str
    came: int
    gave: int
    reasons: Mapping[str, str]
    rejected: Sequence[Rejected] = ()
    again: Sequence[Rejected] = ()
    failed: int = 0
    left: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For summary.json; reasons by number, the most frequent first."""
        counts = Counter(one.reason for one in self.rejected)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return {
            "name": self.name,
            "doc": self.doc,
            "in": self.came,
            "out": self.gave,
            "dropped": len(self.rejected),
            "reasons": [
                {"reason": reason, "words": self.reasons[reason], "n": n} for reason, n in ordered
            ],
        }


class StageOutcome(NamedTuple):
    """What became of one item."""

    items: list[Any]
    rejected: list[Rejected]


class _StoredRejection(msgspec.Struct, omit_defaults=True):
    id: str
    reason: str
    detail: str = ""
    content: Any = None


class _StoredOutcome(msgspec.Struct, omit_defaults=True):
    items: list[msgspec.Raw] = []
    rejected: list[_StoredRejection] = []


_decode = msgspec.json.Decoder(_StoredOutcome).decode


class FailureLimit:
    """Counts items that were rejected because calls failed, in all stages of a build together."""

    def __init__(self, most: float, items: int) -> None:
        """`most` is the share of the source's `items` that may be rejected so."""
        self._most, self._items = most, items
        self._share, self._count = 0.0, 0

    def add(self, stage: str, came: int, detail: str) -> None:
        """One more item, of a stage to which so many came. CoverageError: it is too much.

        Where a stage has more items than the source, each is that much less of a share.
        """
        self._count += 1
        self._share += 1 / max(self._items, came)
        if self._share > self._most + _SLACK:
            items = "1 item" if self._count == 1 else f"{self._count:,} items"
            raise CoverageError(
                f"{items} fell because calls failed, the last in the stage {stage} ({detail}); that"
                f" is more than --max-failed {self._most:g} of all. What was made is kept, and of "
                "an earlier build all that it ended in; fix the cause and run the same command "
                "again to go on, or give --max-failed a larger share"
            )


class SourceItems(NamedTuple):
    """The items of the user's files, the account of reading them, and rows beyond the limit."""

    items: list[Any]
    account: StageAccount
    left_out: int


def read_source(source: SourceStep[Any], limit: int | None = None) -> SourceItems:
    """Read the user's files. Raises InputError.

    All rows are read and so checked. Rows after the last item of the limit aren't counted.
    """
    rows = list(source.read())
    end = len(rows)
    if limit is not None:
        places = [at for at, one in enumerate(rows) if not isinstance(one, Rejected)]
        end = places[limit] if len(places) > limit else end
    items, account = _split(source, end, rows[:end])
    return SourceItems(items, account, len(rows) - end)


def run_batch(stage: BatchStage[Any, Any], items: Sequence[Any]) -> tuple[list[Any], StageAccount]:
    """A stage that sees all items at once."""
    return _split(stage, len(items), stage.work(items))


def _split(
    stage: SourceStep[Any] | BatchStage[Any, Any], came: int, found: Iterable[Any]
) -> tuple[list[Any], StageAccount]:
    items, rejected = _parted(found)
    _check_reasons(stage.name, stage.reasons, rejected)
    _check_ids(stage.name, items)
    return items, StageAccount(stage.name, stage.doc, came, len(items), stage.reasons, rejected)


def _parted(found: Iterable[Any]) -> StageOutcome:
    outcome = StageOutcome([], [])
    for one in found:
        (outcome.rejected if isinstance(one, Rejected) else outcome.items).append(one)
    return outcome


class Flow(NamedTuple):
    """What items flow with: who is asked, where outcomes are kept, how many calls may fail."""

    client: ModelClient
    store: BuildStore
    limit: FailureLimit
    progress: Progress


async def run_plan(
    plan: BuildPlan,
    items: list[Any],
    flow: Flow,
    done: Callable[[int, str, list[Any]], None],
    shard: tuple[int, int] | None = None,
) -> tuple[list[Any], list[StageAccount]]:
    """The stages in turn: (the items left, one account a stage). `done` is told of each.

    With `shard`, (number from 0, how many), what is known of all items is taken; of the first stage
    with more to do that shard has its part, and then all that comes of it, as far as the next stage
    that must see the items of all. Raises UnreachableError where nobody is reached, CoverageError
    where too many calls fail, and WriteError; what was made is kept either way.
    """
    accounts: list[StageAccount] = []
    for number, stage in enumerate(plan.stages, start=2):
        parted = any(one.left for one in accounts)
        if not isinstance(stage, BatchStage):
            items, account = await run_stage(stage, items, flow, None if parted else shard)
        elif not parted:
            flow.progress(stage.name, 0, len(items))
            items, account = await in_daemon(partial(run_batch, stage, items))
        else:
            break
        accounts.append(account)
        done(number, stage.name, items)
    return items, accounts


async def run_stage(
    stage: ItemStage, items: Sequence[Any], flow: Flow, shard: tuple[int, int] | None = None
) -> tuple[list[Any], StageAccount]:
    """A stage that works item by item; each outcome is in the store before the next begins.

    With `shard` items of other shards are left out, unless they are done.
    """
    client, store, limit, progress = flow
    keys = [stage_key(stage, client, item) for item in items]
    outcomes = known_outcomes(stage, store, keys)
    waiting = [(key, item) for key, item in zip(keys, items, strict=True) if key not in outcomes]
    if shard is not None:
        number, of = shard
        waiting = [pair for pair in waiting if int(pair[0][:12], 16) % of == number]
    progress(stage.name, len(outcomes), len(items))
    todo = iter(waiting)
    again: dict[str, list[Rejected]] = {}

    async def work() -> None:
        for key, item in todo:
            stored, transient = await _make(stage, item, client)
            outcomes[key] = outcome = _read_outcome(stage, stored)
            if transient:
                again[key] = outcome.rejected
                said = (one.detail for one in again[key] if one.detail)
                detail = next(said, "nothing more is known")
                # Of models the client knows itself whether they can be reached.
                if not stage.roles and len(outcomes) == len(again) == min(_FIRST, len(items)):
                    raise UnreachableError(
                        f"the stage {stage.name} came to nothing for any of the first "
                        f"{len(again)} of {len(items):,} items ({detail}). See that what it asks "
                        "answers, and run the same command again"
                    )
                limit.add(stage.name, len(items), detail)
            else:
                store.put_outcome(stage.name, key, stored)
            progress(stage.name, len(outcomes), len(items))
            await asyncio.sleep(0)  # work that waits for nothing must not deafen us

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(count_workers(stage, client), len(waiting))):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # what ended the others
    done = [outcomes[key] for key in keys if key in outcomes]
    gave = [one for outcome in done for one in outcome.items]
    _check_ids(stage.name, gave)
    rejected = [one for outcome in done for one in outcome.rejected]
    reasons = {**REASONS, **stage.reasons}
    account = StageAccount(stage.name, stage.doc, len(items), len(gave), reasons, rejected)
    account.again = [one for key in keys for one in again.get(key, ())]
    account.failed = len(again)
    account.left = len(keys) - len(done)
    return gave, account


def known_outcomes(
    stage: ItemStage, store: BuildStore, keys: Iterable[str]
) -> dict[str, StageOutcome]:
    """What is done already, by key; an outcome that this version cannot read is made again."""
    stored, outcomes = store.outcomes(stage.name), {}
    for key in keys:
        if key in stored:
            with suppress(ProtocolError):
                outcomes[key] = _read_outcome(stage, stored[key])
    return outcomes


def count_workers(stage: ItemStage, client: ModelClient) -> int:
    """How many items are worked on at once: enough to keep the stage's fastest model busy."""
    asked = [client.models[role] for role in stage.roles if role in client.models]
    return max([one.model.concurrency for one in asked] or [_WITHOUT_MODEL])


def stage_key(stage: ItemStage, client: ModelClient, item: Any) -> str:
    """SHA-256 (hex) of all that the stage's outcome for this item depends on."""
    models = [
        (role, client.models[role].model.signature, client.models[role].params)
        for role in stage.roles
        if role in client.models
    ]
    prompts = [(prompt.id, prompt.sha256) for prompt in stage.prompts]
    identity = dict(stage.identity)
    if isinstance(stage, LLMStage):
        kinds = stage.reply.values() if isinstance(stage.reply, Mapping) else [stage.reply]
        identity["replies"] = [schema_of(kind) for kind in kinds]
    words = (_VERSION, stage.name, identity, prompts, models, item)
    return hashlib.sha256(_canonical(words)).hexdigest()


async def _make(stage: ItemStage, item: Any, client: ModelClient) -> tuple[bytes, bool]:
    """(the outcome as it is stored, whether the next run must try the item again)."""
    try:
        found = _parted(await stage.work(item, client))
    except Rejected as rejected:
        rejected.id = item.id
        found = StageOutcome([], [rejected])
    stored = {
        "items": found.items,
        "rejected": [_StoredRejection(r.id, r.reason, r.detail, r.content) for r in found.rejected],
    }
    transient = any(one.transient or one.reason == CALL_FAILED for one in found.rejected)
    return msgspec.json.encode(stored), transient


def _read_outcome(stage: ItemStage, stored: bytes) -> StageOutcome:
    """The outcome as items. Raises ProtocolError for what the stage cannot have given."""
    try:
        outcome = _decode(stored)
        items = [msgspec.json.decode(raw, type=stage.gives) for raw in outcome.items]
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProtocolError(f"the stage {stage.name} gave what cannot be read: {error}") from None
    rejected = [Rejected(o.reason, o.detail, o.content, id=o.id) for o in outcome.rejected]
    _check_reasons(stage.name, {**REASONS, **stage.reasons}, rejected)
    return StageOutcome(items, rejected)


def _check_reasons(name: str, reasons: Mapping[str, str], rejected: Sequence[Rejected]) -> None:
    for one in rejected:
        if one.reason not in reasons:
            raise ProtocolError(f"the stage {name} gave the reason {one.reason!r}, undeclared")


def _check_ids(name: str, items: Sequence[Any]) -> None:
    ids = Counter(item.id for item in items)
    twice = next((one for one, n in ids.items() if n > 1), None)
    if twice is not None:
        raise ProtocolError(f"the stage {name} gave the id {twice!r} twice")


async def in_daemon(work: Callable[[], T]) -> T:
    """What `work` gives or raises, from a thread that ends with the process.

    Ctrl-C does not wait for it, as it would for asyncio.to_thread: what it does still goes on, and
    comes to nothing.
    """
    found: Future[T] = Future()
    found.set_running_or_notify_cancel()  # so that nobody who waits no longer can cancel it

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, name="stage", daemon=True).start()
    return await asyncio.wrap_future(found)


@dataclass(frozen=True)
class ExpectedCalls:
    """The calls of one role, or of one of `BuildPlan.others`, in one stage.

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
    store: BuildStore,
    models: Mapping[str, RoleModel],
    names: Mapping[str, str],
    prices: PriceTable,
    limit: int | None = None,
) -> BuildEstimate:
    """Count what the store does not hold yet, as if no further item were rejected. InputError.

    `names` are those of the models by role. What the response cache holds is not taken off.
    """
    items, _, _ = read_source(plan.source, limit)
    count = len(items)
    source = sum(map(plan.tokens, items)) / count if count else 0.0
    client = ModelClient(models)
    more, done = 0.0, 0  # items beside `items` that nobody can know yet, at most
    expected: list[ExpectedCalls] = []
    for stage in plan.stages:
        if isinstance(stage, BatchStage):
            if more:  # nobody can say what it keeps: all of them count
                items, more = [], (len(items) + more) * stage.fan_out
            else:
                items, _ = run_batch(stage, items)
            continue
        keys = [stage_key(stage, client, item) for item in items]
        outcomes = known_outcomes(stage, store, keys)
        waiting = [one for key, one in zip(keys, items, strict=True) if key not in outcomes]
        for call in stage.calls:
            if call.role in names:
                name = names[call.role]
                expected.append(_expected(stage.name, call, source, waiting, more, name, prices))
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
    prices: PriceTable,
) -> ExpectedCalls:
    """`source` is the mean number of tokens of a source item."""
    asked = waiting if call.applies is None else [one for one in waiting if call.applies(one)]
    some = (len(asked) + more) * _size(call.calls, source)
    calls = round(some if call.most is None else min(some, call.most))
    size = _size(call.tokens_in, source)
    if call.prompt is not None:
        size += (
            _AROUND + len(call.prompt.system + call.prompt.user) / ChatRequest.CHARACTERS_PER_TOKEN
        )
    tokens_in, tokens_out = round(calls * size), round(calls * _size(call.tokens_out, source))
    usd = None if prices is None else Price.of(prices, name).cost(tokens_in, tokens_out)
    return ExpectedCalls(stage, call.role, name, calls, tokens_in, tokens_out, usd)


def _size(size: Size, source: float) -> float:
    return size(source) if callable(size) else size
