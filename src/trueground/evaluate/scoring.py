"""What `score` does with a plan: the names in it checked, numbers in memory or a run directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueground.errors import RunInterrupted, UsageError
from trueground.evaluate.manifest import judging, make_manifest
from trueground.evaluate.mapper import Job
from trueground.evaluate.plan import Plan, check_breakdowns
from trueground.evaluate.result import Result, Summary
from trueground.evaluate.work import Work
from trueground.metrics.registry import METRICS
from trueground.plugins import known_everywhere
from trueground.records import Check
from trueground.runs.directory import ITEMS, RunDirectory, count_lines


def score_in_memory(work: Work) -> Result:
    """Summary and items; nothing is written."""
    summary, lines = work.in_memory()
    return Result(Summary(summary), None, lines, work.plan.note)


def score_to_disk(
    work: Work, out: Path, command: Sequence[str], *, overwrite: bool, unique: bool
) -> Result:
    """Write the run directory. Raises OutputError, WriteError."""
    with RunDirectory(out, overwrite=overwrite, unique=unique) as run:
        manifest = make_manifest(work.plan, work.check, command)

        def latest(error: BaseException | None) -> dict[str, Any]:
            """What judging cost, whether it was kept for the next time, and what is written."""
            spent = judging(work.plan.parts.spent) | {"cache_problem": work.plan.parts.problem}
            # An interrupt can come between writing a batch and counting it: the file tells.
            return spent if error is None else {**spent, "scored": count_lines(run.path / ITEMS)}

        try:
            return work.to_run(run, manifest, latest)
        except KeyboardInterrupt:
            done = count_lines(run.path / ITEMS)
            raise RunInterrupted(
                f"interrupted; {done} of {work.check.n} items are in {run.path / ITEMS}"
            ) from None


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


def check_names(plan: Plan, check: Check, require: Sequence[str]) -> None:
    """Breakdowns and gates must name something that is there. Raises UsageError."""
    check_breakdowns(plan.by, check)
    for name in require:
        known = plan.summary_keys
        if name not in known and sum(k.partition("(")[0] == name for k in known) != 1:
            raise UsageError(
                f"--fail-under {name}: this metric is not in the run, which has {', '.join(known)}"
            )
