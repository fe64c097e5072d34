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
        wanted = {int(self.places[row]): row for row in rows}
        with self.open_items() as items:
            return {
                wanted[number]: _decode(line).evidence
                for number, line in enumerate(islice(items, max(wanted) + 1))
                if number in wanted
            }


def score_sets(
    sets: LabeledSets,
    plan: Plan | None,
    run_keys: Mapping[int, Sequence[str]],
    workers: int | None,
    progress: Progress,
) -> Iterator[ScoredSet]:
    """The sets that are runs, with the scores that these have; then the others, newly scored.

    All those others are one stream of batches; nothing is paid for records without a label.
    InputError: the records of a run are not those of its items.
    """
    for one in sets.sets:
        if one.run is not None:
            yield _read_run(sets, one, one.run, run_keys[one.number])
    if plan is None:
        return
    fresh = [one for one in sets.sets if one.run is None]
    total, done, keys = sum(one.n for one in fresh), 0, plan.keys
    labeled = (batch for one in fresh for batch in sets.batches(one) if batch)
    records = ([record for record, _ in batch] for batch in labeled)
    batches = score_batches(plan, records, total, workers)
    for one in fresh:
        n = 0
        values: list[Floats] = []
        status: list[NDArray[np.uint8]] = []
        with tempfile.TemporaryFile() as file:  # what is behind the scores is wanted of a few items
            with zstandard.ZstdCompressor(level=1).stream_writer(file, closefd=False) as packed:
                while n < one.n:
                    batch = next(batches)
                    values.append(batch.values[:, : len(keys)])
                    status.append(batch.status[:, : len(keys)])
                    packed.write(batch.items)
                    n += batch.n
                    done += batch.n
                    progress("score", done, total)
            yield ScoredSet(
                one,
                _columns(keys, np.concatenate(values)),
                _columns(keys, np.concatenate(status)),
                np.arange(one.n),
                partial(_unpack, file),
            )


def _unpack(file: IO[bytes]) -> IO[bytes]:
    file.seek(0)
    return BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, closefd=False))


def _read_run(
    sets: LabeledSets, one: LabeledSet, run: FinishedRun, keys: Sequence[str]
) -> ScoredSet:
    scores = run.read_scores(keys)
    ids, used = sets.mask(one)
    if not np.array_equal(scores.ids[: len(ids)], ids):
        raise run.files.wrong_records
    rows = np.flatnonzero(used)
    values, status = _columns(keys, scores.values[rows]), _columns(keys, scores.status[rows])
    return ScoredSet(one, values, status, rows, run.files.open_items)


def _columns(keys: Sequence[str], table: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {key: np.ascontiguousarray(table[:, i]) for i, key in enumerate(keys)}


# The items on which a metric and people disagree most, with what decided, to be read


def worst_items(
    sets: LabeledSets, one: ScoredSet, rows: Mapping[str, NDArray[np.int64]]
) -> dict[str, list[dict[str, Any]]]:
    """The items of these rows by metric, in their order, with texts and reasons."""
    wanted = sorted({row for of_metric in rows.values() for row in of_metric.tolist()})
    if not wanted:
        return {metric: [] for metric in rows}
    evidence = one.read_evidence(wanted)
    rows_of_set = (pair for batch in sets.batches(one.set) for pair in batch)
    texts = {
        row: pair for row, pair in enumerate(islice(rows_of_set, wanted[-1] + 1)) if row in evidence
    }
    return {
        metric: [
            _item(metric, float(one.scores[metric][row]), *texts[row], evidence[row])
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
    own = evidence.get(metric) or {}
    if not reasons and "phrase" in own:
        reasons.append(f"declines: “{own['phrase']}”")
    if not reasons and own.get("reason"):
        reasons.append(str(own["reason"]))
    return reasons[:_REASONS]


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
