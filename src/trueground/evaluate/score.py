"""Score answers that already exist: check, plan, map batches, write, summarise, draw."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trueground.errors import UsageError
from trueground.evaluate.calibrating import Calibrations
from trueground.evaluate.manifest import close_manifest, judging, make_manifest
from trueground.evaluate.mapper import Job
from trueground.evaluate.parts import JudgeName, Parts, make_parts
from trueground.evaluate.plan import Plan, check_breakdowns, make_plan
from trueground.evaluate.questioned import repeats_of
from trueground.evaluate.result import Result, Summary
from trueground.evaluate.values import Values
from trueground.evaluate.work import Progress, Work, no_progress
from trueground.metrics.base import Spec
from trueground.metrics.registry import METRICS
from trueground.plugins import known_everywhere
from trueground.records import Check, open_records
from trueground.runs.directory import ITEMS, MANIFEST, RunDirectory, write_json

if TYPE_CHECKING:
    from trueground.claims import Decomposer
    from trueground.judges.rating import Rater


@dataclass(frozen=True)
class Settings:
    """How to score; the fields are the options of the command line."""

    metrics: str | Sequence[str | Spec] | None = None
    judge: JudgeName | Sequence[JudgeName] = "lexical"  # of several, the first gives the headlines
    decomposer: str | Decomposer = "rules"
    rater: str | Rater | None = None  # who rates fluency and the like
    judge_calibration: Calibrations | None = None  # files of `judge calibrate`, for their judges
    cache: bool = True  # replies, vectors and scores that are kept from earlier runs
    by: str | Sequence[str] = ()
    repeats_of: str | None = None  # the field that tells which question is answered
    mapping: Mapping[str, str] | None = None
    on_bad_row: Literal["stop", "skip"] = "stop"
    limit: int | None = None
    seed: int = 0
    resamples: int = 2_000
    # None: by the number of records. More than one needs a script guarded by __name__.
    workers: int | None = 1
    overwrite: bool = False
    unique: bool = False  # a number is put behind `out` where it exists
    keep_records: bool = True
    progress: Progress = no_progress
    command: Sequence[str] = ()
    require: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, least in (("workers", 1), ("seed", 0), ("resamples", 1), ("limit", 1)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < least):
                raise UsageError(f"{name}={value!r}; it must be a whole number, {least} or more")


def score(records: Any, *, out: str | Path | None = None, **settings: Any) -> Result:
    """Score answers and summarise them.

    `records` is a path or URL (or several), a polars or pandas data frame, or an iterable of dicts
    or Records (contract, section 1). `metrics` are names or one comma-separated text; without them
    every metric of the default set whose fields are present is computed. With `out`, a run
    directory is written there (section 2); without it nothing is written. The other settings are
    the fields of `Settings`.

    Raises BadRowsError and InputError for the input, UsageError for names and options, OutputError
    for the folder, WriteError when writing stops midway, WorkerError when a process is lost,
    RunInterrupted on Ctrl-C.
    """
    unknown = settings.keys() - Settings.__dataclass_fields__.keys()
    if unknown:
        known = ", ".join(Settings.__dataclass_fields__)
        raise UsageError(f"unknown setting {min(unknown)!r}; settings are: {known}")
    return evaluate(records, Path(out) if out is not None else None, Settings(**settings))


async def ascore(records: Any, *, out: str | Path | None = None, **settings: Any) -> Result:
    """`score` for callers that own an event loop: the work is done in a thread."""
    return await asyncio.to_thread(score, records, out=out, **settings)


def evaluate(records: Any, out: Path | None, settings: Settings) -> Result:
    """The whole of `score`, on checked settings."""
    parts = make_parts(
        settings.judge,
        settings.decomposer,
        settings.rater,
        cache=settings.cache,
        calibration=settings.judge_calibration,
    )
    with closing(parts):
        return _evaluate(records, out, settings, parts)


def _evaluate(records: Any, out: Path | None, settings: Settings, parts: Parts) -> Result:
    # Names are read before the file is: a slip in an option should not cost a pass over the rows.
    for spec in _plan(settings, parts, ()).specs:
        spec.metric.prepare(spec.options)
    with open_records(
        records,
        mapping=settings.mapping,
        on_bad_row=settings.on_bad_row,
        limit=settings.limit,
    ) as source:
        check = source.check(lambda done: settings.progress("check", done, None))
        fields = [name for name, count in check.fields.items() if count]
        plan = _plan(settings, parts, fields, settings.keep_records and out is not None)
        plan = replace(plan, repeats_of=repeats_of(settings.repeats_of, check))
        _check_fields(plan, settings, check)
        with Values(plan.width, plan.by, plan.abstained_at) as values:
            job = make_job(plan)
            work = Work(plan, source, check, values, job, settings.workers, settings.progress)
            if out is None:
                summary, lines = work.in_memory()
                return Result(Summary(summary), None, lines, plan.note)
            return _to_disk(work, out, settings)


def _to_disk(work: Work, out: Path, settings: Settings) -> Result:
    with RunDirectory(out, overwrite=settings.overwrite, unique=settings.unique) as run:
        manifest = make_manifest(work.plan, work.check, settings.command)
        write_json(run.path / MANIFEST, manifest)
        try:
            summary = work.to_disk(run)
        except BaseException as error:
            close_manifest(run.path, manifest | _spent(work.plan), work.values.n, error)
            raise
        manifest |= _spent(work.plan)
        close_manifest(run.path, manifest, work.values.n, None)
        return Result(Summary(summary), run.path, run.path / ITEMS, work.plan.note)


def _spent(plan: Plan) -> dict[str, Any]:
    """What judging cost, and whether it was kept for the next time."""
    return judging(plan.parts.spent) | {"cache_problem": plan.parts.problem}


def make_job(plan: Plan) -> Job | None:
    """The names by which another process finds all parts; None where it could not."""
    specs, names = plan.chosen, plan.parts.names
    known = (
        all(METRICS.get(spec.metric.name) is spec.metric for spec in specs)
        and known_everywhere("metric", (spec.metric.name for spec in specs))
        and not any(spec.metric.rubric or spec.metric.comparer for spec in specs)
    )
    if names is None or not known:
        return None
    keys = tuple(spec.key for spec in specs)
    return Job(keys, *names, plan.by, plan.keep_records, plan.repeats_of)


def _plan(
    settings: Settings, parts: Parts, fields: Sequence[str], keep_records: bool = True
) -> Plan:
    return make_plan(
        fields,
        settings.metrics,
        parts,
        by=(settings.by,) if isinstance(settings.by, str) else tuple(settings.by),
        seed=settings.seed,
        resamples=settings.resamples,
        keep_records=keep_records,
    )


def _check_fields(plan: Plan, settings: Settings, check: Check) -> None:
    """Breakdowns and gates must name something that is there. Raises UsageError."""
    check_breakdowns(plan.by, check)
    for name in settings.require:
        known = plan.summary_keys
        if name not in known and sum(k.partition("(")[0] == name for k in known) != 1:
            raise UsageError(
                f"--fail-under {name}: this metric is not in the run, which has {', '.join(known)}"
            )
