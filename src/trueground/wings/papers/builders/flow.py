"""Passes items through the stages of a plan, and reuses stored outcomes.

In a dry run, the calls, tokens and prices of what is not stored are estimated instead.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from trueground.errors import CoverageError, ProtocolError, UnreachableError
from trueground.models import ChatRequest, Price, PriceTable
from trueground.options import Progress
from trueground.text import several
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
# Part of every key. Increase it if the meaning of stored outcomes changes.
_VERSION = 3
_WORKERS_WITHOUT_MODEL = 8  # items at once in stages that call no model
_ROUNDING_ERROR = 1e-9
# If so many items fail at the beginning of a stage, the others would fail too.
_MAX_FAILED_FIRST_ITEMS = 5
_MARK_TOKENS = 150  # the marked lines around the texts of a prompt
_canonical = msgspec.json.Encoder(order="sorted").encode


@dataclass
class StageAccount:
    """The numbers of items that a stage took, returned and rejected.

    Attributes:
        name: The name of the stage.
        doc: What the stage does.
        n_in: The number of items that it took.
        n_out: The number of items that it returned.
        reasons: The reasons that it may have, each with its text for users.
        rejected: The rejected items.
        retried: Those of them that the next session tries again.
        n_failed: The number of items that the next session tries again.
        n_other_shards: The number of items that other shards work on.
    """

    name: str
    doc: str
    n_in: int
    n_out: int
    reasons: Mapping[str, str]
    rejected: Sequence[Rejected] = ()
    retried: Sequence[Rejected] = ()
    n_failed: int = 0
    n_other_shards: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of summary.json, the most frequent reason first."""
        counts = Counter(rejection.reason for rejection in self.rejected)
        reasons = []
        for reason, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
            reasons.append({"reason": reason, "words": self.reasons[reason], "n": n})
        return {
            "name": self.name,
            "doc": self.doc,
            "in": self.n_in,
            "out": self.n_out,
            "dropped": len(self.rejected),
            "reasons": reasons,
        }


class StageOutcome(NamedTuple):
    """The items that a stage made from one item, and the rejected ones."""

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
    """A limit on items that are rejected because calls failed, in all stages together."""

    def __init__(self, max_share: float, n_items: int) -> None:
        """Set the largest share of the source's items that may be rejected."""
        self._max_share, self._n_items = max_share, n_items
        self._share, self._count = 0.0, 0

    def add(self, stage: str, n_stage_items: int, detail: str) -> None:
        """Count one more rejected item of a stage. Raises CoverageError above the limit.

        If the stage has more items than the source, each item is a smaller share.
        """
        self._count += 1
        self._share += 1 / max(self._n_items, n_stage_items)
        if self._share > self._max_share + _ROUNDING_ERROR:
            raise CoverageError(
                f"{several(self._count, 'item')} dropped because calls failed, more than "
                f"--max-failed {self._max_share:g} of all. The last failed call was in the stage "
                f"{stage} ({detail}). All replies, and the results of an earlier build, are kept. "
                "Fix the cause and rerun the same command to resume, or give --max-failed a larger "
                "share"
            )


class SourceItems(NamedTuple):
    """The items of the user's files, the account of reading them, and unread rows."""

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
        indexes = [index for index, row in enumerate(rows) if not isinstance(row, Rejected)]
        end = indexes[limit] if len(indexes) > limit else end
    items, account = _split(source, end, rows[:end])
    return SourceItems(items, account, len(rows) - end)


def run_batch(stage: BatchStage[Any, Any], items: Sequence[Any]) -> tuple[list[Any], StageAccount]:
    """Run a stage that needs all items at once."""
    return _split(stage, len(items), stage.work(items))


def _split(
    stage: SourceStep[Any] | BatchStage[Any, Any], n_in: int, results: Iterable[Any]
) -> tuple[list[Any], StageAccount]:
    items, rejected = _split_results(results)
    _check_reasons(stage.name, stage.reasons, rejected)
    _check_ids(stage.name, items)
    return items, StageAccount(stage.name, stage.doc, n_in, len(items), stage.reasons, rejected)


