"""The items on which a metric and people disagree most, with what decided, to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.studies.labelled.rule import Told
from trueground.studies.labelled.sets import LabelledSets
from trueground.studies.validate.scored import ScoredSet
from trueground.types import Record

Floats = NDArray[np.float64]
_QUESTION, _RESPONSE, _CONTEXT = 400, 1_200, 800  # characters that are shown
_REASONS = 6
_PARTS = ("claims", "response", "facts", "references")


def worst_rows(
    scores: Floats,
    positive: NDArray[np.bool_],
    threshold: float | None,
    at_least: bool,
    most: int,
) -> NDArray[np.int64]:
    """Rows whose verdict (score > threshold, or ≥) is not the label, the farthest from it first.

    `scores` (n,) are turned so that more is better, NaN where there is none. Of equals the earlier
    row comes first.
    """
    if threshold is None:
        return np.empty(0, np.int64)
    scored = ~np.isnan(scores)
    said = scores >= threshold if at_least else scores > threshold
    wrong = np.flatnonzero(scored & (said != positive))
    far = np.abs(scores[wrong] - threshold)
    return wrong[np.argsort(-far, kind="stable")][:most]


def describe(
    sets: LabelledSets, one: ScoredSet, rows: Mapping[str, NDArray[np.int64]]
) -> dict[str, list[dict[str, Any]]]:
    """The items of these rows by metric, in their order, with texts and reasons."""
    wanted = sorted({row for of in rows.values() for row in of.tolist()})
    if not wanted:
        return {metric: [] for metric in rows}
    evidence = one.lines.read(wanted)
    texts = _picked(sets, one, set(wanted))
    return {
        metric: [
            _item(metric, float(one.scores[metric][row]), *texts[row], evidence[row])
            for row in of.tolist()
        ]
        for metric, of in rows.items()
    }


def _picked(sets: LabelledSets, one: ScoredSet, wanted: set[int]) -> dict[int, tuple[Record, Told]]:
    found, row, last = {}, 0, max(wanted)
    for batch in sets.batches(one.set):
        for pair in batch:
            if row in wanted:
                found[row] = pair
            row += 1
        if row > last:
            break
    return found


def _item(
    metric: str, score: float, record: Record, told: Told, evidence: Mapping[str, Any]
) -> dict[str, Any]:
    checked = _checked(metric, evidence)
    item: dict[str, Any] = {
        "id": record.id,
        "score": score,
        "label": told.shown,
        "question": _cut(record.question or "", _QUESTION),
        "response": _cut(record.response, _RESPONSE),
        "context": _context(record, checked),
        "reasons": _reasons(metric, checked, evidence),
    }
    if told.votes:
        item["votes"] = dict(told.votes)
    if record.references:
        item["references"] = [_cut(text, _QUESTION) for text in record.references[:3]]
    return item


def _checked(metric: str, evidence: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the judge said, the weakest first; nothing where no judge was asked."""
    found = evidence.get(metric) or {}
    found = evidence.get(found["see"], {}) if "see" in found else found
    parts: list[Mapping[str, Any]] = next((found[name] for name in _PARTS if name in found), [])
    return sorted(parts, key=lambda part: _or_one(part.get("probability")))


def _or_one(probability: float | None) -> float:
    return 1.0 if probability is None else probability


def _context(record: Record, checked: Sequence[Mapping[str, Any]]) -> str:
    """The deciding window of the weakest claim; without one, how the first text begins."""
    texts = [passage.text for passage in record.contexts or ()]
    for part in checked[:1]:
        number, window = part.get("text_index"), part.get("window")
        if number is not None and window is not None and number < len(texts):
            return _cut(texts[number][window[0] : window[1]], _CONTEXT)
    return _cut(next((text for text in texts if text.strip()), ""), _CONTEXT)


def _reasons(
    metric: str, checked: Sequence[Mapping[str, Any]], evidence: Mapping[str, Any]
) -> list[str]:
    """The judge's reasons, with the claim where there are several; else what the item tells."""
    found = []
    for part in checked:
        claim = part.get("text")
        start = f"“{_cut(claim, 160)}”: " if claim and len(checked) > 1 else ""
        found += [f"{start}{reason}" for reason in part.get("reasons") or ()]
    own = evidence.get(metric) or {}
    if not found and "phrase" in own:
        found.append(f"declines: “{own['phrase']}”")
    if not found and own.get("reason"):
        found.append(str(own["reason"]))
    return found[:_REASONS]


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
