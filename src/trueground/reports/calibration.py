"""A calibration as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from trueground.reports.terminal import interval, number, table

_SHOWN = ("balanced_accuracy", "f1", "precision", "recall", "specificity", "kappa", "matthews")
_CURVES = {"platt": "Platt", "isotonic": "isotonic"}


def render(raw: Mapping[str, Any]) -> str:
    """Ranking, both thresholds, probabilities, the files one by one; `raw` as in the file."""
    by_verdict = raw["of"] == "verdict"
    blocks = [
        _head(raw),
        _verdicts(raw) if by_verdict else _thresholds(raw),
        _curve(raw),
        _methods(raw),
    ]
    if len(raw["files"]) > 1:
        blocks.append(_files(raw["files"]))
    if raw["notes"]:
        blocks.append("\n".join(f"note: {note}" for note in raw["notes"]))
    return "\n\n".join(blocks)


def _head(raw: Mapping[str, Any]) -> str:
    groups = "" if raw["groups"] is None else f", {raw['groups']:,} groups taken as clusters"
    unscored = "".join(f", {count:,} {why}" for why, count in raw["unscored"].items())
    area = raw["auroc"]
    reason = f" ({area['reason']})" if area.get("reason") else ""
    return (
        f"{raw['judge']} against the label {raw['label']!r}: {raw['n']:,} records, "
        f"{raw['positives']:,} positive{groups}{unscored}\n"
        f"AUROC {area['value']:.4f} {interval(area['ci'])}{reason}"
    )


def _measures(raw: Mapping[str, Any], first: str, *names: str) -> str:
    """The measures at the thresholds of these names, with the interval of balanced accuracy."""
    rows = [(first, "", *(m.replace("_", " ") for m in _SHOWN), f"{raw['ci_level']:.0%} interval")]
    for name in names:
        told = raw[name]
        at = (name, f"{told['threshold']:.4g}") if first else ("True", "or False")
        rows.append(
            (*at, *(number(told[m]) for m in _SHOWN), interval(told["balanced_accuracy_ci"]))
        )
    return table(rows)


def _verdicts(raw: Mapping[str, Any]) -> str:
    return (
        f"{_measures(raw, '', 'chosen')}\n"
        "the judge gives no scores: its verdicts stay as they are, and get probabilities; the "
        "interval is that of\nbalanced accuracy"
    )


def _thresholds(raw: Mapping[str, Any]) -> str:
    wanted = raw["precision"]
    what = raw["objective"].replace("_", " ")
    if wanted is not None:
        what = f"a precision of {wanted['wanted']:g}, the lowest that reaches it"
    lines = [
        _measures(raw, "threshold", "default", "chosen"),
        f"chosen for {what}; the interval is that of balanced accuracy",
    ]
    held = raw["chosen"]["cross_validated"]
    if held["balanced_accuracy"] is not None:
        own = ""
        if raw["objective"] not in ("balanced_accuracy", "precision"):
            name = "matthews" if raw["objective"] == "correlation" else raw["objective"]
            own = f", {name} {number(held[name])}"
        lines.append(
            f"balanced accuracy on items that the threshold was not chosen on: "
            f"{held['balanced_accuracy']:.4f}{own} ({held['folds']}-fold, thresholds "
            f"{min(held['thresholds']):.4g} to {max(held['thresholds']):.4g})"
        )
    if wanted is not None:
        lines.append(_precision(raw, wanted))
    return "\n".join(lines)


def _precision(raw: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    held = wanted["cross_validated"]
    rows = [("precision", "", "at least", "called supported")]
    for name, told in (("on these records", wanted), ("on records held out", held)):
        items = "–" if told["n"] is None else f"{told['n']:,}"
        rows.append((name, number(told["value"]), number(told["lower"]), items))
    lines = ["", table(rows), f"at least: with {raw['ci_level']:.0%} confidence, one-sided"]
    for (name, *_), told in zip(rows[1:], (wanted, held), strict=True):
        if told["lower"] is None and told.get("lower_reason"):
            lines.append(f"no bound {name}: {told['lower_reason']}")
    return "\n".join(lines)


def _curve(raw: Mapping[str, Any]) -> str:
    error, knots = raw["calibration_error"], raw["knots"]
    if raw["of"] == "verdict":
        low, high = (knots[0][1], knots[-1][1]) if knots else map(_platt(raw), (0, 1))
        formula = f"probability of True {high:.4f}, of False {low:.4f}"
    elif raw["method"] == "isotonic":
        (start, low), (end, high) = knots[0], knots[-1]
        formula = f"probability: isotonic, {len(knots)} knots from {low:.4f} at {start:.4g}"
        formula += f" to {high:.4f} at {end:.4g}"
    else:
        exponent = f"{raw['slope']:.4g} * score {raw['intercept']:+.4g}"
        formula = f"probability = 1 / (1 + exp(-({exponent})))"
    before = "the judge gives none" if error["before"] is None else f"{error['before']:.4f}"
    held = error["cross_validated"]
    held_out = "" if held is None else f", on items that the curve was not fitted on {held:.4f}"
    return f"{formula}\ncalibration error before {before}, after {error['after']:.4f}{held_out}"


def _platt(raw: Mapping[str, Any]) -> Callable[[float], float]:
    return lambda score: 1 / (1 + math.exp(-raw["slope"] * score - raw["intercept"]))


def _methods(raw: Mapping[str, Any]) -> str:
    """The methods side by side, and the bins of the one that is kept, on items held out."""
    rows = [("cross-validated", "calibration error", "Brier score")]
    if raw["own"] is not None:
        own = raw["own"]
        rows.append(("the judge's own", number(own["calibration_error"]), number(own["brier"])))
    for name, told in raw["methods"].items():
        held, mark = told["cross_validated"], " (kept)" if name == raw["method"] else ""
        found = (number(held["calibration_error"]), number(held["brier"]))
        rows.append((_CURVES[name] + mark, *found))
    bins = raw["reliability"]["cross_validated"]
    if not bins:
        return table(rows)
    shown = [("probability", "mean", "supported", "records")]
    shown += [
        (
            f"{b['low']:.2f}–{b['high']:.2f}",
            f"{b['mean_probability']:.3f}",
            f"{b['share_positive']:.3f}",
            f"{b['n']:,}",
        )
        for b in bins
    ]
    return f"{table(rows)}\n\n{table(shown)}"


def _files(files: list[Mapping[str, Any]]) -> str:
    rows = [
        (
            *("file", "records", "positive", "AUROC", "default", "chosen"),
            *("others choose", "at", "calibration error"),
        )
    ]
    rows += [
        (
            PurePath(file["path"]).name,
            f"{file['n']:,}",
            f"{file['positives'] / file['n']:.0%}" if file["n"] else "–",
            number(file["auroc"]),
            number(file["default"]),
            number(file["chosen"]),
            number(file["left_out"]["balanced_accuracy"]),
            "" if file["left_out"]["threshold"] is None else f"{file['left_out']['threshold']:.4g}",
            number(file["left_out"]["calibration_error"]),
        )
        for file in files
    ]
    return (
        f"{table(rows)}\nbalanced accuracy at the default threshold, at the chosen one, and at the "
        "one that the\nother files choose; calibration error of the curve of the other files"
    )
