"""Builds a benchmark: reads the sources, runs the stages, writes the result."""

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
from trueground.text import several
from trueground.wings.papers.builders.base import (
    REASONS,
    Builder,
    BuildPlan,
    BuiltDataset,
    Rejected,
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
MAX_DETAIL_CHARS = 160  # of the example in a warning
OWN_WORK = "The judge {name} also wrote the items, so it judges its own work."
SHARD_END = "done.json"  # in the folder of a shard that has done its part


@dataclass(frozen=True)
class Built:
    """A finished build.

    Attributes:
        path: The folder of the build.
        items: The number of items in the dataset.
        summary: The content of summary.json.
        usage: The model of each role, with its calls and tokens in all sessions.
    """

    path: Path
    items: int
    summary: dict[str, Any]
    usage: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def run_build(request: BuildRequest, write_report: ReportWriter | None = None) -> Built:
    """Build a benchmark as `tg.build` does.

    Args:
        request: What to build.
        write_report: Writes the page and the data card.
    """
    with _prepare(request) as prepared:
        Build(request.folder).shards.check_none()
        source = read_source(prepared.plan.source, request.settings.limit)
        with build_directory(request.folder, prepared.builder.name):
            return _build(prepared, source, write_report)


def ask_shard(request: BuildRequest) -> bool:
    """Run one shard of a build, up to the next stage that needs the items of all shards.

    When all shards have come there, `join_shards` merges them. Then run the shards again, or build
    without shards to finish.

    Returns:
        Whether the shard came to the last stage.

    Raises:
        TruegroundError: As `run_build` does.
    """
    settings = request.settings
    number, n_shards = settings.shard or (0, 1)
    folder = Build(request.folder).shards.folder(number, n_shards)
    with _prepare(request) as prepared:
        name, plan = prepared.builder.name, prepared.plan
        items, _, _ = read_source(plan.source, settings.limit)
        with build_directory(folder, name):
            (folder / SHARD_END).unlink(missing_ok=True)
            entries = {"trueground": __version__, "builder": name}
            OutputPath(folder / MANIFEST).write_json(entries)

            async def ask() -> bool:
                async with _flow(prepared, folder, items) as flow:
                    if (request.folder / WORK / STORE).exists():
                        flow.store.add(request.folder / WORK)
                    shard = (number, n_shards)
                    _, accounts = await run_plan(plan, items, flow, lambda *_: None, shard)
                    return len(accounts) == len(plan.stages)

            is_complete = run_in_own_loop(ask())
            OutputPath(folder / SHARD_END).write_json(entries | {"complete": is_complete})
    return is_complete


def join_shards(out: Path) -> bool:
    """Merge the shards of a build in the folder `out`, and remove their folders.

    Returns:
        Whether all shards came to the last stage.

    Raises:
        WorkerError: There are no shards, or some are unfinished.
        OutputError: The folder can't be used.
    """
    folders = Build(out).shards.folders()
    if not folders:
        raise WorkerError(f"{out} has no shards; run the same command with --shard 1/N")
    end_files = {int(folder.name[:5]): folder / SHARD_END for folder in folders}
    n_shards = int(folders[0].name.rpartition("-")[2])
    numbers = range(1, n_shards + 1)
    missing = [n for n in numbers if n not in end_files or not end_files[n].exists()]
    if missing:
        raise WorkerError(
            f"{out}: unfinished shards of {n_shards}: {', '.join(map(str, missing))}; run the same "
            f"command with --shard {missing[0]}/{n_shards}"
        )
    ends = [orjson.loads(file.read_bytes()) for file in end_files.values()]
    with build_directory(out, ends[0]["builder"]):
        with BuildStore(make_part(out, WORK)) as store:
            for folder in folders:
                store.add(folder / WORK)
        Build(out).shards.remove()
    return all(end["complete"] for end in ends)


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
    """A request with its builder, plan and models."""

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
    """Prepare the plan and the models, and close the plan at the end.

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
        if settings.prices is not None:  # a missing price must not fail after the paid calls
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
    """Return the model of each role.

    The first role is the writer. Its temperature is --temperature, or the endpoint's default. All
    other roles are judges with temperature 0.

    Args:
        builder: The builder.
        models: The models by role: `NAME`, `NAME(base_url=URL,api_key_env=KEY,…)` or a ChatModel.
        endpoint: The options of models that don't set their own.

    Raises:
        UsageError: A role is unknown, a required model is missing, or a model is invalid.
    """
    role_names = [role.name for role in builder.roles]
    first = role_names[0]
    for name in models:
        if name not in role_names:
            raise UsageError.unknown_name(f"role of a model in {builder.name}", name, role_names)
    for role in builder.roles:
        if role.needed and role.name not in models:
            option = "--model" if role.name == first else f"--{role.name}-model"
            raise UsageError(f"build {builder.name} needs {option} NAME: {role.doc}")
    temperature = None if endpoint.temperature is None else float(endpoint.temperature)
    judge_params = Params(
        temperature=0.0,
        max_tokens=endpoint.max_tokens,
        seed=endpoint.seed,
        extra=dict(endpoint.extra),
    )
    writer_params = msgspec.structs.replace(judge_params, temperature=temperature)
    made: dict[str, RoleModel] = {}
    for name, model in models.items():
        params = writer_params if name == first else judge_params
        made[name] = _make_model(name, model, endpoint, params)
    return made


def _make_model(
    role: str, model: str | ChatModel, endpoint: EndpointDefaults, params: Params
) -> RoleModel:
    if not isinstance(model, str):
        return RoleModel(model, params)
    name, spec = ComponentSpec.parse_model(role, model)
    owner = f"the model of the role {role}"
    configured = configure_model(spec, owner, params=params, name=name, endpoint=endpoint.options())
    return RoleModel(configured.model, configured.params)


def _build(prepared: _Prepared, source: SourceItems, write_report: ReportWriter | None) -> Built:
    plan, settings, folder = prepared.plan, prepared.request.settings, prepared.request.folder
    items, read, left_out = source
    entries = {"seed": settings.seed, "limit": settings.limit, "left_out": left_out}
    manifest = BuildManifest(
        folder, plan, prepared.models, prepared.scorer, entries, settings.command
    )
    manifest.write()

    def on_stage_end(number: int, name: str, stage_items: list[Any]) -> None:
        write_stage(folder, number, name, stage_items)
        manifest.write()

    async def run() -> tuple[list[Any], list[StageAccount]]:
        async with _flow(prepared, folder, items) as flow:
            return await run_plan(plan, items, flow, on_stage_end)

    try:
        with manifest.track():
            write_stage(folder, 1, plan.source.name, items)
            left, accounts = run_in_own_loop(run())
            remove_stages(folder, after=1 + len(plan.stages))
            accounts = [read, *accounts]
            dataset = plan.finish(left)
            notices = _notices(prepared)  # after `finish`, which may add some
            manifest.content["notices"] = notices
            summary = {
                "builder": plan.builder,
                "n": len(dataset.quality),
                "left_out": left_out,
                "stages": [account.as_dict() for account in accounts],
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
            f"interrupted; all results so far are kept in {folder}. Rerun the same command to "
            "resume"
        ) from None
    _note_losses(accounts, dataset, settings.note)
    return Built(folder, len(dataset.quality), summary, manifest.content["models"])


@asynccontextmanager
async def _flow(prepared: _Prepared, folder: Path, items: list[Any]) -> AsyncIterator[Flow]:
    """Open the resources of one session."""
    models, scorer, settings = prepared.models, prepared.scorer, prepared.request.settings
    distinct_models = {id(entry.model): entry.model for entry in models.values()}.values()
    cacheable = any(model.cacheable for model in distinct_models) or scorer is not None
    async with AsyncExitStack() as stack:
        for model in distinct_models:
            stack.push_async_callback(model.close)
        if scorer is not None:
            stack.push_async_callback(scorer.close)
        cache = ResponseCache.open() if settings.cache and cacheable else None
        if cache is not None:
            # Callbacks run in reverse order: the cache is closed before its problem is read.
            stack.callback(lambda: settings.note(cache.problem) if cache.problem else None)
            stack.callback(cache.close)
        store = stack.enter_context(BuildStore(make_part(folder, WORK)))
        client = ModelClient(models, cache, store, scorer=scorer, reuse_bad=settings.reuse_bad)
        yield Flow(client, store, FailureLimit(settings.max_failed, len(items)), settings.progress)


def _notices(prepared: _Prepared) -> list[str]:
    """Return the builder's warnings and those that apply to all builders."""
    plan = prepared.plan
    names = {role: strip_model_folder(entry.model.name) for role, entry in prepared.models.items()}
    writer, *judges = [role.name for role in prepared.builder.roles]
    notices = list(plan.notices)
    if any(role in names and names[role] == names.get(writer) for role in judges):
        notices.append(OWN_WORK.format(name=names[writer]))
    if plan.people is not None and not plan.people.labels:
        notices.append(NO_PEOPLE)
    return list(dict.fromkeys(notices))


def _write_end(
    folder: Path,
    accounts: Sequence[StageAccount],
    dataset: BuiltDataset,
    summary: Mapping[str, Any],
) -> None:
    """Write the results of a build except report and manifest. Raises WriteError."""
    rows = []
    for account in accounts:
        for item in account.rejected:
            row: dict[str, Any] = {
                "stage": account.name,
                "id": item.id,
                "reason": item.reason,
                "detail": item.detail,
            }
            if item.content is not None:
                row["made"] = item.content
            rows.append(row)
    write_lines(folder / DROPPED, rows)
    write_dataset(folder, dataset.files)
    write_lines(folder / ITEMS, dataset.quality)
    write_tasks(folder, dataset.tasks)
    OutputPath(folder / SUMMARY).write_json(summary)


def _note_losses(
    accounts: Sequence[StageAccount], dataset: BuiltDataset, note: Callable[[str], None]
) -> None:
    """Warn about failed calls and, if no item is left, name the stages that dropped most."""
    retried: list[Rejected] = []
    for account in accounts:
        retried += account.retried
    if retried:
        n = sum(account.n_failed for account in accounts)
        them = "it" if n == 1 else "them"
        note(
            f"{several(n, 'item')} dropped because calls failed ({retried[0].detail}); rerun the "
            f"same command to try {them} again, and only {them}"
        )
    if dataset.quality:
        return
    worst = max(accounts, key=lambda account: len(account.rejected))
    if not worst.rejected:
        note("no item is left: the source has none")
        return
    last = next(account for account in reversed(accounts) if account.rejected)
    then = f"; then the stage {_describe_losses(last)}" if last is not worst else ""
    is_model_error = worst.as_dict()["reasons"][0]["reason"] in REASONS
    cause = "the model or the prompt" if is_model_error else "the source or the options"
    note(
        f"no item is left: the stage {_describe_losses(worst)}{then}. See dropped.jsonl for all "
        f"dropped items. Change {cause}, and rerun the command"
    )


def _describe_losses(account: StageAccount) -> str:
    """Return `NAME dropped 9 of 9, 8 of them as REASON (text), such as ID (detail)`."""
    n_dropped = len(account.rejected)
    reason = account.as_dict()["reasons"][0]
    example = next(item for item in account.rejected if item.reason == reason["reason"])
    text = f"{account.name} dropped {n_dropped:,}"
    # A stage that makes several items from one may drop more than it took.
    if n_dropped <= account.n_in:
        text += f" of {account.n_in:,}"
    if reason["n"] < n_dropped:
        text += f", {reason['n']:,} of them"
    text += f" as {reason['reason']} ({reason['words']}), such as {example.id!r}"
    if example.detail:
        text += f" ({shorten(example.detail, MAX_DETAIL_CHARS)})"
    return text
