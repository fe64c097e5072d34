"""Second pass: the chosen items as JSON blocks that stand inside the page.

The index block holds, column by column, what the list needs; detail blocks of BLOCK items each hold
the rest and are parsed by the page only when one of their items is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from trueground.errors import InputError
from trueground.metrics.registry import higher_is_better
from trueground.records.columns import field_text
from trueground.records.files import open_unpacked
from trueground.reports.citations import TOLD, citation_view
from trueground.reports.selection import Selection
from trueground.reports.verdicts import CHECKED, views
from trueground.reports.view import STATUS_WORDS
from trueground.runs.directory import ITEMS, RECORDS
from trueground.types import Answered, Record, Status

BLOCK = 100
_ESCAPES = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"} | {
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}
# Fields that the page has no place of its own for
_PLACED = {"id", "question", "response", "history", "contexts", "references", "gold_facts"}
_CITED = {"knowledge", "gold_knowledge", "absent_knowledge"}  # likewise where citations are shown
_OTHER_FIELDS = [name for name in Record.__struct_fields__ if name not in _PLACED]
# Evidence that has a place of its own on the page
_SHOWN = {"see", "phrase", "counts", *CHECKED, *TOLD}
_STATUSES = [status.value for status in Status]


class ReportItem(msgspec.Struct):
    """One line of items.jsonl."""

    id: str
    scores: dict[str, float | None]
    status: dict[str, str] = {}
    evidence: dict[str, Any] = {}


def json_block(name: str, value: object) -> bytes:
    """A data block that no text in `value` can end or turn into markup."""
    data = msgspec.json.encode(value)
    for raw, escaped in _ESCAPES.items():
        data = data.replace(raw, escaped)
    return f'<script type="application/json" id="{name}">'.encode() + data + b"</script>\n"


def chosen_items(run_dir: Path, selection: Selection) -> Iterator[tuple[ReportItem, Record | None]]:
    """The chosen items in input order, each with its record where the run kept records.

    Raises InputError where the records do not belong to the items.
    """
    decode_item = msgspec.json.Decoder(ReportItem).decode
    decode_record = msgspec.json.Decoder(Answered).decode
    kept = (run_dir / RECORDS).exists()
    records = _record_lines(run_dir) if kept else None
    wanted = iter(selection.rows.tolist())
    row = next(wanted, None)
    with (run_dir / ITEMS).open("rb") as lines:
        for number, line in enumerate(lines):
            record_line = next(records, None) if records is not None else None
            if row is None:
                return
            if number != row:
                continue
            item = decode_item(line)
            record = None if record_line is None else decode_record(record_line)
            if kept and (record is None or record.id != item.id):
                found = "nothing" if record is None else f"id {record.id!r}"
                raise InputError(
                    f"{run_dir / RECORDS}, line {number + 1}: found {found}; expected "
                    f"id {item.id!r} as in items.jsonl. Score again, or remove the records file."
                )
            yield item, record
            row = next(wanted, None)


def _record_lines(run_dir: Path) -> Iterator[bytes]:
    path = run_dir / RECORDS
    with open_unpacked(path) as lines:
        yield from lines


def write_items(
    out: BinaryIO,
    run_dir: Path,
    selection: Selection,
    *,
    metrics: list[str],
    fields: list[str],
    judge: str | None = None,
) -> None:
    """Write the detail blocks, then the index block; only the index is held in memory.

    `judge` names the judge of the metrics without `@LABEL`.
    """
    index = _ItemColumns(metrics, fields)
    details: list[dict[str, Any]] = []
    blocks = 0
    for row, (item, record) in zip(
        selection.rows.tolist(), chosen_items(run_dir, selection), strict=True
    ):
        index.add(row, item, record)
        details.append(detail(item, record, judge))
        if len(details) == BLOCK:
            out.write(json_block(f"block-{blocks}", details))
            details, blocks = [], blocks + 1
    if details:
        out.write(json_block(f"block-{blocks}", details))
    out.write(json_block("index", index.as_dict(selection.metric)))


class _ItemColumns:
    """The columns of the list: one entry per item in each."""

    def __init__(self, metrics: list[str], fields: list[str]) -> None:
        self.rows: list[int] = []
        self.ids: list[str] = []
        self.questions: list[str | None] = []
        self.responses: list[str | None] = []
        self.scores: dict[str, list[float | None]] = {name: [] for name in metrics}
        self.status: dict[str, list[int | None]] = {name: [] for name in metrics}
        self.by: dict[str, list[str | None]] = {field: [] for field in fields}

    def add(self, row: int, item: ReportItem, record: Record | None) -> None:
        self.rows.append(row)
        self.ids.append(item.id)
        self.questions.append(record.question if record else None)
        self.responses.append(_answer(record) if record else None)
        for name, column in self.scores.items():
            value = item.scores.get(name)
            column.append(None if value is None else round(value, 6))
        for name, codes in self.status.items():
            status = item.status.get(name)
            codes.append(_STATUSES.index(status) if status in _STATUSES else None)
        for field, values in self.by.items():
            values.append(field_text(record, field) if record else None)

    def as_dict(self, headline: str | None) -> dict[str, Any]:
        names = ("rows", "ids", "questions", "responses", "scores", "status", "by")
        columns = {name: getattr(self, name) for name in names}
        return columns | {
            "block": BLOCK,
            "headline": headline,
            "metrics": list(self.scores),
            "lower": [name for name in self.scores if higher_is_better(name) is False],
            "statuses": [[name, STATUS_WORDS[Status(name)]] for name in _STATUSES],
        }


def detail(item: ReportItem, record: Record | None, judge: str | None = None) -> dict[str, Any]:
    """What the page shows of one opened item beyond the index."""
    phrase = None
    other: list[tuple[str, str]] = []
    for metric, evidence in item.evidence.items():
        rest = evidence
        if isinstance(evidence, dict):
            phrase = phrase or evidence.get("phrase")
            rest = {k: v for k, v in evidence.items() if k not in _SHOWN}
        if rest not in (None, [], {}):
            other.append((metric, _pretty(rest)))
    found = {"views": views(item.evidence, judge), "phrase": phrase}
    citations = citation_view(item.evidence, record)
    shown: dict[str, Any] = found | {"citations": citations, "evidence": other}
    if record is not None:
        placed = _CITED if citations else set()
        kept = {name: getattr(record, name) for name in _OTHER_FIELDS if name not in placed}
        shown |= {
            "history": record.history or [],
            "contexts": record.contexts or [],
            "references": record.references or [],
            "gold_facts": record.gold_facts or [],
            "fields": [(name, _pretty(v)) for name, v in kept.items() if v not in (None, [], {})],
        }
    return shown


def _answer(record: Record) -> str:
    """The response; in place of one that never came, why."""
    failure = record.failure if isinstance(record, Answered) else None
    return record.response or (f"(no answer: {failure.reason})" if failure else "")


def _pretty(value: object) -> str:
    """Text as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
