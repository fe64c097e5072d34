"""A run as its index has it: which answers a list shows, in which order, and single answers.

Only the columns that a list asks for are read, and a few of them stay in memory, so that a run of a
million answers takes some tens of megabytes.
"""

from __future__ import annotations

import csv
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from trueground.errors import InputError, UsageError
from trueground.metrics import AnswerVerdict
from trueground.records import guard
from trueground.reports import AnswerList
from trueground.runs import Item, Manifest, RunFiles, TooDeepError, WorstOrder
from trueground.types import Answered, ReasonKind, Status
from trueground.view.segments import find_rows
from trueground.view.stored import (
    MOST_VALUES,
    IndexState,
    ListRow,
    by_id,
    hash_id,
    index_folder,
    read_column,
    read_pairs,
    worst_first,
)

PAGE_SIZE = 50
_COLUMNS = 12  # that stay in memory
_ORDERS = 6
_LISTS = 4
_WORDS = 16
_KINDS = [kind.value for kind in ReasonKind]
_STATUSES = [status.value for status in Status]
_T = TypeVar("_T")


class Query(msgspec.Struct, frozen=True):
    """What a list is asked for, as the viewer's address has it."""

    q: str = ""
    verdict: str = ""
    kind: str = ""
    status: str = ""
    metric: str = ""
    low: str = ""
    high: str = ""
    sort: str = "worst"
    by: tuple[tuple[str, str], ...] = ()


def read_query(found: Mapping[str, str]) -> Query:
    """The query in the parameters of an address; others are passed over."""
    own = {name: found[name] for name in Query.__struct_fields__ if name in found and name != "by"}
    by = tuple(sorted((name[3:], value) for name, value in found.items() if name.startswith("by.")))
    return Query(**own, by=tuple((field, value) for field, value in by if value))


class _Recent(OrderedDict[Any, _T]):
    """The values that were asked for last. All of an index share its lock."""

    def __init__(self, most: int, lock: threading.RLock) -> None:
        super().__init__()
        self._most, self._lock = most, lock

    def take(self, key: Any, make: Callable[[], _T]) -> _T:
        with self._lock:
            if key in self:
                self.move_to_end(key)
                return self[key]
            value = self[key] = make()
            while len(self) > self._most:
                self.popitem(last=False)
            return value


