"""The plan of a sharded run: what is computed, which rows each shard has, and what they are.

It is made once, before anything is scored, and stands in shards/plan.json. Every row is read and
checked for it, as `score` does, so that no shard meets a bad row or an id that another shard has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from trueground._version import __version__
from trueground.errors import InputError, OutputError
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
    RowWithId,
    cut_files,
    file_state,
    find_columns,
    reject_repeated,
)
from trueground.records.problems import PlacedRow
from trueground.records.reading import conclude
from trueground.shards.engines import Engine
from trueground.shards.store import RunStore

PLAN = "shards/plan.json"
_VERSION = 1
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

    `duplicates` are the numbers of those whose id stands in an earlier row.
    """

    parts: tuple[FilePart, ...]
    first: int = 0
    rows: int = 0
    good: int = 0
    duplicates: tuple[int, ...] = ()


class ShardPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All that shards and merge must agree on. Names of inputs are without credentials.

    `keys` are the metrics; `columns` are, for each file, field → the column read under its name.
    """

    version: int
    trueground: str
    settings: ShardSettings
    keys: tuple[str, ...]
    repeats_of: str | None
    missing: str | None
    files: tuple[FileState, ...]
    checksums: tuple[str, ...]
    columns: tuple[dict[str, str], ...]
    shards: tuple[Shard, ...]
    fields: dict[str, int]
    breakdowns: list[str]
    hints: dict[str, str]
    bad: list[PlacedRow]
    bad_total: int

    @property
    def digest(self) -> str:
        """What the shards of this plan, and of no other, carry."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:32]

    @property
    def check(self) -> Check:
        """The outcome of the first pass over all rows."""
        return Check(
            n=sum(shard.good for shard in self.shards),
            bad=list(self.bad),
            bad_total=self.bad_total,
            fields=self.fields,
            groups=self.fields["group"] > 0,
            files=[
                FileInfo(file.name, checksum, file.bytes)
                for file, checksum in zip(self.files, self.checksums, strict=True)
            ],
            breakdowns=self.breakdowns,
            hints=self.hints,
        )

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


def file_checksum(name: str, state: FileState) -> str:
    """SHA-256 (hex) of a file on this machine; of any other what its store tells of it."""
    return state.mark if is_remote(name) else FileInfo.of(state.name, Path(name)).sha256


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
    """The files, of these, that are not what they were when the plan was made. InputError."""
    known = {state.name: state for state in plan.files}
    found = map(file_state, names)
    return [state.name for state in found if state != known[state.name]]


def check_unchanged(plan: ShardPlan, number: int, names: Sequence[str]) -> None:
    """InputError where a file of the shard is not what it was when the plan was made."""
    used = {part.name for part in plan.shards[number].parts}
    if changed := changed_files(plan, [name for name in names if redact_urls(name) in used]):
        raise InputError(
            f"{', '.join(changed)} changed after the plan was made; score it anew with another "
            "--out, or put the old file back"
        )


def read_plan(store: RunStore) -> ShardPlan | None:
    """The plan; None where there is none yet. OutputError: it cannot be read."""
    data = store.read(PLAN)
    if data is None:
        return None
    try:
        plan = msgspec.json.decode(data, type=ShardPlan)
    except msgspec.MsgspecError as error:
        raise OutputError(
            f"{store.name}/{PLAN} is no plan of this version of trueground ({error}); choose "
            "another --out"
        ) from None
    return plan


def check_same(
    plan: ShardPlan, settings: ShardSettings, names: Sequence[str], shards: int | None, where: str
) -> None:
    """OutputError where the plan is of another command."""
    found = msgspec.structs.asdict(plan.settings) | {
        "input": [file.name for file in plan.files],
        "shards": len(plan.shards),
        "version of trueground": plan.trueground,
    }
    wanted = msgspec.structs.asdict(settings) | {
        "input": [redact_urls(name) for name in names],
        "shards": shards or len(plan.shards),
        "version of trueground": __version__,
    }
    other = [name for name in wanted if wanted[name] != found[name]]
    if not other and (changed := changed_files(plan, names)):
        raise OutputError(
            f"{where} holds shards of other data: {', '.join(changed)} changed since; choose "
            "another --out, or pass --overwrite to begin anew"
        )
    if other:
        name = other[0]
        raise OutputError(
            f"{where} holds shards of another command: {', '.join(other)} differ ({name}: "
            f"{found[name]!r} there, {wanted[name]!r} here); choose another --out, or pass "
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
    counts = _everywhere(engine, count_part, [(cut, columns) for cut in cuts], "count", progress)
    numbered = _number(cuts, counts)
    while True:
        tasks = [(cut, columns, settings.split_contexts, first) for cut, first, _ in numbered]
        checks: list[PartCheck] = _everywhere(engine, check_part, tasks, "check", progress)
        for (cut, _, _), found in zip(numbered, checks, strict=True):
            for part, seen in zip(cut, found.columns, strict=True):
                columns[part.name].update(seen)
        changed = [one.settle() for one in columns.values()]
        if not any(changed):
            break  # else a column in late rows has changed what the others stand for
    tally, ids = Tally(), SeenIds()
    goods = [found.tally.n for found in checks]
    for found in checks:
        tally.update(found.tally)
        ids.update(found.seen)
    duplicates: list[int] = []
    if repeated := ids.repeated():
        wanted = [(*task, repeated) for task in tasks]
        rows: list[list[RowWithId]] = _everywhere(engine, find_rows, wanted, "check", progress)
        duplicates = reject_repeated([row for some in rows for row in some], repeated, tally)
    made = []
    for (cut, first, count), good in zip(numbered, goods, strict=True):
        own = tuple(one for one in duplicates if first <= one < first + count)
        hidden = tuple(
            msgspec.structs.replace(part, name=shown[names.index(part.name)]) for part in cut
        )
        made.append(Shard(hidden, first, count, good - len(own), own))
    check = conclude(
        ", ".join(shown), dict(zip(shown, columns.values(), strict=True)), tally, skip=settings.skip
    )
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


def _everywhere(
    engine: Engine, work: Any, tasks: Sequence[tuple[Any, ...]], doing: str, progress: Progress
) -> list[Any]:
    """What the work gives for each task, in order; raises the error of the first that fails."""
    found: dict[int, Any] = {}

    def done(number: int, result: Any) -> None:
        found[number] = result
        progress(doing, len(found), len(tasks))

    failed = engine.run(work, dict(enumerate(tasks)), done)
    for number in sorted(failed):
        raise failed[number]
    return [found[number] for number in range(len(tasks))]


def count_part(parts: Sequence[FilePart], columns: dict[str, ColumnMap]) -> list[PartRows]:
    """How many rows each part has."""
    with PartSource(parts, columns, skip=True) as source:
        return source.count()


def check_part(
    parts: Sequence[FilePart], columns: dict[str, ColumnMap], split: str | None, first: int
) -> PartCheck:
    """What the rows of the parts are."""
    with PartSource(parts, columns, skip=True, split_contexts=split, first=first) as source:
        return source.check_rows()


def find_rows(
    parts: Sequence[FilePart],
    columns: dict[str, ColumnMap],
    split: str | None,
    first: int,
    repeated: Any,
) -> list[RowWithId]:
    """The rows whose id may stand elsewhere too."""
    with PartSource(parts, columns, skip=True, split_contexts=split, first=first) as source:
        return source.rows_with(repeated)
