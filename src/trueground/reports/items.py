"""The items of a run as pages read them: lines, what cannot be read, numbers, which are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from trueground.errors import InputError
from trueground.records.files import open_unpacked
from trueground.records.problems import UNREADABLE, shorten, too_deep
from trueground.runs.directory import ITEMS, RECORDS, REPORT
from trueground.text.wording import several
from trueground.types import Answered

_TOLD = 5  # places of each kind that are named
_AHEAD = 1_000  # records that are read in search of one
T = TypeVar("T")
_decode_record = msgspec.json.Decoder(Answered).decode


class WithId(Protocol):
    """A record, or the part of one that is needed."""

    id: str


R = TypeVar("R", bound=WithId)


class ReportItem(msgspec.Struct):
    """One line of items.jsonl."""

    id: str
    scores: dict[str, float | None]
    verdict: str | None = None
    status: dict[str, str] = {}
    evidence: dict[str, Any] = {}


class CheckedClaim(msgspec.Struct):
    """A claim in the evidence of a metric, as far as lists show it."""

    text: Any = None
    start: int | None = None
    end: int | None = None
    supported: bool | None = None
    kind: str | None = None
    reasons: Any = None


class ClaimEvidence(msgspec.Struct):
    """Evidence of a metric that checks claims."""

    claims: list[CheckedClaim]


class Gaps(msgspec.Struct):
    """How many lines of a run cannot be read, and where the first of them are.

    `items` are left out; `records` are answers whose question and passages are.
    """

    items: int = 0
    records: int = 0
    item_places: list[str] = []
    record_places: list[str] = []

    def add_item(self, number: int, line: bytes, error: Exception) -> None:
        """A line of items.jsonl, counted from 1, that is no item."""
        self.items += 1
        if len(self.item_places) < _TOLD:
            found = shorten(line.decode("utf-8", "replace").strip(), 40) or "nothing"
            self.item_places.append(f"line {number:,}: found {found} ({why(error)})")

    def add_record(self, number: int, reason: str) -> None:
        """An item, by its line, without its record."""
        self.records += 1
        if len(self.record_places) < _TOLD:
            self.record_places.append(f"line {number:,}: {reason}")

    def notices(self, listed: int, n: int | None) -> list[str]:
        """What a page says that lists so many answers, where the run has `n`, if that is known."""
        told = []
        if self.items:
            lines = f"{several(self.items, 'line')} of {ITEMS} cannot be read"
            told.append(f"{lines}: {_first(self.item_places, self.items)}.")
        if n is not None and listed < n:
            if listed + self.items < n:
                told.append(f"{ITEMS} ends after line {listed + self.items:,}.")
            are = "is" if n - listed == 1 else "are"
            told.insert(0, f"{n - listed:,} of {n:,} answers {are} missing from the list:")
        if self.records:
            stand = "answer stands" if self.records == 1 else "answers stand"
            told.append(
                f"{self.records:,} {stand} here without question and passages, by {ITEMS} and "
                f"{RECORDS}: {_first(self.record_places, self.records)}."
            )
        return [" ".join([*told, "Score again to have all."])] if told else []


class RecordLines(Generic[R]):
    """Hands each item its record: mostly that of the next line, else the next one with its id.

    `lines` are those behind the first `taken`, or at the end say why there are no more.
    """

    def __init__(
        self, lines: Iterator[bytes | str], decode: Callable[[bytes], R], taken: int = 0
    ) -> None:
        self.taken = self._read = taken
        self._lines, self._decode = lines, decode
        self._ahead: dict[str, tuple[int, R]] = {}  # that are read but not taken, by their ids
        self._ended, self._problem = "the file ends before", ""

    def has_more(self) -> bool:
        """Whether there is a line for another item."""
        return bool(self._ahead) or self._read_one()

    def take(self, name: str) -> tuple[int, R] | None:
        """The record of an item, and its line counted from 1; None where none of the next has it.

        Those before it are of no item that can be read.
        """
        while name not in self._ahead and len(self._ahead) < _AHEAD and self._read_one():
            pass
        found = self._ahead.get(name)
        if found is not None:
            while self._ahead.pop(next(iter(self._ahead))) is not found:
                pass
            self.taken = found[0]
        return found

    def skip(self) -> None:
        """Pass over the next record, where none was read ahead."""
        next(self._lines, None)
        self._read += 1

    def reason(self) -> str:
        """Why there was none."""
        if self._problem:
            problem, self._problem = self._problem, ""
            return problem
        return "no record has its id" if self._ahead else self._ended

    def _read_one(self) -> bool:
        line = next(self._lines, None)
        if not isinstance(line, bytes):
            self._ended = line or self._ended
            return False
        self._read += 1
        try:
            record = self._decode(line)
            self._ahead.setdefault(record.id, (self._read, record))
        except UNREADABLE as error:
            self._problem = f"its record cannot be read ({why(error)})"
        return True


def why(error: Exception) -> str:
    """What is wrong with a line, in words."""
    return too_deep().found if isinstance(error, RecursionError) else shorten(str(error), 200)


def _first(places: list[str], n: int) -> str:
    return "; ".join(places) + (f"; and {n - len(places):,} more" if n > len(places) else "")


_decode_item = msgspec.json.Decoder(ReportItem).decode


def read_items(
    run_dir: Path, gaps: Gaps | None = None, rows: Sequence[int] | None = None
) -> Iterator[tuple[int, ReportItem, Answered | None]]:
    """The items with their lines counted from 0, and records where they are kept.

    `rows`, ascending, are those that are wanted, else all. What cannot be read is passed over where
    there are `gaps` to count it. Raises InputError: items.jsonl cannot be opened; without `gaps`
    also a line that is no item, or a record that does not belong to it.
    """
    wanted, last = (None, 0) if rows is None else (set(rows), max(rows, default=-1))
    records = None
    if (run_dir / RECORDS).exists():
        records = RecordLines(_record_lines(run_dir), _decode_record)
    with open_unpacked(run_dir / ITEMS) as lines:
        for row, line in enumerate(lines):
            if wanted is not None and row > last:
                return
            if wanted is not None and row not in wanted and gaps is None:
                if records is not None:
                    records.skip()
                continue
            try:
                item = _decode_item(line)
            except UNREADABLE as error:
                if gaps is None:
                    raise InputError(_refusal(run_dir, ITEMS, row, why(error))) from None
                gaps.add_item(row + 1, line, error)
                continue
            found = records.take(item.id) if records is not None else None
            if found is None and records is not None:
                if gaps is None:
                    reason = f"id {item.id!r}: {records.reason()}"
                    raise InputError(_refusal(run_dir, RECORDS, row, reason))
                gaps.add_record(row + 1, records.reason())
            if wanted is None or row in wanted:
                yield row, item, found and found[1]


def _refusal(run_dir: Path, file: str, row: int, reason: str) -> str:
    return f"{run_dir / file}, line {row + 1}: not readable ({reason}). Score again."


def _record_lines(run_dir: Path) -> Iterator[bytes | str]:
    """The lines of the records; in place of what cannot be had, why."""
    try:
        with open_unpacked(run_dir / RECORDS, name="the file") as lines:
            yield from lines
    except InputError as error:
        yield str(error)


def claims_of(
    evidence: Mapping[str, T], verdict: str | None, read: Callable[[T], ClaimEvidence]
) -> list[CheckedClaim]:
    """The claims as the metric of the verdicts has them, else as any has them.

    `read` raises what is in UNREADABLE for evidence of another kind.
    """
    own = evidence.get(verdict) if verdict else None
    for one in evidence.values() if own is None else (own, *evidence.values()):
        try:
            return read(one).claims
        except UNREADABLE:
            continue
    return []


def item_links(run_dir: Path, ids: Iterable[str]) -> dict[str, str]:
    """Id → `report.html#item-…`, relative to the run's directory; none where it has no page."""
    if not (run_dir / REPORT).is_file():
        return {}
    return {one: f"{REPORT}#item-{quote(one, safe='')}" for one in ids}


def way_to(run: Path, folder: Path) -> str:
    """What leads from a folder to that of a run, as the start of a link."""
    try:
        way = Path(os.path.relpath(run, folder)).as_posix()
    except ValueError:  # on Windows, on another drive
        return run.absolute().as_uri() + "/"
    # A first part with a colon would be read as a scheme.
    return quote(way if way.startswith(".") else f"./{way}") + "/"
