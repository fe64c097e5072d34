"""Numbers of a whole run that are no means over its items: micro values, harmonic means of means.

Definitions: metrics.md, "Citations of knowledge-graph triples". A micro value is the sum of hits
over the sum of units of all items; the F1 of a run is the harmonic mean of its precision and its
recall. Their intervals come from the same resamples as those of the means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueground.errors import UsageError
from trueground.metrics.base import Spec, make_spec
from trueground.metrics.batch import Column, Floats, Options, harmonic_mean
from trueground.metrics.context import BatchContext
from trueground.metrics.registry import MICRO, get_metric
from trueground.stats.bootstrap import percentiles

TOTAL_NAMES = ("#hits", "#units")  # behind a metric's key: the columns that sum up to its totals
Entries = dict[str, dict[str, Any]]
Draws = dict[str, Floats]


def micro_key(key: str) -> str:
    """`citation_precision(variant=paper)` → `citation_precision_micro(variant=paper)`."""
    at = min((key.find(mark) for mark in "(@" if mark in key), default=len(key))
    return key[:at] + MICRO + key[at:]


def macro_key(key: str) -> str:
    """The other way round; any other key as it is."""
    at = min((key.find(mark) for mark in "(@" if mark in key), default=len(key))
    return key[:at].removesuffix(MICRO) + key[at:]


class RunLevel:
    """The run-level numbers that these metrics have.

    `hidden` are the columns that they need beside the metrics' own, `keys` all names in the
    summary, in order. Raises UsageError where two numbers have one name.
    """

    def __init__(self, specs: Sequence[Spec]) -> None:
        own = {spec.key for spec in specs}
        self._parts = {s.key: _parts(s) for s in specs if s.metric.harmonic}
        parts = [part for pair in self._parts.values() for part in pair]
        self._counted = {s.key: s for s in (*specs, *parts) if s.metric.totals}
        wanted = {part.key: part for part in parts if part.key not in own}
        for spec in self._counted.values():
            wanted |= {part.key: part for part in (_total(spec, 0), _total(spec, 1))}
        self.hidden = tuple(wanted.values())
        self.keys = [key for spec in specs for key in self._shown(spec)]
        for key in own:
            if self.keys.count(key) > 1:
                raise UsageError(
                    f"{key} is a metric and the micro value of {macro_key(key)}; leave one of the "
                    "two metrics out of this run"
                )

    def _shown(self, spec: Spec) -> list[str]:
        pair = self._parts.get(spec.key, ())
        counted = spec.key in self._counted or any(p.key in self._counted for p in pair)
        return [spec.key, micro_key(spec.key)] if counted else [spec.key]

    def added(
        self, entries: Entries, sums: dict[str, float], draws: Draws, level: float
    ) -> tuple[Entries, Draws]:
        """The same with the run-level numbers.

        `entries` are the means of all columns, `sums` their sums over the items, `draws` their
        means in each resample, shape (resamples,).
        """
        entries, draws = dict(entries), dict(draws)

        def add(key: str, like: str, mean: float | None, drawn: Floats, *parts: str) -> None:
            # Without an interval of its own, or of a part, there are too few items to draw from.
            if mean is None or any(entries[one]["ci"] is None for one in (like, *parts)):
                drawn = np.full_like(drawn, np.nan)
            ci = percentiles(drawn, level)
            entries[key] = {**entries[like], "mean": mean, "ci": ci}
            draws[key] = drawn

        for key in self._counted:
            units, hits = sums[f"{key}{TOTAL_NAMES[1]}"], sums[f"{key}{TOTAL_NAMES[0]}"]
            drawn = _ratio(draws[f"{key}{TOTAL_NAMES[0]}"], draws[f"{key}{TOTAL_NAMES[1]}"])
            add(micro_key(key), key, hits / units if units else None, drawn)
        for key, (p, r) in self._parts.items():
            for name in (lambda k: k, micro_key) if p.key in self._counted else (lambda k: k,):
                one, other = name(p.key), name(r.key)
                mean = _harmonic_of(entries[one]["mean"], entries[other]["mean"])
                drawn = harmonic_mean(np.nan_to_num(draws[one]), draws[other])
                add(name(key), key, mean, drawn, one, other)
        return entries, draws


def _parts(spec: Spec) -> tuple[Spec, Spec]:
    """The two metrics of a harmonic one, with the options that they share with it."""
    assert spec.metric.harmonic is not None
    parts = []
    for name in spec.metric.harmonic:
        metric = get_metric(name)
        shared = {n: v for n, v in spec.options.items() if n in metric.options}
        part = make_spec(metric, shared)
        tail = spec.key[spec.key.rfind("@") :] if spec.judge else ""
        parts.append(replace(part, key=part.key + tail, judge=spec.judge))
    return parts[0], parts[1]


def _total(spec: Spec, which: int) -> Spec:
    """The hits (0) or units (1) of a metric as a column of its own."""
    totals = spec.metric.totals
    assert totals is not None

    def compute(context: BatchContext, o: Options) -> Column:
        return Column.of(totals(context, o)[which])

    metric = replace(spec.metric, compute=compute, totals=None, harmonic=None)
    return replace(spec, metric=metric, key=f"{spec.key}{TOTAL_NAMES[which]}")


def _ratio(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.full_like(a, np.nan), where=b > 0)


def _harmonic_of(precision: float | None, recall: float | None) -> float | None:
    """Without any citation there is no precision, and F1 is 0 where recall is defined."""
    if recall is None:
        return None
    return float(harmonic_mean(np.array(precision or 0.0), np.array(recall)))
