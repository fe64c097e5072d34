"""`score` in shards: plan once, do what is not done, merge."""

# No `from __future__ import annotations`: the command line reads the options here as values.

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.evaluate.page_writer import PageWriter
from trueground.evaluate.score import (
    DecomposerName,
    EngineName,
    Judges,
    OneShard,
    RaterName,
    ScoreRequest,
    ShardCount,
)
from trueground.evaluate.shard import Shard
from trueground.options import Cache, Progress, Workers
from trueground.records import Columns, SplitContexts

if TYPE_CHECKING:
    import pyarrow as pa

    from trueground.evaluate.shards.engines import Engine
    from trueground.evaluate.shards.plan import ShardPlan, ShardSettings
    from trueground.evaluate.shards.store import RunStore
    from trueground.files import NewFolders
    from trueground.runs import Result


MERGE_ATTEMPTS = 3  # in each, shards that prove damaged are found and scored again


@dataclass(frozen=True, kw_only=True)
class ShardsRequest(ScoreRequest):
    """What `tg.score_shards` gets: what `tg.score` gets, and how the work is cut into shards."""

    workers: Workers = None
    engine: EngineName = None
    shards: ShardCount = None
    shard: OneShard = None

    def __post_init__(self) -> None:
        from trueground.errors import UsageError

        super().__post_init__()
        for name in ("limit", "labels", "labels_drawn", "unique"):
            if getattr(self, name):
                option = name.replace("_", "-")
                raise UsageError(f"--{option} is not for a run in shards; leave it out")
        if self.out is None:
            raise UsageError("a run in shards needs --out: the place that all shards share")

    def score_shards(self, write_page: PageWriter | None = None) -> "Result | None":
        """Score the files in shards.

        Args:
            write_page: Adds the page of the merged run.

        Returns:
            The merged run. None if only one shard was requested.

        Raises:
            TruegroundError: What `tg.score_shards` raises.
        """
        from trueground.errors import UsageError, user_messages
        from trueground.evaluate.shards.engines import make_engine
        from trueground.evaluate.shards.merge import DamagedShardsError, ShardedRun, finish_merge
        from trueground.evaluate.shards.store import open_store
        from trueground.execution import open_progress

        records, shards, shard = self.records, self.shards, self.shard
        names = [str(one) for one in ([records] if isinstance(records, str | Path) else records)]
        if isinstance(shard, str):
            shard = Shard.parse(shard)
        number, of = (None, shards) if shard is None else shard
        if shards not in (None, of):
            raise UsageError(f"--shard {shard} and --shards {shards} differ; leave --shards out")
        if "-" in names:
            raise UsageError(
                "standard input (-) cannot be cut into shards, as it is read once; write it to a "
                "file"
            )
        settings = _shard_settings(self)
        out = self.out
        assert out is not None
        with open_progress(self.progress) as report:
            store = open_store(out)
            where = make_engine(self.engine or "local", self.workers)
            made = _check_place(store, overwrite=self.overwrite)
            try:
                plan = _plan(
                    store,
                    settings,
                    names,
                    of,
                    where,
                    self.require,
                    report,
                    overwrite=self.overwrite,
                )
            except BaseException:
                if made is not None:
                    made.remove_empty()
                raise
            if (merged := finish_merge(store, plan)) is not None:
                return None if number is not None else merged
            if number is not None:
                _score_one(store, plan, names, number)
                return None
            merge = partial(
                ShardedRun(out).merge, self.command, progress=report, write_page=write_page
            )
            for _ in range(MERGE_ATTEMPTS - 1):
                _score_missing(store, plan, names, where, report)
                try:
                    return merge()
                except DamagedShardsError as error:
                    user_messages.show(f"WARNING: {error.finding}; they are scored again")
            _score_missing(store, plan, names, where, report)
            return merge()


