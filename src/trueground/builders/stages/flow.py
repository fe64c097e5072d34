"""The flow of items through the stages of a plan: what is done already is taken, the rest made."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from trueground.builders.asking.ask import Ask
from trueground.builders.asking.schemas import schema_of
from trueground.builders.base import BatchStage, BuildPlan, ItemStage, LLMStage
from trueground.builders.directory import WORK, remove_stages, write_stage
from trueground.builders.rejected import CALL_FAILED, REASONS, Rejected
from trueground.builders.stages.accounts import Flowed, check_ids, check_reasons, do_whole
from trueground.builders.stages.patience import Patience
from trueground.builders.stages.threads import in_daemon
from trueground.builders.stages.worklog import Fell, StageOutcome, WorkLog, lines_of
from trueground.errors import ProtocolError
from trueground.options import Progress

# Part of every key: a change of what an outcome means must not meet older ones.
_VERSION = 2
_WITHOUT_MODEL = 8  # items at once where no model says how many
_canonical = msgspec.json.Encoder(order="sorted").encode
_encode = msgspec.json.Encoder().encode


class KnownOutcomes(Protocol):
    """Outcomes by key: a work log, or what was read of one."""

    def get(self, key: str, /) -> StageOutcome | None:
        """The outcome under the key; None if there is none."""
        ...


class Made(NamedTuple):
    """An outcome as items and what fell."""

    kept: list[Any]
    dropped: list[Rejected]


async def do_stage(
    folder: Path,
    stage: ItemStage,
    items: Sequence[Any],
    ask: Ask,
    progress: Progress,
    patience: Patience,
) -> tuple[list[Any], Flowed]:
    """A stage that works item by item; each outcome is on disk before the next begins."""
    log = WorkLog(folder / WORK, stage.name)
    try:
        keys = [stage_key(stage, ask, item) for item in items]
        made = known(stage, log, keys)
        waiting = [(key, item) for key, item in zip(keys, items, strict=True) if key not in made]
        progress(stage.name, len(made), len(items))
        todo = iter(waiting)
        again: dict[str, list[Rejected]] = {}

        async def work() -> None:
            for key, item in todo:
                outcome, passes = await _outcome(stage, key, item, ask)
                made[key] = _read(stage, outcome)
                if passes:
                    again[key] = made[key].dropped
                    patience.lost(stage.name, len(items), _detail(again[key]))
                else:
                    log.put(outcome)
                progress(stage.name, len(made), len(items))
                await asyncio.sleep(0)  # work that waits for nothing must not deafen us

        await _all(work, min(workers(stage, ask), len(waiting)))
    finally:
        log.close()
    kept = [one for key in keys for one in made[key].kept]
    dropped = [one for key in keys for one in made[key].dropped]
    _check_ids(folder, stage.name, kept)
    flowed = Flowed(stage.name, stage.doc, len(items), len(kept), _reasons(stage), dropped)
    flowed.again = [one for key in keys for one in again.get(key, ())]
    flowed.failed = len(again)
    return kept, flowed


def _check_ids(folder: Path, stage: str, kept: Sequence[Any]) -> None:
    """ProtocolError, with file and lines, where two things that the stage gave have one id."""
    try:
        check_ids(stage, kept)
    except ProtocolError as error:
        ids = Counter(item.id for item in kept)
        lines = lines_of(folder, stage, {one for one, n in ids.items() if n > 1})
        raise ProtocolError(
            f"{error}; expected each once. It stands in {folder / WORK / stage}.jsonl, "
            f"{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}: if that file "
            "was changed, remove these lines and run the same command again; replies that were "
            "paid for are kept"
        ) from None


def _detail(dropped: Sequence[Rejected]) -> str:
    """The first that says anything."""
    return next((one.detail for one in dropped if one.detail), "nothing more is known")


def known(stage: ItemStage, log: KnownOutcomes, keys: Iterable[str]) -> dict[str, Made]:
    """What is done already, by key; an outcome that this version cannot read is done again."""
    made = {}
    for key in keys:
        outcome = log.get(key)
        if outcome is not None:
            with suppress(ProtocolError):
                made[key] = _read(stage, outcome)
    return made


def workers(stage: ItemStage, ask: Ask) -> int:
    """How many items are worked on at once: enough to keep the stage's fastest model busy.

    The calls of each model are held to its own number by Ask.
    """
    asked = [ask.models[role] for role in stage.roles if role in ask.models]
    return max([one.model.concurrency for one in asked] or [_WITHOUT_MODEL])


async def _all(work: Callable[[], Any], number: int) -> None:
    failed: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                group.create_task(work())
    except BaseExceptionGroup as group_error:
        failed = group_error.exceptions[0]  # what ended the others
    if failed is not None:
        raise failed


async def _outcome(stage: ItemStage, key: str, item: Any, ask: Ask) -> tuple[StageOutcome, bool]:
    """(what became of the item, whether the next run must try it again)."""
    try:
        made = await stage.work(item, ask)
    except Rejected as why:
        fell = Fell(item.id, why.reason, why.detail, why.content)
        return StageOutcome(key, dropped=[fell]), why.transient
    kept = [msgspec.Raw(_encode(one)) for one in made if not isinstance(one, Rejected)]
    rejected = [Fell(o.id, o.reason, o.detail, o.content) for o in made if isinstance(o, Rejected)]
    return StageOutcome(key, kept, rejected), any(one.reason == CALL_FAILED for one in rejected)


def stage_key(stage: ItemStage, ask: Ask, item: Any) -> str:
    """SHA-256 (hex) of all that the stage's outcome for this item depends on."""
    models = [
        (role, ask.models[role].model.signature, ask.models[role].params)
        for role in stage.roles
        if role in ask.models
    ]
    prompts = [(prompt.id, prompt.sha256) for prompt in stage.prompts]
    words = (_VERSION, stage.name, _identity(stage), prompts, models, item)
    return hashlib.sha256(_canonical(words)).hexdigest()


