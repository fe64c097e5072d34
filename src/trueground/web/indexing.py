"""The index of one run: what the list of its answers needs, so that it need not be read again.

Files of columns, one value a row, in a folder of their own under TRUEGROUND_HOME. They only ever
grow, and `state.json`, written last, says how far each of them holds. A run that has changed
otherwise than by growing gets a new index. Nothing is in it that the run does not have: it may be
removed at any time.
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from trueground.errors import InputError, OutputError, TruegroundError
from trueground.metrics.grounding import verdict_spec
from trueground.metrics.registry import higher_is_better, parse_specs
from trueground.net.files import locked, write_atomically
from trueground.net.home import home
from trueground.records.columns import field_text
from trueground.reports.answers import STATUS_NAMES, cut_text, make_listed, shown_answer
from trueground.reports.selection import headline_metric
from trueground.runs.directory import ITEMS, MANIFEST, RECORDS, SUMMARY
from trueground.types import Failure, Record
from trueground.web.words import Segment, SegmentWriter

VERSION = 2
CHUNK = 10_000  # rows that are added at a time
BLOCK = 32  # rows that are packed together
SHOWN = 1_000  # characters of a question, and of an answer, that are listed and searched
MOST_VALUES = 500  # of a field by which answers are filtered
ORDERED = 50_000  # rows from which on the slow orders are kept
NONE, OTHER = 255, 65_535  # codes: no status or verdict; a value beyond MOST_VALUES
_EDGE = 4_096  # bytes by which a file is known again
_KEY = 40  # bytes of an id by which it is sorted
_PACKED, _PIECE = 1 << 16, 1 << 22  # bytes of records that are in memory
_DIGITS = re.compile(rb"\d+")
_CODES = {name: code for code, name in enumerate(STATUS_NAMES)}
Told = Callable[[int, int], None]


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
    items_end: int = 0
    items_time: int = 0
    head: str = ""
    tail: str = ""
    frame: tuple[int, int] = (0, 0)  # that of the next record: its byte, its first row
    metrics: list[str] = []
    whole: list[bool] = []  # whether all scores of a metric are whole numbers
    values: list[list[str]] = []  # of each field
    verdicts: bool = False
    kinds: int = 0  # bits of those that there are
    segments: list[Segment] = []
    ordered: int = 0  # rows that the kept orders are of
    sizes: dict[str, int] = {}


class ListRow(msgspec.Struct, array_like=True):
    """What the list shows of an answer; scores and statuses in the order of the metrics."""

    id: str
    question: str | None
    response: str | None
    verdict: int | None
    claims: list[tuple[int | None, int | None, int | None]]
    kinds: list[int]
    scores: list[float | None]
    status: list[int | None]
    by: list[str | None]


class _ItemLine(msgspec.Struct):
    """A line of items.jsonl as far as it is needed; what is raw is read where it must be."""

    id: str
    scores: dict[str, float | None]
    verdict: str | None = None
    status: msgspec.Raw = msgspec.Raw(b"{}")
    evidence: dict[str, msgspec.Raw] = {}


class _ClaimPart(msgspec.Struct):
    start: Any = None
    end: Any = None
    supported: Any = None
    kind: Any = None


class _Checked(msgspec.Struct):
    claims: list[_ClaimPart]


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


_decode_item = msgspec.json.Decoder(_ItemLine).decode
_decode_record = msgspec.json.Decoder(_RecordLine).decode
_decode_checked = msgspec.json.Decoder(_Checked).decode
_decode_words = msgspec.json.Decoder(dict[str, str]).decode


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


def forget_gone() -> None:
    """Remove the indexes of runs that are no longer there."""
    for path in (home() / "views").glob("*/state.json"):
        try:
            run = msgspec.json.decode(path.read_bytes(), type=IndexState).run
        except (OSError, msgspec.DecodeError):
            run = b""
        if not run or not Path(os.fsdecode(run)).is_dir():
            shutil.rmtree(path.parent, ignore_errors=True)


def still_holds(state: IndexState, run: Path) -> bool:
    """Whether the index is of this run as it is, or as it was before it grew."""
    try:
        found = (run / ITEMS).stat()
    except OSError:
        return False
    if state.version != VERSION or found.st_size < state.items_end:
        return False
    if _settings(run) != (state.start, state.verdict, state.fields):
        return False
    if found.st_size == state.items_end and found.st_mtime_ns == state.items_time:
        return True
    with (run / ITEMS).open("rb") as file:
        return (state.head, state.tail) == _edges(file, state.items_end)


def grow(run: Path, told: Told = lambda _done, _total: None) -> IndexState:
    """Make the index of a run, or add what the run has more by now; another maker is waited for.

    `told` hears of the bytes of items.jsonl that are done, and of all. Raises InputError where the
    run cannot be read, OutputError where the index cannot be written.
    """
    folder = index_folder(run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder, OutputError(f"{folder} is in use"), wait=float("inf")):
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
        start, verdict, fields = _settings(run)
        generation = os.urandom(6).hex()
        has_records = (run / RECORDS).exists()
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
        write_orders(folder, state)
    return state


def _goes_on(run: Path) -> bool:
    return _json(run / MANIFEST).get("status") == "running"


def _json(path: Path) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _settings(run: Path) -> tuple[str | None, str | None, list[str]]:
    """What makes the index another one: the run's start, the metric of verdicts, its fields."""
    manifest, summary = _json(run / MANIFEST), _json(run / SUMMARY)
    named = manifest.get("by") or summary.get("by") or ()
    fields = list(dict.fromkeys([*map(str, named), "model"]))
    verdicts = summary.get("verdicts")
    if isinstance(verdicts, dict):
        verdict = verdicts.get("metric")
    else:  # as it will be
        try:
            spec = verdict_spec(parse_specs(list(manifest.get("metrics") or {})))
        except TruegroundError:
            spec = None
        verdict = spec.key if spec else None
    start = manifest.get("start")
    return (None if start is None else str(start), verdict, fields)


