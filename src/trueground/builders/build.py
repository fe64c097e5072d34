"""Build a benchmark: read the sources, let the items flow, write what is left and how it came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from trueground._version import __version__
from trueground.benchmarks.base import Value, say_nothing
from trueground.builders.ask import Ask, Asked
from trueground.builders.base import Builder, Dataset, Material, Plan
from trueground.builders.directory import (
    SUMMARY,
    build_directory,
    read_manifest,
    see_usable,
    write_dataset,
    write_dropped,
    write_manifest,
    write_stage,
    write_tasks,
)
from trueground.builders.estimate import Estimated, estimate
from trueground.builders.flow import Flowed, flow, read_source
from trueground.builders.models import Endpoint, make_models
from trueground.builders.quality.report import quality, write_report
from trueground.builders.registry import get_builder, settled
from trueground.errors import RunInterrupted, UsageError
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
    """A finished build: its folder, the number of items, and summary.json."""

    path: Path
    items: int
    summary: dict[str, Any]


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
    found, plan, made = _prepared(builder, sources, models, options, settings, dry_run=False)
    folder = Path(out)
    see_usable(folder, found.name)
    items, first = read_source(plan.source)
    with build_directory(folder, found.name):
        return _built(folder, plan, made, items, first, settings)


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
    found, plan, made = _prepared(builder, sources, models, options, settings, dry_run=True)
    see_usable(Path(out), found.name)
    return estimate(plan, Path(out), made, settings.prices)


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
    made = make_models(found, models, settings.endpoint)
    material = Material(
        paths=tuple(map(Path, paths)),
        roles={role: asked.model.name for role, asked in made.items()},
        prompts=settings.prompts,
        labels=settings.labels,
        seed=settings.seed,
        limit=settings.limit,
        dry_run=dry_run,
        cache=settings.cache,
        note=settings.note,
        progress=settings.progress,
    )
    return found, found.prepare(settled(found, options or {}), material), made


def _built(
    folder: Path,
    plan: Plan,
    models: Mapping[str, Asked],
    items: list[Any],
    first: Flowed,
    settings: BuildSettings,
) -> Built:
    begun = _now()
    if read_manifest(folder) is None:
        write_manifest(folder, _manifest(plan, models, settings, begun, finished=None))
    write_stage(folder, 1, plan.source.name, items)
    try:
        kept, accounts = _in_loop(_flowed(plan, folder, items, models, settings))
    except KeyboardInterrupt:
        raise RunInterrupted(
            f"interrupted; what was made is kept in {folder}: run the same command again to go on"
        ) from None
    accounts = [first, *accounts]
    dataset = plan.finish(kept)
    summary = _summary(plan, accounts, dataset)
    write_dropped(folder, [(one.name, dropped) for one in accounts for dropped in one.dropped])
    write_dataset(folder, dataset.files)
    write_tasks(folder, dataset.tasks)
    write_json(folder / SUMMARY, summary)
    manifest = _manifest(plan, models, settings, begun, finished=_now())
    write_report(folder, summary, manifest)
    write_manifest(folder, manifest)
    return Built(folder, len(dataset.quality), summary)


async def _flowed(
    plan: Plan,
    folder: Path,
    items: list[Any],
    models: Mapping[str, Asked],
    settings: BuildSettings,
) -> tuple[list[Any], list[Flowed]]:
    scorer = plan.scorer
    kept = any(asked.model.cacheable for asked in models.values()) or scorer is not None
    cache = ResponseCache(default_path()) if settings.cache and kept else None
    try:
        ask = Ask(models, cache, scorer)
        return await flow(plan, folder, items, ask, settings.progress)
    finally:
        for asked in models.values():
            await asked.model.close()
        if scorer is not None:
            await scorer.close()
        if cache is not None:
            cache.close()
            if cache.problem:
                settings.note(cache.problem)


def _in_loop(work: Any) -> Any:
    """Run to the end; in a thread of its own where the caller has an event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _summary(plan: Plan, accounts: Sequence[Flowed], dataset: Dataset) -> dict[str, Any]:
    """What stands in summary.json: the same bytes for the same outcomes."""
    return {
        "builder": plan.builder,
        "n": len(dataset.quality),
        "stages": [one.as_dict() for one in accounts],
        "files": sorted(dataset.files),
        "run": dataset.run,
        "notices": list(plan.notices),
        "quality": quality(dataset),
    }


def _manifest(
    plan: Plan,
    models: Mapping[str, Asked],
    settings: BuildSettings,
    begun: str,
    finished: str | None,
) -> dict[str, Any]:
    prompts = {p.id: p.sha256 for stage in plan.stages for p in getattr(stage, "prompts", ())}
    return {
        "trueground": __version__,
        "builder": plan.builder,
        "command": list(settings.command),
        "inputs": msgspec.to_builtins(list(plan.files)),
        "options": dict(plan.options),
        "seed": settings.seed,
        "limit": settings.limit,
        "prompts": prompts,
        "models": {
            role: {
                "name": asked.model.name,
                "signature": asked.model.signature,
                "params": msgspec.to_builtins(asked.params),
                **vars(asked.spent),
            }
            for role, asked in models.items()
        },
        "notices": list(plan.notices),
        "start": begun,
        "finished": finished,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