def _identity(stage: ItemStage) -> Mapping[str, Any]:
    if not isinstance(stage, LLMStage):
        return stage.identity
    some = stage.reply.values() if isinstance(stage.reply, Mapping) else [stage.reply]
    return {**stage.identity, "replies": [schema_of(kind) for kind in some]}


def _read(stage: ItemStage, outcome: StageOutcome) -> Made:
    """The outcome as items. Raises ProtocolError for what the stage cannot have given."""
    decode = msgspec.json.Decoder(stage.gives).decode
    try:
        kept = [decode(raw) for raw in outcome.kept]
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"the stage {stage.name} gave what cannot be read: {error}") from None
    dropped = [Rejected(one.reason, one.detail, one.made, id=one.id) for one in outcome.dropped]
    check_reasons(stage.name, _reasons(stage), dropped)
    return Made(kept, dropped)


def _reasons(stage: ItemStage) -> dict[str, str]:
    return {**REASONS, **stage.reasons}


async def flow(
    plan: BuildPlan,
    folder: Path,
    items: list[Any],
    ask: Ask,
    progress: Progress,
    patience: Patience,
    done: Callable[[], None],
) -> tuple[list[Any], list[Flowed]]:
    """All stages in turn: (the items left, one account a stage). Each writes its items when done.

    `done` is called behind every stage. Raises UnreachableError where nobody is reached or too many
    calls fail, and WriteError; what was made is kept either way.
    """
    accounts = []
    for number, stage in enumerate(plan.stages, start=2):
        if isinstance(stage, BatchStage):
            progress(stage.name, 0, len(items))
            items, flowed = await in_daemon(partial(do_whole, stage, items))
        else:
            items, flowed = await do_stage(folder, stage, items, ask, progress, patience)
        write_stage(folder, number, stage.name, items)
        accounts.append(flowed)
        done()
    remove_stages(folder, after=1 + len(plan.stages))
    return items, accounts
