"""A calibration as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def _columns(raw: Mapping[str, Any], first: str) -> tuple[str, ...]:
    names = (name.replace("_", " ") for name in _SHOWN)
    return (first, "", *names, f"{raw['ci_level']:.0%} interval")


def _row(raw: Mapping[str, Any], name: str) -> tuple[str, ...]:
    told = raw[name]
    numbers = (number(told[measure]) for measure in _SHOWN)
    return (name, f"{told['threshold']:.4g}", *numbers, interval(told["balanced_accuracy_ci"]))


def _verdicts(raw: Mapping[str, Any]) -> str:
    _, _, *row = _row(raw, "chosen")
    return (
        f"{table([_columns(raw, ''), ('True', 'or False', *row)])}\n"
        "the judge gives no scores: its verdicts stay as they are, and get probabilities; the "
        "interval is that of\nbalanced accuracy"
    )


def _thresholds(raw: Mapping[str, Any]) -> str:
    rows = [_columns(raw, "threshold"), _row(raw, "default"), _row(raw, "chosen")]
    wanted = raw["precision"]
    what = raw["objective"].replace("_", " ")
    if wanted is not None:
        what = f"a precision of {wanted['wanted']:g}, the lowest that reaches it"
    lines = [
        table(rows),
        f"chosen for {what}; the interval is that of balanced accuracy",
    ]
    held = raw["chosen"]["cross_validated"]
    if held["balanced_accuracy"] is not None:
        own = "" if raw["objective"] in ("balanced_accuracy", "precision") else _held(raw, held)
        lines.append(
            f"balanced accuracy on items that the threshold was not chosen on: "
            f"{held['balanced_accuracy']:.4f}{own} ({held['folds']}-fold, thresholds "
            f"{min(held['thresholds']):.4g} to {max(held['thresholds']):.4g})"
        )
    if wanted is not None:
        lines.append(_precision(raw, wanted))
    return "\n".join(lines)


def _held(raw: Mapping[str, Any], held: Mapping[str, Any]) -> str:
    name = "matthews" if raw["objective"] == "correlation" else raw["objective"]
    return f", {name} {number(held[name])}"


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
    error = raw["calibration_error"]
    before = "the judge gives none" if error["before"] is None else f"{error['before']:.4f}"
    held = error["cross_validated"]
    held_out = "" if held is None else f", on items that the curve was not fitted on {held:.4f}"
    return (
        f"{_formula(raw)}\ncalibration error before {before}, after {error['after']:.4f}{held_out}"
    )


def _formula(raw: Mapping[str, Any]) -> str:
    if raw["of"] == "verdict":
        low, high = _of_verdicts(raw)
        return f"probability of True {high:.4f}, of False {low:.4f}"
    if raw["method"] == "isotonic":
        knots = raw["knots"]
        return (
            f"probability: isotonic, {len(knots)} knots from {knots[0][1]:.4f} at "
            f"{knots[0][0]:.4g} to {knots[-1][1]:.4f} at {knots[-1][0]:.4g}"
        )
    return f"probability = 1 / (1 + exp(-({raw['slope']:.4g} * score {raw['intercept']:+.4g})))"


def _of_verdicts(raw: Mapping[str, Any]) -> tuple[float, float]:
    """The probabilities of False and of True."""
    if raw["method"] == "isotonic":
        return raw["knots"][0][1], raw["knots"][-1][1]
    low, high = (1 / (1 + math.exp(-raw["slope"] * x - raw["intercept"])) for x in (0, 1))
    return low, high


def _methods(raw: Mapping[str, Any]) -> str:
    """The methods side by side, and the bins of the one that is kept, on items held out."""
    rows = [("cross-validated", "calibration error", "Brier score")]
    if raw["own"] is not None:
        own = raw["own"]
        rows.append(("the judge's own", number(own["calibration_error"]), number(own["brier"])))
    for name, told in raw["methods"].items():
        held = told["cross_validated"]
        mark = " (kept)" if name == raw["method"] else ""
        error, score = number(held["calibration_error"]), number(held["brier"])
        rows.append((_CURVES[name] + mark, error, score))
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
