"""The quality report: numbers for summary.json, a page and a data card of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from trueground.builders.base import BuiltDataset
from trueground.builders.directory import CARD, DROPPED, ITEMS, REPORT, write_bytes
from trueground.builders.quality import classes, texts
from trueground.errors import InputError

if TYPE_CHECKING:
    from trueground.reports.build_page import Shown

_MOST_SHOWN = 4_000_000  # bytes of each file that the page holds


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
    """Write report.html and card.md; the page shows items.jsonl and dropped.jsonl as well.

    `people` are labels that came after the build (quality.people). Neither file holds a time or
    what was spent: the same build gives the same bytes. Raises InputError (a file that is damaged),
    WriteError.
    """
    from trueground.reports.build_page import build_page, render_card
    from trueground.reports.viewer import write_page

    items, dropped = (_read_shown(folder / name) for name in (ITEMS, DROPPED))
    write_page(folder / REPORT, build_page(summary, manifest, people, items, dropped))
    card = render_card(summary, manifest, people)
    write_bytes(folder / CARD, card.encode("utf-8", "replace"))


def _read_shown(path: Path) -> Shown:
    """What the page shows of a file: every line, or of a long file lines at equal distances."""
    from trueground.reports.build_page import Shown

    if not path.exists():  # in the folders of older versions
        return Shown()
    try:
        step = max(1, math.ceil(path.stat().st_size / _MOST_SHOWN))
        with path.open("rb") as lines:
            return Shown([orjson.loads(line) for line in islice(lines, None, None, step)], step)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}; run the build again") from None
