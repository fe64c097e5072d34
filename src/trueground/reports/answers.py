"""The answers of a run as blocks of data inside its page, and beside it where there are many.

The index has, column by column, what the list needs of every answer; it is written in parts, so
that a part at a time is in memory. Details of an answer stand in blocks of DETAILS, which the page
reads when one of them is opened: in the page itself, or for many answers as scripts in a folder
beside it, since a page from disk may load scripts but no data.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from trueground.metrics.grounding import ANSWER_VERDICTS
from trueground.metrics.registry import higher_is_better, metric_of_key
from trueground.plugins import bare_name
from trueground.records.columns import field_text
from trueground.reports.evidence import CHECKED, TOLD, citation_view, doubted_words, views
from trueground.reports.items import (
    CheckedClaim,
    ClaimEvidence,
    Gaps,
    ReportItem,
    Selection,
    claims_of,
    read_items,
)
from trueground.reports.sentences import STATUS_WORDS
from trueground.reports.viewer import json_block, json_bytes
from trueground.runs.directory import replacing
from trueground.types import REASON_TITLES, Failure, Record, Status

FOLDER = "report_items"
DETAILS = 100  # answers in a block inside the page
DETAILS_BESIDE = 250  # answers in a script beside it
INDEX = 5_000  # answers in a part of the index
SNIPPET = 200  # characters of a text in the index of a page with a folder
# Fields that the page has no place of its own for
_PLACED = {"id", "question", "response", "history", "contexts", "references", "gold_facts"}
_CITED = {"knowledge", "gold_knowledge", "absent_knowledge"}  # likewise where citations are shown
_OTHER_FIELDS = [name for name in Record.__struct_fields__ if name not in _PLACED]
# Evidence that has a place of its own on the page
_SHOWN = {"see", "phrase", "counts", *CHECKED, *TOLD}
STATUS_NAMES = [status.value for status in Status]
_KINDS = [kind.value for kind in REASON_TITLES]
_SUPPORTED: dict[Any, int] = {True: 1, False: 0}
_VERDICTS: dict[Any, int] = {name: place for place, name in enumerate(ANSWER_VERDICTS)}


class ListedAnswer(msgspec.Struct):
    """What the list shows of an answer beside its scores.

    `verdict` is a place in ANSWER_VERDICTS. `claims` are (start, end, supported, words) in the
    whole answer, supported as 1, 0 or none, words those that are not in the contexts; `kinds` are
    those of their reasons, as places in REASON_TITLES.
    """

    id: str
    question: str | None
    response: str | None
    verdict: int | None
    claims: list[tuple[int | None, int | None, int | None, list[str]]]
    kinds: list[int]


class AnswerList(msgspec.Struct, frozen=True):
    """What the list shows: its metrics and fields, the judge of those without `@LABEL`.

    `verdict` is the metric that says whether an answer is grounded. `details` are the answers
    whose details stand in the page; those of all lie beside it where `beside`. What cannot be read
    of the run is left out where `has_gaps`, else an error.
    """

    selection: Selection
    details: Selection
    metrics: list[str]
    fields: list[str]
    judge: str | None
    verdict: str | None
    beside: bool
    has_gaps: bool = False


def write_answers(out: BinaryIO, beside: Path, run_dir: Path, shown: AnswerList) -> None:
    """Write the details and the index into the page, and a folder in `beside` where it has one.

    Raises InputError where the records do not belong to the items, WriteError.
    """
    folder = beside / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    inside = set(shown.details.rows.tolist())
    index = _ItemColumns(shown)
    here: list[dict[str, Any]] = []
    outside: list[dict[str, Any]] = []
    blocks = parts = files = 0
    positions: list[int] = []  # in the list, of those whose details stand in the page
    if shown.beside:
        folder.mkdir()
        _write_script(folder / "here.js", "TG.here()")
    rows = shown.selection.rows.tolist()
    found = read_items(run_dir, Gaps() if shown.has_gaps else None, rows)
    for position, (row, item, record) in enumerate(found):
        index.add(row, item, record)
        if shown.beside or row in inside:
            told = detail(item, record, shown.judge)
            if row in inside:
                here.append(told)
                positions.append(position)
            if shown.beside:
                outside.append(told)
        if len(here) == DETAILS:
            out.write(json_block(f"block-{blocks}", here))
            here, blocks = [], blocks + 1
        if len(outside) == DETAILS_BESIDE:
            _write_details(folder, files, outside)
            outside, files = [], files + 1
        if len(index.rows) == INDEX:
            out.write(json_block(f"index-{parts}", index.take()))
            parts += 1
    if here:
        out.write(json_block(f"block-{blocks}", here))
    if outside:
        _write_details(folder, files, outside)
    if index.rows:
        out.write(json_block(f"index-{parts}", index.take()))
        parts += 1
    about = {
        "parts": parts,
        "block": DETAILS,
        "file": DETAILS_BESIDE if shown.beside else None,
        "inside": positions if shown.beside else None,
        "statement": shown.details.statement() if shown.beside else None,
        **list_words(shown.metrics, shown.selection.metric),
    }
    out.write(json_block("about", about))


def metric_words(name: str) -> str:
    """What a metric says, in words."""
    metric = metric_of_key(name)
    words = metric.doc if metric else bare_name(name).replace("_", " ")
    return words if "_" in words.split(" ")[0] else words[:1].upper() + words[1:]


def list_words(metrics: Sequence[str], headline: str | None) -> dict[str, Any]:
    """With what words the viewer draws the list, and by which metrics it sorts."""
    return {
        "headline": headline,
        "metrics": list(metrics),
        "names": [metric_words(name) for name in metrics],
        "lower": [name for name in metrics if higher_is_better(name) is False],
        "statuses": [[name, STATUS_WORDS[Status(name)]] for name in STATUS_NAMES],
        "verdictNames": ANSWER_VERDICTS,
        "kindNames": _KINDS,
        "kindWords": list(REASON_TITLES.values()),
    }


def _write_details(folder: Path, number: int, details: list[dict[str, Any]]) -> None:
    _write_script(folder / f"{number}.js", f"TG.loaded({number},", json_bytes(details) + b")")


def _write_script(path: Path, call: str, data: bytes = b"") -> None:
    with replacing(path) as out:
        out.write(call.encode() + data + b"\n")


class _ItemColumns:
    """The columns of a part of the index: one entry per answer in each."""

    def __init__(self, shown: AnswerList) -> None:
        self._shown = shown
        self.take()

    def take(self) -> dict[str, Any]:
        """The columns so far; the next part begins."""
        columns = getattr(self, "_columns", {})
        names = ("rows", "ids", "questions", "responses", "verdicts", "claims", "kinds")
        self._columns: dict[str, Any] = {name: [] for name in names}
        metrics, fields = self._shown.metrics, self._shown.fields
        for name, keys in (("scores", metrics), ("status", metrics), ("by", fields)):
            self._columns[name] = {key: [] for key in keys}
        return columns

    @property
    def rows(self) -> list[int]:
        """The lines of items.jsonl that are in it."""
        rows: list[int] = self._columns["rows"]
        return rows

    def add(self, row: int, item: ReportItem, record: Record | None) -> None:
        """Add an answer."""
        listed = list_answer(item, record, self._shown.verdict)
        columns = self._columns
        columns["rows"].append(row)
        columns["ids"].append(listed.id)
        columns["questions"].append(self._cut(listed.question))
        columns["responses"].append(self._cut(listed.response))
        columns["verdicts"].append(listed.verdict)
        columns["claims"].append(listed.claims)
        columns["kinds"].append(listed.kinds)
        for name, values in columns["scores"].items():
            value = item.scores.get(name)
            values.append(None if value is None else round(value, 6))
        for name, codes in columns["status"].items():
            status = item.status.get(name)
            codes.append(STATUS_NAMES.index(status) if status in STATUS_NAMES else None)
        for field, texts in columns["by"].items():
            texts.append(field_text(record, field) if record else None)

    def _cut(self, text: str | None) -> str | None:
        return cut_text(text, SNIPPET) if self._shown.beside else text


def list_answer(item: ReportItem, record: Record | None, verdict: str | None) -> ListedAnswer:
    """What the list shows of an answer; `verdict` is the metric that judges its claims."""
    claims = claims_of(item.evidence, verdict, partial(msgspec.convert, type=ClaimEvidence))
    question, answer = (record.question, _answer(record)) if record else (None, None)
    return make_listed(item.id, question, answer, item.verdict, claims)


def make_listed(
    name: str,
    question: str | None,
    answer: str | None,
    verdict: str | None,
    claims: Sequence[CheckedClaim],
) -> ListedAnswer:
    """The same of its parts."""
    kinds = {one.kind for one in claims if one.supported is False}
    return ListedAnswer(
        name,
        question,
        answer,
        _VERDICTS.get(verdict),
        [
            (
                one.start,
                one.end,
                _SUPPORTED.get(one.supported),
                doubted_words(one.text, one.reasons) if one.supported is False else [],
            )
            for one in claims
        ],
        [place for place, kind in enumerate(_KINDS) if kind in kinds] if kinds else [],
    )


def cut_text(text: str | None, most: int) -> str | None:
    """At most so many characters of the text."""
    return text if text is None or len(text) <= most else text[:most] + "…"


def detail(item: ReportItem, record: Record | None, judge: str | None = None) -> dict[str, Any]:
    """What the page shows of one opened answer beyond the index."""
    phrase = None
    other: list[tuple[str, str]] = []
    for metric, evidence in item.evidence.items():
        rest = evidence
        if isinstance(evidence, dict):
            phrase = phrase or evidence.get("phrase")
            rest = {k: v for k, v in evidence.items() if k not in _SHOWN}
        if rest not in (None, [], {}):
            other.append((metric, _pretty(rest)))
    try:
        citations = citation_view(item.evidence, record)
    except (AttributeError, KeyError, TypeError, ValueError):  # a plug-in's, under names of ours
        citations = None
    shown: dict[str, Any] = {
        "views": views(item.evidence, judge),
        "phrase": phrase,
        "citations": citations,
        "evidence": other,
    }
    if record is not None:
        placed = _CITED if citations else set()
        kept = {name: getattr(record, name) for name in _OTHER_FIELDS if name not in placed}
        shown |= {
            "question": record.question,
            "response": _answer(record),
            "history": record.history or [],
            "contexts": record.contexts or [],
            "references": record.references or [],
            "gold_facts": record.gold_facts or [],
            "fields": [(name, _pretty(v)) for name, v in kept.items() if v not in (None, [], {})],
        }
    return shown


def _answer(record: Record) -> str:
    """The response; in place of one that never came, why."""
    return shown_answer(record.response, getattr(record, "failure", None))


def shown_answer(response: str | None, failure: Failure | None) -> str:
    """The response; in place of one that never came, why."""
    return response or (f"(no answer: {failure.reason})" if failure else "")


def _pretty(value: object) -> str:
    """Text as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
