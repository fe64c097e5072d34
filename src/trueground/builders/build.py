"""Build a benchmark: read the sources, let the items flow, write what is left and how it came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueground.benchmarks.base import Value
from trueground.builders.asking.ask import Ask
from trueground.builders.asking.replies import ReplyLog
from trueground.builders.directory import (
    REPLIES,
    WORK,
    build_directory,
    check_usable,
    made,
    write_stage,
)
from trueground.builders.ending import (
    notices,
    summary_of,
    words_on_failed,
    words_on_nothing,
    write_end,
)
from trueground.builders.estimate import BuildEstimate, estimate
from trueground.builders.manifest import Sheet
from trueground.builders.prepared import Prepared, prepare
from trueground.builders.settings import BuildSettings
from trueground.builders.stages.accounts import Flowed, read_source
from trueground.builders.stages.flow import flow
from trueground.builders.stages.patience import Patience
from trueground.errors import RunInterrupted
from trueground.evaluate.run import run_in_own_loop
from trueground.models.asker import Spent
from trueground.models.base import ChatModel
from trueground.net.cache import ResponseCache, default_path

__all__ = ["BuildSettings", "Built", "build", "dry_run"]


@dataclass(frozen=True)
class Built:
    """A finished build: its folder, the number of items, and summary.json.

    `spent` says of each role which model was asked, and what it cost in all sessions.
    """

    path: Path
    items: int
    summary: dict[str, Any]
    spent: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def build(
    builder: str,
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    models: Mapping[str, str | ChatModel],
    options: Mapping[str, Value] | None = None,
    settings: BuildSettings | None = None,
) -> Built:
    """Build a benchmark ("contexts", "grounding", "kalma") of these sources in the folder `out`.

    `models` are those that are asked, by role: names as for `trueground run --model`, with options
    in parentheses, or ChatModels. `options` are the builder's own. A build that was broken off
    goes on where it stopped, and one that is done does again only what changed. May be called where
    an event loop runs.

    Raises UsageError, InputError, OutputError, UnreachableError, RunInterrupted and WriteError.
    """
    settings = settings or BuildSettings()
    folder = Path(out)
    with prepare(builder, sources, models, options, settings, dry_run=False) as prepared:
        name = prepared.builder.name
        check_usable(folder, name)
        read = read_source(prepared.plan.source, settings.limit)
        with build_directory(folder, name):
            return _built(folder, prepared, settings, read)


def dry_run(
    builder: str,
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    models: Mapping[str, str | ChatModel],
    options: Mapping[str, Value] | None = None,
    settings: BuildSettings | None = None,
) -> BuildEstimate:
    """What `build` would ask, without a call: calls, tokens, cost by stage. Writes nothing."""
    settings = settings or BuildSettings()
    with prepare(builder, sources, models, options, settings, dry_run=True) as prepared:
        check_usable(Path(out), prepared.builder.name)
        return estimate(prepared.plan, Path(out), prepared.models, settings.prices, settings.limit)


def _built(
    folder: Path,
    prepared: Prepared,
    settings: BuildSettings,
    read: tuple[list[Any], Flowed, int],
) -> Built:
    items, first, left_out = read
    plan, scored = prepared.plan, Spent()
    own = {"seed": settings.seed, "limit": settings.limit, "left_out": left_out}
    sheet = Sheet(folder, plan, prepared.models, scored, own, settings.command)
    sheet.write()
    try:
        with sheet.told():
            write_stage(folder, 1, plan.source.name, items)
            work = _flowed(prepared, folder, items, scored, settings, sheet.write)
            kept, accounts = run_in_own_loop(work)
            accounts = [first, *accounts]
            dataset = plan.finish(kept)
            said = notices(prepared.builder, plan, prepared.names)  # finishing may add some
            sheet.content["notices"] = said
            summary = summary_of(plan, accounts, dataset, left_out, said)
            write_end(folder, accounts, dataset, summary, sheet.content)
            sheet.end()
    except KeyboardInterrupt:
        raise RunInterrupted(
            f"interrupted; what was made is kept in {folder}: run the same command again to go on"
        ) from None
    if failed := words_on_failed(accounts):
        settings.note(failed)
    if not dataset.quality:
        settings.note(words_on_nothing(accounts))
    return Built(folder, len(dataset.quality), summary, sheet.content["models"])


async def _flowed(
    prepared: Prepared,
    folder: Path,
    items: list[Any],
    scored: Spent,
    settings: BuildSettings,
    done: Callable[[], None],
) -> tuple[list[Any], list[Flowed]]:
    plan, models = prepared.plan, prepared.models
    kept = any(asked.model.cacheable for asked in models.values()) or plan.scorer is not None
    async with AsyncExitStack() as stack:
        for closing in {id(asked.model): asked.model for asked in models.values()}.values():
            stack.push_async_callback(closing.close)
        if plan.scorer is not None:
            stack.push_async_callback(plan.scorer.close)
        cache = ResponseCache(default_path()) if settings.cache and kept else None
        if cache is not None:
            stack.callback(_closed, cache, settings.note)
        paid = ReplyLog(made(folder / WORK) / REPLIES)
        stack.callback(paid.close)
        ask = Ask(models, cache, plan.scorer, paid, scored, reuse_bad=settings.reuse_bad)
        patience = Patience(settings.max_failed, len(items))
        return await flow(plan, folder, items, ask, settings.progress, patience, done)


def _closed(cache: ResponseCache, note: Callable[[str], None]) -> None:
    cache.close()
    if cache.problem:
        note(cache.problem)
