"""Numbers → positions: what the page's small drawings need, in percent of their width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 20


@dataclass(frozen=True)
class ChartScale:
    """A linear axis from `low` to `high`."""

    low: float = 0.0
    high: float = 1.0

    def at(self, value: float) -> float:
        """The position of `value` in percent, held inside the axis."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    @property
    def ends(self) -> tuple[str, str]:
        """The two ends in words."""
        return f"{self.low:.3g}", f"{self.high:.3g}"


@dataclass(frozen=True)
class Interval:
    """A mean and its interval on a scale; `low` and `high` are None where there is no interval."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram: position, width and height in percent, and its words."""

    x: float
    width: float
    height: float
    words: str


@dataclass(frozen=True)
class Distribution:
    """How one metric's values spread. `share` is set, and `bars` empty, where all are 0 or 1."""

    metric: str
    count: int
    median: float
    scale: ChartScale
    share: float | None
    ones: int
    bars: list[Bar]


def scale_for(values: NDArray[np.float32] | None, entry: dict[str, Any]) -> ChartScale:
    """0 to 1 if every value, the mean and the interval lie there, else their own range."""
    seen = [value for value in (entry.get("mean"), *(entry.get("ci") or ())) if value is not None]
    if values is not None and len(values):
        seen += [float(values.min()), float(values.max())]
    low, high = min(seen, default=0.0), max(seen, default=1.0)
    if low >= 0.0 and high <= 1.0:
        return ChartScale()
    return ChartScale(low, high) if high > low else ChartScale(low - 0.5, high + 0.5)


def interval(entry: dict[str, Any], scale: ChartScale) -> Interval | None:
    """Where a summary entry's mean and interval lie; None without a mean."""
    if entry.get("mean") is None:
        return None
    low, high = entry.get("ci") or (None, None)
    return Interval(
        scale.at(entry["mean"]),
        None if low is None else scale.at(low),
        None if high is None else scale.at(high),
    )


def distribution(
    metric: str, values: NDArray[np.float32], scale: ChartScale
) -> Distribution | None:
    """The spread of `values`, shape (n,), without NaN; None where there are none."""
    if not len(values):
        return None
    ones = int((values == 1).sum())
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    return Distribution(
        metric=metric,
        count=len(values),
        median=float(np.median(values)),
        scale=scale,
        share=ones / len(values) if binary else None,
        ones=ones,
        bars=[] if binary else _bars(values, scale),
    )


def _bars(values: NDArray[np.float32], scale: ChartScale) -> list[Bar]:
    # 0.7 as a 32-bit number lies just under the edge of its bin
    position = (values - scale.low) / (scale.high - scale.low) * BINS + 1e-4
    counts = np.bincount(np.clip(position.astype(np.int64), 0, BINS - 1), minlength=BINS)
    edges = np.linspace(scale.low, scale.high, BINS + 1)
    step, peak = 100 / BINS, int(counts.max())
    return [
        Bar(
            x=round(k * step, 2),
            width=step,
            height=round(100 * int(count) / peak, 2),
            words=f"{edges[k]:.3g} to {edges[k + 1]:.3g}: {int(count):,} items",
        )
        for k, count in enumerate(counts)
    ]