def _shard_settings(request: ShardsRequest) -> "ShardSettings":
    """What every shard computes. Raises UsageError for components that are no names."""
    from trueground.errors import UsageError
    from trueground.evaluate.shards.plan import ShardSettings
    from trueground.metrics import METRICS

    judge, decomposer, rater = request.judge, request.decomposer, request.rater
    judges = list(judge) if isinstance(judge, list | tuple) and judge else [judge or "lexical"]
    if not all(isinstance(one, str) for one in [*judges, decomposer, rater or ""]):
        raise UsageError("in shards, judge, decomposer and rater are names, not objects")
    calibrations = request.judge_calibration or ()
    if isinstance(calibrations, str | Path):
        calibrations = [calibrations]
    metrics = None if request.metrics is None else METRICS.parse_all(request.metrics)
    return ShardSettings(
        metrics=None if metrics is None else tuple(spec.key for spec in metrics),
        judges=tuple(map(str, judges)),
        calibrations=tuple(map(str, calibrations)),
        decomposer=str(decomposer),
        rater=None if rater is None else str(rater),
        cache=request.cache,
        by=request.breakdowns,
        repeats_of=request.repeats_of,
        mapping=dict(request.mapping or {}),
        split_contexts=request.split_contexts,
        skip=request.on_bad_row == "skip",
        seed=request.seed,
        resamples=request.resamples,
        keep_records=request.keep_records,
    )


def _score_one(store: "RunStore", plan: "ShardPlan", names: Sequence[str], number: int) -> None:
    """Score a shard, unless it is done and its files have the checksums of its marker."""
    from trueground.errors import user_messages
    from trueground.evaluate.shards.merge import find_markers
    from trueground.evaluate.shards.work import is_whole, score_shard

    marker = find_markers(store, plan)[number]
    if marker is not None and is_whole(store, number, marker):
        user_messages.show(
            f"shard {number + 1}/{len(plan.shards)} in {store.name} is done already", note=True
        )
        return
    score_shard(store.place, names, number, len(plan.shards))


def _score_missing(
    store: "RunStore",
    plan: "ShardPlan",
    names: Sequence[str],
    engine: "Engine",
    progress: Progress,
) -> None:
    """Score all shards that are not done. WorkerError: some failed; the others are kept."""
    from trueground.errors import user_messages
    from trueground.evaluate.shards.merge import missing_shards
    from trueground.evaluate.shards.work import score_shard

    todo = missing_shards(store, plan)
    if len(todo) < len(plan.shards):
        done_before = len(plan.shards) - len(todo)
        user_messages.show(
            f"resuming the unfinished run in {store.name}: {done_before} of {len(plan.shards)} "
            "shards are done",
            note=True,
        )
    rows = [shard.good for shard in plan.shards]
    finished = sum(rows) - sum(rows[one] for one in todo)
    progress("score", finished, sum(rows))

    def done(number: int, _marker: Any) -> None:
        nonlocal finished
        finished += rows[number]
        progress("score", finished, sum(rows))

    sharers = min(engine.workers, len(todo))
    tasks = {one: (store.place, names, one, sharers) for one in todo}
    models = ("bi-encoder:", "cross-encoder:", "nli:", "token-classifier:")  # that run here
    weights = any(one.startswith(models) for one in plan.settings.judges)
    failed = engine.run(score_shard, tasks, done, weights=weights) if tasks else {}
    if failed:
        raise _failure(failed, plan, store)


def score_table(
    table: "pa.Table",
    *,
    metrics: Sequence[str] | str,
    judge: Judges = "lexical",
    decomposer: DecomposerName = "rules",
    rater: RaterName = None,
    cache: Cache = True,
    mapping: Columns = None,
    split_contexts: SplitContexts = None,
) -> "pa.Table":
    """The scores of a table's rows, in order: a pure function, for Ray Data, Spark, Dask, Daft.

    The columns of the result are `id`; `verdict`, where claims are checked; and for each metric its
    value (null where there is none) and `<metric>:status`. `metrics` must be named, so that every
    part of the data has the same columns; rows without an `id` are numbered within their table.
    A table without rows gives one without rows. Raises as `tg.score` does.
    """
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    empty = not len(frame)
    rows = [{"response": "", "contexts": [""]}] if empty else frame
    request = ScoreRequest(
        rows, metrics=metrics, judge=judge, decomposer=decomposer, rater=rater, cache=cache,
        mapping=None if empty else mapping, split_contexts=split_contexts,
    )  # fmt: skip
    result = request.score()
    items = result.items
    verdicts = [item.get("verdict") for item in result.evidence]
    if result.summary.verdicts is not None:
        items.insert_column(1, pl.Series("verdict", verdicts, pl.String))
    return (items.clear() if empty else items).to_arrow()


