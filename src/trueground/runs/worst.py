"""The items of a run, the worst first: what was asked and answered, and what is wrong with it.

Worst is an answer that is not grounded, then a partly grounded one; among these the lowest
`support`, and among equals the lowest `support_min`; without them the first metric of
`WorstOrder.CANDIDATES` that there is. Answers that decline come after the others, items without a
score last. Equal items keep their order.
"""

from __future__ import annotations

import csv
import io
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueground.components import ResultKey
from trueground.files import OutputPath
from trueground.metrics import METRICS
from trueground.runs.schema import Item, ItemScores, RecordTexts
from trueground.text import REFUSAL_RULES

_RANKS: dict[str | None, float] = {
    "not_grounded": 0.0,
    "partly_grounded": 1.0,
    "grounded": 2.0,
}
COLUMNS = ("id", "question", "response", "verdict", "score", "unsupported", "reasons")
RANK = "rank"  # the first column of the CSV file: 1 is the worst
_LAST = float("inf")  # the place of what has no score
Key = tuple[float, ...]


class WorstItem(NamedTuple):
    """One answer; `unsupported` are its claims that are not supported, `reasons` why, each in turn.

    `verdict` is None where the run has none, `score` where the metric has none, `question` and
    `response` where the run keeps no records.
    """

    id: str
    question: str | None
    response: str | None
    verdict: str | None
    score: float | None
    unsupported: list[str]
    reasons: list[str]


_decode_scores = msgspec.json.Decoder(ItemScores).decode
_decode_item = msgspec.json.Decoder(Item).decode


class WorstOrder:
    """By which of some metrics items are sorted, the worst first.

    Attributes:
        metrics: `support` and `support_min`, else the first of `CANDIDATES`, else any one.
    """

    CANDIDATES = (
        "support", "support_min", "grounding_f1", "grounding_precision", "citation_f1",
        "citation_correctness", "k_precision", "correct_support", "f1",
    )  # fmt: skip

    def __init__(self, keys: Iterable[str]) -> None:
        """Choose among the metrics with these keys, those of the first judge."""
        known = [key for key in keys if not ResultKey.parse(key).judge]
        names = {key: ResultKey.parse(key).name for key in known}
        candidates = [key for name in self.CANDIDATES for key in known if names[key] == name]
        together = [key for key in candidates if names[key] in self.CANDIDATES[:2]]
        others = [key for key in known if names[key] != "abstained"]
        self.metrics = together or candidates[:1] or others[:1]

    @property
    def headline(self) -> str | None:
        """The metric that a page puts first: the first by which items are sorted."""
        return next(iter(self.metrics), None)

    def describe(self, *, verdicts: bool) -> str:
        """Return the order by the first metric in words; `verdicts` says if items have verdicts."""
        lowest = "highest" if METRICS.higher_is_better(self.metrics[0]) is False else "lowest"
        least = f"{lowest} {self.metrics[0]}"
        return (
            f"not grounded first, then partly grounded, each by {least}"
            if verdicts
            else f"{least} first"
        )


def worst_items(
    lines: Callable[[], Iterator[bytes]], texts: Callable[[], Iterator[RecordTexts]], n: int
) -> list[WorstItem]:
    """The `n` worst items; no more than these are in memory. `lines` are those of items.jsonl."""
    if n < 1:
        return []
    key_of = _WorstKey()
    told = texts() if key_of.reads_texts(lines()) else repeat(RecordTexts())
    keys = (
        (*key_of(line, text), row)
        for row, (line, text) in enumerate(zip(lines(), told, strict=False))
    )
    order = [int(key[-1]) for key in nsmallest(n, keys)]
    wanted, last = set(order), max(order, default=-1)
    found = {
        row: key_of.item(line, text)
        for row, line, text in zip(range(last + 1), lines(), texts(), strict=False)
        if row in wanted
    }
    return [found[row] for row in order]


def write_worst_csv(
    path: Path, lines: Callable[[], Iterator[bytes]], texts: Callable[[], Iterator[RecordTexts]]
) -> None:
    """Write all items, the worst first, as CSV; replaces the file as a whole. Raises WriteError.

    Several claims, or reasons, of an item stand on lines of their own in their cell. Some numbers
    of each item are in memory, the texts in a temporary file meanwhile.
    """
    key_of, keys, ends = _WorstKey(), array("d"), array("q", [0])
    width = 0
    key_of.reads_texts(lines())
    with tempfile.TemporaryFile() as rows, OutputPath(path).replacing() as out:
        for line, text in zip(lines(), texts(), strict=False):
            key, item = key_of(line, text), key_of.item(line, text)
            width = len(key)
            keys.extend(key)
            rows.write(_csv_row([*item[:-2], "\n".join(item.unsupported), "\n".join(item.reasons)]))
            ends.append(rows.tell())
        order = sorted(range(len(ends) - 1), key=lambda i: keys[i * width : (i + 1) * width])
        out.write(_csv_row([RANK, *COLUMNS]))
        for rank, i in enumerate(order, 1):
            rows.seek(ends[i])
            out.write(f"{rank},".encode() + rows.read(ends[i + 1] - ends[i]))


def _csv_row(cells: Sequence[Any]) -> bytes:
    from trueground.records import guard

    text = io.StringIO()
    guarded = (guard(cell, numbers=False) if isinstance(cell, str) else cell for cell in cells)
    csv.writer(text, lineterminator="\n").writerow(guarded)
    return text.getvalue().encode("utf-8", "replace")


class _WorstKey:
    """Line of items.jsonl, and its texts → by what it is sorted. `reads_texts` comes first."""

    def __init__(self) -> None:
        self._metrics: list[str] = []
        self._signs: list[float] = []
        self._reads = False

    def reads_texts(self, lines: Iterator[bytes]) -> bool:
        """Take the metrics of the first line; whether what declines is to be seen in the texts.

        It is where no verdict tells it, unless the metric is about declining itself.
        """
        if (first := next(lines, None)) is None:
            return False
        found = _decode_scores(first)
        self._metrics = WorstOrder(found.scores).metrics
        self._signs = [-1.0 if METRICS.higher_is_better(m) is False else 1.0 for m in self._metrics]
        metric = METRICS.of_key(self._metrics[0]) if self._metrics else None
        self._reads = found.verdict is None and (metric is None or metric.family != "abstention")
        return self._reads

    def _verdict(self, line: ItemScores, text: RecordTexts) -> str | None:
        declines = self._reads and REFUSAL_RULES.find_phrase(text.response or "") is not None
        return "abstained" if declines else line.verdict

    def __call__(self, line: bytes, text: RecordTexts) -> Key:
        found = _decode_scores(line)
        scores = found.scores
        verdict = self._verdict(found, text)
        key = [_RANKS.get(verdict, float(len(_RANKS)) + (verdict == "abstained" and self._reads))]
        for metric, sign in zip(self._metrics, self._signs, strict=True):
            value = scores.get(metric)
            key.append(_LAST if value is None else sign * value)
        # What has no score is not known to be bad, whatever its verdict.
        return (float(key[1:2] == [_LAST]), *key)

    def item(self, line: bytes, text: RecordTexts) -> WorstItem:
        """What the line tells of its item."""
        found = _decode_item(line)
        metric = self._metrics[0] if self._metrics else ""
        verdict = self._verdict(found, text)
        return WorstItem(
            found.id,
            text.question,
            text.response,
            verdict,
            found.scores.get(metric),
            *found.unsupported_claims(verdict),
        )
