"""Build a benchmark: read the sources, let the items flow, write what is left and how it came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueground.benchmarks.base import Value, say_nothing
from trueground.builders.accounts import Flowed, read_source
from trueground.builders.ask import Ask, Asked
from trueground.builders.base import Builder, Dataset, Material, Plan
from trueground.builders.directory import (
    REPLIES,
    SUMMARY,
    WORK,
    build_directory,
    made,
    see_usable,
    write_dataset,
    write_dropped,
    write_stage,
    write_tasks,
)
from trueground.builders.estimate import Estimated, estimate
from trueground.builders.flow import flow
from trueground.builders.manifest import Sheet
from trueground.builders.models import Endpoint, make_models
from trueground.builders.quality.report import quality, write_report
from trueground.builders.registry import get_builder, settled
from trueground.builders.replies import ReplyLog
from trueground.errors import RunInterrupted, UsageError
from trueground.evaluate.run import in_own_loop
from trueground.models.base import ChatModel
from trueground.models.pricing import Prices
from trueground.net.cache import ResponseCache, default_path
from trueground.runs.directory import write_json

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class BuildSettings:
    """What holds for every builder. `labels` is a file that `annotate import` wrote."""

    seed: int = 0
    limit: int | None = None
    cache: bool = True
    prompts: Mapping[str, Path] = field(default_factory=dict)
    labels: Path | None = None
    endpoint: Endpoint = field(default_factory=Endpoint)
    prices: Prices | None = None
    note: Callable[[str], None] = say_nothing
    progress: Progress = say_nothing
    command: Sequence[str] = ()


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
    found, plan, models_by_role = _prepared(
        builder, sources, models, options, settings, dry_run=False
    )
    folder = Path(out)
    see_usable(folder, found.name)
    read = read_source(plan.source, settings.limit)
    with build_directory(folder, found.name):
        return _built(folder, plan, models_by_role, settings, read)


def dry_run(
    builder: str,
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    models: Mapping[str, str | ChatModel],
    options: Mapping[str, Value] | None = None,
    settings: BuildSettings | None = None,
) -> Estimated:
    """What `build` would ask, without a call: calls, tokens, cost by stage. Writes nothing."""
    settings = settings or BuildSettings()
    found, plan, models_by_role = _prepared(
        builder, sources, models, options, settings, dry_run=True
    )
    see_usable(Path(out), found.name)
    return estimate(plan, Path(out), models_by_role, settings.prices, settings.limit)


def _prepared(
    builder: str,
    sources: str | Path | Sequence[str | Path],
    models: Mapping[str, str | ChatModel],
    options: Mapping[str, Value] | None,
    settings: BuildSettings,
    *,
    dry_run: bool,
) -> tuple[Builder, Plan, dict[str, Asked]]:
    """The parts behind the names. UsageError, InputError."""
    found = get_builder(builder)
    for name in settings.prompts:
        if name not in found.prompts:
            known = ", ".join(found.prompts)
            raise UsageError(f"build {found.name} has no prompt {name!r}; it has {known}")
    paths = [sources] if isinstance(sources, str | Path) else list(sources)
    asked = make_models(found, models, settings.endpoint)
    material = Material(
        paths=tuple(map(Path, paths)),
        roles={role: one.model.name for role, one in asked.items()},
        reached=settings.endpoint.options(),
        prompts=settings.prompts,
        labels=settings.labels,
        seed=settings.seed,
        limit=settings.limit,
        dry_run=dry_run,
        cache=settings.cache,
        note=settings.note,
        progress=settings.progress,
    )
    return found, found.prepare(settled(found, options or {}), material), asked


def _built(
    folder: Path,
    plan: Plan,
    models: Mapping[str, Asked],
    settings: BuildSettings,
    read: tuple[list[Any], Flowed, int],
) -> Built:
    items, first, left_out = read
    own = {"seed": settings.seed, "limit": settings.limit, "left_out": left_out}
    sheet = Sheet(folder, plan, models, own, settings.command)
    sheet.write()
    try:
        with sheet.told():
            write_stage(folder, 1, plan.source.name, items)
            work = _flowed(plan, folder, items, models, settings, sheet.write)
            kept, accounts = in_own_loop(work)
            dataset = plan.finish(kept)
            sheet.content["notices"] = list(plan.notices)  # finishing may have added some
            summary = _summary(plan, [first, *accounts], dataset, left_out)
            _write(folder, [first, *accounts], dataset, summary, sheet.content)
            sheet.end()
    except KeyboardInterrupt:
        raise RunInterrupted(
            f"interrupted; what was made is kept in {folder}: run the same command again to go on"
        ) from None
    _tell_failed(accounts, settings.note)
    return Built(folder, len(dataset.quality), summary, sheet.content["models"])


def _write(
    folder: Path,
    accounts: Sequence[Flowed],
    dataset: Dataset,
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
) -> None:
    """All that a build ends in but the manifest. Raises WriteError."""
    write_dropped(folder, [(one.name, dropped) for one in accounts for dropped in one.dropped])
    write_dataset(folder, dataset.files)
    write_tasks(folder, dataset.tasks)
    write_json(folder / SUMMARY, summary)
    write_report(folder, summary, manifest)


def _tell_failed(accounts: Sequence[Flowed], note: Callable[[str], None]) -> None:
    """Items that fell because calls failed are no fault of the items: say so."""
    failed = [one for account in accounts for one in account.again]
    if failed:
        items = "1 item" if len(failed) == 1 else f"{len(failed):,} items"
        note(
            f"{items} fell because calls failed ({failed[0].detail}); the same command tries them "
            "again, and only them"
        )


async def _flowed(
    plan: Plan,
    folder: Path,
    items: list[Any],
    models: Mapping[str, Asked],
    settings: BuildSettings,
    done: Callable[[], None],
) -> tuple[list[Any], list[Flowed]]:
    scorer = plan.scorer
    kept = any(asked.model.cacheable for asked in models.values()) or scorer is not None
    async with AsyncExitStack() as stack:
        for closing in {id(asked.model): asked.model for asked in models.values()}.values():
            stack.push_async_callback(closing.close)
        if scorer is not None:
            stack.push_async_callback(scorer.close)
        if plan.close is not None:
            stack.callback(plan.close)
        cache = ResponseCache(default_path()) if settings.cache and kept else None
        if cache is not None:
            stack.callback(_closed, cache, settings.note)
        paid = ReplyLog(made(folder / WORK) / REPLIES)
        stack.callback(paid.close)
        ask = Ask(models, cache, scorer, paid)
        return await flow(plan, folder, items, ask, settings.progress, done)


def _closed(cache: ResponseCache, note: Callable[[str], None]) -> None:
    cache.close()
    if cache.problem:
        note(cache.problem)


def _summary(
    plan: Plan, accounts: Sequence[Flowed], dataset: Dataset, left_out: int
) -> dict[str, Any]:
    """What stands in summary.json: the same bytes for the same outcomes."""
    return {
        "builder": plan.builder,
        "n": len(dataset.quality),
        "left_out": left_out,
        "stages": [one.as_dict() for one in accounts],
        "files": sorted(dataset.files),
        "run": dataset.run,
        "notices": list(plan.notices),
        "quality": quality(dataset),
    }
