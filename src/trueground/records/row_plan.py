"""The plan of records that several processes read: which rows each has, and what they are.

All rows are read and checked once, as `RecordSource.check` does, so that no process meets a bad row
or an id that another process has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from trueground.errors import InputError
from trueground.net import redact_urls
from trueground.records.checks import Check, FileInfo, RepeatedIds, SeenIds, Tally
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

_SHARD_BYTES = 128 << 20  # of the input, if the number of shards isn't given


class RunTasks(Protocol):
    """Runs tasks in whatever processes there are."""

    def __call__(
        self, phase: str, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Return what `work` gives for each task, in order; raise the error of the first failure.

        `phase` is "count" or "check", for progress.
        """
        ...


class RowShard(msgspec.Struct, frozen=True):
    """Consecutive rows of the input, the first of them number `first`, `good` of them records.

    `duplicates` are the numbers of those whose id appears in an earlier row. `digests` are the
    checksums of the rows of each part, as they were when they were checked.
    """

    parts: tuple[FilePart, ...]
    digests: tuple[str, ...] = ()
    first: int = 0
    rows: int = 0
    good: int = 0
    duplicates: tuple[int, ...] = ()


class RowPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows each shard has. Names of inputs are without credentials.

    `columns` are, for each file, field → the column read under its name.
    """

    files: tuple[FileState, ...]
    columns: tuple[dict[str, str], ...]
    shards: tuple[RowShard, ...]
    check: Check

    @staticmethod
    def make(
        names: Sequence[str],
        mapping: Mapping[str, str],
        run: RunTasks,
        *,
        shards: int | None,
        skip: bool,
        split_contexts: str | None,
    ) -> RowPlan:
        """Cut the inputs, count and check all rows. InputError, BadRowsError.

        Args:
            names: The inputs: paths and URLs.
            mapping: The user's column of a field.
            run: Where the work runs.
            shards: How many; None chooses by size.
            skip: Whether bad rows are skipped.
            split_contexts: Where contexts that are one text are cut.
        """
        states = tuple(map(file_state, names))
        shown = [state.name for state in states]
        if len(set(names)) < len(names):
            raise InputError("an input is named twice; name each file once")
        if shards is None:
            shards = -(-sum(state.bytes for state in states) // _SHARD_BYTES)
        cuts = cut_files(names, states, shards)
        columns = find_columns(names, states, mapping)
        counts = run("count", _count, [(cut, columns) for cut in cuts])
        numbered = _number(cuts, counts)
        checks = _check_shards(run, numbered, columns, split_contexts)
        for cut, checked in zip(numbered, checks, strict=True):
            if checked.tally.n + checked.tally.bad_total != cut.rows:
                raise InputError(f"{', '.join(shown)} changed while it was planned; start again")
        tally, ids = Tally(), SeenIds()
        for checked in checks:
            tally.update(checked.tally)
            ids.update(checked.seen)
        duplicates: list[int] = []
        if repeated := ids.repeated():
            tasks = [(cut.parts, columns, split_contexts, cut.first, repeated) for cut in numbered]
            rows: list[list[RowWithId]] = run("check", _find_repeated, tasks)
            duplicates = list(reject_repeated(chain.from_iterable(rows), repeated, tally))
        by_name = dict(zip(shown, columns.values(), strict=True))
        check = conclude(", ".join(shown), by_name, tally, skip=skip)
        # Of a file elsewhere its store's mark is the checksum.
        check.files = [
            FileInfo(state.name, state.mark, state.bytes)
            if is_remote(name)
            else FileInfo.of(state.name, Path(name))
            for name, state in zip(names, states, strict=True)
        ]
        aliases = tuple(one.aliases for one in columns.values())
        made = [
            _make_shard(cut, checked, duplicates, dict(zip(names, shown, strict=True)))
            for cut, checked in zip(numbered, checks, strict=True)
        ]
        return RowPlan(files=states, columns=aliases, shards=tuple(made), check=check)

    def open_shard(
        self,
        number: int,
        names: Sequence[str],
        mapping: Mapping[str, str],
        *,
        skip: bool,
        split_contexts: str | None,
    ) -> PartSource:
        """Open the records of a shard, counted from 0.

        Args:
            number: The shard.
            names: The inputs as the user named them.
            mapping: The user's column of a field.
            skip: Whether bad rows are skipped.
            split_contexts: Where contexts that are one text are cut.
        """
        shard = self.shards[number]
        known = dict(zip((file.name for file in self.files), names, strict=True))
        columns = {}
        for name, aliases in zip(names, self.columns, strict=True):
            columns[name] = ColumnMap(mapping)
            columns[name].aliases = dict(aliases)
        return PartSource(
            [msgspec.structs.replace(part, name=known[part.name]) for part in shard.parts],
            columns,
            skip=skip,
            split_contexts=split_contexts,
            first=shard.first,
            duplicates=shard.duplicates,
        )

    def changed_files(self, names: Sequence[str]) -> list[str]:
        """Return the files, of these, that differ from those that were planned. InputError.

        A file with another time is read: it may be the same one, put back.
        """
        known = {state.name: state for state in self.files}
        checksums = {file.path: file.sha256 for file in self.check.files}
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

    def resized_file(self, number: int, names: Sequence[str]) -> str | None:
        """Return a file of the shard that can't be what it was; None if there is none.

        It has another size, or in a store another mark. The rest is seen when the shard is read.
        """
        used = {part.name for part in self.shards[number].parts}
        known = {state.name: state for state in self.files}
        for name in names:
            if redact_urls(name) not in used:
                continue
            state = file_state(name)
            before = known[state.name]
            if state.bytes != before.bytes or (is_remote(name) and state.mark != before.mark):
                return state.name
        return None

    def changed_parts(self, number: int, digests: Sequence[str]) -> list[str]:
        """Return the files of the shard whose rows, as they were read, aren't those planned."""
        shard = self.shards[number]
        checked = zip(shard.parts, shard.digests, digests, strict=True)
        return [part.name for part, before, now in checked if before != now]


