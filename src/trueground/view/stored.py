"""The index of one run on disk: where it is, how far it holds, and whether it is still of the run.

Files of columns, one value a row, in a folder of their own under TRUEGROUND_HOME. They only ever
grow, and `state.json`, written last, says how far each of them holds. A run that has changed
otherwise than by growing gets a new index. Nothing is in it that the run does not have: it may be
removed at any time.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError, TruegroundError, WriteError
from trueground.files import FolderLock, OutputPath, home
from trueground.metrics import METRICS, AnswerVerdict
from trueground.net import CacheStats
from trueground.reports import ListedAnswer
from trueground.runs import Gaps, Manifest, RunFiles, WorstOrder
from trueground.view.segments import Segment

VERSION = 4
MOST_VALUES = 500  # of a field by which answers are filtered
NO_CODE, OTHER = 255, 65_535  # no status or verdict; a value beyond MOST_VALUES
KEY_BYTES = 40  # of an id by which it is sorted
_EDGE = 4_096  # bytes by which a file is known again
_KINDS = {
    "ids": "u8",
    "items": "i8",
    "records": "u4",
    "verdict": "u1",
    "kinds": "u2",
    "keys": f"S{KEY_BYTES}",
    "score": "f4",
    "status": "u1",
    "by": "u2",
    "order": "i4",
}


class IndexState(msgspec.Struct):
    """How far an index holds. `sizes` are those of its files, in bytes."""

    version: int
    generation: str
    run: bytes
    start: str | None  # of the run, by its manifest
    verdict: str | None  # the metric whose claims are shown
    fields: list[str]
    has_records: bool
    count: int = 0
    lines: int = 0  # of items.jsonl that are read; those that are no items are not counted above
    items_end: int = 0
    items_time: int = 0
    head: str = ""
    tail: str = ""
    records: int = 0  # lines of the records that are taken
    metrics: list[str] = []
    whole: list[bool] = []  # whether all scores of a metric are whole numbers
    values: list[list[str]] = []  # of each field
    verdicts: bool = False
    kinds: int = 0  # bits of those that there are
    segments: list[Segment] = []
    ordered: int = 0  # rows that the kept orders are of
    sizes: dict[str, int] = {}
    gaps: Gaps = msgspec.field(default_factory=Gaps)


class ListRow(ListedAnswer, array_like=True):
    """What the list shows of an answer; scores and statuses in the order of the metrics."""

    scores: list[float | None]
    status: list[int | None]
    by: list[str | None]


def index_folder(run: Path) -> Path:
    """Where the index of this run is, or would be."""
    name = hashlib.blake2b(str(run.resolve()).encode("utf-8", "surrogateescape"), digest_size=12)
    return home() / "views" / name.hexdigest()


def read_state(run: Path) -> IndexState | None:
    """The state of a run's index; None where there is none that can be read."""
    try:
        return msgspec.json.decode((index_folder(run) / "state.json").read_bytes(), type=IndexState)
    except (OSError, msgspec.DecodeError):
        return None


class IndexCache:
    """The indexes that are kept of all runs."""

    def __init__(self) -> None:
        self._folder = home() / "views"

    def forget_gone(self) -> None:
        """Remove the indexes of runs that are no longer there."""
        for path in self._folder.glob("*/state.json"):
            try:
                run = msgspec.json.decode(path.read_bytes(), type=IndexState).run
            except (OSError, msgspec.DecodeError):
                run = b""
            if not run or not Path(os.fsdecode(run)).is_dir():
                shutil.rmtree(path.parent, ignore_errors=True)

    def count(self) -> CacheStats:
        """How many indexes are kept, and what they take on disk."""
        folders = list(self._folder.glob("*/"))
        times = [datetime.fromtimestamp(folder.stat().st_mtime, UTC) for folder in folders]
        size = sum(f.stat().st_size for folder in folders for f in folder.rglob("*") if f.is_file())
        oldest, newest = min(times, default=None), max(times, default=None)
        return CacheStats(self._folder, len(folders), size, oldest, newest, ())

    def clear(self, older_than: timedelta | None = None) -> int:
        """Remove all indexes, or those that have not grown for so long, and return their number.

        One that is being made stays. Raises WriteError.
        """
        before = None if older_than is None else datetime.now(UTC) - older_than
        gone = 0
        for folder in self._folder.glob("*/"):
            changed = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
            with suppress(_Busy), FolderLock(folder).hold(_Busy()):
                if before is None or changed < before:
                    try:
                        shutil.rmtree(folder)
                    except OSError as error:
                        why = error.strerror or error
                        raise WriteError(f"{folder} cannot be removed: {why}") from error
                    gone += 1
        return gone


class _Busy(Exception):  # noqa: N818 - never reaches the user
    """Another process makes the index."""


