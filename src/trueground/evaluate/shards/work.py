"""One shard, scored: what a worker does, wherever it is.

A shard leaves three files and, last of all, a marker with their checksums: only what has a marker
is done. The same shard gives the same bytes every time, so that two workers on it do no harm.
"""

from __future__ import annotations

import hashlib
import resource
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import zstandard

from trueground.errors import OutputError
from trueground.evaluate.components import Components
from trueground.evaluate.numbers import decode_numbers, encode_numbers
from trueground.evaluate.plan import Plan
from trueground.evaluate.scorer import Scorer
from trueground.evaluate.scoring import cut_for_asking
from trueground.evaluate.shards.plan import (
    ShardPlan,
    ShardSettings,
    check_rows_unchanged,
    check_size,
    read_plan,
)
from trueground.evaluate.shards.store import MissingFileError, RunStore, open_store
from trueground.evaluate.table import Scored
from trueground.net import Limiter
from trueground.runs import ITEMS, RECORDS

NUMBERS = "numbers"
_LENGTH = struct.Struct("<Q")


class FileMark(msgspec.Struct, frozen=True):
    """A file of a shard."""

    bytes: int
    sha256: str


class Marker(msgspec.Struct, frozen=True):
    """A shard that is done: of which plan, how many items it has, its files, and what it cost."""

    plan: str
    n: int
    files: dict[str, FileMark]
    spent: dict[str, int] | None = None
    trouble: str | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0


def shard_name(number: int, kind: str) -> str:
    """The name of a file of a shard, which counts from 0."""
    return f"shards/{number:05}.{kind}"


def marker_name(number: int) -> str:
    """The name of a shard's marker."""
    return shard_name(number, "done.json")


def read_marker(store: RunStore, number: int, plan: str) -> Marker | None:
    """The marker of a shard of this plan; None where it is not done."""
    data = store.read(marker_name(number))
    if data is None:
        return None
    try:
        marker = msgspec.json.decode(data, type=Marker)
    except msgspec.MsgspecError:
        return None
    return marker if marker.plan == plan else None


def has_file(store: RunStore, number: int, kind: str, mark: FileMark) -> bool:
    """Whether a file of a shard is there and has the checksum of its marker."""
    try:
        with store.fetched(shard_name(number, kind)) as path:
            return digest_of(path) == mark.sha256
    except MissingFileError:
        return False


def digest_of(path: Path) -> str:
    """The SHA-256 of a file of a shard."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_whole(store: RunStore, number: int, marker: Marker) -> bool:
    """Whether all files of a shard are there and have the checksums of its marker."""
    return all(has_file(store, number, kind, mark) for kind, mark in marker.files.items())


def make_scoring_plan(
    settings: ShardSettings, plan: ShardPlan | None = None, fields: Sequence[str] = ()
) -> tuple[Components, Plan]:
    """The parts, to be closed, and what they compute. UsageError, InputError."""
    parts = Components.make(
        list(settings.judges),
        settings.decomposer,
        settings.rater,
        cache=settings.cache,
        calibration=list(settings.calibrations),
    )
    metrics = settings.metrics if plan is None else plan.keys
    rest: dict[str, Any] = {
        "by": settings.by,
        "seed": settings.seed,
        "resamples": settings.resamples,
        "keep_records": settings.keep_records,
    }
    if plan is not None:
        rest |= {"repeats_of": plan.repeats_of, "missing": plan.missing}
    return parts, Plan.make(fields, None if metrics is None else list(metrics), parts, **rest)


_ready: tuple[str, Components, Scorer] | None = None


def _scorer(plan: ShardPlan, sharers: int) -> tuple[Components, Scorer]:
    """The scorer of this process: a model is loaded once, however many shards follow.

    What endpoints allow a minute is for so many processes together.
    """
    global _ready
    Limiter.share(sharers)
    if _ready is None or _ready[0] != plan.digest:
        if _ready is not None:
            _ready[1].close()
        parts, scoring = make_scoring_plan(plan.settings, plan)
        _ready = (plan.digest, parts, Scorer(scoring))
    return _ready[1:]


def score_shard(out: str, names: Sequence[str], number: int, sharers: int) -> Marker:
    """Score a shard and write its files, the marker last. `sharers` work at the same time.

    Raises InputError where its input has changed, UnreachableError, WriteError.
    """
    store = open_store(out)
    plan = read_plan(store)
    if plan is None:
        raise OutputError(f"{store.name} holds no plan; run the whole command again")
    check_size(plan, number, names, store.name)
    began, cpu = time.perf_counter(), time.process_time()
    parts, scorer = _scorer(plan, sharers)
    before = parts.spent
    n = 0
    with ExitStack() as stack:
        source = stack.enter_context(
            plan.open_shard(
                number,
                names,
                plan.settings.mapping,
                skip=plan.settings.skip,
                split_contexts=plan.settings.split_contexts,
            )
        )
        kinds = (ITEMS, NUMBERS, *([RECORDS] if plan.settings.keep_records else []))
        outs = {
            kind: _Marked(stack.enter_context(store.writing(shard_name(number, kind))))
            for kind in kinds
        }
        pack = zstandard.ZstdCompressor(level=3)
        batches = source.batches()
        for scored in map(scorer, cut_for_asking(batches) if before is not None else batches):
            outs[ITEMS].write(scored.items)
            numbers = encode_numbers(scored)
            outs[NUMBERS].write(_LENGTH.pack(len(numbers)) + numbers)
            if RECORDS in outs:
                outs[RECORDS].write(pack.compress(scored.records))
            n += scored.n
        # Within the block, so that no file of a shard of another input appears.
        check_rows_unchanged(plan, number, source.digests, store.name)
        files = {kind: file.mark() for kind, file in outs.items()}
    spent = parts.spent
    if spent is not None and before is not None:
        spent -= before
    marker = Marker(
        plan.digest,
        n,
        files,
        None if spent is None else msgspec.to_builtins(spent),
        parts.note,
        time.perf_counter() - began,
        time.process_time() - cpu,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )
    store.write(marker_name(number), msgspec.json.encode(marker))
    return marker


class _Marked:
    """A file that is being written, and the checksum of what has been."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self._size += len(data)

    def mark(self) -> FileMark:
        return FileMark(self._size, self._digest.hexdigest())


def read_numbers(path: Path) -> Iterator[Scored]:
    """The batches of a shard without their lines and records."""
    with path.open("rb") as file:
        while head := file.read(_LENGTH.size):
            yield decode_numbers(file.read(_LENGTH.unpack(head)[0]))
