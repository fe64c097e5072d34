"""Build a benchmark: read the sources, let the items flow, write what is left and how it came."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from trueground._version import __version__
from trueground.components import ComponentSpec
from trueground.errors import RunInterrupted, UsageError, WorkerError
from trueground.execution import run_in_own_loop
from trueground.files import OutputPath
from trueground.models import ChatModel, LogprobRunner, Params, Price, configure_model
from trueground.net import ResponseCache
from trueground.options import DeclaredOptions
from trueground.records import shorten
from trueground.wings.papers.builders.base import (
    REASONS,
    Builder,
    BuildPlan,
    BuiltDataset,
    ReportWriter,
)
from trueground.wings.papers.builders.client import ModelClient, RoleModel
from trueground.wings.papers.builders.directory import (
    DROPPED,
    ITEMS,
    MANIFEST,
    SUMMARY,
    WORK,
    Build,
    BuildManifest,
    build_directory,
    check_usable,
    describe_models,
    make_part,
    remove_stages,
    write_dataset,
    write_lines,
    write_stage,
    write_tasks,
)
from trueground.wings.papers.builders.flow import (
    BuildEstimate,
    FailureLimit,
    Flow,
    SourceItems,
    StageAccount,
    estimate,
    read_source,
    run_plan,
)
from trueground.wings.papers.builders.model_names import strip_model_folder
from trueground.wings.papers.builders.quality import compute_quality
from trueground.wings.papers.builders.registry import get_builder
from trueground.wings.papers.builders.settings import (
    BuildRequest,
    BuildSettings,
    EndpointDefaults,
    Material,
)
from trueground.wings.papers.builders.store import STORE, BuildStore

__all__ = ["BuildRequest", "BuildSettings", "Built", "dry_run", "estimate_build", "run_build"]
NO_PEOPLE = "No people have labeled these items; only models have judged them."
OWN_WORK = "The judge {name} is the model that wrote them: it judges its own work."
END = "done.json"  # of a shard that went as far as it can


@dataclass(frozen=True)
class Built:
    """A finished build: its folder, the number of items, and summary.json.

    `spent` says of each role which model was asked, and what it cost in all sessions.
    """

    path: Path
    items: int
    summary: dict[str, Any]
    spent: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def run_build(request: BuildRequest, write_report: ReportWriter | None = None) -> Built:
    """Build a benchmark as `tg.build` does; `write_report` adds the page and the data card."""
    with _prepare(request) as prepared:
        Build(request.folder).shards.check_none()
        source = read_source(prepared.plan.source, request.settings.limit)
        with build_directory(request.folder, prepared.builder.name):
            return _build(prepared, source, write_report)


def ask_shard(request: BuildRequest) -> bool:
    """Ask for one shard of a build, that of the settings; nothing is finished or rendered.

    It goes as far as the next stage that must see the items of all shards. When all have come there
    `join_shards` brings them together, and the next round, or the build itself, goes on.

    Returns:
        Whether the shard came to the last stage.

    Raises:
        TruegroundError: As `run_build` does.
    """
    settings = request.settings
    number, of = settings.shard or (0, 1)
    folder = Build(request.folder).shards.folder(number, of)
    with _prepare(request) as prepared:
        name, plan = prepared.builder.name, prepared.plan
        items, _, _ = read_source(plan.source, settings.limit)
        with build_directory(folder, name):
            (folder / END).unlink(missing_ok=True)
            entries = {"trueground": __version__, "builder": name}
            OutputPath(folder / MANIFEST).write_json(entries)

            async def ask() -> bool:
                async with _flow(prepared, folder, items) as flow:
                    if (request.folder / WORK / STORE).exists():
                        flow.store.add(request.folder / WORK)
                    _, accounts = await run_plan(plan, items, flow, lambda *_: None, (number, of))
                    return len(accounts) == len(plan.stages)

            is_complete = run_in_own_loop(ask())
            OutputPath(folder / END).write_json(entries | {"complete": is_complete})
    return is_complete


def join_shards(out: Path) -> bool:
    """Bring together what the shards of a build below `out` have done, and remove them.

    Whether all came to the last stage. OutputError, WorkerError: there are none, or some are not
    done.
    """
    folders = Build(out).shards.folders()
    ends = {int(f.name[:5]): f / END for f in folders}
    of = int(folders[0].name.rpartition("-")[2]) if folders else 0
    missing = [n for n in range(1, of + 1) if n not in ends or not ends[n].exists()]
    if missing or not folders:
        raise WorkerError(
            f"{out}: of {of} shards {', '.join(map(str, missing))} are not asked to the end; run "
            f"the same command with --shard {missing[0] if missing else 1}/{of or 'N'}"
        )
    found = [orjson.loads(end.read_bytes()) for end in ends.values()]
    with build_directory(out, found[0]["builder"]):
        with BuildStore(make_part(out, WORK)) as store:
            for folder in folders:
                store.add(folder / WORK)
        Build(out).shards.remove()
    return all(end["complete"] for end in found)


def dry_run(
    builder: str,
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    models: Mapping[str, str | ChatModel],
    options: Mapping[str, str | bool | None] | None = None,
    settings: BuildSettings | None = None,
) -> BuildEstimate:
    """Return what a build would ask, without a call and without writing anything.

    Args:
        builder: The name of the builder.
        sources: The user's files and folders.
        out: The folder of the build; what is done there already isn't counted.
        models: A model per role, as for `tg.build`.
        options: The options of the builder.
        settings: What holds for every builder.

    Returns:
        Calls, tokens and cost (US dollars, if there are prices) by stage.

    Raises:
        UsageError: An option or a model is invalid.
        InputError: A source can't be read.
        OutputError: A build can't begin or go on in `out`.

    Example:
        >>> dry_run("contexts", "docs", "out", models={"writer": "gpt-4o"}).items  # doctest: +SKIP
    """
    settings = settings or BuildSettings()
    return estimate_build(
        BuildRequest(builder, sources, out, models=models, options=options, settings=settings)
    )


def estimate_build(request: BuildRequest) -> BuildEstimate:
    """Return the calls, tokens and cost that a build would have by stage. Writes nothing."""
    settings = request.settings
    with _prepare(request, is_dry_run=True) as prepared:
        plan, names = prepared.plan, prepared.model_names
        with BuildStore(request.folder / WORK, read_only=True) as store:
            return estimate(plan, store, prepared.models, names, settings.prices, settings.limit)


class _Prepared(NamedTuple):
    """What the names stand for."""

    request: BuildRequest
    builder: Builder
    plan: BuildPlan
    models: Mapping[str, RoleModel]
    scorer: LogprobRunner | None

    @property
    def model_names(self) -> dict[str, str]:
        """The names of all models that are asked, by role."""
        entries = describe_models(self.plan, self.models, self.scorer)
        return {role: str(entry["name"]) for role, entry in entries.items()}


@contextmanager
def _prepare(request: BuildRequest, *, is_dry_run: bool = False) -> Iterator[_Prepared]:
    """The builder's plan and models; however the work ends, the plan is closed.

    Raises UsageError, InputError, and OutputError for a folder that can't be used.
    """
    settings, builder = request.settings, get_builder(request.builder)
    for prompt in settings.prompts:
        if prompt not in builder.prompts:
            existing = ", ".join(builder.prompts)
            raise UsageError(f"build {builder.name} has no prompt {prompt!r}; it has {existing}")
    models = make_models(builder, request.models, settings.endpoint)
    material = Material(
        **vars(settings),
        paths=request.paths,
        roles={role: strip_model_folder(each.model.name) for role, each in models.items()},
        reached=settings.endpoint.options(),
        dry_run=is_dry_run,
    )
    declared = DeclaredOptions(builder.options)
    options = declared.resolve(f"build {builder.name}", request.options or {})
    plan = builder.prepare(options, material)
    try:
        scorer = None if plan.scorer is None else LogprobRunner(plan.scorer)
        prepared = _Prepared(request, builder, plan, models, scorer)
        if settings.prices is not None:  # a table that lacks one is no use at the end
            for model in prepared.model_names.values():
                Price.of(settings.prices, model)
        check_usable(request.folder, builder.name)
        yield prepared
    finally:
        if plan.close is not None:
            plan.close()


def make_models(
    builder: Builder, models: Mapping[str, str | ChatModel], endpoint: EndpointDefaults
) -> dict[str, RoleModel]:
    """A model for each role that was given one: `NAME` or `NAME(base_url=URL,api_key_env=KEY,…)`.

    The first role writes: its temperature is the endpoint's own, or --temperature; all others judge
    at temperature 0. UsageError: an unknown role, one that is needed and absent, and what the
    model's kind raises.
    """
    first, *_ = known = [role.name for role in builder.roles]
    for name in models:
        if name not in known:
            raise UsageError.unknown_name(f"role of a model in {builder.name}", name, known)
    for role in builder.roles:
        if role.needed and role.name not in models:
            option = "--model" if role.name == first else f"--{role.name}-model"
            raise UsageError(f"build {builder.name} needs {option} NAME: {role.doc}")
    warm = None if endpoint.temperature is None else float(endpoint.temperature)
    params = Params(
        temperature=0.0,
        max_tokens=endpoint.max_tokens,
        seed=endpoint.seed,
        extra=dict(endpoint.extra),
    )
    writes = msgspec.structs.replace(params, temperature=warm)
    return {
        role: _make_model(role, model, endpoint, writes if role == first else params)
        for role, model in models.items()
    }


def _make_model(
    role: str, model: str | ChatModel, endpoint: EndpointDefaults, params: Params
) -> RoleModel:
    if not isinstance(model, str):
        return RoleModel(model, params)
    name, spec = ComponentSpec.parse_model(role, model)
    who = f"the model of the role {role}"
    own = configure_model(spec, who, params=params, name=name, endpoint=endpoint.options())
    return RoleModel(own.model, own.params)


def _build(prepared: _Prepared, source: SourceItems, write_report: ReportWriter | None) -> Built:
    plan, settings, folder = prepared.plan, prepared.request.settings, prepared.request.folder
    items, read, left_out = source
    own = {"seed": settings.seed, "limit": settings.limit, "left_out": left_out}
    manifest = BuildManifest(folder, plan, prepared.models, prepared.scorer, own, settings.command)
    manifest.write()

    def done(number: int, name: str, given: list[Any]) -> None:
        write_stage(folder, number, name, given)
        manifest.write()

    async def run() -> tuple[list[Any], list[StageAccount]]:
        async with _flow(prepared, folder, items) as flow:
            return await run_plan(plan, items, flow, done)

    try:
        with manifest.track():
            write_stage(folder, 1, plan.source.name, items)
            left, accounts = run_in_own_loop(run())
            remove_stages(folder, after=1 + len(plan.stages))
            accounts = [read, *accounts]
            dataset = plan.finish(left)
            notices = _notices(prepared)  # finishing may add some
            manifest.content["notices"] = notices
            summary = {
                "builder": plan.builder,
                "n": len(dataset.quality),
                "left_out": left_out,
                "stages": [one.as_dict() for one in accounts],
                "files": sorted(dataset.files),
                "run": dataset.run,
                "notices": notices,
                "quality": compute_quality(dataset),
            }
            _write_end(folder, accounts, dataset, summary)
            if write_report is not None:
                write_report(folder, summary, manifest.content)
            manifest.end()
    except KeyboardInterrupt:
        raise RunInterrupted(
            f"interrupted; what was made is kept in {folder}: run the same command again to go on"
        ) from None
    _note_losses(accounts, dataset, settings.note)
    return Built(folder, len(dataset.quality), summary, manifest.content["models"])


@asynccontextmanager
async def _flow(prepared: _Prepared, folder: Path, items: list[Any]) -> AsyncIterator[Flow]:
    """What items flow with, open for one session."""
    models, scorer, settings = prepared.models, prepared.scorer, prepared.request.settings
    cacheable = any(one.model.cacheable for one in models.values()) or scorer is not None
    async with AsyncExitStack() as stack:
        for model in {id(one.model): one.model for one in models.values()}.values():
            stack.push_async_callback(model.close)
        if scorer is not None:
            stack.push_async_callback(scorer.close)
        cache = ResponseCache.open() if settings.cache and cacheable else None
        if cache is not None:
            stack.callback(lambda: settings.note(cache.problem) if cache.problem else None)
            stack.callback(cache.close)  # first
        store = stack.enter_context(BuildStore(make_part(folder, WORK)))
        client = ModelClient(models, cache, store, scorer=scorer, reuse_bad=settings.reuse_bad)
        yield Flow(client, store, FailureLimit(settings.max_failed, len(items)), settings.progress)


def _notices(prepared: _Prepared) -> list[str]:
    """The builder's own, and what holds for all."""
    plan = prepared.plan
    names = {role: strip_model_folder(one.model.name) for role, one in prepared.models.items()}
    writer, *judges = [role.name for role in prepared.builder.roles]
    found = list(plan.notices)
    if any(role in names and names[role] == names.get(writer) for role in judges):
        found.append(OWN_WORK.format(name=names[writer]))
    if plan.people is not None and not plan.people.labels:
        found.append(NO_PEOPLE)
    return list(dict.fromkeys(found))


