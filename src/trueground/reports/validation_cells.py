"""Numbers of a validation as they stand in the tables of a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEADS = {
    "auroc": "AUROC",
    "spearman": "rho",
    "balanced_accuracy": "bal.acc",
    "balanced_accuracy_best": "best",
    "matthews": "MCC",
    "cohen_kappa": "kappa",
    "calibration_error": "cal.err",
    "false_negative_rate": "FN",
    "false_positive_rate": "FP",
}


def three(value: float | None) -> str:
    """Three decimals; a dash where there is no value."""
    return "–" if value is None else f"{value:.3f}"


def verdict(raw: Mapping[str, Any]) -> str:
    """Which scores are a yes."""
    return f"score {raw['verdict'].replace('-', ' ')} {raw['threshold']:g}"


def cells(row: Mapping[str, Any], measures: Sequence[str]) -> list[str]:
    """A paper's number for each measure, and in brackets the validation's; four decimals."""

    def four(value: float | None) -> str:
        return "–" if value is None else f"{value:.4f}"

    paper, here = row["paper"], row["here"]
    return [
        "" if name not in paper else f"{four(paper[name])} ({four(here.get(name))})"
        for name in measures
    ]


def interval(ends: Sequence[float] | None) -> str:
    """Both ends; a dash where there is no interval."""
    return "–" if ends is None else f"[{ends[0]:.3f}, {ends[1]:.3f}]"


def unused(one: Mapping[str, Any]) -> str:
    """The records of a set that were not measured, with why."""
    return "".join(f", {count:,} {why}" for why, count in one["unused"].items())
