"""From what a user named (builder, sources, models, options) to what a build works with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from trueground.benchmarks.base import Value
from trueground.builders.asking.asked import AskedModel
from trueground.builders.asking.models import make_models
from trueground.builders.base import Builder, BuildPlan, Material
from trueground.builders.manifest import names_of
from trueground.builders.registry import get_builder, settled
from trueground.builders.settings import BuildSettings
from trueground.errors import UsageError
from trueground.models.base import ChatModel
from trueground.models.pricing import price_of
from trueground.reports.build_page import shown_model


class Prepared(NamedTuple):
    """The parts behind the names; `names` are those of the models by role, as people read them."""

    builder: Builder
    plan: BuildPlan
    models: Mapping[str, AskedModel]
    names: Mapping[str, str]


@contextmanager
def prepare(
    builder: str,
    sources: str | Path | Sequence[str | Path],
    models: Mapping[str, str | ChatModel],
    options: Mapping[str, Value] | None,
    settings: BuildSettings,
    *,
    dry_run: bool,
) -> Iterator[Prepared]:
    """What the names stand for; however the work ends, the plan is closed.

    UsageError, InputError.
    """
    found = get_builder(builder)
    for name in settings.prompts:
        if name not in found.prompts:
            known = ", ".join(found.prompts)
            raise UsageError(f"build {found.name} has no prompt {name!r}; it has {known}")
    paths = [sources] if isinstance(sources, str | Path) else list(sources)
    if not 0 <= settings.max_failed <= 1:
        raise UsageError(f"--max-failed {settings.max_failed}: expected a share from 0 to 1")
    asked = make_models(found, models, settings.endpoint)
    names = {role: shown_model(one.model.name) for role, one in asked.items()}
    material = Material(
        paths=tuple(map(Path, paths)),
        roles=names,
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
    plan = found.prepare(settled(found, options or {}), material)
    try:
        if settings.prices is not None:  # a table that lacks one is no use at the end
            for name in names_of(plan, asked).values():
                price_of(name, settings.prices)
        yield Prepared(found, plan, asked, names)
    finally:
        if plan.close is not None:
            plan.close()
