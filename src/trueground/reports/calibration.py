"""A calibration as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from trueground.reports.terminal import table

_SHOWN = ("balanced_accuracy", "f1", "precision", "recall", "specificity", "matthews")


def render(raw: Mapping[str, Any]) -> str:
    """Ranking, both thresholds, probabilities, the files one by one; `raw` as in the file."""
    blocks = [_head(raw), _thresholds(raw), _probabilities(raw)]
    if len(raw["files"]) > 1:
        blocks.append(_files(raw["files"]))
    if raw["notes"]:
        blocks.append("\n".join(f"note: {note}" for note in raw["notes"]))
    return "\n\n".join(blocks)


def _head(raw: Mapping[str, Any]) -> str:
    groups = "" if raw["groups"] is None else f", {raw['groups']:,} groups taken as clusters"
    unscored = "".join(f", {count:,} {why}" for why, count in raw["unscored"].items())
    area = raw["auroc"]
    return (
        f"{raw['judge']} against the label {raw['label']!r}: {raw['n']:,} records, "
        f"{raw['positives']:,} positive{groups}{unscored}\n"
        f"AUROC {area['value']:.4f} {_interval(area['ci'])}".rstrip()
    )


def _thresholds(raw: Mapping[str, Any]) -> str:
    rows: list[tuple[str, ...]] = [
        (
            "threshold",
            "",
            *(name.replace("_", " ") for name in _SHOWN),
            f"{raw['ci_level']:.0%} interval",
        )
    ]
    for name in ("default", "chosen"):
        told = raw[name]
        numbers = (_four(told[measure]) for measure in _SHOWN)
        rows.append(
            (name, f"{told['threshold']:.4g}", *numbers, _interval(told["balanced_accuracy_ci"]))
        )
    held = raw["chosen"]["cross_validated"]
    lines = [
        table(rows),
        f"chosen for {raw['objective'].replace('_', ' ')}; the interval is that of",
    ]
    lines[-1] += " balanced accuracy"
    if held["balanced_accuracy"] is not None:
        lines.append(
            f"balanced accuracy on items that the threshold was not chosen on: "
            f"{held['balanced_accuracy']:.4f} ({held['folds']}-fold, thresholds "
            f"{min(held['thresholds']):.4g} to {max(held['thresholds']):.4g})"
        )
    return "\n".join(lines)


def _probabilities(raw: Mapping[str, Any]) -> str:
    error = raw["calibration_error"]
    before = "the judge gives none" if error["before"] is None else f"{error['before']:.4f}"
    return (
        f"probability = 1 / (1 + exp(-({raw['slope']:.4g} * score {raw['intercept']:+.4g})))\n"
        f"calibration error before {before}, after {error['after']:.4f}"
    )


def _files(files: list[Mapping[str, Any]]) -> str:
    rows = [("file", "records", "positive", "AUROC", "default", "chosen", "others choose", "at")]
    rows += [
        (
            PurePath(file["path"]).name,
            f"{file['n']:,}",
            f"{file['positives'] / file['n']:.0%}" if file["n"] else "–",
            _four(file["auroc"]),
            _four(file["default"]),
            _four(file["chosen"]),
            _four(file["left_out"]["balanced_accuracy"]),
            "" if file["left_out"]["threshold"] is None else f"{file['left_out']['threshold']:.4g}",
        )
        for file in files
    ]
    return (
        f"{table(rows)}\nbalanced accuracy at the default threshold, at the chosen one, and at the "
        "one that the\nother files choose"
    )


def _four(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _interval(ends: tuple[float, float] | None) -> str:
    return "–" if ends is None else f"[{ends[0]:.4f}, {ends[1]:.4f}]"