def _edges(file: BinaryIO, end: int) -> tuple[str, str]:
    """Digests of the first bytes and of those before `end`."""
    found = []
    for at in (0, max(0, end - _EDGE)):
        file.seek(at)
        found.append(hashlib.blake2b(file.read(min(_EDGE, end - at)), digest_size=12).hexdigest())
    return found[0], found[1]


# ---- writing ----


class _Writer:
    """Adds rows to the files of an index, a chunk at a time."""

    def __init__(self, run: Path, folder: Path, state: IndexState) -> None:
        self._run, self._folder, self._state = run, folder / state.generation, state
        self._files: dict[str, BinaryIO] = {}
        self._stack = ExitStack()
        self._pack = zstandard.ZstdCompressor(level=1)
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
        """Take in all whole lines that the run has by now."""
        state = self._state
        try:
            file = (self._run / ITEMS).open("rb")
        except OSError as error:
            raise InputError(f"{self._run / ITEMS} cannot be read: {error.strerror}") from error
        with file:
            found = os.fstat(file.fileno())
            total = found.st_size
            file.seek(state.items_end)
            records = self._records() if state.has_records else None
            items: list[_ItemLine] = []
            kept: list[_RecordLine | None] = []
            starts: list[int] = []
            end = state.items_end
            told(end, total)
            while end < total and (line := file.readline()).endswith(b"\n"):
                row = state.count + len(items)
                record = None
                if records is not None:
                    text = next(records, None)
                    if text is None:  # the rest comes with the next look
                        break
                    record = self._decoded(_decode_record, text, RECORDS, row)
                item = self._decoded(_decode_item, line, ITEMS, row)
                if record is not None and record.id != item.id:
                    raise InputError(
                        f"{self._run / RECORDS}, line {row + 1}: found id {record.id!r}; expected "
                        f"id {item.id!r} as in items.jsonl. Score again, or remove the file."
                    )
                items.append(item)
                kept.append(record)
                starts.append(end)
                end += len(line)
                if len(items) == CHUNK:
                    self._add(items, kept, starts, end)
                    items, kept, starts = [], [], []
                    self._commit(file, end, found.st_mtime_ns)
                    told(end, total)
            if items:
                self._add(items, kept, starts, end)
            self._commit(file, end, found.st_mtime_ns)
            told(end, total)

    def _decoded(self, decode: Callable[[bytes], Any], line: bytes, name: str, row: int) -> Any:
        try:
            return decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(
                f"{self._run / name}, line {row + 1}: not readable ({error})"
            ) from None

    def _records(self) -> Iterator[bytes]:
        """The lines of the records from the next row on."""
        state, next_row = self._state, self._state.count
        for frame, row, lines in read_frames(self._run / RECORDS, *state.frame):
            if frame > state.frame or not state.sizes.get("frames"):
                self._append("frames", np.array(frame, np.int64).tobytes())
            state.frame = frame
            yield from lines[max(0, next_row - row) :]

    def _add(
        self,
        items: list[_ItemLine],
        records: list[_RecordLine | None],
        starts: list[int],
        end: int,
    ) -> None:
        """Add the rows of a chunk to all files; `starts` and `end` are places in items.jsonl."""
        state = self._state
        self._add_metrics({name for item in items for name in item.scores})
        self._append("items", np.array(starts, np.int64).tobytes())
        scores = self._add_scores(items)
        status = self._add_status(items)
        by = self._add_fields(records)
        words = SegmentWriter(state.count)
        rows: list[bytes] = []
        keys, hashes, verdicts, kinds = [], [], [], []
        encode = msgspec.json.Encoder().encode
        for place, (item, record) in enumerate(zip(items, records, strict=True)):
            answer = None if record is None else shown_answer(record.response, record.failure)
            listed = make_listed(
                item.id,
                cut_text(record.question, SHOWN) if record else None,
                cut_text(answer, SHOWN),
                item.verdict,
                _claims(item.evidence, state.verdict),
            )
            question, response = listed.question, listed.response
            words.add(f"{listed.id}\n{question or ''}\n{response or ''}")
            verdicts.append(NONE if listed.verdict is None else listed.verdict)
            kinds.append(sum(1 << kind for kind in listed.kinds))
            hashes.append(hash_id(listed.id))
            keys.append(_key(listed.id))
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
            rows.append(encode(row))
        self._add_rows(rows)
        for name, values, kind in (
            ("ids", hashes, np.uint64),
            ("verdict", verdicts, np.uint8),
            ("kinds", kinds, np.uint16),
            ("keys", keys, f"S{_KEY}"),
        ):
            self._append(name, np.array(values, kind).tobytes())
        state.verdicts = state.verdicts or any(one != NONE for one in verdicts)
        for one in kinds:
            state.kinds |= one
        self._append("words", b"")
        segment, size = words.write(self._files["words"], state.sizes["words"])
        state.segments.append(segment)
        state.sizes["words"] = size
        state.count += len(items)
        state.items_end = end

    def _add_metrics(self, names: set[str]) -> None:
        """Columns for metrics that no earlier row has."""
        state = self._state
        order = {name: k for k, name in enumerate(_json(self._run / MANIFEST).get("metrics") or ())}
        fresh = sorted(names - set(state.metrics), key=lambda n: (order.get(n, len(order)), n))
        for name in fresh:
            k = len(state.metrics)
            state.metrics.append(name)
            state.whole.append(True)
            self._append(f"score-{k}", np.full(state.count, np.nan, np.float32).tobytes())
            self._append(f"status-{k}", np.full(state.count, NONE, np.uint8).tobytes())

    def _add_scores(self, items: list[_ItemLine]) -> list[list[float | None]]:
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
            self._append(f"score-{k}", values[:, k].astype(np.float32).tobytes())
            state.whole[k] = state.whole[k] and whole[k]
        rounded: list[Any] = values.round(6).tolist()  # NaN is written as null
        return rounded

    def _add_status(self, items: list[_ItemLine]) -> list[list[int | None]]:
        """The columns of statuses; the codes of each row. Few rows have statuses of their own."""
        names = self._state.metrics
        known: dict[bytes, list[int | None]] = {}
        found: list[list[int | None]] = []
        for item in items:
            raw = bytes(item.status)
            codes = known.get(raw)
            if codes is None:
                words = self._decoded(_decode_words, raw, ITEMS, self._state.count + len(found))
                codes = known[raw] = [_CODES.get(words.get(name, "")) for name in names]
            found.append(codes)
        places = {id(codes): place for place, codes in enumerate(known.values())}
        table = [[NONE if code is None else code for code in codes] for codes in known.values()]
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
                    values.append("(none)" if value is None else cut_text(value, SHOWN) or "")
            column = np.array([codes.get(text, OTHER) for text in texts], np.uint16)
            self._append(f"by-{k}", column.tobytes())
            found.append([cut_text(text, SHOWN) for text in texts])
        return found

    def _add_rows(self, rows: list[bytes]) -> None:
        for first in range(0, len(rows), BLOCK):
            block = self._pack.compress(b"\n".join(rows[first : first + BLOCK]))
            at = self._state.sizes.get("rows", 0)
            self._append("blocks", np.array([at, self._state.count + first], np.int64).tobytes())
            self._append("rows", block)

    def _commit(self, items: BinaryIO, end: int, time: int) -> None:
        state = self._state
        state.items_end, state.items_time = end, time
        state.head, state.tail = _edges(items, end)
        items.seek(end)
        for file in self._files.values():
            file.flush()
        _save(self._folder.parent, state)