class RunIndex:
    """One run, read through its index. Its functions may be called by several threads.

    They raise OSError where the index has gone meanwhile.
    """

    def __init__(self, run: Path, state: IndexState, manifest: Manifest) -> None:
        self.run, self.state = run, state
        self.headline = WorstOrder(state.metrics).headline
        self._list = AnswerList.of(state.metrics, self.headline, manifest.raw)
        self._files = RunFiles(run)
        self._folder = index_folder(run) / state.generation
        lock = threading.RLock()
        self._columns: _Recent[NDArray[Any]] = _Recent(_COLUMNS, lock)
        self._orders: _Recent[NDArray[np.int32]] = _Recent(_ORDERS, lock)
        self._lists: _Recent[NDArray[np.int32]] = _Recent(_LISTS, lock)
        self._words: _Recent[NDArray[np.uint8]] = _Recent(_WORDS, lock)

    def about(self) -> dict[str, Any]:
        """With what the viewer draws the list."""
        state = self.state
        fields = [
            [field, sorted(values)]
            for field, values in zip(state.fields, state.values, strict=True)
            if len(values) <= MOST_VALUES
        ]
        return {
            **self._list.about(),
            "judged": state.verdicts,
            "fields": fields,
            "kindsThere": [name for k, name in enumerate(_KINDS) if state.kinds >> k & 1],
            "whole": [n for n, whole in zip(state.metrics, state.whole, strict=True) if whole],
        }

    # ---- columns ----

    def scores(self, metric: str) -> NDArray[np.float32]:
        """The scores of a metric, shape (count,), NaN where a row has none. KeyError."""
        if metric not in self.state.metrics:
            raise KeyError(metric)
        return self._column(f"score-{self.state.metrics.index(metric)}")

    def _column(self, name: str) -> NDArray[Any]:
        return self._columns.take(name, lambda: self._read(name))

    def _read(self, name: str) -> NDArray[Any]:
        return read_column(self._folder, name, self.state.count)

    # ---- which, in which order ----

    def listed(self, query: Query) -> NDArray[np.int32]:
        """The rows of a list in its order. Raises UsageError for what is not in the run."""
        return self._lists.take(query, lambda: self._listed(query))

    def _listed(self, query: Query) -> NDArray[np.int32]:
        order = self._orders.take(query.sort, lambda: self._order(query.sort))
        masks = list(self._masks(query))
        if not masks:
            return order
        mask = masks[0]
        for other in masks[1:]:
            mask &= other
        return order[mask[order]]

    def _masks(self, query: Query) -> Iterator[NDArray[np.bool_]]:
        metric = query.metric or self.headline
        if query.verdict:
            code = _index_of(AnswerVerdict.NAMES, query.verdict, "verdict")
            yield self._column("verdict") == code
        if query.kind:
            bit = 1 << _index_of(_KINDS, query.kind, "kind")
            yield (self._column("kinds") & bit) != 0
        if query.status:
            code = _index_of(_STATUSES, query.status, "status")
            at = _index_of(self.state.metrics, metric or "", "metric")
            yield self._column(f"status-{at}") == code
        low, high = _bound(query.low), _bound(query.high)
        if low is not None or high is not None:
            at = _index_of(self.state.metrics, metric or "", "metric")
            values = self._column(f"score-{at}")
            mask = ~np.isnan(values)
            if low is not None:
                mask &= values >= low
            if high is not None:
                mask &= values <= high
            yield mask
        for field, value in query.by:
            at = _index_of(self.state.fields, field, "field")
            yield self._column(f"by-{at}") == _index_of(self.state.values[at], value, field)
        # The longest first: after it the others are mostly looked for in vain.
        for word in sorted(set(query.q.lower().split()), key=len, reverse=True):
            packed = self._words.take(word, lambda word=word: self._with_word(word))  # type: ignore[misc]
            yield np.unpackbits(packed, count=self.state.count).view(np.bool_)

    def _with_word(self, word: str) -> NDArray[np.uint8]:
        path, state = self._folder / "words", self.state
        return np.packbits(find_rows(path, state.segments, word, state.count))

    def _order(self, sort: str) -> NDArray[np.int32]:
        name, down = sort.lstrip("+-"), sort.startswith("-")
        if sort == "worst":
            return self._kept("worst", lambda: worst_first(self.state, self._column))
        if name == "id":
            order = self._kept("id", lambda: by_id(self._read))
            return order[::-1] if down else order
        if name in self.state.metrics:
            values = self.scores(name)
            return np.argsort(-values if down else values, kind="stable").astype(np.int32)
        order = np.arange(self.state.count, dtype=np.int32)
        return order[::-1] if down else order

    def _kept(self, name: str, make: Callable[[], NDArray[np.int32]]) -> NDArray[np.int32]:
        if self.state.ordered == self.state.count and self.state.count:
            return self._read(f"order-{name}")
        return make()

    # ---- rows ----

    def page(self, query: Query, page: int) -> dict[str, Any]:
        """Return a page of a list by its 0-based number; the last page if there are fewer."""
        listed = self.listed(query)
        pages = max(1, -(-len(listed) // PAGE_SIZE))
        page = min(max(page, 0), pages - 1)
        rows = listed[page * PAGE_SIZE : (page + 1) * PAGE_SIZE].tolist()
        return {
            "total": self.state.count,
            "count": len(listed),
            "page": page,
            "pages": pages,
            "rows": list(map(self._describe_row, rows, self.rows(rows))),
        }

    def rows(self, numbers: Sequence[int]) -> Iterator[ListRow]:
        """Yield rows of the list by their numbers."""
        blocks = self._pairs("blocks")
        unpack = zstandard.ZstdDecompressor()
        decode = msgspec.json.Decoder(ListRow).decode
        last, lines = -1, [b""]
        with (self._folder / "rows").open("rb", buffering=0) as file:
            for row in numbers:
                k = int(np.searchsorted(blocks[:, 1], row, side="right")) - 1
                if k != last:
                    at = int(blocks[k, 0])
                    end = int(blocks[k + 1, 0]) if k + 1 < len(blocks) else self.state.sizes["rows"]
                    file.seek(at)
                    lines = unpack.decompressobj().decompress(file.read(end - at)).split(b"\n")
                    last = k
                yield decode(lines[row - int(blocks[k, 1])])

    def _pairs(self, name: str) -> NDArray[np.int64]:
        """Return a table of offsets in a file; see `read_pairs`."""
        return self._columns.take(name, lambda: read_pairs(self._folder, name, self.state))

    def _describe_row(self, number: int, row: ListRow) -> dict[str, Any]:
        """Return a row as the viewer reads it."""
        names = self.state.metrics
        return {
            "n": number,
            "id": row.id,
            "question": row.question,
            "response": row.response,
            "verdict": None if row.verdict is None else AnswerVerdict.NAMES[row.verdict],
            "claims": row.claims,
            "kinds": row.kinds,
            "scores": dict(zip(names, row.scores, strict=False)),
            "status": dict(zip(names, row.status, strict=False)),
            "by": dict(zip(self.state.fields, row.by, strict=True)),
        }

    # ---- one answer ----

    def find(self, name: str) -> int | None:
        """Return the row of an id; None if the run doesn't have it."""
        rows = np.flatnonzero(self._column("ids") == np.uint64(hash_id(name))).tolist()
        return next((row for row in rows if next(self.rows([row])).id == name), None)

    def open(self, name: str, query: Query) -> dict[str, Any]:
        """Return an answer with its details, and the ids of the previous and the next answer."""
        row = self.find(name)
        if row is None:
            return {"row": None, "before": None, "after": None, "detail": None}
        listed = self.listed(query)
        positions = np.flatnonzero(listed == row).tolist()
        neighbors: list[str | None] = []
        for step in (-1, 1):
            at = positions[0] + step if positions else -1
            is_listed = 0 <= at < len(listed)
            neighbors.append(next(self.rows([int(listed[at])])).id if is_listed else None)
        return {
            "row": self._describe_row(row, next(self.rows([row]))),
            "before": neighbors[0],
            "after": neighbors[1],
            "detail": self.detail(row, name),
        }

    def detail(self, row: int, name: str) -> dict[str, Any]:
        """Return the details of an answer; raise InputError if they can't be read."""
        item = self._item(row, name)
        record = self._record(row) if self.state.has_records else None
        return self._list.detail(item, record if record and record.id == name else None)

    def _item(self, row: int, name: str) -> Item:
        """Return the item of a row; raise InputError if it can't be read."""
        at = int(self._column("items")[row])
        changed = InputError(f"{self.run} has changed; reload the page.")
        try:
            item = self._files.read_item_at(at)
        except TooDeepError as error:
            raise InputError(f"This answer can't be shown: found {error.reason}.") from None
        except InputError:
            raise changed from None
        if item.id != name:
            raise changed
        return item

    def _record(self, row: int) -> Answered | None:
        """Return the record of a row; None if it can't be read, which the index reports."""
        frames, line = self._pairs("frames"), int(self._column("records")[row]) - 1
        if line < 0:
            return None
        return self._files.read_record_line(line, frames.tolist())

    # ---- export ----

    def export(self, query: Query, kind: str) -> Iterator[bytes]:
        """Yield the listed answers as CSV or JSON lines, in chunks."""
        listed = self.listed(query)
        names = self.state.metrics
        columns = ("id", "question", "response", "verdict", "score", "unsupported", "reasons")
        # A field of the records may have the name of another column.
        taken = {*columns, "scores", *names}
        fields = [f"by.{field}" if field in taken else field for field in self.state.fields]
        head = [*columns, *fields, *names]
        if kind == "csv":
            yield _csv([head])
        for start in range(0, len(listed), 1_000):
            numbers = listed[start : start + 1_000].tolist()
            rows = zip(numbers, self.rows(numbers), strict=True)
            answers = [self._export_row(number, row, fields) for number, row in rows]
            if kind == "csv":
                cells = [[*answer.values()] for answer in answers]
                yield _csv(
                    [*row[:5], *map("\n".join, row[5:7]), *row[7:-1], *row[-1].values()]
                    for row in cells
                )
            else:
                yield b"".join(msgspec.json.encode(answer) + b"\n" for answer in answers)

    def _export_row(self, number: int, row: ListRow, fields: Sequence[str]) -> dict[str, Any]:
        scores = dict.fromkeys(self.state.metrics)
        scores |= zip(self.state.metrics, row.scores, strict=False)
        verdict = None if row.verdict is None else AnswerVerdict.NAMES[row.verdict]
        unsupported, reasons = self._unsupported(number, row.id, verdict)
        return {
            "id": row.id,
            "question": row.question,
            "response": row.response,
            "verdict": verdict,
            "score": scores.get(self.headline or ""),
            "unsupported": unsupported,
            "reasons": reasons,
            **dict(zip(fields, row.by, strict=True)),
            "scores": scores,
        }

    def _unsupported(self, row: int, name: str, verdict: str | None) -> tuple[list[str], list[str]]:
        """Return unsupported claims and reasons like `--out-csv`; none if they can't be read."""
        try:
            return self._item(row, name).unsupported_claims(verdict)
        except (InputError, AttributeError, TypeError):
            return [], []


def _guard_cell(cell: Any) -> Any:
    return guard(cell, numbers=False) if isinstance(cell, str) else cell


def _csv(rows: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(map(_guard_cell, row) for row in rows)
    return text.getvalue().encode("utf-8", "replace")


def _index_of(names: Sequence[str], name: str, what: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise UsageError(f"no {what} {name[:80]!r} in this run") from None


def _bound(text: str) -> np.float32 | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if np.isnan(value) else np.float32(value)
