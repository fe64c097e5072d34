"""The evidence of items beside their numbers, as it stands in items.jsonl."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from trueground.errors import fails_alone
from trueground.evaluate.checks import as_json
from trueground.metrics.base import Spec
from trueground.metrics.column import Column
from trueground.metrics.evidence import BatchContext
from trueground.net.redact import raised
from trueground.types import Status

Evidences = list[dict[str, Any]]


class Told:
    """For each item the evidence by metric; what two metrics share stands at the first of them."""

    def __init__(self, n: int) -> None:
        self.items: Evidences = [{} for _ in range(n)]
        self._first: dict[object, str] = {}

    def column(self, spec: Spec, evidence: BatchContext, shown: bool) -> Column:
        """The metric's values; where they are to be shown, the items are told its evidence."""
        column = spec.column(evidence)
        if (~np.isfinite(column.values) & (column.status == 0)).any():
            raise ValueError("a value that is no finite number")
        if shown:
            self._tell(spec, evidence, column)
        return column

    def column_of_one(self, spec: Spec, evidence: BatchContext, shown: bool) -> Column:
        """The same for a single item; the status `error`, with its reason, where it fails."""
        found, first = dict(self.items[0]), dict(self._first)
        try:
            column = self.column(spec, evidence, shown)
            if column.values.shape != (1,) or column.status.shape != (1,):
                raise ValueError(f"{len(column.values)} values for 1 item")
            orjson.dumps(self.items[0])  # whoever cannot be written must not be kept
        except BaseException as error:
            if not fails_alone(error):
                raise
            reason = f"the metric failed: {raised(error)}"
            self.items[0], self._first = found | {spec.key: {"reason": reason}}, first
            column = Column.of(np.zeros(1)).without(np.ones(1, np.bool_), Status.ERROR)
        return column

    def _tell(self, spec: Spec, evidence: BatchContext, column: Column) -> None:
        metric, key, first = spec.metric, spec.key, self._first
        for found, note in zip(self.items, column.notes or (), strict=False):
            if note:
                found[key] = dict(note)
        if metric.tells and first.setdefault(metric.tells, key) == key:
            for i, found in enumerate(self.items):
                if said := metric.tells(evidence, i):
                    found.setdefault(key, {}).update(said)
        if metric.totals:
            hits, units = metric.totals(evidence.of_judge(spec.judge), spec.options)
            for i in np.flatnonzero((column.status == 0) & (units > 0)).tolist():
                counts = [_plain(hits[i]), _plain(units[i])]
                self.items[i].setdefault(key, {})["counts"] = counts
        for kind in metric.checks(spec.options):
            teller = first.setdefault((spec.judge, kind), key)
            judged = evidence.of_judge(spec.judge).checks(kind)
            for found, checked in zip(self.items, judged, strict=True):
                if said := as_json(checked, kind):
                    found.setdefault(key, {}).update(said if teller == key else {"see": teller})


def _plain(count: float) -> int | float:
    return int(count) if count == int(count) else float(count)
