"""Labeled sets with their scores, new or of a finished run, and where a metric errs most."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from itertools import islice
from typing import IO, Any

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from trueground.evaluate import Plan, score_batches
from trueground.labels import RecordLabel
from trueground.options import Progress
from trueground.runs import Item
from trueground.studies.finished import FinishedRun
from trueground.studies.labeled import LabeledSet, LabeledSets
from trueground.types import Record, Status

Floats = NDArray[np.float64]
_QUESTION, _RESPONSE, _CONTEXT = 400, 1_200, 800  # characters that are shown
_REASONS = 6
_PARTS = ("claims", "response", "facts", "references")


_decode = msgspec.json.Decoder(Item).decode


@dataclass
class ScoredSet:
    """A set with the scores of its labeled records, all of shape (n,), by metric.

    `scores` are NaN where `status` (codes of Status) is not 0. `open_items` opens lines of
    items.jsonl, in which `places` (n,) are the numbers of the labeled records.
    """

    set: LabeledSet
    scores: dict[str, Floats]
    status: dict[str, NDArray[np.uint8]]
    places: NDArray[np.int64]
    open_items: Callable[[], IO[bytes]]

    def unscored(self, metric: str) -> dict[str, int]:
        """How many records have no score, by status."""
        codes = np.bincount(self.status[metric], minlength=len(Status)).tolist()
        pairs = zip(Status, codes, strict=True)
        return {status.value: n for status, n in pairs if n and status is not Status.SCORED}

    def read_evidence(self, rows: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """The evidence of these rows (at least one), by row."""
        row_of = {int(self.places[row]): row for row in rows}
        with self.open_items() as items:
            return {
                row_of[number]: _decode(line).evidence
                for number, line in enumerate(islice(items, max(row_of) + 1))
                if number in row_of
            }


def score_sets(
    sets: LabeledSets,
    plan: Plan | None,
    run_keys: Mapping[int, Sequence[str]],
    workers: int | None,
    progress: Progress,
) -> Iterator[ScoredSet]:
    """Yield the sets that are runs with their scores, then the other sets, newly scored.

    Records without a label are not scored, so they cost nothing.

    Raises:
        InputError: The records of a run aren't those of its items.
    """
    for set_ in sets.sets:
        if set_.run is not None:
            yield _read_run(sets, set_, set_.run, run_keys[set_.number])
    if plan is None:
        return
    fresh = [set_ for set_ in sets.sets if set_.run is None]
    total, done, keys = sum(set_.n for set_ in fresh), 0, plan.keys
    labeled = (batch for set_ in fresh for batch in sets.batches(set_) if batch)
    records = ([record for record, _ in batch] for batch in labeled)
    batches = score_batches(plan, records, total, workers)
    for set_ in fresh:
        n = 0
        values: list[Floats] = []
        status: list[NDArray[np.uint8]] = []
        with tempfile.TemporaryFile() as file:  # Only few items are read again.
            with zstandard.ZstdCompressor(level=1).stream_writer(file, closefd=False) as packed:
                while n < set_.n:
                    batch = next(batches)
                    values.append(batch.values[:, : len(keys)])
                    status.append(batch.status[:, : len(keys)])
                    packed.write(batch.items)
                    n += batch.n
                    done += batch.n
                    progress("score", done, total)
            yield ScoredSet(
                set_,
                _columns(keys, np.concatenate(values)),
                _columns(keys, np.concatenate(status)),
                np.arange(set_.n),
                partial(_unpack, file),
            )


def _unpack(file: IO[bytes]) -> IO[bytes]:
    file.seek(0)
    return BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, closefd=False))


def _read_run(
    sets: LabeledSets, set_: LabeledSet, run: FinishedRun, keys: Sequence[str]
) -> ScoredSet:
    scores = run.read_scores(keys)
    ids, used = sets.mask(set_)
    if not np.array_equal(scores.ids[: len(ids)], ids):
        raise run.files.wrong_records
    rows = np.flatnonzero(used)
    values, status = _columns(keys, scores.values[rows]), _columns(keys, scores.status[rows])
    return ScoredSet(set_, values, status, rows, run.files.open_items)


def _columns(keys: Sequence[str], table: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {key: np.ascontiguousarray(table[:, i]) for i, key in enumerate(keys)}


def worst_items(
    sets: LabeledSets, scored_set: ScoredSet, rows: Mapping[str, NDArray[np.int64]]
) -> dict[str, list[dict[str, Any]]]:
    """Return the items of these rows by metric, in their order, with texts and reasons."""
    all_rows = sorted({row for of_metric in rows.values() for row in of_metric.tolist()})
    if not all_rows:
        return {metric: [] for metric in rows}
    evidence = scored_set.read_evidence(all_rows)
    rows_of_set = (pair for batch in sets.batches(scored_set.set) for pair in batch)
    texts = {
        row: pair
        for row, pair in enumerate(islice(rows_of_set, all_rows[-1] + 1))
        if row in evidence
    }
    return {
        metric: [
            _item(metric, float(scored_set.scores[metric][row]), *texts[row], evidence[row])
            for row in of_metric.tolist()
        ]
        for metric, of_metric in rows.items()
    }


def _item(
    metric: str, score: float, record: Record, label: RecordLabel, evidence: Mapping[str, Any]
) -> dict[str, Any]:
    parts = _judged_parts(metric, evidence)
    item: dict[str, Any] = {
        "id": record.id,
        "score": score,
        "label": label.shown,
        "question": _cut(record.question or "", _QUESTION),
        "response": _cut(record.response, _RESPONSE),
        "context": _context(record, parts),
        "reasons": _reasons(metric, parts, evidence),
    }
    if label.votes:
        item["votes"] = dict(label.votes)
    if record.references:
        item["references"] = [_cut(text, _QUESTION) for text in record.references[:3]]
    return item


def _judged_parts(metric: str, evidence: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The judge's verdicts, the weakest first; nothing where no judge was asked."""
    of_metric = evidence.get(metric) or {}
    if "see" in of_metric:
        of_metric = evidence.get(of_metric["see"], {})
    parts: list[Mapping[str, Any]] = next((of_metric[n] for n in _PARTS if n in of_metric), [])

    def strength(part: Mapping[str, Any]) -> float:
        probability = part.get("probability")
        return 1.0 if probability is None else probability

    return sorted(parts, key=strength)


def _context(record: Record, parts: Sequence[Mapping[str, Any]]) -> str:
    """The deciding window of the weakest claim; without one, how the first text begins."""
    texts = [passage.text for passage in record.contexts or ()]
    for part in parts[:1]:
        number, window = part.get("text_index"), part.get("window")
        if number is not None and window is not None and number < len(texts):
            return _cut(texts[number][window[0] : window[1]], _CONTEXT)
    return _cut(next((text for text in texts if text.strip()), ""), _CONTEXT)


def _reasons(
    metric: str, parts: Sequence[Mapping[str, Any]], evidence: Mapping[str, Any]
) -> list[str]:
    """The judge's reasons, with the claim where there are several; else what the item tells."""
    reasons = []
    for part in parts:
        claim = part.get("text")
        start = f"“{_cut(claim, 160)}”: " if claim and len(parts) > 1 else ""
        reasons += [f"{start}{reason}" for reason in part.get("reasons") or ()]
    of_metric = evidence.get(metric) or {}
    if not reasons and "phrase" in of_metric:
        reasons.append(f"declines: “{of_metric['phrase']}”")
    if not reasons and of_metric.get("reason"):
        reasons.append(str(of_metric["reason"]))
    return reasons[:_REASONS]


def _cut(text: str, max_length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_length else text[: max_length - 1] + "…"
