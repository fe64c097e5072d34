"""Makes the index of a run, and adds to it what the run has more by now.

Lines that cannot be read hide no others: the state's `gaps` say which they are.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from trueground.errors import OutputError
from trueground.files import FolderLock, OutputPath
from trueground.records import UNREADABLE, field_text
from trueground.reports import ListedAnswer
from trueground.runs import ClaimEvidence, ItemParts, RecordLines, RunFiles, read_frames
from trueground.types import Failure, Record, Status
from trueground.view.segments import SegmentWriter
from trueground.view.stored import (
    KEY_BYTES,
    MOST_VALUES,
    NO_CODE,
    OTHER,
    VERSION,
    IndexState,
    ListRow,
    by_id,
    file_edges,
    find_manifest,
    hash_id,
    index_folder,
    read_column,
    read_pairs,
    read_state,
    run_settings,
    save_state,
    sort_key,
    still_holds,
    worst_first,
)

CHUNK = 10_000  # rows that are added at a time
BLOCK = 32  # rows that are packed together
SHOWN = 1_000  # characters of a question, and of an answer, that are listed and searched
ORDERED = 50_000  # rows from which on the slow orders are kept
_CODES = {status.value: code for code, status in enumerate(Status)}
_LARGEST = float(np.finfo(np.float32).max)  # larger scores are kept as this
Told = Callable[[int, int], None]
_decode_checked = msgspec.json.Decoder(ClaimEvidence).decode
_decode_words = msgspec.json.Decoder(dict[str, str]).decode


class _RecordLine(msgspec.Struct):
    """A line of the records as far as it is needed, the contexts not."""

    id: str
    question: str | None = None
    response: str | None = None
    failure: Failure | None = None
    model: str | None = None
    group: str | None = None
    answerable: bool | None = None
    meta: dict[str, Any] | None = None


class _Read(NamedTuple):
    """An item with its words for statuses, its record and the line of that, and its first byte."""

    item: ItemParts
    status: dict[str, str]
    record: _RecordLine | None
    record_line: int
    start: int


_decode_item = msgspec.json.Decoder(ItemParts).decode
_decode_record = msgspec.json.Decoder(_RecordLine).decode


def grow(run: Path, told: Told = lambda _done, _total: None) -> IndexState:
    """Make the index of a run, or add what the run has more by now; another maker is waited for.

    `told` hears of the bytes of items.jsonl that are done, and of all. Raises InputError where the
    run cannot be read, OutputError where the index cannot be written.
    """
    folder = index_folder(run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FolderLock(folder).hold(OutputError(f"{folder} is in use"), wait=float("inf")):
            return _grow(run, folder, told)
    except OSError as error:
        place = error.filename or folder
        raise OutputError(
            f"the index of {run} failed at {place} ({error.strerror or error}). Make room, or "
            "name another folder in TRUEGROUND_HOME."
        ) from error


def _grow(run: Path, folder: Path, told: Told) -> IndexState:
    state = read_state(run)
    if state is None or not still_holds(state, run):
        start, verdict, fields = run_settings(run)
        generation = os.urandom(6).hex()
        has_records = RunFiles(run).has_records
        state = IndexState(
            VERSION, generation, os.fsencode(run.resolve()), start, verdict, fields, has_records
        )
        state.values = [[] for _ in fields]
        for old in folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        (folder / generation).mkdir()
    collecting = gc.isenabled()
    gc.disable()  # thousands of rows at a time, none in a circle
    try:
        with _Writer(run, folder, state) as writer:
            writer.read_on(told)
    finally:
        if collecting:
            gc.enable()
    if state.count >= ORDERED and state.ordered < state.count and not _goes_on(run):
        _write_orders(folder, state)
    return state


def _goes_on(run: Path) -> bool:
    manifest = find_manifest(run)
    return manifest is not None and manifest.status == "running"


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


# ---- writing ----


class _Writer:
    """Adds rows to the files of an index, a chunk at a time."""

    def __init__(self, run: Path, folder: Path, state: IndexState) -> None:
        self._run, self._folder, self._state = run, folder / state.generation, state
        self._files: dict[str, BinaryIO] = {}
        self._stack = ExitStack()
        self._pack = zstandard.ZstdCompressor(level=1)
        self._statuses: dict[bytes, dict[str, str]] = {}  # of this chunk, by their JSON
        self._codes: list[dict[str | None, int]] = [
            {None if value == "(none)" else value: code for code, value in enumerate(values)}
            for values in state.values
        ]

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def _append(self, name: str, data: bytes) -> None:
        """Add to a file, behind what the state knows of it: a killed writer may have left more."""
        if name not in self._files:
            path = self._folder / name
            file = self._stack.enter_context(path.open("r+b" if path.exists() else "w+b"))
            file.truncate(self._state.sizes.get(name, 0))
            file.seek(0, os.SEEK_END)
            self._files[name] = file
        self._files[name].write(data)
        self._state.sizes[name] = self._state.sizes.get(name, 0) + len(data)

    def read_on(self, told: Told) -> None:
        """Take in what the run has: while it goes on, whole lines that have their records."""
        state, goes_on = self._state, _goes_on(self._run)
        with RunFiles(self._run).open_items() as file:
            found = os.fstat(file.fileno())
            total = found.st_size
            file.seek(state.items_end)
            records = None
            if state.has_records:
                records = RecordLines(self._records(), _decode_record, state.records)
            rows: list[_Read] = []
            start, number = state.items_end, state.lines
            told(start, total)
            while start < total and (line := file.readline()):
                if goes_on and not line.endswith(b"\n"):
                    break
                if goes_on and records is not None and not records.has_more():
                    break
                number += 1
                read = self._read(line, records, number, start)
                if read is not None:
                    rows.append(read)
                start += len(line)
                if records is not None:
                    state.records = records.taken
                if len(rows) == CHUNK:
                    self._add(rows)
                    rows = []
                    self._commit(file, number, start, found.st_mtime_ns)
                    told(start, total)
            if rows:
                self._add(rows)
            self._commit(file, number, start, found.st_mtime_ns)
            told(start, total)

    def _read(
        self, line: bytes, records: RecordLines[_RecordLine] | None, number: int, start: int
    ) -> _Read | None:
        """An item; None, and a gap, where the line is none."""
        try:
            item = _decode_item(line)
            raw = bytes(item.status)
            status = self._statuses.get(raw)
            if status is None:
                status = self._statuses[raw] = _decode_words(raw)
        except UNREADABLE as error:
            self._state.gaps.add_item(number, line, error)
            return None
        found = records.take(item.id) if records is not None else None
        if found is None and records is not None:
            self._state.gaps.add_record(number, records.reason())
        at, record = found or (0, None)
        return _Read(item, status, record, at, start)

    def _records(self) -> Iterator[bytes | str]:
        """The lines of the records from the next one on; in place of what cannot be had, why."""
        known = read_pairs(self._folder, "frames", self._state)
        last = known[-1].tolist() if len(known) else [-1, 0]
        at = int(np.searchsorted(known[:, 1], self._state.records, side="right")) - 1
        begin = known[at].tolist() if at >= 0 else (0, 0)
        behind = self._state.records
        try:
            for frame, first, lines in read_frames(RunFiles(self._run).records, *begin):
                if frame[0] > last[0]:
                    self._append("frames", np.array(frame, np.int64).tobytes())
                    last = frame
                yield from lines[max(0, behind - first) :]
        except (OSError, zstandard.ZstdError) as error:
            yield f"the file cannot be read on ({error})"

    def _add(self, rows: Sequence[_Read]) -> None:
        """Add these rows to all files."""
        state, items = self._state, [row.item for row in rows]
        self._add_metrics({name for item in items for name in item.scores})
        scores = self._add_scores(items)
        status = self._add_status([row.status for row in rows])
        by = self._add_fields([row.record for row in rows])
        words = SegmentWriter(state.count)
        packed: list[bytes] = []
        keys, hashes, verdicts, kinds = [], [], [], []
        encode = msgspec.json.Encoder().encode
        for place, (item, _, record, _, _) in enumerate(rows):
            listed = ListedAnswer.of(item, record, state.verdict, _decode_checked, max_chars=SHOWN)
            question, response = listed.question, listed.response
            words.add(f"{listed.id}\n{question or ''}\n{response or ''}")
            verdicts.append(NO_CODE if listed.verdict is None else listed.verdict)
            kinds.append(sum(1 << kind for kind in listed.kinds))
            hashes.append(hash_id(listed.id))
            keys.append(sort_key(listed.id))
            row = ListRow(
                listed.id,
                question,
                response,
                listed.verdict,
                listed.claims,
                listed.kinds,
                scores[place],
                status[place],
                [column[place] for column in by],
            )
            packed.append(encode(row))
        self._add_rows(packed)
        for name, values, kind in (
            ("items", [row.start for row in rows], np.int64),
            ("records", [row.record_line for row in rows], np.uint32),
            ("ids", hashes, np.uint64),
            ("verdict", verdicts, np.uint8),
            ("kinds", kinds, np.uint16),
            ("keys", keys, f"S{KEY_BYTES}"),
        ):
            self._append(name, np.array(values, kind).tobytes())
        state.verdicts = state.verdicts or any(one != NO_CODE for one in verdicts)
        for one in kinds:
            state.kinds |= one
        self._append("words", b"")
        segment, size = words.write(self._files["words"], state.sizes["words"])
        state.segments.append(segment)
        state.sizes["words"] = size
        state.count += len(rows)

    def _add_metrics(self, names: set[str]) -> None:
        """Columns for metrics that no earlier row has."""
        state = self._state
        manifest = find_manifest(self._run)
        order = {name: k for k, name in enumerate(manifest.metrics if manifest else ())}
        fresh = sorted(names - set(state.metrics), key=lambda n: (order.get(n, len(order)), n))
        for name in fresh:
            k = len(state.metrics)
            state.metrics.append(name)
            state.whole.append(True)
            self._append(f"score-{k}", np.full(state.count, np.nan, np.float32).tobytes())
            self._append(f"status-{k}", np.full(state.count, NO_CODE, np.uint8).tobytes())

    def _add_scores(self, items: list[ItemParts]) -> list[list[float | None]]:
        """The columns of scores; the rounded scores of each row."""
        state = self._state
        names = state.metrics
        values = np.array(
            [
                list(item.scores.values())
                if [*item.scores] == names
                else [item.scores.get(name) for name in names]
                for item in items
            ],
            np.float64,
        ).reshape(len(items), len(names))
        with np.errstate(invalid="ignore"):
            whole = ((values == np.floor(values)) | np.isnan(values)).all(axis=0).tolist()
        for k in range(len(names)):
            self._append(
                f"score-{k}", values[:, k].clip(-_LARGEST, _LARGEST).astype(np.float32).tobytes()
            )
            state.whole[k] = state.whole[k] and whole[k]
        with np.errstate(over="ignore"):
            rounded = values.round(6)
        np.copyto(rounded, values, where=np.isinf(rounded))
        found: list[Any] = rounded.tolist()  # NaN is written as null
        return found

    def _add_status(self, statuses: Sequence[dict[str, str]]) -> list[list[int | None]]:
        """The columns of statuses; the codes of each row. Few rows have statuses of their own."""
        names = self._state.metrics
        known: dict[int, list[int | None]] = {}
        found: list[list[int | None]] = []
        for words in statuses:
            codes = known.get(id(words))
            if codes is None:
                codes = known[id(words)] = [_CODES.get(words.get(name, "")) for name in names]
            found.append(codes)
        self._statuses.clear()
        places = {id(codes): place for place, codes in enumerate(known.values())}
        table = [[NO_CODE if code is None else code for code in codes] for codes in known.values()]
        kinds = np.array(table, np.uint8).reshape(len(known), len(names))
        column = kinds[[places[id(codes)] for codes in found]]
        for k in range(len(names)):
            self._append(f"status-{k}", np.ascontiguousarray(column[:, k]).tobytes())
        return found

    def _add_fields(self, records: list[_RecordLine | None]) -> list[list[str | None]]:
        state, found = self._state, []
        for k, field in enumerate(state.fields):
            texts = [
                None if one is None else field_text(cast(Record, one), field) for one in records
            ]
            codes, values = self._codes[k], state.values[k]
            for value in dict.fromkeys(texts):
                if value not in codes and len(values) <= MOST_VALUES:
                    codes[value] = len(values)
                    values.append("(none)" if value is None else _shorten(value))
            column = np.array([codes.get(text, OTHER) for text in texts], np.uint16)
            self._append(f"by-{k}", column.tobytes())
            found.append([None if text is None else _shorten(text) for text in texts])
        return found

    def _add_rows(self, rows: list[bytes]) -> None:
        for first in range(0, len(rows), BLOCK):
            block = self._pack.compress(b"\n".join(rows[first : first + BLOCK]))
            at = self._state.sizes.get("rows", 0)
            self._append("blocks", np.array([at, self._state.count + first], np.int64).tobytes())
            self._append("rows", block)

    def _commit(self, items: BinaryIO, lines: int, end: int, time: int) -> None:
        """Say that the index holds for so many lines, which end at this byte."""
        state = self._state
        state.lines, state.items_end, state.items_time = lines, end, time
        state.head, state.tail = file_edges(items, end)
        items.seek(end)
        for file in self._files.values():
            file.flush()
        save_state(self._folder.parent, state)


def _write_orders(folder: Path, state: IndexState) -> None:
    """Keep the orders that take longest."""

    def column(name: str) -> NDArray[Any]:
        return read_column(folder / state.generation, name, state.count)

    for name, order in (("worst", worst_first(state, column)), ("id", by_id(column))):
        with OutputPath(folder / state.generation / f"order-{name}").write_atomically() as out:
            out.write(order.tobytes())
    state.ordered = state.count
    save_state(folder, state)
