"""What a finished evaluation gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from trueground.errors import unknown_name

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class MetricSummary:
    """One metric over a run: `mean` and `ci` are None where nothing could be scored."""

    mean: float | None
    ci: tuple[float, float] | None
    ci_level: float
    n: int
    scored: int
    unscored: Mapping[str, int]

    @property
    def coverage(self) -> float:
        """Share scored among the items to which the metric applies; 1 if it applies to none."""
        applies = self.n - self.unscored.get("not_applicable", 0)
        return self.scored / applies if applies else 1.0


class Summary(Mapping[str, MetricSummary]):
    """Metrics by name. A bare name finds its metric also where that was given with options."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self._metrics = {key: MetricSummary(**entry) for key, entry in raw["metrics"].items()}

    def __getitem__(self, name: str) -> MetricSummary:
        if name in self._metrics:
            return self._metrics[name]
        near = [key for key in self._metrics if key.partition("(")[0] == name]
        if len(near) != 1:
            raise KeyError(str(unknown_name("metric of this run", name, self._metrics)))
        return self._metrics[near[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)


@dataclass(frozen=True)
class Result:
    """A scored file: `summary` by metric, `items` as a data frame, `path` of the run directory.

    `path` is None where no output folder was asked for.
    """

    summary: Summary
    path: Path | None
    lines: bytes | Path

    @cached_property
    def evidence(self) -> list[dict[str, Any]]:
        """The lines of items.jsonl: id, scores, status and evidence of each item."""
        data = self.lines if isinstance(self.lines, bytes) else self.lines.read_bytes()
        return [orjson.loads(line) for line in data.splitlines()]

    @cached_property
    def items(self) -> pl.DataFrame:
        """One row per item: `id`, a column per metric, and its status as `<metric>:status`."""
        import polars as pl

        columns: dict[str, list[Any]] = {"id": [item["id"] for item in self.evidence]}
        for key in self.summary:
            columns[key] = [item["scores"][key] for item in self.evidence]
            columns[f"{key}:status"] = [item["status"][key] for item in self.evidence]
        floats = dict.fromkeys(self.summary, pl.Float64)
        return pl.DataFrame(columns, schema_overrides=floats)