def _split_results(results: Iterable[Any]) -> StageOutcome:
    outcome = StageOutcome([], [])
    for result in results:
        if isinstance(result, Rejected):
            outcome.rejected.append(result)
        else:
            outcome.items.append(result)
    return outcome


class Flow(NamedTuple):
    """The resources of a session: models, stored outcomes, the limit of failed calls."""

    client: ModelClient
    store: BuildStore
    limit: FailureLimit
    progress: Progress


async def run_plan(
    plan: BuildPlan,
    items: list[Any],
    flow: Flow,
    on_stage_end: Callable[[int, str, list[Any]], None],
    shard: tuple[int, int] | None = None,
) -> tuple[list[Any], list[StageAccount]]:
    """Run the stages in turn. Outcomes are stored even if an error ends the run.

    Args:
        plan: The plan.
        items: The items of the source.
        flow: The resources of the session.
        on_stage_end: Called after each stage with its number, name and items.
        shard: The number of the shard, from 0, and the number of shards. Stored outcomes of all
            items are used. From the first stage with more work, the shard works on its part, until
            a stage needs the items of all shards.

    Returns:
        The items that are left, and one account per stage.

    Raises:
        UnreachableError: No call reaches a model.
        CoverageError: Too many calls failed.
        WriteError: Storing an outcome failed.
    """
    accounts: list[StageAccount] = []
    for number, stage in enumerate(plan.stages, start=2):
        is_partial = any(account.n_other_shards for account in accounts)
        if not isinstance(stage, BatchStage):
            items, account = await run_stage(stage, items, flow, None if is_partial else shard)
        elif not is_partial:
            flow.progress(stage.name, 0, len(items))
            items, account = await in_daemon(partial(run_batch, stage, items))
        else:
            break
        accounts.append(account)
        on_stage_end(number, stage.name, items)
    return items, accounts


async def run_stage(
    stage: ItemStage, items: Sequence[Any], flow: Flow, shard: tuple[int, int] | None = None
) -> tuple[list[Any], StageAccount]:
    """Run a stage item by item. Each outcome is stored before the next item begins.

    With `shard`, items of other shards are left out unless their outcome is stored.
    """
    keys = [stage_key(stage, flow.client, item) for item in items]
    outcomes = load_outcomes(stage, flow.store, keys)
    waiting = [(key, item) for key, item in zip(keys, items, strict=True) if key not in outcomes]
    if shard is not None:
        number, n_shards = shard
        waiting = [pair for pair in waiting if int(pair[0][:12], 16) % n_shards == number]
    flow.progress(stage.name, len(outcomes), len(items))
    run = _StageRun(stage, flow, len(items), outcomes)
    await run.work_on(waiting)
    return _collect_outcomes(run, keys)


class _StageRun:
    """The work of one session on the items of a stage that have no stored outcome."""

    def __init__(
        self, stage: ItemStage, flow: Flow, n_items: int, outcomes: dict[str, StageOutcome]
    ) -> None:
        """Begin with stored outcomes; new ones are added to `outcomes`."""
        self.stage, self.flow, self.n_items, self.outcomes = stage, flow, n_items, outcomes
        self.failed: dict[str, list[Rejected]] = {}

    async def work_on(self, waiting: Sequence[tuple[str, Any]]) -> None:
        """Make the outcomes of items, several at once."""
        queue = iter(waiting)
        n_workers = min(count_workers(self.stage, self.flow.client), len(waiting))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(n_workers):
                    group.create_task(self._work_through(queue))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None  # the first error ended the other tasks

    async def _work_through(self, queue: Iterator[tuple[str, Any]]) -> None:
        stage, flow, n_items = self.stage, self.flow, self.n_items
        for key, item in queue:
            stored, is_transient = await _make(stage, item, flow.client)
            self.outcomes[key] = outcome = _read_outcome(stage, stored)
            if is_transient:
                self.failed[key] = outcome.rejected
                self._check_failures(outcome.rejected)
            else:
                flow.store.put_outcome(stage.name, key, stored)
            flow.progress(stage.name, len(self.outcomes), n_items)
            # Let other tasks run, and Ctrl-C arrive, even if the work never waits.
            await asyncio.sleep(0)

    def _check_failures(self, rejected: Sequence[Rejected]) -> None:
        details = (rejection.detail for rejection in rejected if rejection.detail)
        detail = next(details, "no details")
        n_failed, n_items = len(self.failed), self.n_items
        is_first = len(self.outcomes) == n_failed == min(_MAX_FAILED_FIRST_ITEMS, n_items)
        # For models, the client itself notices that they can't be reached.
        if is_first and not self.stage.roles:
            raise UnreachableError(
                f"the stage {self.stage.name} failed for all of the first {n_failed} of "
                f"{n_items:,} items ({detail}). Check that the service it calls is reachable, and "
                "rerun the same command"
            )
        self.flow.limit.add(self.stage.name, n_items, detail)


