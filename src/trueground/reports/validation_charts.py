"""Scores by label and calibration → positions: what the drawings of a validation need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueground.reports.charts import Bar, ChartScale, Interval, interval
from trueground.reports.validation_said import four, percent, short

WORDS = {"1": "positive", "0": "negative"}
# The plot inside the 260 × 240 box of a calibration curve; the rest is for the ticks.
_LEFT, _WIDE, _TOP, _HIGH = 34, 218, 8, 198


@dataclass(frozen=True)
class Strip:
    """The histogram of one label: its bars in percent, or the share of ones of a binary metric."""

    label: str
    words: str
    count: int
    bars: list[Bar]
    dot: Interval | None
    said: str


@dataclass(frozen=True)
class ScoreStrips:
    """Strips on one axis, with thresholds (percent, words); `binary`: every score is 0 or 1."""

    scale: ChartScale
    strips: list[Strip]
    thresholds: list[tuple[float, str]]
    binary: bool


@dataclass(frozen=True)
class CurvePoint:
    """One bin of a calibration curve, in the units of its box."""

    x: float
    y: float
    r: float
    words: str


def spread(entry: Mapping[str, Any], threshold: float | None) -> ScoreStrips | None:
    """Scores by label of one metric on one set; None where nothing was scored."""
    histogram = entry.get("histogram")
    if not histogram or not any(sum(counts) for counts in histogram["counts"].values()):
        return None
    edges: Sequence[float] = histogram["edges"]
    scale = (
        ChartScale(edges[0], edges[-1])
        if edges[-1] > edges[0]
        else ChartScale(edges[0], edges[0] + 1)
    )
    counts = dict(sorted(histogram["counts"].items(), key=lambda pair: pair[0], reverse=True))
    means = {_key(one["label"]): one for one in entry.get("by_label") or ()}
    binary = _is_binary(counts, means, edges)
    shares = [n / sum(c) for c in counts.values() if sum(c) for n in c]
    strips = [
        Strip(
            label=label,
            words=WORDS.get(label, f"label {label}"),
            count=sum(own),
            bars=[] if binary else _bars(own, edges, scale, max(shares)),
            dot=interval({"mean": own[-1] / sum(own), "ci": means[label]["mean"]["ci"]}, scale)
            if binary and sum(own)
            else None,
            said=f"{own[-1]:,} of {sum(own):,} have 1 ({percent(own[-1], sum(own))})",
        )
        for label, own in counts.items()
    ]
    return ScoreStrips(
        scale, strips, [] if binary else _thresholds(entry, threshold, scale), binary
    )


def curve(reliability: Sequence[Mapping[str, Any]]) -> list[CurvePoint]:
    """Bins with records, at mean score and share of positives; larger where there are more."""
    bins = [one for one in reliability if one["n"]]
    most = max((one["n"] for one in bins), default=1)
    return [
        CurvePoint(
            x=place_x(one["mean_score"]),
            y=place_y(one["share_positive"]),
            r=round(2.5 + 4 * math.sqrt(one["n"] / most), 1),
            words=f"scores {short(one['low'])} to {short(one['high'])}: mean "
            f"{four(one['mean_score'])}, {four(one['share_positive'])} positive of {one['n']:,}",
        )
        for one in bins
    ]


def place_x(value: float) -> float:
    """The place of a score in a calibration curve."""
    return round(_LEFT + _WIDE * min(max(value, 0.0), 1.0), 1)


def place_y(value: float) -> float:
    """The place of a share in a calibration curve."""
    return round(_TOP + _HIGH * (1 - min(max(value, 0.0), 1.0)), 1)


def _bars(own: Sequence[int], edges: Sequence[float], scale: ChartScale, peak: float) -> list[Bar]:
    """Heights are shares of the label's own records, so that a rare label is seen as well."""
    total = sum(own) or 1
    return [
        Bar(
            x=scale.at(edges[k]),
            width=round(scale.at(edges[k + 1]) - scale.at(edges[k]), 2),
            height=round(100 * n / total / peak, 2),
            words=f"{short(edges[k])} to {short(edges[k + 1])}: {n:,} ({percent(n, total)})",
        )
        for k, n in enumerate(own)
        if n
    ]


def _thresholds(
    entry: Mapping[str, Any], default: float | None, scale: ChartScale
) -> list[tuple[float, str]]:
    named = [(default, "default"), (entry.get("best_threshold"), "best")]
    return [
        (scale.at(value), f"{name} {short(value)}")
        for value, name in named
        if value is not None and scale.low <= value <= scale.high
    ]


def _is_binary(
    counts: Mapping[str, Sequence[int]], means: Mapping[str, Any], edges: Sequence[float]
) -> bool:
    """Only 0 and 1: the middle bins are empty, and the means are what the last bins hold."""
    if (edges[0], edges[-1]) != (0, 1) or any(n for own in counts.values() for n in own[1:-1]):
        return False
    return all(
        label in means
        and means[label]["mean"]["value"] is not None
        and abs(means[label]["mean"]["value"] * sum(own) - own[-1]) < 1e-6 * sum(own)
        for label, own in counts.items()
        if sum(own)
    )


def _key(label: object) -> str:
    """A label as a key of the counts: 1, 1.0 and "1" are one."""
    return f"{label:g}" if isinstance(label, int | float) else str(label)