def _write_end(
    folder: Path,
    accounts: Sequence[StageAccount],
    dataset: BuiltDataset,
    summary: Mapping[str, Any],
) -> None:
    """Write the files that a build ends in, except report and manifest. Raises WriteError."""
    rejected = []
    for account in accounts:
        for one in account.rejected:
            row = {"stage": account.name, "id": one.id, "reason": one.reason, "detail": one.detail}
            rejected.append(row if one.content is None else {**row, "made": one.content})
    write_lines(folder / DROPPED, rejected)
    write_dataset(folder, dataset.files)
    write_lines(folder / ITEMS, dataset.quality)
    write_tasks(folder, dataset.tasks)
    OutputPath(folder / SUMMARY).write_json(summary)


def _note_losses(
    accounts: Sequence[StageAccount], dataset: BuiltDataset, note: Callable[[str], None]
) -> None:
    """Failed calls are no fault of the items; and where no item is left, which stage lost most."""
    again = [one for account in accounts for one in account.again]
    if again:
        n = sum(account.failed for account in accounts)
        items, them = ("1 item", "it") if n == 1 else (f"{n:,} items", "them")
        note(
            f"{items} fell because calls failed ({again[0].detail}); the same command tries {them} "
            f"again, and only {them}"
        )
    if dataset.quality:
        return
    worst = max(accounts, key=lambda one: len(one.rejected))
    if not worst.rejected:
        note("no item is left: the source has none")
        return
    last = next(one for one in reversed(accounts) if one.rejected)
    then = f"; then the stage {_describe_losses(last)}" if last is not worst else ""
    # Whom to change: the model, where its replies are what was wrong; else source or options.
    by_model = worst.as_dict()["reasons"][0]["reason"] in REASONS
    what = "the model or the prompt" if by_model else "the source or the options"
    note(
        f"no item is left: the stage {_describe_losses(worst)}{then}. All stand in dropped.jsonl; "
        f"change {what}, and run the command again"
    )


def _describe_losses(account: StageAccount) -> str:
    """`NAME lost 9 of 9, 8 of them as REASON (words), such as ID (detail)`."""
    lost = len(account.rejected)
    reason = account.as_dict()["reasons"][0]
    example = next(one for one in account.rejected if one.reason == reason["reason"])
    detail = f" ({shorten(example.detail, 160)})" if example.detail else ""
    # A stage that makes several things of an item may lose more than came.
    of = f" of {account.came:,}" if lost <= account.came else ""
    most = f", {reason['n']:,} of them" if reason["n"] < lost else ""
    return (
        f"{account.name} lost {lost:,}{of}{most} as {reason['reason']} ({reason['words']}), such "
        f"as {example.id!r}{detail}"
    )