def _collect_outcomes(run: _StageRun, keys: Sequence[str]) -> tuple[list[Any], StageAccount]:
    stage = run.stage
    items: list[Any] = []
    rejected: list[Rejected] = []
    retried: list[Rejected] = []
    n_done = 0
    for key in keys:
        if key in run.outcomes:
            n_done += 1
            items += run.outcomes[key].items
            rejected += run.outcomes[key].rejected
        retried += run.failed.get(key, ())
    _check_ids(stage.name, items)
    account = StageAccount(
        stage.name,
        stage.doc,
        n_in=len(keys),
        n_out=len(items),
        reasons={**REASONS, **stage.reasons},
        rejected=rejected,
        retried=retried,
        n_failed=len(run.failed),
        n_other_shards=len(keys) - n_done,
    )
    return items, account


def load_outcomes(
    stage: ItemStage, store: BuildStore, keys: Iterable[str]
) -> dict[str, StageOutcome]:
    """Return the stored outcomes by key, without those that this version can't read."""
    stored, outcomes = store.outcomes(stage.name), {}
    for key in keys:
        if key in stored:
            with suppress(ProtocolError):
                outcomes[key] = _read_outcome(stage, stored[key])
    return outcomes


def count_workers(stage: ItemStage, client: ModelClient) -> int:
    """Return how many items are worked on at once, to keep the stage's fastest model busy."""
    models = [client.models[role].model for role in stage.roles if role in client.models]
    return max([model.concurrency for model in models] or [_WORKERS_WITHOUT_MODEL])


def stage_key(stage: ItemStage, client: ModelClient, item: Any) -> str:
    """Return the SHA-256 (hex) of everything that the outcome for an item depends on."""
    models = []
    for role in stage.roles:
        if role in client.models:
            model = client.models[role]
            models.append((role, model.model.signature, model.params))
    prompts = [(prompt.id, prompt.sha256) for prompt in stage.prompts]
    identity = dict(stage.identity)
    if isinstance(stage, LLMStage):
        kinds = stage.reply.values() if isinstance(stage.reply, Mapping) else [stage.reply]
        identity["replies"] = [schema_of(kind) for kind in kinds]
    content = (_VERSION, stage.name, identity, prompts, models, item)
    return hashlib.sha256(_canonical(content)).hexdigest()


async def _make(stage: ItemStage, item: Any, client: ModelClient) -> tuple[bytes, bool]:
    """Return the encoded outcome, and whether the next run must try the item again."""
    try:
        outcome = _split_results(await stage.work(item, client))
    except Rejected as rejected:
        rejected.id = item.id
        outcome = StageOutcome([], [rejected])
    rejections = outcome.rejected
    stored = {
        "items": outcome.items,
        "rejected": [_StoredRejection(r.id, r.reason, r.detail, r.content) for r in rejections],
    }
    is_transient = any(r.transient or r.reason == CALL_FAILED for r in rejections)
    return msgspec.json.encode(stored), is_transient


def _read_outcome(stage: ItemStage, stored: bytes) -> StageOutcome:
    """Return a stored outcome. Raises ProtocolError if the stage can't have returned it."""
    try:
        outcome = _decode(stored)
        items = [msgspec.json.decode(raw, type=stage.output_type) for raw in outcome.items]
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProtocolError(
            f"the stage {stage.name} returned items that can't be read: {error}"
        ) from None
    rejected = [Rejected(o.reason, o.detail, o.content, id=o.id) for o in outcome.rejected]
    _check_reasons(stage.name, {**REASONS, **stage.reasons}, rejected)
    return StageOutcome(items, rejected)