def _plan(
    store: "RunStore",
    settings: "ShardSettings",
    names: Sequence[str],
    shards: int | None,
    engine: "Engine",
    require: Sequence[str],
    progress: Progress,
    *,
    overwrite: bool,
) -> "ShardPlan":
    """The plan that is there, if it is of the same command, or a new one.

    With `overwrite` the plan of another command goes, with its shards.
    """
    import msgspec

    from trueground._version import __version__
    from trueground.errors import OutputError, user_messages
    from trueground.evaluate.plan import check_names, describe_missing
    from trueground.evaluate.shards.merge import delete_shards
    from trueground.evaluate.shards.plan import (
        PLAN,
        ShardPlan,
        check_same,
        plan_shards,
        read_plan,
    )
    from trueground.evaluate.shards.work import make_scoring_plan
    from trueground.evaluate.table import find_repeats

    plan = read_plan(store)
    if plan is not None:
        try:
            check_same(plan, settings, names, shards, store.name)
            return plan
        except OutputError:
            if not overwrite:
                raise
            delete_shards(store)
    parts, scoring = make_scoring_plan(settings)
    with closing(parts):
        scoring.prepare()
    rows = plan_shards(settings, names, shards, engine, progress)
    check = rows.check
    fields = [name for name, count in check.fields.items() if count]
    parts, scoring = make_scoring_plan(settings, fields=fields)
    with closing(parts):
        missing = describe_missing(scoring, check, by_name=settings.metrics is not None)
        scoring = replace(scoring, repeats_of=find_repeats(settings.repeats_of, check))
        check_names(scoring, check, require)
    if missing:
        user_messages.show(f"WARNING: {missing}")
    plan = ShardPlan(
        trueground=__version__,
        settings=settings,
        keys=tuple(spec.key for spec in scoring.chosen),
        repeats_of=scoring.repeats_of,
        missing=missing,
        files=rows.files,
        columns=rows.columns,
        shards=rows.shards,
        check=check,
    )
    store.write(PLAN, msgspec.json.encode(plan))
    return plan


def _check_place(store: "RunStore", *, overwrite: bool) -> "NewFolders | None":
    """Return the folders that were made. OutputError if a run or something else is there."""
    from trueground.errors import OutputError
    from trueground.evaluate.shards.plan import PLAN
    from trueground.runs import MANIFEST, claim_folder

    if store.read(PLAN) is not None:
        return None
    if store.folder is not None:
        try:
            return claim_folder(store.folder, overwrite=overwrite)
        except OutputError:
            if store.read(PLAN) is None:  # else another process has just made it
                raise
            return None
    if not overwrite and store.read(MANIFEST) is not None:
        raise OutputError(f"{store.name} holds a run; choose another --out, or pass --overwrite")
    return None


def _failure(failed: dict[int, Any], plan: "ShardPlan", store: "RunStore") -> Exception:
    from trueground.errors import WorkerError

    of = len(plan.shards)
    lines = [f"shard {number + 1}/{of}: {failed[number]}" for number in sorted(failed)[:10]]
    more = [f"and {len(failed) - 10} more"] if len(failed) > 10 else []
    return WorkerError(
        f"{len(failed)} of {of} shards failed; the others are done and kept in {store.name}. Run "
        "the same command again to try these once more:\n  " + "\n  ".join(lines + more)
    )