class _NumberedCut(NamedTuple):
    """Parts that know what comes before them in their file; the first row, and how many."""

    parts: list[FilePart]
    first: int
    rows: int


def _number(
    cuts: Sequence[Sequence[FilePart]], counts: Sequence[Sequence[PartRows]]
) -> list[_NumberedCut]:
    before: dict[str, int] = {}
    numbered = []
    totals = [sum(one.rows for one in count) for count in counts]
    firsts = accumulate(totals, initial=0)
    for cut, count, first, total in zip(cuts, counts, firsts, totals, strict=False):
        parts = []
        for part, one in zip(cut, count, strict=True):
            parts.append(msgspec.structs.replace(part, before=before.get(part.name, 0)))
            before[part.name] = before.get(part.name, 0) + one.numbers
        numbered.append(_NumberedCut(parts, first, total))
    return numbered


def _check_shards(
    run: RunTasks,
    numbered: Sequence[_NumberedCut],
    columns: dict[str, ColumnMap],
    split_contexts: str | None,
) -> list[PartCheck]:
    """Check all rows, again if a column in late rows changes what the others stand for."""
    while True:
        tasks = [(cut.parts, columns, split_contexts, cut.first) for cut in numbered]
        checks: list[PartCheck] = run("check", _check, tasks)
        for cut, checked in zip(numbered, checks, strict=True):
            for part, known in zip(cut.parts, checked.columns, strict=True):
                columns[part.name].update(known)
        changed = [one.settle() for one in columns.values()]
        if not any(changed):
            return checks


def _make_shard(
    cut: _NumberedCut, checked: PartCheck, duplicates: Sequence[int], shown: Mapping[str, str]
) -> RowShard:
    """Return the shard, whose good rows are those without the duplicates in it."""
    own = tuple(one for one in duplicates if cut.first <= one < cut.first + cut.rows)
    parts = tuple(msgspec.structs.replace(part, name=shown[part.name]) for part in cut.parts)
    good = checked.tally.n - len(own)
    return RowShard(parts, tuple(checked.digests), cut.first, cut.rows, good, own)


def _open(
    parts: Sequence[FilePart],
    columns: dict[str, ColumnMap],
    split_contexts: str | None = None,
    first: int = 0,
) -> PartSource:
    return PartSource(parts, columns, skip=True, split_contexts=split_contexts, first=first)


# These run in other processes.


def _count(parts: Sequence[FilePart], columns: dict[str, ColumnMap]) -> list[PartRows]:
    with _open(parts, columns) as source:
        return source.count()


def _check(
    parts: Sequence[FilePart],
    columns: dict[str, ColumnMap],
    split_contexts: str | None,
    first: int,
) -> PartCheck:
    with _open(parts, columns, split_contexts, first) as source:
        return source.check_rows()


def _find_repeated(
    parts: Sequence[FilePart],
    columns: dict[str, ColumnMap],
    split_contexts: str | None,
    first: int,
    repeated: RepeatedIds,
) -> list[RowWithId]:
    with _open(parts, columns, split_contexts, first) as source:
        return source.repeated_rows(repeated)