def _claims(
    evidence: dict[str, msgspec.Raw], verdict: str | None
) -> list[tuple[Any, Any, Any, Any]]:
    """The claims as the metric of the verdicts has them, else as any has them."""
    own = evidence.get(verdict) if verdict else None
    for raw in evidence.values() if own is None else (own, *evidence.values()):
        try:
            claims = _decode_checked(raw).claims
        except (msgspec.DecodeError, RecursionError):  # evidence of another kind
            continue
        return [(one.start, one.end, one.supported, one.kind) for one in claims]
    return []


def _save(folder: Path, state: IndexState) -> None:
    with write_atomically(folder / "state.json") as out:
        out.write(msgspec.json.encode(state))


def hash_id(name: str) -> int:
    """By what an id is found."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _key(name: str) -> bytes:
    """By what an id is sorted: numbers in it by their value, letters whatever their case."""
    text = name.casefold().encode("utf-8", "surrogatepass").replace(b"\0", b" ")
    return _DIGITS.sub(_number_key, text)[:_KEY]


def _number_key(found: re.Match[bytes]) -> bytes:
    digits = found[0].lstrip(b"0") or b"0"
    length = len(digits)
    return (b"%d" % length if length < 9 else b"9%03d" % min(length, 999)) + digits


class Piece(NamedTuple):
    """Some lines of a records file, and the frame that they are in: its byte, its first row."""

    frame: tuple[int, int]
    row: int
    lines: list[bytes]


def read_frames(path: Path, at: int, row: int) -> Iterator[Piece]:
    """The lines of a records file from the frame at byte `at` on, whose first line is of `row`.

    What is cut off, since it is being written, is left for later.
    """
    unpack = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    with path.open("rb") as file:
        file.seek(at)
        packed = b""
        while True:
            frame, first, size, plain = unpack.decompressobj(), row, 0, b""
            while not frame.eof:
                packed = packed or file.read(_PACKED)
                if not packed:
                    return
                part, packed = packed[:_PACKED], packed[_PACKED:]
                size += len(part)
                plain += frame.decompress(part)
                if len(plain) > _PIECE or frame.eof:
                    *lines, plain = plain.split(b"\n")
                    yield Piece((at, first), row, lines)
                    row += len(lines)
            packed = frame.unused_data + packed
            at += size - len(frame.unused_data)


# ---- orders ----


def worst_first(state: IndexState, column: Callable[[str], NDArray[Any]]) -> NDArray[np.int32]:
    """All rows, the worst first; `column` gives a column by its name.

    Not grounded, partly, grounded; in each the headline's worst value; those without come last.
    """
    headline = headline_metric(state.metrics)
    if headline is None:
        return np.arange(state.count, dtype=np.int32)
    values = column(f"score-{state.metrics.index(headline)}")
    missing = np.isnan(values)
    order = np.arange(state.count, dtype=np.int32)
    if "support_min" in state.metrics:
        second = column(f"score-{state.metrics.index('support_min')}")
        order = _by(order, np.where(missing, 0, np.where(np.isnan(second), 2, second)))
    lower = higher_is_better(headline) is False
    order = _by(order, np.where(missing, 0, -values if lower else values))
    ranks = np.array([2, 1, 0, 3, 3] + [3] * (NONE - 4), np.uint8)[column("verdict")]
    return _by(order, np.where(missing, np.uint8(9), ranks))


def _by(order: NDArray[np.int32], values: NDArray[Any]) -> NDArray[np.int32]:
    """The rows by these values; equal ones keep their order."""
    return order[np.argsort(values[order], kind="stable")]


def by_id(column: Callable[[str], NDArray[Any]]) -> NDArray[np.int32]:
    """All rows by their ids."""
    return np.argsort(column("keys"), kind="stable").astype(np.int32)


def read_column(folder: Path, name: str, count: int) -> NDArray[Any]:
    """The first `count` values of a column. OSError, ValueError where it is not there."""
    kind = {"ids": "u8", "items": "i8", "verdict": "u1", "kinds": "u2", "keys": f"S{_KEY}"}.get(
        name
    ) or {"score": "f4", "status": "u1", "by": "u2", "order": "i4"}[name.split("-")[0]]
    found = np.fromfile(folder / name, kind, count)
    if len(found) < count:
        raise OSError(f"{folder / name} is cut off")
    return found


def write_orders(folder: Path, state: IndexState) -> None:
    """Keep the orders that take longest."""

    def column(name: str) -> NDArray[Any]:
        return read_column(folder / state.generation, name, state.count)

    for name, order in (("worst", worst_first(state, column)), ("id", by_id(column))):
        with write_atomically(folder / state.generation / f"order-{name}") as out:
            out.write(order.tobytes())
    state.ordered = state.count
    _save(folder, state)
