"""The plan of a sharded run: what is computed, which rows each shard has, and what they are.

It is made once, before anything is scored, and stands in shards/plan.json. Every row is read and
checked for it, as `score` does, so that no shard meets a bad row or an id that another shard has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from trueground._version import __version__
from trueground.errors import InputError, OutputError
from trueground.evaluate.shards.engines import Engine
from trueground.evaluate.shards.store import RunStore
from trueground.net import redact_urls
from trueground.options import Progress
from trueground.records import RowPlan
from trueground.runs import RunFiles, list_differences

PLAN = "shards/plan.json"


class ShardSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a sharded run computes, as names from which any process can make the same."""

    metrics: tuple[str, ...] | None
    judges: tuple[str, ...]
    calibrations: tuple[str, ...]
    decomposer: str
    rater: str | None
    cache: bool
    by: tuple[str, ...]
    repeats_of: str | None
    mapping: dict[str, str]
    split_contexts: str | None
    skip: bool
    seed: int
    resamples: int
    keep_records: bool


class ShardPlan(RowPlan, frozen=True, kw_only=True):
    """All that shards and merge must agree on; `keys` are the metrics."""

    trueground: str
    settings: ShardSettings
    keys: tuple[str, ...]
    repeats_of: str | None
    missing: str | None

    @property
    def digest(self) -> str:
        """What the shards of this plan, and of no other, carry."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:32]


def check_size(plan: ShardPlan, number: int, names: Sequence[str], out: str) -> None:
    """InputError if a file of the shard can't be what it was when the plan was made."""
    if (resized := plan.resized_file(number, names)) is not None:
        raise input_changed(plan, number, [resized], out)


def check_rows_unchanged(plan: ShardPlan, number: int, digests: Sequence[str], out: str) -> None:
    """InputError if the rows that were read aren't those that were checked for the plan."""
    if changed := plan.changed_parts(number, digests):
        raise input_changed(plan, number, changed, out)


def input_changed(plan: ShardPlan, number: int, changed: Sequence[str], out: str) -> InputError:
    """Return the error for a shard whose input isn't the one that was planned."""
    return InputError(
        f"{', '.join(changed)}: changed after the plan was made. The rows of shard "
        f"{number + 1}/{len(plan.shards)} are not those that were checked. Put the old file back "
        f"and run the same command again. To score the file as it is now, remove "
        f"{out}/{RunFiles.SHARDS_NAME} first, or choose another --out"
    )


def read_plan(store: RunStore) -> ShardPlan | None:
    """The plan; None where there is none yet. OutputError: it cannot be read."""
    data = store.read(PLAN)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=ShardPlan)
    except msgspec.MsgspecError as error:
        raise OutputError(
            f"{store.name}/{PLAN} is no plan of this version of trueground ({error}); choose "
            "another --out"
        ) from None


def check_same(
    plan: ShardPlan, settings: ShardSettings, names: Sequence[str], shards: int | None, where: str
) -> None:
    """OutputError where the plan is of another command."""
    begun = msgspec.structs.asdict(plan.settings) | {
        "input": [file.name for file in plan.files],
        "shards": len(plan.shards),
        "version of trueground": plan.trueground,
    }
    now = msgspec.structs.asdict(settings) | {
        "input": [redact_urls(name) for name in names],
        "shards": shards or len(plan.shards),
        "version of trueground": __version__,
    }
    if differences := list_differences(begun, now):
        raise OutputError(
            "\n".join(
                [
                    f"{where} holds an unfinished run in shards of another command. They differ in",
                    *differences,
                    "Resume it by the command that began it. Or choose another --out, or pass "
                    "--overwrite to begin anew",
                ]
            )
        )
    if changed := plan.changed_files(names):
        raise OutputError(
            f"{where} holds an unfinished run in shards of other data: {', '.join(changed)} "
            "changed since. Put the old file back to resume it. Or choose another --out, or pass "
            "--overwrite to begin anew"
        )


def plan_shards(
    settings: ShardSettings,
    names: Sequence[str],
    shards: int | None,
    engine: Engine,
    progress: Progress,
) -> RowPlan:
    """Cut the inputs, count and check all rows. InputError, BadRowsError."""

    def run(phase: str, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        results: dict[int, Any] = {}

        def done(number: int, result: Any) -> None:
            results[number] = result
            progress(phase, len(results), len(tasks))

        failed = engine.run(work, dict(enumerate(tasks)), done)
        for number in sorted(failed):
            raise failed[number]
        return [results[number] for number in range(len(tasks))]

    return RowPlan.make(
        names,
        settings.mapping,
        run,
        shards=shards,
        skip=settings.skip,
        split_contexts=settings.split_contexts,
    )
