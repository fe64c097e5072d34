"""The quality report: numbers for summary.json, a page and a data card of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueground.builders.base import Dataset


def quality(dataset: Dataset) -> dict[str, Any]:
    """The numbers of the report: how many items there are, by each factor."""
    pieces = dataset.quality
    return {
        "items": len(pieces),
        "factors": {
            factor: dict(sorted(Counter(p.factors.get(factor, "") for p in pieces).items()))
            for factor in dataset.factors
        },
    }


def write_report(folder: Path, summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Write report.html and card.md. Raises WriteError."""