def _check_reasons(name: str, reasons: Mapping[str, str], rejected: Sequence[Rejected]) -> None:
    for rejection in rejected:
        if rejection.reason not in reasons:
            raise ProtocolError(
                f"the stage {name} returned the reason {rejection.reason!r}, which it doesn't "
                "declare"
            )


def _check_ids(name: str, items: Sequence[Any]) -> None:
    ids = Counter(item.id for item in items)
    for id_, n in ids.items():
        if n > 1:
            raise ProtocolError(f"the stage {name} returned the id {id_!r} twice")


async def in_daemon(work: Callable[[], T]) -> T:
    """Run `work` in a thread that ends with the process, and return its result.

    Unlike asyncio.to_thread, Ctrl-C doesn't wait for the thread. It goes on, and its result is
    discarded.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # a caller that stops waiting can't cancel it

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="stage", daemon=True).start()
    return await asyncio.wrap_future(future)


@dataclass(frozen=True)
class ExpectedCalls:
    """The calls of one role, or of one of `BuildPlan.others`, in one stage.

    Tokens and calls are usually upper bounds.
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
    """The estimate of a build.

    Attributes:
        items: The number of source items.
        done: The number of stored outcomes.
        stages: The expected calls by stage and role.
    """

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
    """Estimate the calls that the store doesn't hold yet, as if no further item were rejected.

    Replies in the response cache aren't subtracted.

    Args:
        plan: The plan.
        store: The store of the build.
        models: The models by role.
        names: The names of the models by role.
        prices: The table of prices, if there is one.
        limit: The largest number of source items.

    Raises:
        InputError: A source can't be read.
    """
    items, _, _ = read_source(plan.source, limit)
    n_items = len(items)
    source_tokens = sum(map(plan.tokens, items)) / n_items if n_items else 0.0
    client = ModelClient(models)
    n_unmade, n_done = 0.0, 0  # the largest number of items that stages before haven't made yet
    expected: list[ExpectedCalls] = []
    for stage in plan.stages:
        if isinstance(stage, BatchStage):
            if n_unmade:  # it may keep all of them
                items, n_unmade = [], (len(items) + n_unmade) * stage.fan_out
            else:
                items, _ = run_batch(stage, items)
            continue
        keys = [stage_key(stage, client, item) for item in items]
        outcomes = load_outcomes(stage, store, keys)
        waiting = [item for key, item in zip(keys, items, strict=True) if key not in outcomes]
        for call in stage.calls:
            if call.role in names:
                n_calls = _count_calls(call, waiting, n_unmade, source_tokens)
                model = names[call.role]
                expected.append(
                    _expect_calls(stage.name, call, n_calls, source_tokens, model, prices)
                )
        n_done += len(outcomes)
        items = []
        for key in keys:
            if key in outcomes:
                items += outcomes[key].items
        n_unmade = (len(waiting) + n_unmade) * stage.fan_out
    return BuildEstimate(n_items, n_done, expected)


def _count_calls(
    call: CallEstimate, waiting: Sequence[Any], n_unmade: float, source_tokens: float
) -> int:
    n_waiting = len(waiting)
    if call.applies is not None:
        n_waiting = sum(map(call.applies, waiting))
    n_calls = (n_waiting + n_unmade) * _size(call.calls, source_tokens)
    return round(n_calls if call.max_calls is None else min(n_calls, call.max_calls))


def _expect_calls(
    stage: str,
    call: CallEstimate,
    n_calls: int,
    source_tokens: float,
    model: str,
    prices: PriceTable,
) -> ExpectedCalls:
    size = _size(call.tokens_in, source_tokens)
    if call.prompt is not None:
        n_characters = len(call.prompt.system + call.prompt.user)
        size += _MARK_TOKENS + n_characters / ChatRequest.CHARACTERS_PER_TOKEN
    tokens_in = round(n_calls * size)
    tokens_out = round(n_calls * _size(call.tokens_out, source_tokens))
    usd = None if prices is None else Price.of(prices, model).cost(tokens_in, tokens_out)
    return ExpectedCalls(stage, call.role, model, n_calls, tokens_in, tokens_out, usd)


def _size(size: Size, source_tokens: float) -> float:
    return size(source_tokens) if callable(size) else size
