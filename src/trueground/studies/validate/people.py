"""The ceiling of a set: one of its annotators against the rest."""

from __future__ import annotations

from typing import Any

from trueground.stats.human import ceiling, preference_ceiling
from trueground.studies.labelled.sets import LabelledSet
from trueground.studies.validate.numbers import Manner
from trueground.studies.validate.scored import ScoredSet


def ceiling_of(one: ScoredSet, manner: Manner) -> dict[str, Any] | None:
    """Each annotator by name, and their mean; None where fewer than two labelled the set.

    Records that all of them together are tied on have no label, but count here: only a tie of the
    rest leaves one out. Without them two annotators would always agree.
    """
    names = one.set.votes.annotators
    if len(names) < 2:
        return None
    table, clusters = one.set.votes.table()
    raw = ceiling(
        table,
        positive_above=manner.rule.positive_above,
        ordinal=manner.rule.ordinal,
        clusters=clusters,
        resamples=manner.resamples,
        seed=manner.seed,
        level=manner.level,
        workers=manner.workers,
    ).raw()
    each = zip(names, raw["annotators"], strict=True)
    return {**raw, "annotators": [{"annotator": name, **found} for name, found in each]}


def preference_ceiling_of(one: LabelledSet, manner: Manner) -> dict[str, Any] | None:
    """The same of pairs: the preferences of each annotator against the mean of the rest."""
    names = one.votes.annotators
    if len(names) < 2:
        return None
    table, clusters = one.votes.table()
    raw = preference_ceiling(
        table,
        clusters=clusters if one.grouped else None,
        resamples=manner.resamples,
        seed=manner.seed,
        level=manner.level,
        workers=manner.workers,
    ).raw()
    each = zip(names, raw["annotators"], strict=True)
    return {**raw, "annotators": [{"annotator": name, **found} for name, found in each]}
