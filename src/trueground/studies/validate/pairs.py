"""Two responses to one question, and which of them people like better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.evaluate.plan import Plan
from trueground.evaluate.scoring import score_batches
from trueground.options import Progress
from trueground.stats.human.estimates import mean_of_sets, raw_estimates
from trueground.stats.human.people import PREFERENCES, Preferences, preferences
from trueground.studies.labelled import LabelledSet, LabelledSets
from trueground.studies.validate.measures import MeasureSettings, ceiling_of, turn
from trueground.types import Record

LABEL = "preference"
OTHER = "response_b"
NO_OTHER = "no_response_b"


def why_no_pair(record: Record) -> str | None:
    """Why a record is no pair, if it is none."""
    return None if isinstance((record.meta or {}).get(OTHER), str) else NO_OTHER


def check_pairs(sets: LabelledSets, plan: Plan | None) -> Plan:
    """The plan that scores them. InputError: a finished run has scores of one response only."""
    runs = [one.path for one in sets.sets if one.run is not None]
    if runs or plan is None:
        raise InputError(
            f"{', '.join(runs) or 'nothing'}: a run has scores of one response only; name the file "
            f'of pairs, with "response", "{OTHER}" and "human": {{"{LABEL}": 1}}'
        )
    return plan


def score_pairs(
    sets: LabelledSets,
    plan: Plan,
    settings: MeasureSettings,
    workers: int | None,
    progress: Progress,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The entry of each set, how far the metric prefers what people prefer; the means over sets."""
    total, done, keys = 2 * sets.n, 0, plan.keys
    entries: list[dict[str, Any]] = []
    over: dict[str, list[Preferences]] = {}
    batches = score_batches(plan, _both_responses(sets), total, workers)
    for one in sets.sets:
        parts: list[NDArray[np.float64]] = []
        while sum(map(len, parts)) < 2 * one.n:
            batch = next(batches)
            parts.append(batch.values[:, : len(keys)])
            done += batch.n
            progress("score", done, total)
        values = np.concatenate(parts)  # rows: response A and response B of each record in turn
        measured = {}
        for i, key in enumerate(keys):
            both = np.concatenate([values[0::2, i], values[1::2, i]])
            if not np.isnan(both).all():
                turned = turn(key, both)
                measured[key] = preferences(
                    turned[: one.n] - turned[one.n :], one.labels, one.grouping, **settings.draws
                )
                over.setdefault(key, []).append(measured[key])
        entries.append(_entry(one, measured, settings))
    means = {key: mean_of_sets(each, settings.level, PREFERENCES) for key, each in over.items()}
    return entries, {key: raw_estimates(of_metric, "sets") for key, of_metric in means.items()}


def _both_responses(sets: LabelledSets) -> Iterator[list[Record]]:
    """Response A and response B of each record in turn."""
    for one in sets.sets:
        for batch in sets.batches(one):
            both = []
            for record, _ in batch:
                other = (record.meta or {})[OTHER]
                second = msgspec.structs.replace(record, response=other, response_facts=None)
                both += [record, second]
            if both:
                yield both


def _entry(
    one: LabelledSet, measured: dict[str, Preferences], settings: MeasureSettings
) -> dict[str, Any]:
    return {
        "set": one.name,
        "path": one.path,
        "sha256": one.sha256,
        "n": one.n,
        "ties": int((one.labels == 0).sum()),
        "a_preferred": int((one.labels > 0).sum()),
        "groups": one.groups,
        "annotators": len(one.votes.annotators) or 1,
        "unused": dict(sorted(one.unused.items())),
        "metrics": {key: raw_estimates(m.estimates) for key, m in measured.items()},
        "scored": {key: {"n": m.n, "metric_ties": m.metric_ties} for key, m in measured.items()},
        "ceiling": ceiling_of(one, settings, pairs=True),
    }
