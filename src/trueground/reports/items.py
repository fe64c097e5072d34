"""The lines of items.jsonl as pages read them, and what of a run cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from trueground.annotation.files import UNREADABLE
from trueground.errors import InputError
from trueground.records.files import open_unpacked
from trueground.records.problems import shorten, too_deep
from trueground.reports.blocks import several
from trueground.runs.directory import ITEMS, RECORDS
from trueground.types import Answered

_TOLD = 5  # places of each kind that are named
T = TypeVar("T")


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

    start: int | None = None
    end: int | None = None
    supported: bool | None = None
    kind: str | None = None


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

    def read_record(
        self, line: bytes | str | None, decode: Callable[[bytes], R], number: int, name: str
    ) -> R | None:
        """The record of the item in this line of items.jsonl; None, and a gap, without it.

        `line` is that of the record, or says why there is none; None where the records have ended.
        """
        reason = line if isinstance(line, str) else "the file ends before"
        if isinstance(line, bytes):
            try:
                record = decode(line)
                if record.id == name:
                    return record
                reason = f"found id {shorten(record.id)!r}, expected {shorten(name)!r}"
            except UNREADABLE as error:
                reason = why(error)
        self.records += 1
        if len(self.record_places) < _TOLD:
            self.record_places.append(f"line {number:,}: {reason}")
        return None

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
                f"{self.records:,} {stand} here without question and passages: {RECORDS}, "
                f"{_first(self.record_places, self.records)}."
            )
        return [" ".join([*told, "Score again to have all."])] if told else []


def why(error: Exception) -> str:
    """What is wrong with a line, in words."""
    return too_deep().found if isinstance(error, RecursionError) else shorten(str(error), 200)


def _first(places: list[str], n: int) -> str:
    return "; ".join(places) + (f"; and {n - len(places):,} more" if n > len(places) else "")


_decode_item = msgspec.json.Decoder(ReportItem).decode
_decode_record = msgspec.json.Decoder(Answered).decode


def readable_items(run_dir: Path, gaps: Gaps) -> Iterator[tuple[int, ReportItem, Answered | None]]:
    """The items that can be read, with their lines counted from 0, and records where they are kept.

    What cannot be read is passed over, and `gaps` counts it. Raises InputError where items.jsonl
    itself cannot be opened.
    """
    records = _record_lines(run_dir) if (run_dir / RECORDS).exists() else None
    with open_unpacked(run_dir / ITEMS) as lines:
        for row, line in enumerate(lines):
            text = next(records, None) if records is not None else None
            try:
                item = _decode_item(line)
            except UNREADABLE as error:
                gaps.add_item(row + 1, line, error)
                continue
            record = None
            if records is not None:
                record = gaps.read_record(text, _decode_record, row + 1, item.id)
            yield row, item, record


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
