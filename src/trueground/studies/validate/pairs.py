"""Two responses to one question, and which of them people like better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.evaluate.stream import Stream
from trueground.evaluate.work import Progress
from trueground.stats.human import Preferences, mean_of_preferences, preferences
from trueground.studies.labelled.sets import LabelledSet, LabelledSets
from trueground.studies.validate.numbers import Manner, turn
from trueground.studies.validate.people import preference_ceiling_of
from trueground.types import Record

Floats = NDArray[np.float64]
LABEL = "preference"
OTHER = "response_b"
NO_OTHER = "no_response_b"


def lacks(record: Record) -> str | None:
    """Why a record is no pair, if it is none."""
    return None if isinstance((record.meta or {}).get(OTHER), str) else NO_OTHER


def check_pairs(sets: LabelledSets, stream: Stream | None) -> Stream:
    """Who scores them. InputError: a finished run, which has scores of one response only."""
    runs = [one.path for one in sets.sets if one.run is not None]
    if runs or stream is None:
        raise InputError(
            f"{', '.join(runs) or 'nothing'}: a run has scores of one response only; name the file "
            f'of pairs, with "response", "{OTHER}" and "human": {{"{LABEL}": 1}}'
        )
    return stream


def score_pairs(
    sets: LabelledSets,
    stream: Stream,
    manner: Manner,
    workers: int | None,
    progress: Progress,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The entry of each set, how far the metric prefers what people prefer; the means over sets."""
    total, done = 2 * sets.n, 0
    entries: list[dict[str, Any]] = []
    found: dict[str, list[Preferences]] = {}
    scored = stream.scored(_both(sets), total, workers)
    for one in sets.sets:
        parts: list[Floats] = []
        while sum(map(len, parts)) < 2 * one.n:
            part = next(scored)
            parts.append(part.values[:, : len(stream.keys)])
            done += part.n
            progress("score", done, total)
        values = np.concatenate(parts)
        measured = _measured(one, stream.keys, values[0::2], values[1::2], manner)
        entries.append(_entry(one, measured, manner))
        for key, told in measured.items():
            found.setdefault(key, []).append(told)
    means = {key: mean_of_preferences(told, manner.level) for key, told in found.items()}
    raw = {key: {name: mean.raw() for name, mean in told.items()} for key, told in means.items()}
    return entries, raw


def _both(sets: LabelledSets) -> Iterator[list[Record]]:
    """Response A and response B of each record in turn."""
    for one in sets.sets:
        for batch in sets.batches(one):
            pairs = [_two(record) for record, _ in batch]
            if pairs:
                yield [record for pair in pairs for record in pair]


def _two(record: Record) -> tuple[Record, Record]:
    response = (record.meta or {})[OTHER]
    other = msgspec.structs.replace(record, response=response, response_facts=None)
    return record, other


def _measured(
    one: LabelledSet, keys: Sequence[str], first: Floats, second: Floats, manner: Manner
) -> dict[str, Preferences]:
    """`first` and `second` (n, metrics) are the scores of the responses A and B."""
    found = {}
    for i, key in enumerate(keys):
        both = np.concatenate([first[:, i], second[:, i]])
        if np.isnan(both).all():
            continue
        turned = turn(key, both)
        found[key] = preferences(
            turned[: one.n] - turned[one.n :],
            one.labels,
            one.clusters if one.grouped else None,
            resamples=manner.resamples,
            seed=manner.seed,
            level=manner.level,
            workers=manner.workers,
        )
    return found


def _entry(one: LabelledSet, found: dict[str, Preferences], manner: Manner) -> dict[str, Any]:
    metrics = {
        key: {name: estimate.raw() for name, estimate in told.estimates.items()}
        for key, told in found.items()
    }
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
        "metrics": metrics,
        "scored": {key: {"n": t.n, "metric_ties": t.metric_ties} for key, t in found.items()},
        "ceiling": preference_ceiling_of(one, manner),
    }