def still_holds(state: IndexState, run: Path) -> bool:
    """Whether the index is of this run as it is, or as it was before it grew."""
    try:
        found = RunFiles(run).items.stat()
    except OSError:
        return False
    if state.version != VERSION or found.st_size < state.items_end:
        return False
    if run_settings(run) != (state.start, state.verdict, state.fields):
        return False
    if found.st_size == state.items_end and found.st_mtime_ns == state.items_time:
        return True
    with RunFiles(run).items.open("rb") as file:
        return (state.head, state.tail) == file_edges(file, state.items_end)


def save_state(folder: Path, state: IndexState) -> None:
    """Write how far the index in this folder holds."""
    with OutputPath(folder / "state.json").write_atomically() as out:
        out.write(msgspec.json.encode(state))


def find_manifest(run: Path) -> Manifest | None:
    """Return the manifest of a run; None if there is none that can be read."""
    try:
        return RunFiles(run).find_manifest()
    except InputError:
        return None


def run_settings(run: Path) -> tuple[str | None, str | None, list[str]]:
    """What makes the index another one: the run's start, the metric of verdicts, its fields."""
    manifest, summary = find_manifest(run), RunFiles(run).find_summary()
    names = manifest.by if manifest else []
    if not names and summary is not None:
        names = list(summary.by)
    fields = list(dict.fromkeys([*names, "model"]))
    if summary is not None and summary.verdicts is not None:
        verdict = summary.verdicts.metric
    else:  # as it will be
        try:
            spec = AnswerVerdict.choose_metric(
                METRICS.parse_all(list(manifest.metrics if manifest else ()))
            )
        except TruegroundError:
            spec = None
        verdict = spec.key if spec else None
    return (manifest.start if manifest else None, verdict, fields)


def file_edges(file: BinaryIO, end: int) -> tuple[str, str]:
    """Digests of the first bytes and of those before `end`."""
    found = []
    for at in (0, max(0, end - _EDGE)):
        file.seek(at)
        found.append(hashlib.blake2b(file.read(min(_EDGE, end - at)), digest_size=12).hexdigest())
    return found[0], found[1]


def read_column(folder: Path, name: str, count: int) -> NDArray[Any]:
    """The first `count` values of a column. OSError, ValueError where it is not there."""
    found = np.fromfile(folder / name, _KINDS[name.split("-")[0]], count)
    if len(found) < count:
        raise OSError(f"{folder / name} is cut off")
    return found


def read_pairs(folder: Path, name: str, state: IndexState) -> NDArray[np.int64]:
    """A table of two columns: a place in a file, and the first row or line there."""
    if not (size := state.sizes.get(name, 0)):
        return np.empty((0, 2), np.int64)
    return np.fromfile(folder / name, np.int64, size // 8).reshape(-1, 2)


def hash_id(name: str) -> int:
    """By what an id is found."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


_DIGITS = re.compile(rb"\d+")


def sort_key(name: str) -> bytes:
    """By what an id is sorted: numbers in it by their value, letters whatever their case."""
    text = name.casefold().encode("utf-8", "surrogatepass").replace(b"\0", b" ")
    return _DIGITS.sub(_number_key, text)[:KEY_BYTES]


def _number_key(found: re.Match[bytes]) -> bytes:
    digits = found[0].lstrip(b"0") or b"0"
    length = len(digits)
    return (b"%d" % length if length < 9 else b"9%03d" % min(length, 999)) + digits


def worst_first(state: IndexState, column: Callable[[str], NDArray[Any]]) -> NDArray[np.int32]:
    """All rows, the worst first; `column` gives a column by its name.

    Not grounded, partly grounded, grounded; in each the headline's worst value. Those
    without come last.
    """
    headline = WorstOrder(state.metrics).headline
    if headline is None:
        return np.arange(state.count, dtype=np.int32)
    values = column(f"score-{state.metrics.index(headline)}")
    missing = np.isnan(values)
    order = np.arange(state.count, dtype=np.int32)
    if "support_min" in state.metrics:
        second = column(f"score-{state.metrics.index('support_min')}")
        order = _by(order, np.where(missing, 0, np.where(np.isnan(second), 2, second)))
    lower = METRICS.higher_is_better(headline) is False
    order = _by(order, np.where(missing, 0, -values if lower else values))
    ranks = np.array([2, 1, 0, 3, 3] + [3] * (NO_CODE - 4), np.uint8)[column("verdict")]
    return _by(order, np.where(missing, np.uint8(9), ranks))


def _by(order: NDArray[np.int32], values: NDArray[Any]) -> NDArray[np.int32]:
    """The rows by these values; equal ones keep their order."""
    return order[np.argsort(values[order], kind="stable")]


def by_id(column: Callable[[str], NDArray[Any]]) -> NDArray[np.int32]:
    """All rows by their ids."""
    return np.argsort(column("keys"), kind="stable").astype(np.int32)
