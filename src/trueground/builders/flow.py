"""The flow of items through the stages of a plan: what is done already is taken, the rest made."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from trueground.builders.ask import REASONS, Ask
from trueground.builders.base import Dropped, Plan, Source, Stage, Whole
from trueground.builders.directory import WORK, Outcome, WorkLog, write_stage
from trueground.builders.fallen import Fallen
from trueground.errors import ProtocolError

# Part of every key: a change of what an outcome means must not meet older ones.
_VERSION = 1
_canonical = msgspec.json.Encoder(order="sorted").encode
_encode = msgspec.json.Encoder().encode
Progress = Callable[[str, int, int | None], None]


@dataclass
class Flowed:
    """One stage's account: how many items came in and went out, what fell and why."""

    name: str
    doc: str
    came: int
    gave: int
    reasons: dict[str, str]
    dropped: list[Dropped] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For summary.json; reasons by number, the most frequent first."""
        counts = Counter(one.reason for one in self.dropped)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return {
            "name": self.name,
            "doc": self.doc,
            "in": self.came,
            "out": self.gave,
            "dropped": len(self.dropped),
            "reasons": [
                {"reason": reason, "words": self.reasons[reason], "n": n} for reason, n in ordered
            ],
        }


def read_source(source: Source[Any]) -> tuple[list[Any], Flowed]:
    """The items of the user's files. InputError."""
    kept, dropped = _sorted_out(source.name, source.reasons, source.read())
    came = len(kept) + len(dropped)
    flowed = Flowed(source.name, source.doc, came, len(kept), dict(source.reasons), dropped)
    return kept, flowed


def do_whole(stage: Whole[Any, Any], items: Sequence[Any]) -> tuple[list[Any], Flowed]:
    """A stage that sees all items at once."""
    kept, dropped = _sorted_out(stage.name, stage.reasons, stage.work(items))
    return kept, Flowed(stage.name, stage.doc, len(items), len(kept), dict(stage.reasons), dropped)


def _sorted_out(name: str, reasons: Any, found: Any) -> tuple[list[Any], list[Dropped]]:
    kept: list[Any] = []
    dropped: list[Dropped] = []
    for one in found:
        (dropped if isinstance(one, Dropped) else kept).append(one)
    _see_reasons(name, reasons, dropped)
    _see_ids(name, kept)
    return kept, dropped


async def do_stage(
    folder: Path,
    stage: Stage[Any, Any],
    items: Sequence[Any],
    ask: Ask,
    progress: Progress,
) -> tuple[list[Any], Flowed]:
    """A stage that works item by item; each outcome is on disk before the next begins."""
    log = WorkLog(folder / WORK, stage.name)
    try:
        keys = [stage_key(stage, ask, item) for item in items]
        waiting = [(k, i) for k, i in zip(keys, items, strict=True) if log.get(k) is None]
        passing: dict[str, Outcome] = {}
        done = len(items) - len(waiting)
        progress(stage.name, done, len(items))
        todo = iter(waiting)

        async def work() -> None:
            nonlocal done
            for key, item in todo:
                outcome, passes = await _outcome(stage, key, item, ask)
                if passes:
                    passing[key] = outcome
                else:
                    log.put(outcome)
                done += 1
                progress(stage.name, done, len(items))

        await _all(work, min(workers(stage, ask), len(waiting)))
        outcomes = [found for k in keys if (found := passing.get(k) or log.get(k))]
    finally:
        log.close()
    kept, dropped = _read(stage, outcomes)
    reasons = {**REASONS, **stage.reasons}
    _see_ids(stage.name, kept)
    return kept, Flowed(stage.name, stage.doc, len(items), len(kept), reasons, dropped)


def workers(stage: Stage[Any, Any], ask: Ask) -> int:
    """How many items are worked on at once: as many as the slowest of the models takes."""
    return max([ask.models[role].model.concurrency for role in stage.roles] or [8])


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


async def _outcome(stage: Stage[Any, Any], key: str, item: Any, ask: Ask) -> tuple[Outcome, bool]:
    """(what became of the item, whether the next run must try it again)."""
    try:
        made = await stage.work(item, ask)
    except Fallen as fallen:
        dropped = [(item.id, fallen.reason, fallen.detail)]
        return Outcome(key, dropped=dropped), fallen.passing
    kept = [msgspec.Raw(_encode(one)) for one in made if not isinstance(one, Dropped)]
    dropped = [(o.id, o.reason, o.detail) for o in made if isinstance(o, Dropped)]
    return Outcome(key, kept, dropped), False


def stage_key(stage: Stage[Any, Any], ask: Ask, item: Any) -> str:
    """SHA-256 (hex) of all that the stage's outcome for this item depends on."""
    models = [
        (role, ask.models[role].model.signature, ask.models[role].params)
        for role in stage.roles
        if role in ask.models
    ]
    prompts = [(prompt.id, prompt.sha256) for prompt in stage.prompts]
    words = (_VERSION, stage.name, stage.identity, prompts, models, item)
    return hashlib.sha256(_canonical(words)).hexdigest()


def _read(stage: Stage[Any, Any], outcomes: Sequence[Outcome]) -> tuple[list[Any], list[Dropped]]:
    decode = msgspec.json.Decoder(stage.gives).decode
    kept = [decode(raw) for outcome in outcomes for raw in outcome.kept]
    dropped = [Dropped(*one) for outcome in outcomes for one in outcome.dropped]
    _see_reasons(stage.name, {**REASONS, **stage.reasons}, dropped)
    return kept, dropped


def _see_reasons(name: str, reasons: Any, dropped: Sequence[Dropped]) -> None:
    for one in dropped:
        if one.reason not in reasons:
            raise ProtocolError(f"the stage {name} gave the reason {one.reason!r}, undeclared")


def _see_ids(name: str, items: Sequence[Any]) -> None:
    ids = Counter(item.id for item in items)
    twice = next((one for one, n in ids.items() if n > 1), None)
    if twice is not None:
        raise ProtocolError(f"the stage {name} gave the id {twice!r} twice")


async def flow(
    plan: Plan, folder: Path, items: list[Any], ask: Ask, progress: Progress
) -> tuple[list[Any], list[Flowed]]:
    """All stages in turn: (the items left, one account a stage). Each writes its items when done.

    UnreachableError where nobody is reached; WriteError. What was made is kept either way.
    """
    accounts = []
    for number, stage in enumerate(plan.stages, start=2):
        if isinstance(stage, Whole):
            progress(stage.name, 0, len(items))
            items, flowed = await asyncio.to_thread(do_whole, stage, items)
        else:
            items, flowed = await do_stage(folder, stage, items, ask, progress)
        write_stage(folder, number, stage.name, items)
        accounts.append(flowed)
    return items, accounts
