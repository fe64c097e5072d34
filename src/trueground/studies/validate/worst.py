"""The items on which a metric and people disagree most, with what decided, to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.studies.labelled import LabelledSets
from trueground.studies.labels import RecordLabel
from trueground.studies.validate.scores import ScoredSet
from trueground.types import Record

_QUESTION, _RESPONSE, _CONTEXT = 400, 1_200, 800  # characters that are shown
_REASONS = 6
_PARTS = ("claims", "response", "facts", "references")


def worst_items(
    sets: LabelledSets, one: ScoredSet, rows: Mapping[str, NDArray[np.int64]]
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
