"""The plan of a sharded run: what is computed, which rows each shard has, and what they are.

It is made once, before anything is scored, and stands in shards/plan.json. Every row is read and
checked for it, as `score` does, so that no shard meets a bad row or an id that another shard has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import msgspec

from trueground._version import __version__
from trueground.errors import InputError, OutputError
from trueground.evaluate.shards.engines import Engine
from trueground.evaluate.shards.store import RunStore
from trueground.net.redact import redact_urls
from trueground.options import Progress
from trueground.records.checks import Check, FileInfo, SeenIds, Tally
from trueground.records.columns import ColumnMap
from trueground.records.files import is_remote
from trueground.records.inputs import FilePart
from trueground.records.parts import (
    FileState,
    PartCheck,
    PartRows,
    PartSource,
    cut_files,
    file_state,
    find_columns,
)
from trueground.records.reading import RowWithId, conclude, reject_repeated
from trueground.runs.directory import SHARDS
from trueground.runs.identity import list_differences

PLAN = "shards/plan.json"
_SHARD_BYTES = 128 << 20  # of the input, where nobody says how many shards there are


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


class Shard(msgspec.Struct, frozen=True):
    """Consecutive rows of the input, the first of them number `first`, `good` of them records.

    `duplicates` are the numbers of those whose id stands in an earlier row. `digests` are the
    checksums of the rows of each part, as they were when they were checked.
    """

    parts: tuple[FilePart, ...]
    digests: tuple[str, ...] = ()
    first: int = 0
    rows: int = 0
    good: int = 0
    duplicates: tuple[int, ...] = ()


class ShardPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All that shards and merge must agree on. Names of inputs are without credentials.

    `keys` are the metrics; `columns` are, for each file, field → the column read under its name.
    """

    trueground: str
    settings: ShardSettings
    keys: tuple[str, ...]
    repeats_of: str | None
    missing: str | None
    files: tuple[FileState, ...]
    columns: tuple[dict[str, str], ...]
    shards: tuple[Shard, ...]
    check: Check

    @property
    def digest(self) -> str:
        """What the shards of this plan, and of no other, carry."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:32]

    def source(self, number: int, names: Sequence[str]) -> PartSource:
        """The records of a shard, from 0; `names` are the inputs as the user named them."""
        shard = self.shards[number]
        known = dict(zip((file.name for file in self.files), names, strict=True))
        return PartSource(
            [msgspec.structs.replace(part, name=known[part.name]) for part in shard.parts],
            make_columns(self.settings, names, self.columns),
            skip=self.settings.skip,
            split_contexts=self.settings.split_contexts,
            first=shard.first,
            duplicates=shard.duplicates,
        )


def make_columns(
    settings: ShardSettings, names: Sequence[str], aliases: Sequence[Mapping[str, str]]
) -> dict[str, ColumnMap]:
    """What the columns of each file stand for, by its name."""
    found = {}
    for name, one in zip(names, aliases, strict=True):
        found[name] = ColumnMap(settings.mapping)
        found[name].aliases = dict(one)
    return found


def changed_files(plan: ShardPlan, names: Sequence[str]) -> list[str]:
    """The files, of these, that are not what they were when the plan was made. InputError.

    A file with another time is read: it may be the same one, put back.
    """
    known = {state.name: state for state in plan.files}
    checksums = {file.path: file.sha256 for file in plan.check.files}
    changed = []
    for name in names:
        state = file_state(name)
        if state == known[state.name]:
            continue
        same_size = state.bytes == known[state.name].bytes
        if (
            is_remote(name)
            or not same_size
            or FileInfo.of(name, Path(name)).sha256 != checksums[state.name]
        ):
            changed.append(state.name)
    return changed


def check_size(plan: ShardPlan, number: int, names: Sequence[str], out: str) -> None:
    """InputError where a file of the shard cannot be what it was when the plan was made.

    It has another size, or in a store another mark. The rest is seen when the shard is read.
    """
    used = {part.name for part in plan.shards[number].parts}
    known = {state.name: state for state in plan.files}
    for name in names:
        if redact_urls(name) not in used:
            continue
        state = file_state(name)
        before = known[state.name]
        if state.bytes != before.bytes or (is_remote(name) and state.mark != before.mark):
            raise input_changed(plan, number, [state.name], out)


def check_rows_unchanged(plan: ShardPlan, number: int, digests: Sequence[str], out: str) -> None:
    """InputError where the rows that were read are not those that were checked for the plan."""
    shard = plan.shards[number]
    changed = [
        part.name
        for part, before, now in zip(shard.parts, shard.digests, digests, strict=True)
        if before != now
    ]
    if changed:
        raise input_changed(plan, number, changed, out)


def input_changed(plan: ShardPlan, number: int, changed: Sequence[str], out: str) -> InputError:
    """Return the error for a shard whose input isn't the one that was planned."""
    return InputError(
        f"{', '.join(changed)}: changed after the plan was made. The rows of shard "
        f"{number + 1}/{len(plan.shards)} are not those that were checked. Put the old file back "
        f"and run the same command again. To score the file as it is now, remove {out}/{SHARDS} "
        "first, or choose another --out"
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
    if changed := changed_files(plan, names):
        raise OutputError(
            f"{where} holds an unfinished run in shards of other data: {', '.join(changed)} "
            "changed since. Put the old file back to resume it. Or choose another --out, or pass "
            "--overwrite to begin anew"
        )


def plan_rows(
    settings: ShardSettings,
    names: Sequence[str],
    shards: int | None,
    engine: Engine,
    progress: Progress,
) -> tuple[tuple[FileState, ...], list[Shard], dict[str, ColumnMap], Check]:
    """Cut the inputs, count and check all rows. InputError, BadRowsError."""
    states = tuple(map(file_state, names))
    shown = [state.name for state in states]
    if len(set(names)) < len(names):
        raise InputError("an input is named twice; name each file once")
    if shards is None:
        shards = -(-sum(state.bytes for state in states) // _SHARD_BYTES)
    cuts = cut_files(names, states, shards)
    columns = find_columns(names, states, settings.mapping)
    counts = _everywhere(engine, [("count", cut, columns) for cut in cuts], progress)
    numbered = _number(cuts, counts)
    while True:
        rows_of = [(cut, columns, settings.split_contexts, first) for cut, first, _ in numbered]
        tasks = [("check_rows", *one) for one in rows_of]
        checks: list[PartCheck] = _everywhere(engine, tasks, progress)
        for (cut, _, _), found in zip(numbered, checks, strict=True):
            for part, known in zip(cut, found.columns, strict=True):
                columns[part.name].update(known)
        changed = [one.settle() for one in columns.values()]
        if not any(changed):
            break  # else a column in late rows has changed what the others stand for
    for (_, _, count), found in zip(numbered, checks, strict=True):
        if found.tally.n + found.tally.bad_total != count:
            raise InputError(f"{', '.join(shown)} changed while it was planned; start again")
    tally, ids = Tally(), SeenIds()
    goods = [found.tally.n for found in checks]
    for found in checks:
        tally.update(found.tally)
        ids.update(found.seen)
    duplicates: list[int] = []
    if repeated := ids.repeated():
        wanted = [("repeated_rows", *one, repeated) for one in rows_of]
        rows: list[list[RowWithId]] = _everywhere(engine, wanted, progress)
        duplicates = list(reject_repeated(chain.from_iterable(rows), repeated, tally))
    made = []
    for (cut, first, count), good, seen in zip(numbered, goods, checks, strict=True):
        own = tuple(one for one in duplicates if first <= one < first + count)
        hidden = tuple(
            msgspec.structs.replace(part, name=shown[names.index(part.name)]) for part in cut
        )
        made.append(Shard(hidden, tuple(seen.digests), first, count, good - len(own), own))
    check = conclude(
        ", ".join(shown), dict(zip(shown, columns.values(), strict=True)), tally, skip=settings.skip
    )
    # Of a file elsewhere its store's mark is the checksum.
    check.files = [
        FileInfo(state.name, state.mark, state.bytes)
        if is_remote(name)
        else FileInfo.of(state.name, Path(name))
        for name, state in zip(names, states, strict=True)
    ]
    return states, made, columns, check


def _number(
    cuts: Sequence[Sequence[FilePart]], counts: Sequence[Sequence[PartRows]]
) -> list[tuple[list[FilePart], int, int]]:
    """(parts that know what stands before them in their file, first row, rows) of each shard."""
    before: dict[str, int] = {}
    found = []
    totals = [sum(one.rows for one in count) for count in counts]
    firsts = accumulate(totals, initial=0)
    for cut, count, first, rows in zip(cuts, counts, firsts, totals, strict=False):
        parts = []
        for part, one in zip(cut, count, strict=True):
            parts.append(msgspec.structs.replace(part, before=before.get(part.name, 0)))
            before[part.name] = before.get(part.name, 0) + one.numbers
        found.append((parts, first, rows))
    return found


def _everywhere(engine: Engine, tasks: Sequence[tuple[Any, ...]], progress: Progress) -> list[Any]:
    """What `read_part` gives for each task, in order; raises the error of the first that fails."""
    found: dict[int, Any] = {}

    def done(number: int, result: Any) -> None:
        found[number] = result
        progress("count" if tasks[0][0] == "count" else "check", len(found), len(tasks))

    failed = engine.run(read_part, dict(enumerate(tasks)), done)
    for number in sorted(failed):
        raise failed[number]
    return [found[number] for number in range(len(tasks))]


def read_part(
    what: str,
    parts: Sequence[FilePart],
    columns: dict[str, ColumnMap],
    split: str | None = None,
    first: int = 0,
    *more: Any,
) -> Any:
    """What a method of `PartSource` gives of the parts: `count`, `check_rows`, `repeated_rows`."""
    with PartSource(parts, columns, skip=True, split_contexts=split, first=first) as source:
        return getattr(source, what)(*more)
