"""The quality report: numbers for summary.json, a page and a data card of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueground.builders.base import BuiltDataset
from trueground.builders.directory import CARD, REPORT, write_bytes
from trueground.builders.quality import classes, texts


def quality(dataset: BuiltDataset) -> dict[str, Any]:
    """The numbers of the report, with full precision; the same for the same dataset.

    None stands where nothing could be measured: no context was there to look in, no judge was
    asked, no person has labelled.
    """
    pieces, names = dataset.quality, list(dataset.factors)
    return {
        "items": len(pieces),
        "sizes": texts.sizes(pieces),
        "lengths": texts.lengths(pieces),
        "factors": classes.factors(pieces, names),
        "crossed": classes.crossed(pieces, names),
        "duplicates": texts.doubles(pieces),
        "overlap": texts.overlap(pieces),
        "answerable": classes.answerable(pieces, names),
        "human": dataset.human,
        "numbers": classes.numbers(pieces),
    }


def write_report(
    folder: Path,
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    people: Mapping[str, Any] | None = None,
) -> None:
    """Write report.html and card.md. Raises WriteError.

    `people` are labels that came after the build (quality.people). Neither file holds a time or
    what was spent: the same build gives the same bytes.
    """
    from trueground.reports.build_card import render_card
    from trueground.reports.build_page import render_page

    page = render_page(summary, manifest, people)
    write_bytes(folder / REPORT, page.encode("utf-8", "replace"))
    card = render_card(summary, manifest, people)
    write_bytes(folder / CARD, card.encode("utf-8", "replace"))
